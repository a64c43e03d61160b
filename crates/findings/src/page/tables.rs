//! The result in more detail: latency, energy by source, outcomes, answers by subject.

use ipw_analysis::interval::wilson;
use ipw_analysis::percentile::{Percentile, Summary};
use ipw_store::summary::LoadSummary;

use super::Inputs;
use super::pass::Graded;
use super::{Cell, Column, Table};
use ipw_core::quantity::{Unit, grouped};

pub(super) fn of(known: &Inputs<'_>) -> Vec<Table> {
    [
        latency(known),
        energy(known),
        subjects(known),
        outcomes(known),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn columns(words: &[&str], numbers: &[&str]) -> Vec<Column> {
    let words = words.iter().map(|label| Column::words(label));
    words
        .chain(numbers.iter().map(|label| Column::numbers(label)))
        .collect()
}

fn latency(known: &Inputs<'_>) -> Option<Table> {
    let pass = known.pass;
    pass.total.summary?;
    let mut rows = vec![
        distribution(
            "time to first token",
            pass.first_token.summary,
            Unit::Seconds,
            false,
        ),
        distribution("whole query", pass.total.summary, Unit::Seconds, false),
    ];
    let load = known.summary().load.as_ref();
    let lag = load.and_then(LoadSummary::largest_lag);
    if lag.is_some_and(|lag| lag > 0.01) {
        rows.push(distribution(
            "whole query, from the planned send",
            pass.planned.summary,
            Unit::Seconds,
            false,
        ));
    }
    rows.push(distribution(
        "output tokens/s",
        pass.rate.summary,
        Unit::Plain,
        false,
    ));
    rows.push(distribution(
        "energy",
        pass.joules.summary,
        Unit::Joules,
        known.is_estimated(),
    ));
    Some(Table {
        id: "latency".to_owned(),
        title: "Per query".to_owned(),
        caption: "Percentiles over queries, each with its interval of 95 %. n/a: too few queries for that percentile."
            .to_owned(),
        columns: columns(
            &["per query"],
            &["mean", "min", "p50", "p90", "p95", "p99", "max"],
        ),
        rows: rows.into_iter().flatten().collect(),
    })
}

fn distribution(
    name: &str,
    found: Option<Summary>,
    unit: Unit,
    is_estimated: bool,
) -> Option<Vec<Cell>> {
    let summary = found?;
    let plain = |value: f64| Cell::of(unit.show(value)).estimated(is_estimated);
    let percentile = |of: Percentile| match of {
        Percentile::Known { value, low, high } => plain(value).with(unit.range(low, high)),
        Percentile::Unsupported { needs } => Cell::unknown(format!("needs ≥ {needs}")),
    };
    let mean = plain(summary.mean);
    let mean = match summary.mean_interval {
        Some(interval) => mean.with(unit.range(interval.low, interval.high)),
        None => mean,
    };
    let name = if is_estimated {
        format!("{name} (estimated)")
    } else {
        name.to_owned()
    };
    Some(vec![
        Cell::of(name),
        mean,
        plain(summary.min),
        percentile(summary.p50),
        percentile(summary.p90),
        percentile(summary.p95),
        percentile(summary.p99),
        plain(summary.max),
    ])
}

fn energy(known: &Inputs<'_>) -> Option<Table> {
    let telemetry = known.summary().telemetry.as_ref();
    let rows: Vec<_> = known
        .pass
        .sources
        .iter()
        .map(|(name, counted)| {
            let told = telemetry.and_then(|telemetry| telemetry.source(name));
            let is_estimated = counted.methods.contains("estimated");
            let in_queries = if counted.rows == 0 {
                Cell::unknown("no query has any")
            } else {
                Cell::of(Unit::Joules.give_or_take(counted.joules, counted.sigma))
                    .estimated(is_estimated)
            };
            let of = |value: Option<f64>, unit: Unit, why: &str| {
                value.map_or_else(
                    || Cell::unknown(why),
                    |value| Cell::of(unit.show(value)).estimated(is_estimated),
                )
            };
            let joules = told.and_then(|told| told.joules);
            let idle = told.and_then(|told| Some(told.idle.before?.power.watts()));
            let period = told.and_then(|told| Some(told.about.period?.as_secs_f64()));
            let how = counted
                .methods
                .iter()
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            vec![
                Cell::of(name.clone()),
                Cell::of(how),
                in_queries,
                of(joules, Unit::Joules, "the summary does not say"),
                of(idle, Unit::Watts, "idle was not looked at"),
                of(period, Unit::Seconds, "not known").estimated(false),
                of(counted.least_coverage, Unit::Share, "not known").estimated(false),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "sources".to_owned(),
        title: "Energy by source".to_owned(),
        caption: format!(
            "What each source counted, give or take one standard deviation. The headline uses {}. Sources inside one another are never added.",
            basis(known)
        ),
        columns: columns(
            &["source", "how"],
            &["in queries", "in the whole run", "idle", "period", "least coverage"],
        ),
        rows,
    })
}

fn basis(known: &Inputs<'_>) -> String {
    let basis = &known.overview.energy.basis;
    if basis.is_empty() {
        "none of them".to_owned()
    } else {
        format!("`{}`", basis.join("`, `"))
    }
}

fn subjects(known: &Inputs<'_>) -> Option<Table> {
    let graded = |graded: &Graded| graded.correct + graded.wrong > 0;
    if !known.pass.subjects.values().any(graded) {
        return None;
    }
    let row = |(name, graded): (&String, &Graded)| {
        let all = graded.correct + graded.wrong;
        let share = wilson(graded.correct, all).map_or_else(
            || Cell::unknown("none was graded"),
            |share| {
                Cell::of(Unit::Share.show(share.value))
                    .with(Unit::Share.range(share.low, share.high))
            },
        );
        vec![
            Cell::of(ipw_core::text::excerpt(name, 80)),
            share,
            Cell::of(grouped(graded.correct)),
            Cell::of(grouped(graded.wrong)),
            Cell::of(grouped(graded.unscored)),
        ]
    };
    Some(Table {
        id: "subjects".to_owned(),
        title: "Answers by subject".to_owned(),
        caption:
            "The share of right answers among the graded ones, with its interval of 95 % (Wilson)."
                .to_owned(),
        columns: columns(&["subject"], &["right", "correct", "wrong", "not graded"]),
        rows: known.pass.subjects.iter().map(row).collect(),
    })
}

fn outcomes(known: &Inputs<'_>) -> Option<Table> {
    let rows = known.overview.rows;
    if rows == 0 {
        return None;
    }
    let row = |(outcome, count): (&String, &u64)| {
        let share = wilson(*count, rows);
        let share = share.map_or_else(
            || Cell::unknown("no rows"),
            |share| Cell::of(Unit::Share.show(share.value)),
        );
        vec![
            Cell::of(outcome.clone()),
            Cell::of(means(outcome)),
            Cell::of(grouped(*count)),
            share,
        ]
    };
    Some(Table {
        id: "outcomes".to_owned(),
        title: "How queries ended".to_owned(),
        caption: "Failed queries count here and in the energy, not in the latencies.".to_owned(),
        columns: columns(&["outcome", "meaning"], &["queries", "share"]),
        rows: known.overview.outcomes.iter().map(row).collect(),
    })
}

fn means(outcome: &str) -> &'static str {
    match outcome {
        "complete" => "the model ended its reply by itself",
        "truncated" => "the reply was cut at a length limit",
        "refused" => "the service or the model declined",
        "timed_out" => "it took longer than allowed",
        "cancelled" => "the run was told to stop at once",
        _ => "it failed; its rows say how",
    }
}
