//! `summary.json`: the original's keys in its order, then ours.

use std::collections::BTreeMap;
use std::path::Path;

use ipw_core::hardware::SystemInfo;
use ipw_core::rollup::Choice;
use ipw_core::time::{Anchor, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FORMAT_VERSION, Overview, StoreError, file};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on, or its process was killed.
    Running,
    /// All queries were sent.
    Complete,
    /// It was told to stop.
    Interrupted,
    /// It broke.
    Failed,
}

impl Status {
    /// The status as the file spells it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// What a run is, and what came out of it.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The model's label.
    pub model: String,
    /// The plan in the original's words.
    pub profiler_config: Value,
    /// Id of the dataset.
    pub dataset: String,
    /// Its name.
    pub dataset_name: String,
    /// Short name of the hardware.
    pub hardware_label: String,
    /// When this file was written: seconds since the Unix epoch.
    pub generated_at: f64,
    /// Rows on disk.
    pub total_queries: u64,
    /// The machine.
    pub system_info: Option<SystemInfo>,
    /// The GPU.
    pub gpu_info: Option<Value>,
    /// Where the run lies.
    pub output_dir: String,
    /// Versions of what made it.
    pub versions: Versions,
    /// What the client says of the service.
    pub client_info: Option<Value>,
    /// Version of the run directory's format.
    pub format_version: u32,
    /// How the run stands.
    pub status: Status,
    /// Why, when it is not simply complete.
    pub reason: Option<String>,
    /// The processes that made it.
    pub parts: Vec<Part>,
    /// Which sources the headline counts: `all`, `gpu`, `cpu` or `soc`.
    pub basis: Choice,
    /// Every metric of the dictionary by id; `None` while it runs.
    pub metrics: Option<Value>,
    /// The sources, what each counted, and what sampling them cost.
    pub telemetry: Option<Value>,
    /// Accuracy, and what a watt and a joule bought of it; `None` while it runs.
    pub efficiency: Option<Value>,
    /// What came out; `None` while it runs.
    pub overview: Option<Overview>,
    /// Latencies with their intervals, the steady window, SLO and queue; `None` while it runs.
    pub load: Option<Value>,
    /// What `ipw calibrate` last found on this hardware; `None` where it never ran.
    pub calibration: Option<Value>,
    /// Doubts about the numbers, each with advice; `None` while it runs.
    pub quality: Option<Value>,
    /// Which version and method made the energy of the rows; `None` while it runs.
    pub attribution: Option<Value>,
    /// What one more token and one more second cost, by source of the basis; `None` while it runs,
    /// and where nothing measures.
    pub marginal: Option<Value>,
    /// What the user calls the run.
    pub name: Option<String>,
    /// What the user notes about the run.
    pub tags: BTreeMap<String, String>,
    /// What the service said of itself; left out where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<Value>,
}

/// Versions of what made a run.
#[derive(Debug, Clone, Serialize)]
pub struct Versions {
    /// Ours.
    pub ipw: &'static str,
    /// The original's key; there is no Python here.
    pub python: Option<String>,
}

impl Versions {
    /// This build's.
    pub const fn here() -> Self {
        Self {
            ipw: env!("CARGO_PKG_VERSION"),
            python: None,
        }
    }
}

/// A stretch of a run by one process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Part {
    /// Its number, from 0.
    pub part: u32,
    /// Where its reference lies on the machine's clocks.
    #[serde(flatten)]
    pub anchor: Anchor,
}

impl Summary {
    /// Of a run that begins in this directory: what nobody has told is empty or null.
    pub fn begun(directory: &Path, anchor: Anchor) -> Self {
        Self {
            model: String::new(),
            profiler_config: Value::Null,
            dataset: String::new(),
            dataset_name: String::new(),
            hardware_label: String::new(),
            generated_at: anchor.unix_seconds(Timestamp::ZERO),
            total_queries: 0,
            system_info: None,
            gpu_info: None,
            output_dir: directory.display().to_string(),
            versions: Versions::here(),
            client_info: None,
            format_version: FORMAT_VERSION,
            status: Status::Running,
            reason: None,
            parts: vec![Part { part: 0, anchor }],
            basis: Choice::All,
            metrics: None,
            telemetry: None,
            efficiency: None,
            overview: None,
            load: None,
            calibration: None,
            quality: None,
            attribution: None,
            marginal: None,
            name: None,
            tags: BTreeMap::new(),
            server_metrics: None,
        }
    }

    pub(crate) fn write(&self, directory: &Path, durable: bool) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec_pretty(self).expect("a summary serializes");
        text.push(b'\n');
        file::replace(&directory.join("summary.json"), &text, durable)
    }
}

/// Replaces `summary.json`.
pub(crate) fn replace(directory: &Path, summary: &Value) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(summary).expect("JSON values serialize");
    text.push(b'\n');
    file::replace(&directory.join("summary.json"), &text, true)
}
