//! What a run says of its load.

use std::collections::BTreeMap;

use ipw_analysis::latency::{LatencySummary, Origin};
use ipw_analysis::percentile::Percentile;
use ipw_analysis::saturation::Trend;
use ipw_analysis::slo::Goodput;
use ipw_analysis::steady::{NotSteady, Steady};
use serde::{Deserialize, Serialize};

/// How queries were sent, and how the service kept up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// How queries were sent, in words.
    pub load: String,
    /// Latencies over the whole run.
    pub latency: LatencySummary,
    /// Sampling step of the pooled gaps: one in this many queries contributes its gaps.
    pub gaps_of_every: u64,
    /// What was served while the load was full.
    pub steady: Option<Steady>,
    /// Why there is no such time, by part.
    pub not_steady: BTreeMap<u32, NotSteady>,
    /// Whether the queue grew, for an open loop of one part.
    pub queue: Option<Trend>,
    /// How the SLO was kept.
    pub slo: Option<SloKept>,
}

/// How an SLO was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloKept {
    /// As it was written.
    pub objectives: String,
    /// Where latencies count from that do not say.
    pub counted_from: Origin,
    /// Over the whole run.
    pub whole: Goodput,
    /// Over the queries that ended while the load was full, and per second of that time.
    pub steady: Goodput,
}

impl LoadSummary {
    /// How many queries the 99th percentile of latency would need; `None` where there were enough.
    pub fn p99_needs(&self) -> Option<u64> {
        match self.latency.total_seconds.sent?.p99 {
            Percentile::Unsupported { needs } => Some(needs),
            Percentile::Known { .. } => None,
        }
    }

    /// The most that a query began behind its plan, in seconds.
    pub fn largest_lag(&self) -> Option<f64> {
        self.latency.schedule_lag_seconds.map(|lag| lag.max)
    }
}
