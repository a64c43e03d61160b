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
    /// Kind of service (see `ipw list clients`) [default: embedded, in this process; openai if a URL
    /// is given]
    #[arg(long, value_name = "ID", env = "IPW_CLIENT", help_heading = "Service")]
    pub(crate) client: Option<String>,
    /// Model to measure [default: the service's only model; for embedded: smollm2-135m]
    ///
    /// Use the name that the service knows. The client `embedded` takes a name from `ipw models
    /// list`, a GGUF file or `hf:owner/repo/file.gguf`.
    #[arg(long, value_name = "NAME", env = "IPW_MODEL", help_heading = "Service")]
    pub(crate) model: Option<String>,
    /// Base URL of the service, with or without `/v1`, or `unix:PATH` [default: the client's]
    #[arg(
        long,
        value_name = "URL",
        env = "IPW_CLIENT_BASE_URL",
        help_heading = "Service",
        aliases = ["base-url", "url", "endpoint"]
    )]
    pub(crate) client_base_url: Option<String>,
    /// API of an OpenAI-compatible service: chat, completions or responses [default: chat]
    #[arg(
        long,
        value_name = "API",
        env = "IPW_API",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) api: Option<String>,
    /// Parameter of the client; repeatable (see `ipw list clients --long`)
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help_heading = "Service",
        hide_short_help = true
    )]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) client_param: Vec<KeyValue>,
    /// Environment variable that holds the API key (the key itself is never a flag)
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_API_KEY_ENV",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) api_key_env: Option<String>,
    /// File whose first line is the API key
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_API_KEY_FILE",
        conflicts_with = "api_key_env",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Allow sending the API key over plain http to another machine
    #[arg(long, help_heading = "Service", hide_short_help = true)]
    pub(crate) insecure_key: bool,
    /// Prometheus endpoint of the service, stored with the run, or `off` [default: `/metrics` if the
    /// service is on this machine]
    #[arg(
        long,
        value_name = "URL",
        env = "IPW_SERVER_METRICS",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) server_metrics: Option<String>,
    /// PEM file of CA certificates to trust in addition to the system's
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_CA_FILE",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) ca_file: Option<PathBuf>,
    /// File of `Name: value` lines to send as headers with every request; never stored or shown
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_HEADER_FILE",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) header_file: Option<PathBuf>,
    /// Environment variable that holds one such header line; repeatable
    #[arg(
        long,
        value_name = "NAME",
        env = "IPW_HEADER_ENV",
        value_delimiter = ',',
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) header_env: Vec<String>,
    /// Use HTTP/2 only: many queries share one connection [default: HTTP/1.1]
    #[arg(long, help_heading = "Service", hide_short_help = true)]
    pub(crate) http2: bool,
    /// Start the service for this run with the command after `--`
    ///
    /// The command runs without a shell, in its own session, and ends with the run.
    #[arg(long, help_heading = "Service", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) launch: bool,
    /// URL that answers once the launched service is ready [default: the command's or the client's]
    #[arg(
        long,
        value_name = "URL",
        requires = "launch",
        help_heading = "Service",
        hide_short_help = true
    )]
    #[serde(skip)]
    pub(crate) ready_url: Option<String>,
    /// How long the launched service may take to become ready [default: 10m]
    #[arg(
        long,
        value_name = "DURATION",
        help_heading = "Service",
        hide_short_help = true
    )]
    #[serde(skip)]
    pub(crate) ready_timeout: Option<Span>,
    /// Allow `--plan` and `--resume` to start the command that the plan contains
    #[arg(long, help_heading = "Service", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) allow_launch: bool,
    /// Allow `--plan` and `--resume` to send the keys and headers that the plan names to its address
    #[arg(long, help_heading = "Service", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) allow_key: bool,
    /// Time limit for one query [default: 10m]
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_REQUEST_TIMEOUT",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) request_timeout: Option<Span>,

    /// Time limit for the first token [default: `--request-timeout`]
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_FIRST_TOKEN_TIMEOUT",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) first_token_timeout: Option<Span>,
    /// Longest silence allowed within a reply [default: `--request-timeout`]
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_IDLE_TIMEOUT",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) idle_timeout: Option<Span>,
    /// Largest reply to accept, such as 64KiB or 1GiB [default: 256MiB]
    #[arg(
        long,
        value_name = "SIZE",
        env = "IPW_MAX_REPLY",
        help_heading = "Service",
        hide_short_help = true
    )]
    pub(crate) max_reply: Option<Size>,

    /// Dataset by name, or a file of your own (see `ipw list datasets`) [default: starter]
    #[arg(
        long,
        value_name = "ID|PATH",
        env = "IPW_DATASET",
        help_heading = "Workload"
    )]
    pub(crate) dataset: Option<String>,
    /// Parameter of the dataset; repeatable (see `ipw list datasets --long`)
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help_heading = "Workload",
        hide_short_help = true
    )]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) dataset_param: Vec<KeyValue>,
    /// Maximum number of queries [default: all of the dataset]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_MAX_QUERIES",
        help_heading = "Workload",
        aliases = ["num-queries", "num-prompts", "limit"]
    )]
    pub(crate) max_queries: Option<NonZeroU64>,
    /// Number of queries in flight; with `--rate` an upper limit [default: 1; no limit with `--rate`]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_CONCURRENCY",
        help_heading = "Workload"
    )]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// Mean number of queries per second (Poisson), sent even if the service falls behind
    #[arg(long, value_name = "RATE", env = "IPW_RATE", help_heading = "Workload")]
    pub(crate) rate: Option<Rate>,
    /// Arrival process for `--rate`: constant, poisson or gamma:SHAPE [default: poisson]
    #[arg(
        long,
        value_name = "PROCESS",
        requires = "rate",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) arrival: Option<Process>,
    /// Send queries at the times in this file: seconds from the start, one per line
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "rate",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) trace: Option<PathBuf>,
    /// Increase the load to its full level over this time [default: 0]
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_RAMP",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) ramp: Option<Pause>,
    /// Stop sending after this time; the dataset repeats as needed
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_DURATION",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) duration: Option<Span>,
    /// Number of passes over the dataset [default: 1]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_REPEAT",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) repeat: Option<NonZeroU64>,
    /// Seed of the schedule for `--rate`: the same seed gives the same schedule [default: 0]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_SEED",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) seed: Option<u64>,
    /// Number of retries for a failed query; its row counts the attempts [default: 0]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_RETRIES",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) retries: Option<u32>,
    /// Start every prompt with unique text, so that a prefix cache never hits
    #[arg(long, help_heading = "Workload", hide_short_help = true)]
    pub(crate) unique_prefix: bool,
    /// Latency targets for goodput, such as ttft=500ms,tpot=50ms,e2e=5s
    ///
    /// Further targets are `itl` (a reply's mean gap) and `first_answer` (after reasoning).
    #[arg(
        long,
        value_name = "LIMITS",
        env = "IPW_SLO",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) slo: Option<String>,
    /// Run once per load and compare the results: concurrency=1,2,4,8 or rate=1,2,4
    #[arg(long, value_name = "AXIS=LIST", conflicts_with_all = ["resume", "plan"],
          help_heading = "Workload", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) sweep: Option<Sweep>,
    /// From 1 on, double the concurrency (the rate if `--rate` is given) while throughput grows
    #[arg(long, conflicts_with_all = ["sweep", "resume", "plan"], help_heading = "Workload", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) find_saturation: bool,
    /// Generation parameter sent with each request, such as `max_tokens=128`; the value is
    /// JSON; repeatable
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help_heading = "Workload",
        hide_short_help = true
    )]
    #[serde(deserialize_with = "table_of_json")]
    pub(crate) param: Vec<KeyValue>,
    /// Grade every row with this scorer instead of the dataset's (see `ipw list scorers`)
    #[arg(
        long,
        value_name = "ID",
        env = "IPW_SCORER",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) scorer: Option<String>,
    /// Tokenizer to count tokens if the service does not, or else to check the service's counts
    ///
    /// Takes a `tokenizer.json`, its directory, a GGUF file or `hf:owner/name`.
    #[arg(
        long,
        value_name = "TOKENIZER",
        env = "IPW_TOKENIZER",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) tokenizer: Option<String>,
    /// File of token prices that override the built-in ones (see the guide)
    #[arg(
        long,
        value_name = "FILE",
        env = "IPW_PRICES",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) prices: Option<PathBuf>,
    /// System prompt [default: none is sent]
    #[arg(
        long,
        value_name = "TEXT",
        env = "IPW_SYSTEM",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) system: Option<String>,
    /// Number of warm-up queries, which are not from the dataset [default: 3]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_WARMUP",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) warmup: Option<u32>,

    /// Exit with code 4 if failed rows exceed this number or share [default: 10%]
    #[arg(
        long,
        value_name = "N|P%",
        env = "IPW_MAX_FAILED",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) max_failed: Option<Tolerance>,
    /// Stop sending once failures exceed this number or share [default: off]
    ///
    /// A share applies from the tenth query on.
    #[arg(
        long,
        value_name = "N|P%",
        env = "IPW_MAX_ERROR_RATE",
        help_heading = "Workload",
        hide_short_help = true
    )]
    pub(crate) max_error_rate: Option<Tolerance>,

    /// Time between two readings of the hardware [default: 10ms]
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_SAMPLE_INTERVAL",
        help_heading = "Energy",
        hide_short_help = true
    )]
    pub(crate) sample_interval: Option<Span>,
    /// Time to measure idle power, once before and once after the run; 0 skips it [default: 3s]
    ///
    /// Applies only where a source measures energy.
    #[arg(
        long,
        value_name = "DURATION",
        env = "IPW_IDLE",
        help_heading = "Energy",
        hide_short_help = true
    )]
    pub(crate) idle: Option<Pause>,
    /// Refuse to run without measured energy (exit code 5); an estimate does not count
    #[arg(long, help_heading = "Energy", hide_short_help = true)]
    pub(crate) require_energy: bool,
    /// Do not estimate the CPU's energy where it is not measured
    #[arg(long, help_heading = "Energy", hide_short_help = true)]
    pub(crate) no_estimate: bool,
    /// Thermal design power of this machine's CPUs in watts, for the estimate
    #[arg(
        long,
        value_name = "W",
        env = "IPW_CPU_TDP",
        help_heading = "Energy",
        hide_short_help = true
    )]
    pub(crate) cpu_tdp: Option<f64>,
    /// Measure only these GPUs, by index, UUID or PCI address; repeatable [default: all
    /// that ipw sees]
    #[arg(
        long,
        value_name = "GPU",
        env = "IPW_GPU",
        value_delimiter = ',',
        help_heading = "Energy",
        hide_short_help = true
    )]
    #[serde(default)]
    pub(crate) gpu: Vec<String>,
    /// Where energy readings come from: local, grpc://HOST:PORT, unix:PATH, http://…, replay:RUN or
    /// none [default: local]
    ///
    /// `grpc://` and `unix:` are `ipw monitor`, `http://` is a meter or exporter. Commas separate
    /// several sources. A source's options follow it, as in `grpc://gpu1:50053,role=client` for the
    /// machine that sends. Without this flag, `IPW_ENERGY_MONITOR_TARGET` may name a monitor.
    #[arg(
        long,
        value_name = "SOURCE",
        env = "IPW_TELEMETRY",
        help_heading = "Energy"
    )]
    #[serde(default)]
    pub(crate) telemetry: Vec<String>,
    /// Sources whose energy counts in the headline figures: all, gpu, cpu or soc [default: all]
    #[arg(
        long,
        value_name = "BASIS",
        env = "IPW_BASIS",
        help_heading = "Energy",
        hide_short_help = true
    )]
    pub(crate) basis: Option<BasisChoice>,
    /// Where the service runs: decides whether local energy is the service's [default: auto]
    #[arg(
        long,
        value_name = "HOST",
        env = "IPW_SERVICE_HOST",
        help_heading = "Energy",
        hide_short_help = true
    )]
    pub(crate) service_host: Option<HostChoice>,
    /// Process of the service, to tell its CPU time from other load; repeatable [default: found by
    /// its port]
    #[arg(
        long,
        value_name = "PID",
        env = "IPW_SERVICE_PID",
        value_delimiter = ',',
        help_heading = "Energy",
        hide_short_help = true
    )]
    #[serde(default)]
    pub(crate) service_pid: Vec<NonZeroU32>,

    /// Directory in which run directories are created [default: ./runs]
    #[arg(
        long,
        value_name = "DIR",
        env = "IPW_OUTPUT_DIR",
        help_heading = "Output"
    )]
    pub(crate) output_dir: Option<PathBuf>,
    /// Name of the run, shown in lists and part of its directory name
    #[arg(long, value_name = "TEXT", env = "IPW_NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// Tag to find the run by, such as driver=550; repeatable (see `ipw runs --filter`)
    #[arg(
        long,
        value_name = "KEY=VALUE",
        env = "IPW_TAG",
        value_delimiter = ',',
        help_heading = "Output",
        hide_short_help = true
    )]
    #[serde(deserialize_with = "table_of_texts")]
    pub(crate) tag: Vec<KeyValue>,
    /// Replace a run of the same name; the old run is removed once the new one has finished
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) overwrite: bool,
    /// Answer yes to every question
    #[arg(long, short = 'y', help_heading = "Output", hide_short_help = true)]
    pub(crate) yes: bool,
    /// Write rows every N rows, or after a second if that is sooner [default: 100]
    #[arg(
        long,
        value_name = "N",
        env = "IPW_FLUSH_EVERY",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(crate) flush_every: Option<NonZeroU64>,
    /// Sync every commit to disk, so that rows survive a power cut
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) durable: bool,
    /// Print notices and the summary as JSON lines on standard output
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) json: bool,
    /// Print only errors and warnings
    #[arg(
        long,
        short,
        conflicts_with = "json",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(crate) quiet: bool,
    /// Do not write `report.html` into the run directory
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) no_report: bool,

    /// Configuration file to read instead of the user's `ipw.toml`
    #[arg(
        long,
        value_name = "PATH",
        env = "IPW_CONFIG",
        help_heading = "Configuration",
        hide_short_help = true
    )]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// Continue an interrupted or killed run by its own `plan.toml`
    ///
    /// Flags that contradict the plan are refused.
    #[arg(long, value_name = "RUN", help_heading = "Configuration",
          conflicts_with_all = ["plan", "overwrite"], hide_short_help = true)]
    #[serde(skip)]
    pub(crate) resume: Option<PathBuf>,
    /// With `--resume`: resend queries that have no answer
    #[arg(
        long,
        requires = "resume",
        help_heading = "Configuration",
        hide_short_help = true
    )]
    #[serde(skip)]
    pub(crate) retry_failed: bool,
    /// Run a stored plan (`plan.toml` of an earlier run)
    ///
    /// Flags that contradict the plan are refused.
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Configuration",
        hide_short_help = true
    )]
    #[serde(skip)]
    pub(crate) plan: Option<PathBuf>,
    /// Command of `--launch`
    #[arg(last = true, value_name = "COMMAND", hide_short_help = true)]
    #[serde(skip)]
    pub(crate) command: Vec<String>,
    /// Facts about the launched service, stored with the run.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) launched: Option<serde_json::Value>,
}

impl ProfileArgs {
    /// The sweep, if `--sweep` or `--find-saturation` is given.
    pub(crate) fn sweep(&self) -> Option<Sweep> {
        let search = match self.rate {
            Some(_) => Sweep::FindRate,
            None => Sweep::FindConcurrency,
        };
        let search = self.find_saturation.then_some(search);
        self.sweep.clone().or(search)
    }

    /// How the service is reached over the network.
    pub(crate) fn network(&self) -> NetworkArgs {
        NetworkArgs {
            ca_file: self.ca_file.clone(),
            header_file: self.header_file.clone(),
            header_env: self.header_env.clone(),
            http2: self.http2,
        }
    }
}
