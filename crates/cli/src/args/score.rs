//! The command line of `ipw score`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};

use super::{KeyValue, NetworkArgs};

/// Flags that say how rows are graded.
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

/// Flags of `ipw score`. What the environment names for the service of a run is not the judge's: its
/// headers go to nobody else.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(mut_args(unset))]
pub(crate) struct ScoreArgs {
    /// The run's directory: finished, killed or resumed
    pub(crate) run: PathBuf,
    /// Grade every row by this scorer, whatever the rows name (see `ipw list scorers`)
    #[arg(long, value_name = "ID")]
    pub(crate) scorer: Option<String>,
    /// Grade rows anew that have a verdict by the same scorer
    #[arg(long)]
    pub(crate) again: bool,
    /// List the sets of verdicts that the run has or had, and which one is in use
    #[arg(long, conflicts_with_all = GRADING)]
    pub(crate) list: bool,
    /// Switch back to the set of verdicts with this id (see `--list`)
    #[arg(long = "use", value_name = "ID", conflicts_with_all = GRADING, conflicts_with = "list")]
    pub(crate) use_set: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The judge's client [default: openai with an address, else the engine inside]
    #[arg(long, value_name = "ID", help_heading = "Judge")]
    pub(crate) judge_client: Option<String>,
    /// Where the judge is, with or without `/v1`
    #[arg(long, value_name = "URL", help_heading = "Judge")]
    pub(crate) judge_base_url: Option<String>,
    /// The model that judges; without it rows that need a judge stay as they are
    #[arg(long, value_name = "NAME", help_heading = "Judge")]
    pub(crate) judge_model: Option<String>,
    /// A generation parameter of the judge, like temperature=0; repeat for more [default: none]
    #[arg(long, value_name = "K=V", help_heading = "Judge")]
    pub(crate) judge_param: Vec<KeyValue>,
    /// Environment variable that holds the judge's API key
    #[arg(long, value_name = "NAME", help_heading = "Judge")]
    pub(crate) judge_api_key_env: Option<String>,
    /// File whose first line is the judge's API key
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "judge_api_key_env",
        help_heading = "Judge"
    )]
    pub(crate) judge_api_key_file: Option<PathBuf>,
    /// Allow that key to travel over plain http beyond this machine
    #[arg(long, help_heading = "Judge")]
    pub(crate) judge_insecure_key: bool,
    #[command(flatten, next_help_heading = "Judge")]
    pub(crate) network: NetworkArgs,
    /// How many answers are judged at a time
    #[arg(long, value_name = "N", default_value = "4", help_heading = "Judge")]
    pub(crate) judge_concurrency: NonZeroUsize,
    /// How often a judge is asked again that fails or says no verdict
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Judge")]
    pub(crate) judge_retries: u32,
}

/// A flag that no variable sets.
fn unset(flag: Arg) -> Arg {
    flag.env(None::<&'static str>)
}
