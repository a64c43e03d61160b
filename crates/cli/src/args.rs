//! The command line, typed as written: no defaults, no logic.

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
mod score;
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
  ipw profile
  ipw profile --client openai --client-base-url http://127.0.0.1:8080 --model smollm2
  ipw profile --client openai --model m --dataset questions.jsonl --max-queries 100
  ipw profile --client openai --model m --param temperature=0 --param max_tokens=128
  ipw show runs/profile_EPYC9654_smollm2_starter_openai
  ipw export runs/profile_EPYC9654_smollm2_starter_openai --format csv
  ipw profile --name baseline --tag driver=550
  ipw runs --filter name=baseline
  ipw compare runs/before runs/after --gate 'joules_per_token<=+3%,accuracy>=-1pp'
  ipw leaderboard runs -o index.html

Exit codes: 0 done, 1 unexpected, 2 usage, 3 service unreachable, not ready or refuses our
credentials, 4 more rows failed than `--max-failed` allows, 5 energy was required and is not
available, 6 output exists, 7 `ipw calibrate` found a figure out of its bound or the gate of
`ipw compare` did not hold, 130 interrupted (what there is was saved).";

/// Measure how much correct work an LLM inference service does for its time and energy.
#[derive(Debug, Parser)]
#[command(name = "ipw", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a dataset's prompts to a service and store one row per query
    #[command(after_help = EXAMPLES)]
    Profile(Box<ProfileArgs>),
    /// Ask a service one question and show everything that was seen
    Ping(Box<PingArgs>),
    /// Show which clients, datasets and collectors there are
    List {
        /// What to list
        #[arg(default_value = "all")]
        what: Listed,
    },
    /// List the runs below a directory, the newest first
    Runs(RunsArgs),
    /// Show what came out of a run, finished or not; of a sweep, or of all runs in a directory
    Show(ShowArgs),
    /// Look into runs: fits, latencies, energy, efficiency, outliers, doubts
    Analyze(AnalyzeArgs),
    /// Draw runs
    Plot(PlotArgs),
    /// Compute the energy of a run's rows again from its raw readings
    Attribute(AttributeArgs),
    /// Grade the answers of a run, once more or for the first time; ask a judge
    Score(ScoreArgs),
    /// Write the report of a run: one page to send to a colleague
    Report(ReportArgs),
    /// Write runs as Parquet, CSV or JSON lines, for other tools
    Export(ExportArgs),
    /// Compare runs with the first of them: differences, how sure they are, gates for CI
    Compare(CompareArgs),
    /// Rank all runs below a directory, measured and estimated ones apart
    Leaderboard(LeaderboardArgs),
    /// Say what measures energy here, how well, and what would measure it better
    Doctor(DoctorArgs),
    /// Say how far off the times, loads and joules are that this machine would measure
    Calibrate(CalibrateArgs),
    /// Show live what every source of energy and state says
    Watch(WatchArgs),
    /// Serve what this machine's sources say to other processes and machines, over gRPC
    Monitor(MonitorArgs),
    /// Fetch, find and remove the models that run in process
    #[cfg(feature = "engine")]
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Put a model behind an OpenAI-compatible API on this machine
    #[cfg(feature = "engine")]
    Serve(ServeArgs),
    /// Become a command in a session of its own (what `--launch` starts services through)
    #[command(hide = true)]
    Launched {
        /// The command
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[cfg(feature = "engine")]
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Show which models there are, and which of them are here
    List,
    /// Fetch a model into the cache
    Pull(ModelName),
    /// Print where a model's file is
    Path(ModelName),
    /// Remove a model from the cache
    Rm(ModelName),
}

#[cfg(feature = "engine")]
#[derive(Debug, Args)]
pub(crate) struct ModelName {
    /// A name that `ipw models list` shows, or `hf:owner/repo[@revision]/file.gguf`
    pub(crate) name: String,
}

#[cfg(feature = "engine")]
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A name that `ipw models list` shows, a GGUF file, or `hf:owner/repo/file.gguf`
    /// [default: smollm2-135m]
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) model: Option<String>,
    /// The port; 0 takes a free one [default: 8080]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// The address; beyond loopback everybody who reaches it may ask [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<HostName>,
    /// Answer requests for this host, too (a name that leads here); repeat for more
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<HostName>,
    /// How many threads compute [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// A shorter context than the model's own, in tokens
    #[arg(long, value_name = "N")]
    pub(crate) context: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Ways to reach a service
    Clients,
    /// Where prompts come from
    Datasets,
    /// What reads the hardware
    Collectors,
    /// How answers are graded
    Scorers,
    /// What `ipw analyze` finds out
    Analyses,
    /// What `ipw plot` draws
    Plots,
    /// All of them
    All,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Where readings come from, as for `ipw profile` [default: local]
    #[arg(long, value_name = "SOURCE", env = "IPW_TELEMETRY")]
    pub(crate) telemetry: Vec<String>,
    /// Print a JSON line each time instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Time between two looks [default: 1s]
    #[arg(long, value_name = "D")]
    pub(crate) interval: Option<Span>,
    /// Stop after so many looks [default: when interrupted]
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU64>,
    /// Serve it all for Prometheus, too, at `PORT` or `HOST:PORT` (port 0 takes a free one); beyond
    /// this machine only with `--token-file`
    #[arg(long, value_name = "ADDR")]
    pub(crate) prometheus: Option<ListenAddress>,
    /// The file with the token that whoever scrapes has to send
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
    /// Take some ten seconds instead of half a minute: fewer queries, wider of the mark
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the result there, too; later runs quote the one in the cache
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// Where the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostChoice {
    /// By its address: here if it is one of this machine's
    Auto,
    /// Here (containers, WSL)
    Local,
    /// Elsewhere (tunnels)
    Remote,
}

/// How the command line calls a setting.
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
