//! The plan: what a run does, resolved and checked before the first request.
//!
//! It is stored with the run and can be run again. It holds no secret, only where one comes from.

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

/// A run, before it happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the user calls the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model, as the service knows it.
    pub model: String,
    /// What grades every row; `None`: what the row names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<String>,
    /// What counts tokens where the service does not say, and checks where it does; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Where queries come from.
    pub dataset: DatasetSpec,
    /// Where they go.
    pub client: ClientSpec,
    /// What is sent beside the prompt.
    pub generation: Generation,
    /// When queries are sent.
    pub load: Load,
    /// What failures do to it.
    #[serde(default)]
    pub failures: Failures,
    /// What is read from the hardware.
    pub telemetry: Telemetry,
    /// Where rows go.
    pub output: Output,
    /// What tokens cost; `None` without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Where the service says what it does, or `off`; `None`: where such services usually do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<String>,
    /// The service that is started for the run; `None` where it is there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Launch>,
    /// What the user notes about the run, to find it by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A service that is started for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The program and its arguments; no shell.
    pub command: Vec<String>,
    /// What answers when it is ready; the client's own question where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_url: Option<String>,
}

/// What is sent beside the prompt: only what the user asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Text for the system role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Parameters sent with each request; they go over the dataset's own.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// When queries are sent, and for how long each may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The rule by which queries arrive.
    pub arrivals: Arrivals,
    /// The rule by which the run ends.
    pub stop: Stop,
    /// How long queries are sent; `None`: until the rule above says.
    #[serde(
        rename = "duration_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub duration: Option<Duration>,
    /// How long the load grows to its full height.
    #[serde(
        rename = "ramp_seconds",
        with = "seconds",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pub ramp: Duration,
    /// How often the dataset is gone through; `None`: once, or with a duration as often as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<NonZeroU64>,
    /// What the schedule comes from.
    #[serde(default)]
    pub seed: u64,
    /// How often a query that failed is sent again.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retries: u32,
    /// Whether every prompt begins with a text of its own, so that no cache knows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique_prefix: bool,
    /// Limits that a good reply keeps, as they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
    /// Queries before the first that counts.
    pub warmup: u32,
    /// How long one query may take.
    #[serde(rename = "request_timeout_seconds", with = "seconds")]
    pub request_timeout: Duration,
    /// How long the first token may take.
    #[serde(
        rename = "first_token_timeout_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub first_token_timeout: Option<Duration>,
    /// How long the service may be silent between two events of a reply.
    #[serde(
        rename = "idle_timeout_seconds",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<Duration>,
    /// How many bytes the body of one reply may have.
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
    reason = "serde hands over the field"
)]
const fn is_max_reply(bytes: &u64) -> bool {
    *bytes == MAX_REPLY
}

/// What is read from the hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Time between two readings, for sources that can be read so often.
    #[serde(rename = "sample_interval_seconds", with = "seconds")]
    pub sample_interval: Duration,
    /// Whether a run without measured energy is refused.
    pub require_energy: bool,
    /// Whether energy may be estimated where nothing measures it.
    pub estimate: bool,
    /// The CPU's design power, if the user says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_tdp_watts: Option<f64>,
    /// The GPUs that are meant, by index, UUID or place on the bus; empty for all that are visible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// How long idle power is measured, before and after.
    #[serde(rename = "idle_seconds", with = "seconds", default)]
    pub idle: Duration,
    /// Which sources the headline counts.
    #[serde(default, skip_serializing_if = "is_all")]
    pub basis: Choice,
    /// Where the service runs.
    pub service_host: ServiceHost,
    /// The processes of the service, if the user names them; else they are found by its address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_pids: Vec<u32>,
    /// Where readings come from; empty for this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSpec>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_all(basis: &Choice) -> bool {
    *basis == Choice::All
}

/// A place that readings come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// `local`, `none`, or an address.
    pub place: String,
    /// What was said about it.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub params: Params,
}

/// Where the service runs, as far as energy is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceHost {
    /// Here if its address is one of this machine's.
    Auto,
    /// Here, whatever its address says.
    Local,
    /// Elsewhere, whatever its address says.
    Remote,
}

/// Where rows go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The directory in which run directories are made.
    pub directory: PathBuf,
    /// Rows in one commit at the most.
    pub flush_every: usize,
    /// Whether each commit waits for the disk.
    pub durable: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over the field"
)]
const fn is_none(retries: &u32) -> bool {
    *retries == 0
}

impl Default for Load {
    /// Queries one after the other, until the dataset has no more.
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
    /// What this machine has, every 10 ms; idle power for 3 s before and after.
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
    /// Below `runs`.
    fn default() -> Self {
        Self {
            directory: PathBuf::from("runs"),
            flush_every: 100,
            durable: false,
        }
    }
}

impl Load {
    /// How often the dataset is gone through; `None`: as often as it takes.
    pub fn rounds(&self) -> Option<NonZeroU64> {
        let once = self.duration.is_none().then_some(NonZeroU64::MIN);
        self.repeat.or(once)
    }
}

impl Load {
    /// Number of queries of a dataset with `size` rows; `None`: as many as the time allows.
    pub fn rounds_of(&self, size: u64) -> Option<u64> {
        Some(size.saturating_mul(self.rounds()?.get()))
    }
}

impl Plan {
    /// All of a dataset's queries to a client, with the defaults of everything else.
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

    /// The parameters of one request: the user's over the dataset's.
    pub fn parameters_over(&self, dataset: &Map<String, Value>) -> Map<String, Value> {
        let mut merged = dataset.clone();
        for (name, value) in &self.generation.parameters {
            merged.insert(name.clone(), value.clone());
        }
        merged
    }
}
