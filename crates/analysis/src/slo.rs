//! What a service is meant to keep (`ttft=500ms,tpot=50ms,e2e=5s`), and how many queries had it.
//!
//! Goodput counts only what is known to be good: a failed query never is, a query whose latency
//! was not measured is not either. An objective that a query cannot have (time per output token
//! of a single token) does not count against it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, real, wilson};
use crate::latency::{self, Latency, Origin, Origins};
use ipw_core::row::Row;

pub use self::parse::BadSlo;

mod parse;
#[cfg(test)]
mod tests;

/// What may have a limit.
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

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Objective {
    /// Of what.
    pub quantity: Quantity,
    /// In seconds; a query that takes just that long has kept it.
    pub limit_seconds: f64,
    /// Counted from where; `None` for what lies between chunks.
    pub origin: Option<Origin>,
}

/// Limits that a query must all keep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slo {
    /// At least one, in the order in which they were written.
    pub objectives: Vec<Objective>,
}

/// How one query fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum SloOutcome {
    /// All limits.
    Met,
    /// Not these.
    Missed {
        /// Beyond the limit.
        missed: Vec<Quantity>,
    },
    /// None is known to be missed, but these are not known.
    Unknown {
        /// Without a measurement.
        unknown: Vec<Quantity>,
    },
    /// The query was not answered.
    Failed,
}

/// Queries counted by how they fared.
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

/// How many queries were good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Queries in all.
    pub rows: u64,
    /// Those that kept all limits.
    pub met: u64,
    /// Those that missed a limit, by objective, in the order of the SLO; one may be in several.
    pub missed: Vec<u64>,
    /// Those of which it is not known.
    pub unknown: u64,
    /// Those that were not answered.
    pub failed: u64,
    /// Met ÷ all, with Wilson's interval of 95 %; `None` without a query.
    pub share: Option<Estimate>,
    /// Met ÷ seconds of the window; `None` without a window.
    pub requests_per_second: Option<f64>,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::FirstToken,
        Self::FirstAnswerToken,
        Self::PerOutputToken,
        Self::MeanGap,
        Self::Total,
    ];

    /// As it is written in an SLO.
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
    /// How this query fared.
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
    /// `None` when it was not measured.
    fn is_met(&self, row: &Row<'_>, latency: &Latency) -> Option<bool> {
        let from = |origins: Origins<Option<f64>>| *origins.from(self.origin?);
        let taken = match self.quantity {
            Quantity::FirstToken => from(latency.first_token),
            Quantity::FirstAnswerToken => from(latency.first_answer_token),
            Quantity::Total => from(latency.total),
            // Nothing follows a first token that is the last one.
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
    /// Nothing yet.
    pub fn new(slo: Slo) -> Self {
        Self {
            missed: vec![0; slo.objectives.len()],
            slo,
            counts: Counts::default(),
        }
    }

    /// Takes one query in, and says how it fared.
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

    /// What came together in a window of so many seconds, from which all queries must be that
    /// were pushed and no others.
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
