//! What a sweep came to, as its directory tells.

use std::path::{Path, PathBuf};

use ipw_analysis::saturation::Knee;
use ipw_store::StoreError;
use serde::{Deserialize, Serialize};

/// What one load came to; `None` is not known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Point {
    /// Queries in flight, or per second.
    pub load: f64,
    /// Where its run lies.
    pub directory: PathBuf,
    /// Whether its load was ever full; saturation is told from such steps.
    #[serde(default = "yes")]
    pub is_steady: bool,
    /// Queries served per second.
    pub requests_per_second: Option<f64>,
    /// Output tokens per second.
    pub tokens_per_second: Option<f64>,
    /// Queries that kept the SLO, per second of the steady window.
    #[serde(alias = "goodput")]
    pub goodput_requests_per_second: Option<f64>,
    /// Median time of a query in seconds, from the planned send.
    #[serde(alias = "p50_seconds")]
    pub latency_p50: Option<f64>,
    /// The 99th percentile of that time.
    #[serde(alias = "p99_seconds")]
    pub latency_p99: Option<f64>,
    /// Mean power of the service.
    pub watts: Option<f64>,
    /// Energy per output token.
    #[serde(alias = "joules_per_token")]
    pub joules_per_output_token: Option<f64>,
    /// Whether the energy is estimated.
    pub is_estimated: bool,
    /// Share of right answers.
    pub accuracy: Option<f64>,
    /// Accuracy per watt.
    #[serde(default)]
    pub ipw: Option<f64>,
    /// Queries that failed.
    pub failed: u64,
    /// What the queue did, in a word.
    pub queue: Option<String>,
}

/// Sweeps of earlier versions told only steady steps.
const fn yes() -> bool {
    true
}

/// The name of what a sweep came to, in its directory.
pub const FILE: &str = "sweep.json";

/// What a sweep came to.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepResult {
    /// `concurrency` or `rate`.
    pub axis: String,
    /// The steps, in the order in which they ran.
    pub points: Vec<Point>,
    /// Where throughput stopped growing.
    pub knee: Knee,
}

impl SweepResult {
    /// The sweep in this directory; `None` without one.
    pub fn open(directory: &Path) -> Result<Option<Self>, SweepError> {
        let path = directory.join(FILE);
        let Some(text) = ipw_store::file::read_if_there(&path)? else {
            return Ok(None);
        };
        match serde_json::from_slice(&text) {
            Ok(swept) => Ok(Some(swept)),
            Err(source) => Err(SweepError::NotASweep { path, source }),
        }
    }
}

/// Why a sweep cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file holds something else.
    #[error("`{}` is not what a sweep writes", path.display())]
    NotASweep {
        /// Which file.
        path: PathBuf,
        /// Where and how.
        #[source]
        source: serde_json::Error,
    },
}
