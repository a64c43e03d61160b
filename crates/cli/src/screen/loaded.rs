//! The load of a run. It comes from the summary, so it is the same live and later.

use std::fmt::Write as _;

use ipw_analysis::percentile::{Percentile, Summary, needed};
use ipw_analysis::saturation::TrendVerdict;
use ipw_analysis::steady::{NotSteady, Steady};
use ipw_core::quantity::{Unit, digits};
use ipw_store::Overview;
use ipw_store::overview::Distribution;
use ipw_store::summary::{LoadSummary, SloKept};

use super::{CELL, NAME, NARROW, seconds};

/// Load, steady-state throughput and SLO attainment.
pub(super) fn lines(load: &LoadSummary) -> Vec<String> {
    let mut lines = vec![format!("{:<9} {}", "load", load.load)];
    let not_steady = load.not_steady.values().next();
    lines.push(match (&load.steady, not_steady) {
        (Some(served), _) => format!("{:<9} {}", "", steady(served)),
        (None, Some(why)) => format!("{:<9} never steady: {}", "", reason(why)),
        (None, None) => return lines,
    });
    match load.queue.map(|queue| queue.verdict) {
        Some(TrendVerdict::Growing) => lines.push(format!(
            "{:<9} the queue grew: the service does not keep up with this rate",
            ""
        )),
        Some(TrendVerdict::Stable) => lines.push(format!("{:<9} the queue did not grow", "")),
        Some(TrendVerdict::CannotTell) | None => {}
    }
    lines.extend(load.slo.iter().flat_map(slo));
    lines
}

fn steady(steady: &Steady) -> String {
    let mut text = format!(
        "steady for {}: {} in flight, {} requests/s",
        seconds(steady.seconds),
        digits(steady.mean_in_flight),
        digits(steady.requests_per_second)
    );
    if let Some(tokens) = steady.output_tokens_per_second {
        let _ = write!(text, ", {} tokens/s", digits(tokens));
    }
    text
}

fn reason(why: &NotSteady) -> String {
    match why {
        NotSteady::NeverFull { most, wanted } => {
            format!("at most {most} of {wanted} were in flight")
        }
        NotSteady::StillRamping => "the run ended during the ramp".to_owned(),
        NotSteady::NoTime => "all queries were sent at once".to_owned(),
        NotSteady::NoQueries => "no query was in flight".to_owned(),
    }
}

fn slo(slo: &SloKept) -> Vec<String> {
    let mut text = format!("{:<9} {}: ", "slo", slo.objectives);
    match slo.whole.share {
        Some(share) => {
            let _ = write!(
                text,
                "{} of queries met it (95 %: {})",
                Unit::Share.show(share.value),
                Unit::Share.range(share.low, share.high)
            );
        }
        None => text.push_str("no query has the timings that it needs"),
    }
    let mut lines = vec![text];
    if let Some(good) = slo.steady.requests_per_second {
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

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column {
    Mean,
    Min,
    P50,
    P90,
    P95,
    P99,
    Max,
}

impl Column {
    const ALL: [Self; 7] = [
        Self::Mean,
        Self::Min,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::Max,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }

    /// The value of this column; `None` if the sample is too small.
    fn of(self, of: &Summary) -> Option<f64> {
        let percentile: Percentile = match self {
            Self::Mean => return Some(of.mean),
            Self::Min => return Some(of.min),
            Self::Max => return Some(of.max),
            Self::P50 => of.p50,
            Self::P90 => of.p90,
            Self::P95 => of.p95,
            Self::P99 => of.p99,
        };
        percentile.value()
    }

    /// The same for a distribution that does not store the sample size each percentile needs.
    pub(super) fn ruled(self, of: &Distribution) -> Option<f64> {
        let (value, fraction) = match self {
            Self::Mean => return Some(of.mean),
            Self::Min => return Some(of.min),
            Self::Max => return Some(of.max),
            Self::P50 => (of.p50, 0.5),
            Self::P90 => (of.p90, 0.9),
            Self::P95 => (of.p95, 0.95),
            Self::P99 => (of.p99, 0.99),
        };
        let is_known = needed(fraction).is_none_or(|needs| of.count >= needs);
        is_known.then_some(value)
    }
}

/// Width of a column in a table with many.
const CLOSE: usize = 9;

/// A table of latencies with the columns that fit. Latency from the planned start is a second
/// line if the schedule lagged.
pub(super) fn table(load: &LoadSummary, overview: &Overview, width: usize) -> Option<String> {
    let latency = &load.latency;
    latency.total_seconds.sent?;
    let (columns, cell): (&[Column], usize) = if NAME + 7 * CLOSE <= width {
        (&Column::ALL, CLOSE)
    } else if NAME + 2 * CELL <= width {
        (&[Column::P50, Column::P99], CELL)
    } else {
        (&[Column::P50], NARROW)
    };
    let mut table = format!("{:<NAME$}", "per query");
    for column in columns {
        let _ = write!(table, "{:>cell$}", column.name());
    }
    let mut is_short = false;
    let mut row = |name: &str, value: &dyn Fn(Column) -> Option<f64>, show: fn(f64) -> String| {
        let _ = write!(table, "\n{name:<NAME$}");
        for column in columns {
            let value = value(*column);
            is_short |= value.is_none();
            let _ = write!(table, "{:>cell$}", value.map_or("n/a".to_owned(), show));
        }
    };
    let is_late = load.largest_lag() > Some(0.01);
    let (first, total) = (latency.time_to_first_token_seconds, latency.total_seconds);
    let times = [
        ("first token", first.sent),
        ("whole query", total.sent),
        ("  planned", total.planned.filter(|_| is_late)),
        ("per token", latency.per_output_token_seconds),
    ];
    for (name, of) in times {
        if let Some(of) = of {
            row(name, &|column| column.of(&of), seconds);
        }
    }
    if let Some(of) = overview.throughput_tokens_per_sec {
        row("tokens/s", &|column| column.ruled(&of), digits);
    }
    if let Some(of) = latency.schedule_lag_seconds.filter(|_| is_late) {
        row("lag", &|column| column.of(&of), seconds);
    }
    if is_short {
        let _ = write!(table, "\nn/a: too few queries; p99 needs {NEEDED_FOR_P99}");
    }
    Some(table)
}
