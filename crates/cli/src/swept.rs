//! What a sweep came to, as its directory tells.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_analysis::saturation::Knee;
use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// What one load came to; `None` is not known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) load: f64,
    pub(crate) directory: PathBuf,
    /// Whether its load was ever full; saturation is told from such steps.
    #[serde(default = "yes")]
    pub(crate) is_steady: bool,
    pub(crate) requests_per_second: Option<f64>,
    pub(crate) tokens_per_second: Option<f64>,
    /// Queries that kept the SLO, per second of the steady window.
    #[serde(alias = "goodput")]
    pub(crate) goodput_requests_per_second: Option<f64>,
    #[serde(alias = "p50_seconds")]
    pub(crate) latency_p50: Option<f64>,
    #[serde(alias = "p99_seconds")]
    pub(crate) latency_p99: Option<f64>,
    pub(crate) watts: Option<f64>,
    #[serde(alias = "joules_per_token")]
    pub(crate) joules_per_output_token: Option<f64>,
    pub(crate) is_estimated: bool,
    pub(crate) accuracy: Option<f64>,
    #[serde(default)]
    pub(crate) ipw: Option<f64>,
    pub(crate) failed: u64,
    pub(crate) queue: Option<String>,
}

/// Sweeps of earlier versions told only steady steps.
const fn yes() -> bool {
    true
}

/// The name of what a sweep came to, in its directory.
pub(crate) const FILE: &str = "sweep.json";

/// What a sweep came to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Swept {
    pub(crate) axis: String,
    pub(crate) points: Vec<Point>,
    pub(crate) knee: Knee,
}

impl Swept {
    /// The sweep in this directory; `None` where there is none.
    pub(crate) fn open(directory: &Path) -> Result<Option<Self>, CliError> {
        let path = directory.join(FILE);
        let text = ipw_store::file::read_if_there(&path).map_err(anyhow::Error::from)?;
        let Some(text) = text else { return Ok(None) };
        let swept = serde_json::from_slice(&text)
            .with_context(|| format!("`{}` is not what a sweep writes", path.display()));
        Ok(Some(swept.map_err(CliError::usage)?))
    }
}
