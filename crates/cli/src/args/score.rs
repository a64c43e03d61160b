//! The command line of `ipw score`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};

use super::{KeyValue, NetworkArgs};

/// Flags that grade rows; `--list` and `--use` exclude them.
const GRADING: [&str; 9] = [
    "scorer",
    "again",
    "judge_client",
    "judge_base_url",
    "judge_model",
    "judge_param",
    "judge_api_key_env",
    "judge_api_key_file",
    "judge_insecure_key",
];

/// Flags of `ipw score`. Environment variables for the service do not apply here: its headers must
/// not reach the judge.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(mut_args(unset))]
pub(crate) struct ScoreArgs {
    /// Run directory: finished, killed or resumed
    pub(crate) run: PathBuf,
    /// Grade every row with this scorer, whatever the rows name (see `ipw list scorers`)
    #[arg(long, value_name = "ID")]
    pub(crate) scorer: Option<String>,
    /// Grade rows again that already have a verdict by the same scorer
    #[arg(long)]
    pub(crate) again: bool,
    /// List the run's sets of verdicts, and which one is in use
    #[arg(long, conflicts_with_all = GRADING)]
    pub(crate) list: bool,
    /// Switch back to the set of verdicts with this id (see `--list`)
    #[arg(long = "use", value_name = "ID", conflicts_with_all = GRADING, conflicts_with = "list")]
    pub(crate) use_set: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Client that talks to the judge [default: openai if a URL is given, else embedded]
    #[arg(
        long,
        value_name = "ID",
        help_heading = "Judge",
        hide_short_help = true
    )]
    pub(crate) judge_client: Option<String>,
    /// Base URL of the judge, with or without `/v1`
    #[arg(long, value_name = "URL", help_heading = "Judge")]
    pub(crate) judge_base_url: Option<String>,
    /// Model that judges; without it, rows that need a judge keep their state
    #[arg(long, value_name = "NAME", help_heading = "Judge")]
    pub(crate) judge_model: Option<String>,
    /// Generation parameter for the judge, such as temperature=0; repeatable [default: none]
    #[arg(
        long,
        value_name = "KEY=VALUE",
        help_heading = "Judge",
        hide_short_help = true
    )]
    pub(crate) judge_param: Vec<KeyValue>,
    /// Environment variable that holds the judge's API key
    #[arg(long, value_name = "NAME", help_heading = "Judge")]
    pub(crate) judge_api_key_env: Option<String>,
    /// File whose first line is the judge's API key
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "judge_api_key_env",
        help_heading = "Judge",
        hide_short_help = true
    )]
    pub(crate) judge_api_key_file: Option<PathBuf>,
    /// Allow sending the judge's API key over plain http to another machine
    #[arg(long, help_heading = "Judge", hide_short_help = true)]
    pub(crate) judge_insecure_key: bool,
    #[command(flatten, next_help_heading = "Judge")]
    pub(crate) network: NetworkArgs,
    /// Number of answers judged at the same time
    #[arg(
        long,
        value_name = "N",
        default_value = "4",
        help_heading = "Judge",
        hide_short_help = true
    )]
    pub(crate) judge_concurrency: NonZeroUsize,
    /// Number of retries when the judge fails or returns no verdict
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        help_heading = "Judge",
        hide_short_help = true
    )]
    pub(crate) judge_retries: u32,
}

/// Detaches a flag from its environment variable.
fn unset(flag: Arg) -> Arg {
    flag.env(None::<&'static str>)
}
