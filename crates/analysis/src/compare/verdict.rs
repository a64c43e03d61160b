//! Verdicts on differences.

use serde::Serialize;

use super::Comparison;
use crate::interval::Estimate;
use crate::metric::{Better, Metric, Unit};

/// Largest difference that does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerance {
    /// For ratios and percentiles, relative to A.
    pub relative: f64,
    /// For shares, absolute: 0.01 is one percentage point.
    pub points: f64,
}

/// The verdict on a difference between B and A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is lower: the interval lies below zero.
    Lower,
    /// B is higher: the interval lies above zero.
    Higher,
    /// The whole interval lies within the tolerance.
    Unchanged,
    /// None of the above.
    CannotTell,
}

impl Default for Tolerance {
    /// Two percent, one percentage point.
    fn default() -> Self {
        Self {
            relative: 0.02,
            points: 0.01,
        }
    }
}

impl Verdict {
    pub(super) fn of(
        metric: Metric,
        relative: Option<Estimate>,
        absolute: Option<Estimate>,
        tolerance: Tolerance,
    ) -> Self {
        let (decides, tolerance) = match metric.unit() {
            Unit::Share => (absolute, tolerance.points),
            _ => (relative, tolerance.relative),
        };
        match decides {
            Some(found) if -tolerance <= found.low && found.high <= tolerance => Self::Unchanged,
            Some(found) if found.high < 0.0 => Self::Lower,
            Some(found) if found.low > 0.0 => Self::Higher,
            _ => Self::CannotTell,
        }
    }
}

impl Comparison {
    /// Whether B is better; `None` without a difference or a verdict.
    pub fn is_better(&self) -> Option<bool> {
        match (self.verdict, self.better) {
            (Verdict::Lower, Better::Lower) | (Verdict::Higher, Better::Higher) => Some(true),
            (Verdict::Lower, Better::Higher) | (Verdict::Higher, Better::Lower) => Some(false),
            (Verdict::Unchanged | Verdict::CannotTell, _) => None,
        }
    }

    /// The difference that decides: absolute for a share, relative otherwise.
    pub fn difference(&self) -> Option<Estimate> {
        match self.unit {
            Unit::Share => self.absolute,
            _ => self.relative,
        }
    }
}
