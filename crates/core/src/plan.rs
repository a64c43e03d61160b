//! The plan: the settings of a run, resolved and checked before the first request.
//!
//! It is stored with the run and can be run again. It contains no secrets, only where to read them.

mod arrivals;
mod stop;
mod tolerance;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::{ClientSpec, MAX_REPLY};
use crate::dataset::DatasetSpec;
use crate::params::Params;
use crate::price::Price;
use crate::rollup::Choice;
use crate::seconds;

pub use arrivals::{Arrivals, Process, Rate};
pub use stop::Stop;
pub use tolerance::{Failures, Tolerance};

/// The resolved settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model, as the service knows it.
    pub model: String,
    /// The scorer of every row; `None` for the one that the row names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<String>,
    /// The tokenizer that counts tokens, or checks the service's counts; `None` for no tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Source of the queries.
    pub dataset: DatasetSpec,
    /// The service that answers them.
    pub client: ClientSpec,
    /// System text and generation parameters.
    pub generation: Generation,
    /// When queries are sent.
    pub load: Load,
    /// Limits on failures.
    #[serde(default)]
    pub failures: Failures,
    /// Energy and hardware measurement.
    pub telemetry: Telemetry,
    /// Where and how rows are stored.
    pub output: Output,
    /// Token prices, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// URL of the service's metrics, or `off`; `None` tries the usual place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<String>,
    /// The service to start for the run; `None` if it runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Launch>,
    /// Tags for finding the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A service that is started for the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The program and its arguments; no shell is involved.
    pub command: Vec<String>,
    /// URL that answers when the service is ready; `None` for the client's own health check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_url: Option<String>,
}

/// System text and generation parameters that the user asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Text for the system role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Parameters sent with each request; they override the dataset's.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// Schedule of the queries and time limits of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// How queries arrive.
    pub arrivals: Arrivals,
    /// When the run ends.
    pub stop: Stop,
    /// How long to send queries; `None` for no time limit.
    #[serde(
        rename = "duration_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub duration: Option<Duration>,
    /// How long the load ramps up to its full level.
    #[serde(
        rename = "ramp_seconds",
        with = "seconds",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pub ramp: Duration,
    /// Number of passes over the dataset; `None` for one, or with a duration as many as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<NonZeroU64>,
    /// Seed of the schedule.
    #[serde(default)]
    pub seed: u64,
    /// Number of retries of a failed query.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retries: u32,
    /// Whether each prompt starts with a unique text, so that no prompt cache matches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique_prefix: bool,
    /// The service-level objective, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
    /// Number of warm-up queries.
    pub warmup: u32,
    /// Time limit of one query.
    #[serde(rename = "request_timeout_seconds", with = "seconds")]
    pub request_timeout: Duration,
    /// Time limit of the first token.
    #[serde(
        rename = "first_token_timeout_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub first_token_timeout: Option<Duration>,
    /// Longest pause between two events of a reply.
    #[serde(
        rename = "idle_timeout_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<Duration>,
    /// Size limit of a reply's body, in bytes.
    #[serde(
        rename = "max_reply_bytes",
        default = "max_reply",
        skip_serializing_if = "is_max_reply"
    )]
    pub max_reply: u64,
}

const fn max_reply() -> u64 {
    MAX_REPLY
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
const fn is_max_reply(bytes: &u64) -> bool {
    *bytes == MAX_REPLY
}

/// Energy and hardware measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Polling interval, for sources that support it.
    #[serde(rename = "sample_interval_seconds", with = "seconds")]
    pub sample_interval: Duration,
    /// Whether to refuse a run without measured energy.
    pub require_energy: bool,
    /// Whether to estimate energy where no source measures it.
    pub estimate: bool,
    /// The CPU's design power, if the user sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_tdp_watts: Option<f64>,
    /// The GPUs to measure, by index, UUID or PCI address; empty for all visible ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// How long to measure idle power, before and after the run.
    #[serde(rename = "idle_seconds", with = "seconds", default)]
    pub idle: Duration,
    /// The sources that the headline counts.
    #[serde(default, skip_serializing_if = "is_all")]
    pub basis: Choice,
    /// Where the service runs.
    pub service_host: ServiceHost,
    /// Process ids of the service, if the user sets them; otherwise they are found by its address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_pids: Vec<u32>,
    /// Machines that report readings; empty for this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSpec>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_all(basis: &Choice) -> bool {
    *basis == Choice::All
}

/// A machine that reports readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// `local`, `none`, or an address.
    pub place: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub params: Params,
}

/// Where the service runs, for energy attribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceHost {
    /// This machine if the service has one of its addresses.
    Auto,
    /// This machine, whatever the address of the service.
    Local,
    /// Another machine, whatever the address of the service.
    Remote,
}

/// Where and how rows are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Parent directory of run directories.
    pub directory: PathBuf,
    /// Maximum number of rows in one commit.
    pub flush_every: usize,
    /// Whether each commit waits for the disk (fsync).
    pub durable: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
const fn is_none(retries: &u32) -> bool {
    *retries == 0
}

impl Default for Load {
    /// Sequential queries, one pass over the dataset.
    fn default() -> Self {
        Self {
            arrivals: Arrivals::Sequential,
            stop: Stop::Exhausted,
            duration: None,
            ramp: Duration::ZERO,
            repeat: None,
            seed: 0,
            retries: 0,
            unique_prefix: false,
            slo: None,
            warmup: 3,
            request_timeout: Duration::from_mins(10),
            first_token_timeout: None,
            idle_timeout: None,
            max_reply: MAX_REPLY,
        }
    }
}

impl Default for Telemetry {
    /// All sources of this machine every 10 ms, with 3 s of idle power before and after.
    fn default() -> Self {
        Self {
            sample_interval: Duration::from_millis(10),
            require_energy: false,
            estimate: true,
            cpu_tdp_watts: None,
            gpus: Vec::new(),
            idle: Duration::from_secs(3),
            basis: Choice::All,
            service_host: ServiceHost::Auto,
            service_pids: Vec::new(),
            sources: Vec::new(),
        }
    }
}

impl Default for Output {
    /// Run directories in `runs`.
    fn default() -> Self {
        Self {
            directory: PathBuf::from("runs"),
            flush_every: 100,
            durable: false,
        }
    }
}

impl Load {
    /// Number of passes over the dataset; `None` for as many as it takes.
    pub fn rounds(&self) -> Option<NonZeroU64> {
        let once = self.duration.is_none().then_some(NonZeroU64::MIN);
        self.repeat.or(once)
    }
}

impl Load {
    /// Number of queries of a dataset with `size` rows; `None` for as many as time allows.
    pub fn rounds_of(&self, size: u64) -> Option<u64> {
        Some(size.saturating_mul(self.rounds()?.get()))
    }
}

impl Plan {
    /// A plan with defaults: all queries of a dataset, sent to a client.
    pub fn new(model: impl Into<String>, client: ClientSpec, dataset: DatasetSpec) -> Self {
        Self {
            name: None,
            model: model.into(),
            scorer: None,
            tokenizer: None,
            dataset,
            client,
            generation: Generation::default(),
            load: Load::default(),
            failures: Failures::default(),
            telemetry: Telemetry::default(),
            output: Output::default(),
            price: None,
            server_metrics: None,
            launch: None,
            tags: BTreeMap::new(),
        }
    }

    /// The parameters of one request; the user's override the dataset's.
    pub fn parameters_over(&self, dataset: &Map<String, Value>) -> Map<String, Value> {
        let mut merged = dataset.clone();
        for (name, value) in &self.generation.parameters {
            merged.insert(name.clone(), value.clone());
        }
        merged
    }
}
