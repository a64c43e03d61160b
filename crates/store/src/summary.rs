//! `summary.json`: the original's keys in its order, then ours.
//!
//! A [`Summary`] is the whole file as types, for writing and for reading. Every key is optional when
//! it is read: files of older versions and of the original have what they have, and a key whose
//! content is not understood is `None` and told of ([`Unread`]). `stored` keeps the file as it was
//! read, so that a rewrite changes only what has changed.

mod calibration;
mod energy;
mod load;
mod origin;
mod quality;
mod scoring;
mod stored;

use std::collections::BTreeMap;
use std::path::Path;

use ipw_analysis::metric::Values;
use ipw_core::hardware::{GpuInfo, SystemInfo};
use ipw_core::rollup::Choice;
use ipw_core::telemetry::Telemetry;
use ipw_core::time::{Anchor, Timestamp};
use ipw_core::warning::Warning;
use serde::{Deserialize, Serialize};

pub use calibration::{Calibration, Check, Unit};
pub use energy::{
    Attribution, DerivedMetrics, EfficiencySummary, MarginalCosts, SourceCost, Untold,
};
pub use load::{LoadSummary, SloKept};
pub use origin::{ClientInfo, GivenParameters, ProfilerConfig, ServerMetrics, Versions};
pub use quality::QualityEntry;
pub use scoring::{Judging, Scoring};
pub(crate) use stored::Stored;
pub use stored::Unread;

use crate::{FORMAT_VERSION, Overview};

/// Name of the file in a run's directory.
pub const FILE: &str = "summary.json";

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// What a run is, and what came out of it; `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The model's label.
    pub model: Option<String>,
    /// The plan in the original's words.
    pub profiler_config: Option<ProfilerConfig>,
    /// Id of the dataset.
    pub dataset: Option<String>,
    /// Its name.
    pub dataset_name: Option<String>,
    /// Short name of the hardware.
    pub hardware_label: Option<String>,
    /// When this file was written: seconds since the Unix epoch.
    pub generated_at: Option<f64>,
    /// Rows on disk.
    pub total_queries: Option<u64>,
    /// The machine.
    pub system_info: Option<SystemInfo>,
    /// The first GPU.
    pub gpu_info: Option<GpuInfo>,
    /// Where the run lies.
    pub output_dir: Option<String>,
    /// Versions of what made it.
    pub versions: Option<Versions>,
    /// What the client says of the service.
    pub client_info: Option<ClientInfo>,
    /// Version of the run directory's format.
    pub format_version: Option<u32>,
    /// How the run stands.
    pub status: Option<Status>,
    /// Why, when it is not simply complete.
    pub reason: Option<String>,
    /// The processes that made it.
    pub parts: Vec<Part>,
    /// Which sources the headline counts: `all`, `gpu`, `cpu` or `soc`.
    pub basis: Option<Choice>,
    /// Every metric of the dictionary by id; `None` while it runs.
    pub metrics: Option<Values>,
    /// The sources, what each counted, and what sampling them cost; `None` while it runs.
    pub telemetry: Option<Telemetry>,
    /// Accuracy, and what a watt and a joule bought of it; `None` while it runs.
    pub efficiency: Option<EfficiencySummary>,
    /// What came out; `None` while it runs.
    pub overview: Option<Overview>,
    /// Latencies with their intervals, the steady window, SLO and queue; `None` while it runs.
    pub load: Option<LoadSummary>,
    /// What `ipw calibrate` last found on this hardware; `None` where it never ran.
    pub calibration: Option<Calibration>,
    /// Warnings about the numbers; `None` while it runs.
    #[serde(serialize_with = "quality::serialize")]
    pub quality: Option<Vec<Warning>>,
    /// Which version and method made the energy of the rows; `None` while it runs.
    pub attribution: Option<Attribution>,
    /// What one more token and one more second cost, by source of the basis; `None` while it runs,
    /// and where nothing measures.
    pub marginal: Option<MarginalCosts>,
    /// What the user calls the run.
    pub name: Option<String>,
    /// What the user notes about the run.
    pub tags: BTreeMap<String, String>,
    /// What the service said of itself; left out where its page was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<ServerMetrics>,
    /// The last `ipw score` that graded a row; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoring: Option<Scoring>,
}

/// A stretch of a run by one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its number, from 0.
    pub part: u32,
    /// Where its reference lies on the machine's clocks.
    #[serde(flatten)]
    pub anchor: Anchor,
}

impl Summary {
    /// Of a run that begins in this directory: texts that are not told are empty, all else is null.
    pub fn begun(directory: &Path, anchor: Anchor) -> Self {
        Self {
            model: Some(String::new()),
            dataset: Some(String::new()),
            dataset_name: Some(String::new()),
            hardware_label: Some(String::new()),
            generated_at: Some(anchor.unix_seconds(Timestamp::ZERO)),
            total_queries: Some(0),
            output_dir: Some(directory.display().to_string()),
            versions: Some(Versions::here()),
            format_version: Some(FORMAT_VERSION),
            status: Some(Status::Running),
            parts: vec![Part { part: 0, anchor }],
            basis: Some(Choice::All),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
