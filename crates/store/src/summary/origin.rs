//! What a run was made from: the plan in the original's words, versions, the service.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ipw_core::server_metric::Span;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The original's configuration, key by key; `None` is not told, or has no meaning here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilerConfig {
    /// Id of the dataset.
    pub dataset_id: Option<String>,
    /// Id of the client.
    pub client_id: Option<String>,
    /// Where the service is.
    pub client_base_url: Option<String>,
    /// What the dataset was told: names as its author chose them.
    pub dataset_params: Option<GivenParameters>,
    /// What the client was told.
    pub client_params: Option<GivenParameters>,
    /// The model as it was named.
    pub model: Option<String>,
    /// Where runs go.
    pub output_dir: Option<String>,
    /// Queries in flight at most.
    pub max_concurrency: Option<u64>,
    /// Queries in all at most.
    pub max_queries: Option<u64>,
    /// The original's: whether phases were measured apart.
    pub phased_profiling: Option<bool>,
    /// The original's: whether it measured the hardware's peak first.
    pub run_hardware_benchmarks: Option<bool>,
    /// Generation parameters.
    pub additional_parameters: Option<GivenParameters>,
    /// Queries before the first that counts.
    pub warmup_queries: Option<u64>,
    /// The original's: how many seconds of readings it kept.
    pub telemetry_buffer_seconds: Option<f64>,
    /// The original's: how many readings it kept.
    pub telemetry_max_samples: Option<u64>,
}

/// Parameters as the user gave them. Their names are those of a dataset, a client or a service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenParameters(Map<String, Value>);

impl GivenParameters {
    /// Names and values.
    pub fn entries(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl From<Map<String, Value>> for GivenParameters {
    fn from(given: Map<String, Value>) -> Self {
        Self(given)
    }
}

/// Versions of what made a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Versions {
    /// Ours.
    pub ipw: Option<Cow<'static, str>>,
    /// The original's key; `None` for a run of ours, which has no Python.
    pub python: Option<String>,
}

impl Versions {
    /// Ours, as this build has it.
    pub const IPW: &'static str = env!("CARGO_PKG_VERSION");

    /// This build's.
    pub const fn here() -> Self {
        Self {
            ipw: Some(Cow::Borrowed(Self::IPW)),
            python: None,
        }
    }
}

/// What the client says of the service. Its keys are the service's own, but for a few of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientInfo(Value);

impl ClientInfo {
    /// What was said; `None` where that is nothing.
    pub fn of(said: Value) -> Option<Self> {
        (!said.is_null()).then_some(Self(said))
    }

    /// Everything that was said.
    pub fn said(&self) -> &Value {
        &self.0
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// Address of the service.
    pub fn base_url(&self) -> Option<&str> {
        self.text("base_url")
    }

    /// The model's file.
    pub fn file(&self) -> Option<&str> {
        self.text("file")
    }

    /// The proxy on the way to the service.
    pub fn proxy(&self) -> Option<&str> {
        self.text("proxy")
    }

    /// Fingerprints of the tokenizer's files, by name; `None` where no tokenizer counted.
    pub fn tokenizer_files(&self) -> Option<&Value> {
        self.0.get("tokenizer")?.get("files")
    }
}

/// What the service's page of metrics said over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerMetrics {
    /// Where the page is.
    pub url: String,
    /// Pages that came.
    pub pages: u64,
    /// Requests that brought none.
    pub failed: u64,
    /// Why the last of those did.
    pub fault: Option<String>,
    /// Whether all samples are on disk.
    pub is_complete: bool,
    /// Series that were not kept; `None` in files of earlier versions.
    #[serde(default)]
    pub dropped_series: Option<u64>,
    /// Metrics by our names, summed over their labels.
    pub metrics: BTreeMap<Cow<'static, str>, Span>,
}
