//! Conditions on a comparison: `joules_per_token<=+3%,accuracy>=-1pp` (docs/method.md §9.7).
//!
//! A limit with a sign applies to the change from A to B. It is in percent of A, in percentage
//! points for a share, or in the metric's unit. A limit without a sign applies to B itself. An
//! unknown value fails its condition.
//! fails its condition.

use std::fmt;

use serde::Serialize;

use crate::compare::Comparison;
use crate::interval::Estimate;
use crate::metric::{Metric, Unit};

pub use self::parse::{ClauseFault, GateError};

mod parse;
#[cfg(test)]
mod tests;

/// The comparison operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Sign {
    /// `<`
    #[serde(rename = "<")]
    Below,
    /// `<=`
    #[serde(rename = "<=")]
    AtMost,
    /// `>`
    #[serde(rename = ">")]
    Above,
    /// `>=`
    #[serde(rename = ">=")]
    AtLeast,
}

/// What a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// B ÷ A − 1.
    Relative,
    /// B − A.
    Absolute,
    /// B.
    Value,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clause {
    /// The condition as written.
    pub text: String,
    /// The metric.
    pub metric: Metric,
    /// The comparison operator.
    pub sign: Sign,
    /// The limit, relative to A or in the unit of the metric.
    pub limit: f64,
    /// What the limit applies to.
    pub of: LimitKind,
}

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// At least one, in the order as written.
    pub clauses: Vec<Clause>,
}

/// The value that must meet the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// The point estimate.
    #[default]
    Value,
    /// The whole 95 % interval, so that the condition holds with confidence. B itself has no
    /// interval here.
    Interval,
}

/// Outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The condition holds.
    Pass,
    /// The condition fails.
    Fail,
    /// A value is unknown.
    Unknown,
}

/// A condition with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClauseResult {
    /// The condition.
    pub clause: Clause,
    /// The outcome.
    pub outcome: Outcome,
    /// The value compared with the limit; `None` if it is unknown.
    pub found: Option<f64>,
    /// The reason in words.
    pub reason: String,
}

impl Sign {
    const fn text(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }

    fn holds(self, found: f64, limit: f64) -> bool {
        match self {
            Self::Below => found < limit,
            Self::AtMost => found <= limit,
            Self::Above => found > limit,
            Self::AtLeast => found >= limit,
        }
    }

    /// The end of the interval that is closer to failing.
    const fn worse(self, found: Estimate) -> f64 {
        match self {
            Self::Below | Self::AtMost => found.high,
            Self::Above | Self::AtLeast => found.low,
        }
    }
}

impl Gate {
    /// The metrics of its conditions.
    pub fn metrics(&self) -> Vec<Metric> {
        self.clauses.iter().map(|clause| clause.metric).collect()
    }

    /// Evaluates each condition on these comparisons.
    pub fn judge(&self, comparisons: &[Comparison], by: Criterion) -> Vec<ClauseResult> {
        let judge = |clause: &Clause| {
            let comparison = comparisons
                .iter()
                .find(|comparison| comparison.metric == clause.metric);
            clause.judge(comparison, by)
        };
        self.clauses.iter().map(judge).collect()
    }
}

/// Whether all conditions hold; an unknown outcome does not count as holding.
pub fn is_passed(judged: &[ClauseResult]) -> bool {
    judged.iter().all(|one| one.outcome == Outcome::Pass)
}

impl Clause {
    fn judge(&self, comparison: Option<&Comparison>, by: Criterion) -> ClauseResult {
        let found = comparison.and_then(|comparison| self.found(comparison, by));
        let (outcome, reason) = match found {
            Some(found) => {
                let holds = self.sign.holds(found, self.limit);
                let (outcome, word) = if holds {
                    (Outcome::Pass, "keeps")
                } else {
                    (Outcome::Fail, "misses")
                };
                let (found, limit) = (self.written(found), self.written(self.limit));
                let name = self.metric.name();
                let sign = self.sign.text();
                (
                    outcome,
                    format!("`{name}` is {found}, which {word} {sign} {limit}"),
                )
            }
            None => (Outcome::Unknown, self.why(comparison)),
        };
        ClauseResult {
            clause: self.clone(),
            outcome,
            found,
            reason,
        }
    }

    fn found(&self, comparison: &Comparison, by: Criterion) -> Option<f64> {
        let change = |found: Option<Estimate>, point: Option<f64>| match by {
            Criterion::Value => point,
            Criterion::Interval => found.map(|found| self.sign.worse(found)),
        };
        let (a, b) = (comparison.a, comparison.b);
        let difference = a.zip(b).map(|(a, b)| b - a);
        match self.of {
            LimitKind::Value => b,
            LimitKind::Absolute => change(comparison.absolute, difference),
            LimitKind::Relative => {
                let ratio = a.zip(b).map(|(a, b)| b / a - 1.0);
                change(comparison.relative, ratio.filter(|ratio| ratio.is_finite()))
            }
        }
    }

    fn why(&self, comparison: Option<&Comparison>) -> String {
        let name = self.metric.name();
        match comparison.map(|comparison| comparison.reason) {
            Some(Some(reason)) => format!("`{name}` is unknown: {reason}"),
            Some(None) => format!("`{name}` is unknown: A is zero"),
            None => format!("`{name}` was not compared"),
        }
    }

    /// The value in the syntax of a gate.
    fn written(&self, value: f64) -> String {
        let is_change = self.of != LimitKind::Value;
        let (value, unit) = match (self.of, self.metric.unit()) {
            (LimitKind::Relative, _) | (LimitKind::Value, Unit::Share) => (100.0 * value, "%"),
            (_, Unit::Share) => (100.0 * value, "pp"),
            (_, unit) => (value, unit.name()),
        };
        let digits = digits(value);
        if is_change && value >= 0.0 {
            format!("+{digits}{unit}")
        } else {
            format!("{digits}{unit}")
        }
    }
}

/// Four significant digits.
fn digits(value: f64) -> String {
    if value.abs() < f64::MIN_POSITIVE {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent of ten")]
    let order = value.abs().log10().floor() as i32;
    let decimals = usize::try_from((3 - order).max(0)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (place, clause) in self.clauses.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(formatter, "{comma}{}", clause.text)?;
        }
        Ok(())
    }
}
