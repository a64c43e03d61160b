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
    pub(crate) requests_per_second: Option<f64>,
    pub(crate) tokens_per_second: Option<f64>,
    pub(crate) goodput: Option<f64>,
    pub(crate) p50_seconds: Option<f64>,
    pub(crate) p99_seconds: Option<f64>,
    pub(crate) watts: Option<f64>,
    pub(crate) joules_per_token: Option<f64>,
    pub(crate) is_estimated: bool,
    pub(crate) accuracy: Option<f64>,
    pub(crate) failed: u64,
    pub(crate) queue: Option<String>,
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
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let what = format!("cannot read `{}`", path.display());
                return Err(anyhow::Error::from(error).context(what).into());
            }
        };
        let swept = serde_json::from_slice(&text)
            .with_context(|| format!("`{}` is not what a sweep writes", path.display()));
        Ok(Some(swept.map_err(CliError::usage)?))
    }
}
