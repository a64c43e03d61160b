//! What a run says of what its energy bought and of how it was shared.

use std::borrow::Cow;

use ipw_analysis::efficiency::{Derived, Efficiency};
use ipw_analysis::interval::Estimate;
use ipw_analysis::marginal::{Marginal, MarginalError};
use ipw_core::attribution::Weights;
use serde::{Deserialize, Serialize};

use crate::attribute::IdleUsed;

/// Accuracy, and what a watt and a joule bought of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EfficiencySummary {
    /// What was bought.
    #[serde(flatten)]
    pub bought: Efficiency,
    /// What energy and time gave; `None` where the rows could not be read again.
    #[serde(default)]
    pub derived: Option<DerivedMetrics>,
}

/// What energy and time gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DerivedMetrics {
    /// Over the whole run.
    pub whole: Derived,
    /// Over the queries that ended while the load was full; `None` when it never was.
    pub steady: Option<Derived>,
}

/// What made the energy of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Version of ipw.
    pub ipw: Cow<'static, str>,
    /// The rule, in one word: docs/method.md §6.3.
    pub method: Cow<'static, str>,
    /// What decided in a step with several queries.
    pub weights: Weights,
    /// Idle power that was used, by source and part.
    pub idle: Vec<IdleUsed>,
    /// When: seconds since the Unix epoch.
    pub at: f64,
    /// Rows of the run.
    pub rows: u64,
    /// Those that have energy.
    pub rows_with_energy: u64,
}

/// What one more token and one more second cost on the basis (docs/method.md §6.9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarginalCosts {
    /// Of an input token; `None` with a `reason`.
    pub joules_per_input_token: Option<Estimate>,
    /// Of an output token; `None` with a `reason`.
    pub joules_per_output_token: Option<Estimate>,
    /// Of a second without either; `None` with a `reason`.
    pub idle_watts: Option<Estimate>,
    /// Why nothing is told; `None` where it is.
    pub reason: Option<Untold>,
    /// Source by source.
    pub sources: Vec<SourceCost>,
}

/// The same of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceCost {
    /// Its name.
    pub source: String,
    /// What came out; `None` with a `reason`.
    pub fit: Option<Marginal>,
    /// Why nothing did.
    pub reason: Option<Untold>,
}

/// Why marginal costs are not told, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Untold {
    /// Too few stretches of time.
    TooFew,
    /// Tokens and time vary together.
    Collinear,
}

impl Untold {
    /// The word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::TooFew => "too_few",
            Self::Collinear => "collinear",
        }
    }
}

impl From<MarginalError> for Untold {
    fn from(why: MarginalError) -> Self {
        match why {
            MarginalError::TooFew { .. } => Self::TooFew,
            MarginalError::Collinear { .. } => Self::Collinear,
        }
    }
}
