//! Service-level objectives (`ttft=500ms,tpot=50ms,e2e=5s`) and goodput.
//!
//! Goodput counts only queries known to be good. A failed query is never good, nor is a query
//! without a measured latency. An objective that does not apply to a query (time per output token
//! of a single token) counts as met.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, real, wilson};
use crate::latency::{self, Latency, Origin, Origins};
use ipw_core::row::Row;

pub use self::parse::SloError;

mod parse;
#[cfg(test)]
mod tests;

/// A latency that an objective limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// `ttft`: to the first token.
    FirstToken,
    /// `first_answer`: to the first token of the answer.
    FirstAnswerToken,
    /// `tpot`: per output token after the first.
    PerOutputToken,
    /// `itl`: the query's mean gap between chunks.
    MeanGap,
    /// `e2e`: to the end.
    Total,
}

/// One objective of an SLO.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Objective {
    /// The limited latency.
    pub quantity: Quantity,
    /// The limit in seconds, inclusive.
    pub limit_seconds: f64,
    /// Start of the latency; `None` for times between chunks.
    pub origin: Option<Origin>,
}

/// Objectives that a query must all meet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slo {
    /// At least one, in the order as written.
    pub objectives: Vec<Objective>,
}

/// Result of one query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum SloOutcome {
    /// All objectives are met.
    Met,
    /// Some objectives are missed.
    Missed {
        /// The missed latencies.
        missed: Vec<Quantity>,
    },
    /// No objective is known to be missed, but some latencies are unknown.
    Unknown {
        /// The unknown latencies.
        unknown: Vec<Quantity>,
    },
    /// The query was not answered.
    Failed,
}

/// Running counts of query results.
#[derive(Debug, Clone)]
pub struct Tally {
    slo: Slo,
    missed: Vec<u64>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    rows: u64,
    met: u64,
    unknown: u64,
    failed: u64,
}

/// Goodput: the queries that met the SLO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Number of queries.
    pub rows: u64,
    /// Queries that met all objectives.
    pub met: u64,
    /// Queries that missed each objective, in the order of the SLO; a query may miss several.
    pub missed: Vec<u64>,
    /// Queries with an unknown result.
    pub unknown: u64,
    /// Unanswered queries.
    pub failed: u64,
    /// Met ÷ all, with Wilson's 95 % interval; `None` without queries.
    pub share: Option<Estimate>,
    /// Met ÷ seconds of the window; `None` without a window.
    pub requests_per_second: Option<f64>,
}

impl Quantity {
    /// All latencies.
    pub const ALL: [Self; 5] = [
        Self::FirstToken,
        Self::FirstAnswerToken,
        Self::PerOutputToken,
        Self::MeanGap,
        Self::Total,
    ];

    /// The name in an SLO.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstToken => "ttft",
            Self::FirstAnswerToken => "first_answer",
            Self::PerOutputToken => "tpot",
            Self::MeanGap => "itl",
            Self::Total => "e2e",
        }
    }

    const fn lies_between_chunks(self) -> bool {
        matches!(self, Self::PerOutputToken | Self::MeanGap)
    }
}

impl Slo {
    /// The result of this query.
    pub fn verdict(&self, row: &Row<'_>) -> SloOutcome {
        if !row.is_answered {
            return SloOutcome::Failed;
        }
        let latency = latency::latency(row);
        let (mut missed, mut unknown) = (Vec::new(), Vec::new());
        for objective in &self.objectives {
            match objective.is_met(row, &latency) {
                Some(true) => {}
                Some(false) => missed.push(objective.quantity),
                None => unknown.push(objective.quantity),
            }
        }
        if !missed.is_empty() {
            SloOutcome::Missed { missed }
        } else if !unknown.is_empty() {
            SloOutcome::Unknown { unknown }
        } else {
            SloOutcome::Met
        }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (place, objective) in self.objectives.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let name = objective.quantity.name();
            write!(formatter, "{comma}{name}={}s", objective.limit_seconds)?;
            match objective.origin {
                Some(Origin::Planned) => formatter.write_str("@planned")?,
                Some(Origin::Sent) => formatter.write_str("@sent")?,
                None => {}
            }
        }
        Ok(())
    }
}

impl Objective {
    /// Whether the query meets the objective; `None` when the latency was not measured.
    fn is_met(&self, row: &Row<'_>, latency: &Latency) -> Option<bool> {
        let from = |origins: Origins<Option<f64>>| *origins.from(self.origin?);
        let taken = match self.quantity {
            Quantity::FirstToken => from(latency.first_token),
            Quantity::FirstAnswerToken => from(latency.first_answer_token),
            Quantity::Total => from(latency.total),
            // Nothing follows a first token that is also the last.
            Quantity::PerOutputToken | Quantity::MeanGap
                if row.output_tokens.is_some_and(|tokens| tokens < 2) =>
            {
                return Some(true);
            }
            Quantity::PerOutputToken => latency.per_output_token,
            Quantity::MeanGap => latency.mean_gap,
        };
        Some(taken? <= self.limit_seconds)
    }
}

impl Tally {
    /// A tally without queries.
    pub fn new(slo: Slo) -> Self {
        Self {
            missed: vec![0; slo.objectives.len()],
            slo,
            counts: Counts::default(),
        }
    }

    /// Adds one query and returns its result.
    pub fn push(&mut self, row: &Row<'_>) -> SloOutcome {
        let verdict = self.slo.verdict(row);
        self.counts.rows += 1;
        match &verdict {
            SloOutcome::Met => self.counts.met += 1,
            SloOutcome::Unknown { .. } => self.counts.unknown += 1,
            SloOutcome::Failed => self.counts.failed += 1,
            SloOutcome::Missed { missed } => {
                for (objective, count) in self.slo.objectives.iter().zip(&mut self.missed) {
                    *count += u64::from(missed.contains(&objective.quantity));
                }
            }
        }
        verdict
    }

    /// The goodput in a window of this length in seconds. The added queries must be exactly those
    /// of the window.
    pub fn finish(self, seconds: Option<f64>) -> Goodput {
        let Counts {
            rows,
            met,
            unknown,
            failed,
        } = self.counts;
        Goodput {
            rows,
            met,
            missed: self.missed,
            unknown,
            failed,
            share: wilson(met, rows),
            requests_per_second: seconds
                .filter(|seconds| *seconds > 0.0)
                .map(|seconds| real(met) / seconds),
        }
    }
}
