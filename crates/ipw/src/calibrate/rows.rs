//! Reads the rows of a calibration's runs back from disk.

use std::path::Path;

use ipw_store::tables::{arrow_stream, data_files};
use serde::Deserialize;
use serde_json::Value;

/// The columns to compare; instants in seconds on the run's clock.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    pub(super) query_index: u64,
    pub(super) outcome: String,
    pub(super) timing: Timing,
    energy: Energy,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Timing {
    #[serde(rename = "due_seconds")]
    pub(super) due: f64,
    #[serde(rename = "start_seconds")]
    pub(super) start: f64,
    #[serde(rename = "sent_seconds")]
    pub(super) sent: Option<f64>,
    #[serde(rename = "first_token_seconds")]
    pub(super) first_token: Option<f64>,
    #[serde(rename = "end_seconds")]
    pub(super) end: f64,
    #[serde(rename = "chunk_seconds")]
    pub(super) chunks: Vec<f64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Energy {
    shares: Vec<Share>,
}

/// The energy of the query by one source.
#[derive(Debug, Clone, Deserialize)]
struct Share {
    name: String,
    total_joules: Option<f64>,
    sigma_joules: Option<f64>,
}

impl Row {
    /// Energy and standard deviation by one source; `None` if the row has none.
    pub(super) fn energy(&self, source: &str) -> Option<(f64, f64)> {
        let share = self
            .energy
            .shares
            .iter()
            .find(|share| share.name == source)?;
        share.total_joules.zip(share.sigma_joules)
    }
}

/// All rows of a run.
pub(super) fn read(run: &Path) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for file in data_files(run)? {
        for slice in arrow_stream(&file)? {
            for object in slice? {
                rows.push(serde_json::from_value(Value::Object(object))?);
            }
        }
    }
    Ok(rows)
}
