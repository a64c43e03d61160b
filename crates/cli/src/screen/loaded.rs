//! The load of a run on the screen, from what `summary.json` says of it: the same live and later.

use std::fmt::Write as _;

use ipw_analysis::percentile::needed;
use ipw_core::quantity::{Unit, digits};
use ipw_store::Overview;
use ipw_store::overview::Distribution;
use serde_json::{Value, json};

use super::{CELL, NAME, NARROW, seconds};

/// What the load was, what was served while it was full, how the SLO was kept.
pub(super) fn lines(load: &Value) -> Vec<String> {
    let Some(words) = load["load"].as_str() else {
        return Vec::new();
    };
    let mut lines = vec![format!("{:<9} {words}", "load")];
    lines.push(match (steady(&load["steady"]), not_steady(load)) {
        (Some(steady), _) => format!("{:<9} {steady}", ""),
        (None, Some(reason)) => format!("{:<9} never steady: {reason}", ""),
        (None, None) => return lines,
    });
    match load["queue"]["verdict"].as_str() {
        Some("growing") => lines.push(format!(
            "{:<9} the queue grew: the service does not keep up with this rate",
            ""
        )),
        Some("stable") => lines.push(format!("{:<9} the queue did not grow", "")),
        _ => {}
    }
    lines.extend(slo(&load["slo"]));
    lines
}

fn steady(steady: &Value) -> Option<String> {
    let time = steady["seconds"].as_f64()?;
    let mut text = format!(
        "steady for {}: {} in flight, {} requests/s",
        seconds(time),
        digits(steady["mean_in_flight"].as_f64()?),
        digits(steady["requests_per_second"].as_f64()?)
    );
    if let Some(tokens) = steady["output_tokens_per_second"].as_f64() {
        let _ = write!(text, ", {} tokens/s", digits(tokens));
    }
    Some(text)
}

fn not_steady(load: &Value) -> Option<String> {
    let parts = load["not_steady"].as_object()?;
    let reason = parts.values().next()?;
    Some(match reason["reason"].as_str()? {
        "never_full" => format!(
            "at most {} of {} were in flight",
            reason["most"], reason["wanted"]
        ),
        "still_ramping" => "it ended while the load was growing".to_owned(),
        "no_time" => "all queries came at once".to_owned(),
        _ => "no query was in flight".to_owned(),
    })
}

fn slo(slo: &Value) -> Vec<String> {
    let Some(objectives) = slo["objectives"].as_str() else {
        return Vec::new();
    };
    let goodput = &slo["whole"];
    let mut text = format!("{:<9} {objectives}: ", "slo");
    match goodput["share"]["value"].as_f64() {
        Some(share) => {
            let bound = |name: &str| goodput["share"][name].as_f64().unwrap_or(share);
            let _ = write!(
                text,
                "{} of queries kept it (95 %: {})",
                Unit::Share.show(share),
                Unit::Share.range(bound("low"), bound("high"))
            );
        }
        None => text.push_str("no query can tell"),
    }
    let mut lines = vec![text];
    if let Some(good) = slo["steady"]["requests_per_second"].as_f64() {
        lines.push(format!(
            "{:<9} goodput while steady {} requests/s",
            "",
            digits(good)
        ));
    }
    lines
}

/// Answered queries that the 99th percentile needs ([`needed`]).
pub(super) const NEEDED_FOR_P99: u64 = 368;

/// A distribution of which only those percentiles are told that its sample supports.
pub(super) fn ruled(of: Option<Distribution>) -> Value {
    let mut told = json!(of);
    let count = of.map_or(0, |of| of.count);
    for (name, fraction) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let needs = needed(fraction).filter(|needs| count < *needs);
        if let (Some(needs), true) = (needs, of.is_some()) {
            told[name] = json!({ "needs": needs });
        }
    }
    told
}

/// Width of a column where there are many.
const CLOSE: usize = 9;

/// The statistics that a table shows.
const ALL: [&str; 7] = ["mean", "min", "p50", "p90", "p95", "p99", "max"];

/// A line for each latency, in columns that fit. Both origins are shown where they differ.
pub(super) fn table(load: &Value, overview: &Overview, width: usize) -> Option<String> {
    let latency = load.get("latency")?;
    latency["total_seconds"]["sent"].as_object()?;
    let (columns, cell): (&[&str], usize) = if NAME + 7 * CLOSE <= width {
        (&ALL, CLOSE)
    } else if NAME + 2 * CELL <= width {
        (&["p50", "p99"], CELL)
    } else {
        (&["p50"], NARROW)
    };
    let mut table = format!("{:<NAME$}", "per query");
    for name in columns {
        let _ = write!(table, "{name:>cell$}");
    }
    let mut needs = 0;
    let mut row = |name: &str, of: &Value, show: fn(f64) -> String| {
        if of.is_null() {
            return;
        }
        let _ = write!(table, "\n{name:<NAME$}");
        for name in columns {
            let value = &of[*name];
            let shown = match (value.as_f64(), value["value"].as_f64()) {
                (Some(value), _) | (None, Some(value)) => show(value),
                (None, None) => {
                    needs = needs.max(value["needs"].as_u64().unwrap_or(0));
                    "n/a".to_owned()
                }
            };
            let _ = write!(table, "{shown:>cell$}");
        }
    };
    let is_late = latency["schedule_lag_seconds"]["max"].as_f64() > Some(0.01);
    row(
        "first token",
        &latency["time_to_first_token_seconds"]["sent"],
        seconds,
    );
    row("whole query", &latency["total_seconds"]["sent"], seconds);
    if is_late {
        row("  planned", &latency["total_seconds"]["planned"], seconds);
    }
    row("per token", &latency["per_output_token_seconds"], seconds);
    row(
        "tokens/s",
        &ruled(overview.throughput_tokens_per_sec),
        digits,
    );
    if is_late {
        row("lag", &latency["schedule_lag_seconds"], seconds);
    }
    if needs > 0 {
        let _ = write!(table, "\nn/a: too few queries; p99 needs {NEEDED_FOR_P99}");
    }
    Some(table)
}
