//! The command line of `ipw score`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};

use super::{KeyValue, NetworkArgs};

/// Flags of `ipw score`. What the environment names for the service of a run is not the judge's: its
/// headers go to nobody else.
#[derive(Debug, Args)]
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
    /// A generation parameter of the judge; repeat for more [default: temperature=0]
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
