//! `ipw profile`.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use ipw::sweep::Sweep;
use ipw_runner::{Process, Rate, Tolerance};
use serde::Deserialize;

use super::values::{table_of_json, table_of_texts};
use super::{BasisChoice, HostChoice, KeyValue, NetworkArgs, Pause, Size, Span};

/// Flags of `ipw profile`, and keys of `[profile]` in `ipw.toml`.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ProfileArgs {
    /// How to reach the service (see `ipw list clients`) [default: embedded, with a URL openai]
    #[arg(long, value_name = "ID", env = "IPW_CLIENT", help_heading = "Service")]
    pub(crate) client: Option<String>,
    /// The model: by the name that the service knows; for the engine a name that `ipw models list`
    /// shows, a GGUF file or `hf:owner/repo/file.gguf` [default: smollm2-135m, or the service's
    /// only one]
    #[arg(long, value_name = "NAME", env = "IPW_MODEL", help_heading = "Service")]
    pub(crate) model: Option<String>,
    /// Where the service is, with or without `/v1`; `unix:PATH` for a socket
    #[arg(
        long,
        value_name = "URL",
        env = "IPW_CLIENT_BASE_URL",
        help_heading = "Service"
    )]
    pub(crate) client_base_url: Option<String>,
    /// Which of OpenAI's APIs the service is asked by: chat, completions or responses [default: chat]
    #[arg(long, value_name = "API", env = "IPW_API", help_heading = "Service")]
    pub(crate) api: Option<String>,
    /// A parameter of the client; repeat for more
    #[arg(long, value_name = "K=V", help_heading = "Service")]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) client_param: Vec<KeyValue>,
    /// Environment variable that holds the API key (the key itself is never a flag)
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_API_KEY_ENV",
        help_heading = "Service"
    )]
    pub(crate) api_key_env: Option<String>,
    /// File whose first line is the API key
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_API_KEY_FILE",
        conflicts_with = "api_key_env",
        help_heading = "Service"
    )]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Allow the key to travel over plain http beyond this machine
    #[arg(long, help_heading = "Service")]
    pub(crate) insecure_key: bool,
    /// What the service says of itself (a page for Prometheus) is stored beside the rows: its address,
    /// or `off` [default: /metrics of a service on this machine]
    #[arg(
        long,
        value_name = "URL",
        env = "IPW_SERVER_METRICS",
        help_heading = "Service"
    )]
    pub(crate) server_metrics: Option<String>,
    /// PEM file of authorities to trust beside the system's
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_CA_FILE",
        help_heading = "Service"
    )]
    pub(crate) ca_file: Option<PathBuf>,
    /// File of `Name: value` lines that go with every request; they are neither stored nor shown
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_HEADER_FILE",
        help_heading = "Service"
    )]
    pub(crate) header_file: Option<PathBuf>,
    /// Environment variable that holds one such line; repeat for more
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_HEADER_ENV",
        value_delimiter = ',',
        help_heading = "Service"
    )]
    pub(crate) header_env: Vec<String>,
    /// Speak HTTP/2, and nothing else: many queries share one connection [default: HTTP/1.1]
    #[arg(long, help_heading = "Service")]
    pub(crate) http2: bool,
    /// Start the service for this run: the command stands behind `--`, runs without a shell, and ends
    /// with the run
    #[arg(long, help_heading = "Service")]
    #[serde(skip)]
    pub(crate) launch: bool,
    /// What answers when the launched service is ready [default: as the command or the client has it]
    #[arg(
        long,
        value_name = "URL",
        requires = "launch",
        help_heading = "Service"
    )]
    #[serde(skip)]
    pub(crate) ready_url: Option<String>,
    /// How long a launched service may take to be ready [default: 10m]
    #[arg(long, value_name = "D", help_heading = "Service")]
    #[serde(skip)]
    pub(crate) ready_timeout: Option<Span>,
    /// Let a stored plan start the service that it names
    #[arg(long, help_heading = "Service")]
    #[serde(skip)]
    pub(crate) allow_launch: bool,
    /// Let a stored plan send the keys and headers that it names to the address that it names
    #[arg(long, help_heading = "Service")]
    #[serde(skip)]
    pub(crate) allow_key: bool,
    /// How long one query may take [default: 10m]
    #[arg(
        long,
        value_name = "D",
        env = "IPW_REQUEST_TIMEOUT",
        help_heading = "Service"
    )]
    pub(crate) request_timeout: Option<Span>,

    /// How long the first token may take [default: as long as the query]
    #[arg(
        long,
        value_name = "D",
        env = "IPW_FIRST_TOKEN_TIMEOUT",
        help_heading = "Service"
    )]
    pub(crate) first_token_timeout: Option<Span>,
    /// How long the service may be silent in the middle of a reply [default: as long as the query]
    #[arg(
        long,
        value_name = "D",
        env = "IPW_IDLE_TIMEOUT",
        help_heading = "Service"
    )]
    pub(crate) idle_timeout: Option<Span>,
    /// How many bytes one reply may have, as 64KiB or 1GiB [default: 256MiB]
    #[arg(
        long,
        value_name = "SIZE",
        env = "IPW_MAX_REPLY",
        help_heading = "Service"
    )]
    pub(crate) max_reply: Option<Size>,

    /// A known dataset or a file (see `ipw list datasets`) [default: starter]
    #[arg(
        long,
        value_name = "ID|PATH",
        env = "IPW_DATASET",
        help_heading = "Workload"
    )]
    pub(crate) dataset: Option<String>,
    /// A parameter of the dataset; repeat for more
    #[arg(long, value_name = "K=V", help_heading = "Workload")]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) dataset_param: Vec<KeyValue>,
    /// Send at most so many queries [default: all]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_MAX_QUERIES",
        help_heading = "Workload"
    )]
    pub(crate) max_queries: Option<NonZeroU64>,
    /// So many queries at a time; with `--rate` or `--trace` never more than so many [default: 1]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_CONCURRENCY",
        help_heading = "Workload"
    )]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// Send by a schedule, so many queries per second, whatever the service does
    #[arg(long, value_name = "R", env = "IPW_RATE", help_heading = "Workload")]
    pub(crate) rate: Option<Rate>,
    /// How the queries of `--rate` are spread: constant, poisson or gamma:SHAPE [default: poisson]
    #[arg(long, value_name = "HOW", requires = "rate", help_heading = "Workload")]
    pub(crate) arrival: Option<Process>,
    /// Send at the times in this file: seconds, one in a line
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "rate",
        help_heading = "Workload"
    )]
    pub(crate) trace: Option<PathBuf>,
    /// Let the load grow for so long until it is full [default: 0]
    #[arg(long, value_name = "D", env = "IPW_RAMP", help_heading = "Workload")]
    pub(crate) ramp: Option<Pause>,
    /// Send no more after so long; the dataset is repeated as often as it takes
    #[arg(
        long,
        value_name = "D",
        env = "IPW_DURATION",
        help_heading = "Workload"
    )]
    pub(crate) duration: Option<Span>,
    /// Go through the dataset so often [default: 1]
    #[arg(long, value_name = "N", env = "IPW_REPEAT", help_heading = "Workload")]
    pub(crate) repeat: Option<NonZeroU64>,
    /// What the schedule of `--rate` comes from: the same seed, the same schedule [default: 0]
    #[arg(long, value_name = "N", env = "IPW_SEED", help_heading = "Workload")]
    pub(crate) seed: Option<u64>,
    /// Send a query that failed again, at most so often; the attempts are in its row [default: 0]
    #[arg(long, value_name = "N", env = "IPW_RETRIES", help_heading = "Workload")]
    pub(crate) retries: Option<u32>,
    /// Begin every prompt with a text of its own, so that no prefix cache knows it
    #[arg(long, help_heading = "Workload")]
    pub(crate) unique_prefix: bool,
    /// Limits that a good reply keeps, like ttft=500ms,tpot=50ms,e2e=5s: verdict per row, goodput
    #[arg(
        long,
        value_name = "LIMITS",
        env = "IPW_SLO",
        help_heading = "Workload"
    )]
    pub(crate) slo: Option<String>,
    /// One run for each load, and a table over them: concurrency=1,2,4,8 or rate=1,2,4
    #[arg(long, value_name = "AXIS=LIST", conflicts_with_all = ["resume", "plan"],
          help_heading = "Workload")]
    #[serde(skip)]
    pub(crate) sweep: Option<Sweep>,
    /// Double the concurrency (with `--rate` the rate) until more brings nothing more
    #[arg(long, conflicts_with_all = ["sweep", "resume", "plan"], help_heading = "Workload")]
    #[serde(skip)]
    pub(crate) find_saturation: bool,
    /// A generation parameter sent with each request, typed as JSON; repeat for more
    #[arg(long, value_name = "K=V", help_heading = "Workload")]
    #[serde(deserialize_with = "table_of_json")]
    pub(crate) param: Vec<KeyValue>,
    /// Grade every row by this scorer, whatever the rows name (see `ipw list scorers`)
    #[arg(long, value_name = "ID", env = "IPW_SCORER", help_heading = "Workload")]
    pub(crate) scorer: Option<String>,
    /// Count tokens by this tokenizer where the service does not say, and check it where it does: a
    /// `tokenizer.json`, its directory, a GGUF file or `hf:owner/name`
    #[arg(
        long,
        value_name = "WHERE",
        env = "IPW_TOKENIZER",
        help_heading = "Workload"
    )]
    pub(crate) tokenizer: Option<String>,
    /// A table of prices of tokens, before our own (see the guide)
    #[arg(
        long,
        value_name = "FILE",
        env = "IPW_PRICES",
        help_heading = "Workload"
    )]
    pub(crate) prices: Option<PathBuf>,
    /// A text for the system role; none is sent otherwise
    #[arg(
        long,
        value_name = "TEXT",
        env = "IPW_SYSTEM",
        help_heading = "Workload"
    )]
    pub(crate) system: Option<String>,
    /// Queries before the first that counts; they are not from the dataset [default: 3]
    #[arg(long, value_name = "N", env = "IPW_WARMUP", help_heading = "Workload")]
    pub(crate) warmup: Option<u32>,

    /// Exit with 4 if more rows failed: a number, or a share like `10%` [default: 10%]
    #[arg(
        long,
        value_name = "N|P%",
        env = "IPW_MAX_FAILED",
        help_heading = "Workload"
    )]
    pub(crate) max_failed: Option<Tolerance>,
    /// Send no more once more queries than that have failed; a share counts from the tenth query on
    #[arg(
        long,
        value_name = "N|P%",
        env = "IPW_MAX_ERROR_RATE",
        help_heading = "Workload"
    )]
    pub(crate) max_error_rate: Option<Tolerance>,

    /// Time between two readings of the hardware [default: 10ms]
    #[arg(
        long,
        value_name = "D",
        env = "IPW_SAMPLE_INTERVAL",
        help_heading = "Energy"
    )]
    pub(crate) sample_interval: Option<Span>,
    /// How long to look at what the machine draws with nobody asking, before and after the queries,
    /// where something measures it; 0 skips it [default: 3s]
    #[arg(long, value_name = "D", env = "IPW_IDLE", help_heading = "Energy")]
    pub(crate) idle: Option<Pause>,
    /// Refuse to run without a measured energy source (exit 5); an estimate is none
    #[arg(long, help_heading = "Energy")]
    pub(crate) require_energy: bool,
    /// Do not estimate the CPU's energy where nothing measures it
    #[arg(long, help_heading = "Energy")]
    pub(crate) no_estimate: bool,
    /// Design power of this machine's CPUs in watts, for the estimate
    #[arg(long, value_name = "W", env = "IPW_CPU_TDP", help_heading = "Energy")]
    pub(crate) cpu_tdp: Option<f64>,
    /// Only these GPUs, by index, UUID or PCI place [default: those that programs see]
    #[arg(
        long,
        value_name = "GPU",
        env = "IPW_GPU",
        value_delimiter = ',',
        help_heading = "Energy"
    )]
    #[serde(default)]
    pub(crate) gpu: Vec<String>,
    /// Where readings come from, several divided by commas: local, grpc://HOST:PORT, unix:PATH,
    /// http://…, replay:RUN, none; options behind each, such as role=client [default: local, or
    /// what `IPW_ENERGY_MONITOR_TARGET` names]
    #[arg(
        long,
        value_name = "SOURCE",
        env = "IPW_TELEMETRY",
        help_heading = "Energy"
    )]
    #[serde(default)]
    pub(crate) telemetry: Vec<String>,
    /// Count the energy of these sources in the headline: all, gpu, cpu or soc [default: all]
    #[arg(long, value_name = "BASIS", env = "IPW_BASIS", help_heading = "Energy")]
    pub(crate) basis: Option<BasisChoice>,
    /// Where the service runs, and so whether local joules are its own [default: auto]
    #[arg(
        long,
        value_name = "WHERE",
        env = "IPW_SERVICE_HOST",
        help_heading = "Energy"
    )]
    pub(crate) service_host: Option<HostChoice>,
    /// A process of the service, whose CPU time is its own; repeat for more [default: found by its
    /// port]
    #[arg(
        long,
        value_name = "PID",
        env = "IPW_SERVICE_PID",
        value_delimiter = ',',
        help_heading = "Energy"
    )]
    #[serde(default)]
    pub(crate) service_pid: Vec<NonZeroU32>,

    /// Where run directories are made [default: ./runs]
    #[arg(
        long,
        value_name = "DIR",
        env = "IPW_OUTPUT_DIR",
        help_heading = "Output"
    )]
    pub(crate) output_dir: Option<PathBuf>,
    /// A name for the run: shown in lists, and in the name of its directory
    #[arg(long, value_name = "TEXT", env = "IPW_NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// A note to find the run by, like driver=550; repeat for more (see `ipw runs --filter`)
    #[arg(
        long,
        value_name = "K=V",
        env = "IPW_TAG",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) tag: Vec<KeyValue>,
    /// Replace a run of the same name; the old one goes when the new one has finished
    #[arg(long, help_heading = "Output")]
    pub(crate) overwrite: bool,
    /// Answer every question with yes
    #[arg(long, short = 'y', help_heading = "Output")]
    pub(crate) yes: bool,
    /// Commit rows at least every N (and at least every second) [default: 100]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_FLUSH_EVERY",
        help_heading = "Output"
    )]
    pub(crate) flush_every: Option<NonZeroU64>,
    /// Wait for the disk at each commit: rows survive a power cut too
    #[arg(long, help_heading = "Output")]
    pub(crate) durable: bool,
    /// Print notices and the summary as JSON lines on standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print nothing but errors and warnings
    #[arg(long, short, conflicts_with = "json", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Write no `report.html` into the run's directory
    #[arg(long, help_heading = "Output")]
    pub(crate) no_report: bool,

    /// Read defaults from this file instead of the user's own `ipw.toml`
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_CONFIG",
        help_heading = "Configuration"
    )]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// Go on with a run that was interrupted or killed; its plan is taken from it, and flags that
    /// say otherwise are refused
    #[arg(long, value_name = "RUN", help_heading = "Configuration",
          conflicts_with_all = ["plan", "overwrite"])]
    #[serde(skip)]
    pub(crate) resume: Option<PathBuf>,
    /// With `--resume`: send queries again that have no answer yet
    #[arg(long, requires = "resume", help_heading = "Configuration")]
    #[serde(skip)]
    pub(crate) retry_failed: bool,
    /// Run the plan that an earlier run stored (`plan.toml`); flags that say otherwise are refused
    #[arg(long, value_name = "PATH", help_heading = "Configuration")]
    #[serde(skip)]
    pub(crate) plan: Option<PathBuf>,
    /// The command of `--launch`
    #[arg(last = true, value_name = "COMMAND")]
    #[serde(skip)]
    pub(crate) command: Vec<String>,
    /// What is known of the service that was launched.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) launched: Option<serde_json::Value>,
}

impl ProfileArgs {
    /// The sweep that is asked for, if one is.
    pub(crate) fn sweep(&self) -> Option<Sweep> {
        let search = match self.rate {
            Some(_) => Sweep::FindRate,
            None => Sweep::FindConcurrency,
        };
        let search = self.find_saturation.then_some(search);
        self.sweep.clone().or(search)
    }

    /// What lies between us and the service.
    pub(crate) fn network(&self) -> NetworkArgs {
        NetworkArgs {
            ca_file: self.ca_file.clone(),
            header_file: self.header_file.clone(),
            header_env: self.header_env.clone(),
            http2: self.http2,
        }
    }
}
