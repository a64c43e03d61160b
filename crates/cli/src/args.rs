//! The command line as typed: no logic, and defaults only in help texts.
//!
//! Rare flags of long commands have `hide_short_help`: `-h` stays short, `--help` shows all.

mod basis;
mod compared;
#[cfg(all(test, feature = "engine"))]
mod documented;
mod hardware;
mod look;
mod monitor;
mod network;
mod ping;
mod profile;
#[cfg(all(test, feature = "engine"))]
mod reference;
mod score;
mod suggestion;
mod values;

use std::num::NonZeroU64;
#[cfg(feature = "engine")]
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ipw_core::setting::Setting;
#[cfg(feature = "engine")]
use ipw_engine::server::guard::HostName;
use serde::Deserialize;

pub(crate) use basis::{BasisArgs, BasisChoice};
pub(crate) use compared::{CompareArgs, Format, LeaderboardArgs, RunsArgs};
pub(crate) use hardware::HardwareArgs;
pub(crate) use look::{
    AnalyzeArgs, AttributeArgs, ExportArgs, ExportFormat, PlotArgs, ReportArgs, ReportFormat,
    ShowArgs,
};
pub(crate) use monitor::MonitorArgs;
pub(crate) use network::NetworkArgs;
pub(crate) use ping::PingArgs;
pub(crate) use profile::ProfileArgs;
pub(crate) use score::ScoreArgs;
pub(crate) use values::{IdlePower, KeyValue, ListenAddress, Pause, Size, Span, json_or_text};

const EXAMPLES: &str = "\
Examples:
  ipw profile                                     # measure the embedded engine, as a first run
  ipw profile --client-base-url http://127.0.0.1:8080 --model smollm2
  ipw show runs/profile_EPYC9654_smollm2_starter_openai
  ipw compare runs/before runs/after --gate 'joules_per_token<=+3%,accuracy>=-1pp'
  ipw leaderboard runs -o index.html";

/// Exit codes of [`crate::error::Exit`].
const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  unexpected error
    2  wrong usage, or an input that cannot be used
    3  service unreachable, not ready, or it refuses the credentials
    4  more rows failed than `--max-failed` allows
    5  energy is required and not available
    6  the output exists
    7  a gate of `ipw compare` failed, or `ipw calibrate` found an error out of bounds
  130  interrupted; the rows so far are saved";

const PROFILE_EXAMPLES: &str = "\
Examples:
  ipw profile --client-base-url http://127.0.0.1:8080 --model smollm2 --concurrency 8
  ipw profile --client-base-url http://127.0.0.1:8080 --dataset questions.jsonl --max-queries 100
  ipw profile --client-base-url http://127.0.0.1:8000 --telemetry grpc://127.0.0.1:50053";

/// Measure the correct work that an LLM inference service does per unit of time and energy.
#[derive(Debug, Parser)]
#[command(
    name = "ipw",
    version,
    max_term_width = 100,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"),
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The command line of this process. Wrong usage ends it with exit code 2.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|error| suggestion::add(error, std::env::args()).exit())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a service: send a dataset's prompts and store one row per query
    #[command(
        after_help = format!("{PROFILE_EXAMPLES}\n\n`ipw profile --help` shows all flags."),
        after_long_help = PROFILE_EXAMPLES,
    )]
    Profile(Box<ProfileArgs>),
    /// Send one query and show every phase, header and event of the reply
    Ping(Box<PingArgs>),
    /// List clients, datasets, collectors, scorers, analyses and plots
    List {
        /// Kind to list
        #[arg(value_name = "KIND", default_value = "all")]
        kind: ListKind,
        /// Also show parameters, defaults and details
        #[arg(long, short)]
        long: bool,
    },
    /// List the runs below a directory, newest first
    Runs(RunsArgs),
    /// Show the results of a run, a sweep or a directory of runs
    Show(ShowArgs),
    /// Analyze runs: regressions, latency, energy, efficiency, outliers, warnings
    Analyze(AnalyzeArgs),
    /// Draw figures of runs
    Plot(PlotArgs),
    /// Recompute the energy of a run's rows from its raw readings
    Attribute(AttributeArgs),
    /// Grade the answers of a run, with scorers or a judge model
    Score(ScoreArgs),
    /// Write the report of a run as one self-contained page
    Report(ReportArgs),
    /// Export runs as Parquet, CSV or JSON lines
    Export(ExportArgs),
    /// Compare runs with a baseline, with confidence intervals and gates for CI
    Compare(CompareArgs),
    /// Rank the runs below a directory; measured and estimated energy stay separate
    Leaderboard(LeaderboardArgs),
    /// Show which energy sources work here, how well, and how to enable better ones
    Doctor(DoctorArgs),
    /// Measure this tool's own error on this machine
    Calibrate(CalibrateArgs),
    /// Show live readings of every energy and state source
    Watch(WatchArgs),
    /// Serve this machine's readings to other machines over gRPC
    Monitor(MonitorArgs),
    /// Download, list and remove models for the embedded engine
    #[cfg(feature = "engine")]
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Serve a model over an OpenAI-compatible API on this machine
    #[cfg(feature = "engine")]
    Serve(ServeArgs),
    /// Run a command in its own session (used by `--launch`)
    #[command(hide = true)]
    Launched {
        /// The command
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Print shell completions
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
}

#[cfg(feature = "engine")]
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List known models, and which are in the cache
    List,
    /// Download a model into the cache
    Pull(ModelName),
    /// Print the path of a model's file
    Path(ModelName),
    /// Remove a model from the cache
    Rm(ModelName),
}

#[cfg(feature = "engine")]
#[derive(Debug, Args)]
pub(crate) struct ModelName {
    /// Name from `ipw models list`, or `hf:owner/repo[@revision]/file.gguf`
    pub(crate) name: String,
}

#[cfg(feature = "engine")]
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Name from `ipw models list`, a GGUF file, or `hf:owner/repo/file.gguf` [default:
    /// smollm2-135m]
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) model: Option<String>,
    /// Port to listen on; 0 picks a free one [default: 8080]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Address to listen on; beyond loopback, any client that reaches it can send queries [default:
    /// 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<HostName>,
    /// Also answer requests for this host name; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<HostName>,
    /// Number of compute threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Context length in tokens, shorter than the model's own
    #[arg(long, value_name = "N")]
    pub(crate) context: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    /// Clients that reach a service
    Clients,
    /// Sources of prompts
    Datasets,
    /// Readers of hardware
    Collectors,
    /// Graders of answers
    Scorers,
    /// Analyses of `ipw analyze`
    Analyses,
    /// Figures of `ipw plot`
    Plots,
    /// All of them
    All,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Where readings come from, as in `ipw profile` [default: local]
    #[arg(long, value_name = "SOURCE", env = "IPW_TELEMETRY")]
    pub(crate) telemetry: Vec<String>,
    /// Print one JSON line per interval instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Time between updates [default: 1s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) interval: Option<Span>,
    /// Number of updates before it stops [default: until interrupted]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU64>,
    /// Also serve the readings to Prometheus at `PORT` or `HOST:PORT`; port 0 picks a free one;
    /// beyond this machine it needs `--token-file`
    #[arg(long, value_name = "ADDR")]
    pub(crate) prometheus: Option<ListenAddress>,
    /// File with the token that a scraper must send
    #[arg(long, value_name = "PATH", requires = "prometheus")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) hardware: HardwareArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hardware: HardwareArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Quick check: about ten seconds instead of half a minute, wider error bars
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also write the result to this file; later runs quote the one in the cache
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// Where the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostChoice {
    /// By its address: local if the address is this machine's
    Auto,
    /// This machine (containers, WSL)
    Local,
    /// Another machine, also if a tunnel makes its address local
    Remote,
}

/// The flag of a setting, for texts of the library crates.
pub(crate) fn flag(setting: Setting) -> String {
    match setting {
        Setting::Output => "-o".to_owned(),
        _ => format!("--{}", setting.name().replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_that_texts_name_is_a_flag() {
        let command = Cli::command();
        let flags: Vec<String> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .flat_map(|argument| {
                let long = argument.get_long().map(|long| format!("--{long}"));
                long.into_iter()
                    .chain(argument.get_short().map(|short| format!("-{short}")))
            })
            .collect();
        for setting in Setting::ALL {
            let is_elsewhere = *setting == Setting::AllowHost && cfg!(not(feature = "engine"));
            assert!(
                flags.contains(&flag(*setting)) || is_elsewhere,
                "{setting:?}"
            );
        }
    }
}
