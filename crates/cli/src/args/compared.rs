//! Flags of the commands that look at several runs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::BasisArgs;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run directories: every other one is compared with the first
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Conditions that must hold, like `joules_per_token<=+3%,accuracy>=-1pp` (exit 7 if one does
    /// not)
    #[arg(long, value_name = "CONDITIONS")]
    pub(crate) gate: Option<String>,
    /// The whole interval of 95 % must keep the gate, not only what was measured
    #[arg(long, requires = "gate")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Only these metrics (docs/metrics.md); repeat for more [default: the common ones]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// What to write [default: by the ending of the file, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Write there; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compare what is not comparable, and say so
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LeaderboardArgs {
    /// Where the runs are, at any depth
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// The metric that runs are ranked by (docs/metrics.md) [default: ipw]
    #[arg(long, value_name = "NAME")]
    pub(crate) sort: Option<String>,
    /// List runs with fewer graded answers apart
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) min_graded: u64,
    /// Only runs whose name, model, dataset, hardware, client, load or status has this text in it,
    /// or whose tag is this one, like model=llama,hardware=H100,tag.driver=550
    #[arg(long, value_name = "KEY=TEXT", value_delimiter = ',')]
    pub(crate) filter: Vec<String>,
    /// What to write [default: by the ending of the file, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Write there; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write what the original's leaderboard takes
    #[arg(long, value_name = "FILE")]
    pub(crate) submission: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Where the runs are, at any depth
    #[arg(value_name = "DIR", env = "IPW_OUTPUT_DIR", default_value = "runs")]
    pub(crate) directory: PathBuf,
    /// Only runs whose name, model, dataset, hardware, client, load or status has this text in it,
    /// or whose tag is this one, like name=baseline,tag.driver=550
    #[arg(long, value_name = "KEY=TEXT", value_delimiter = ',')]
    pub(crate) filter: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Table,
    /// Markdown
    Md,
    /// For programs
    Json,
    /// One self-contained page
    Html,
}

impl Format {
    /// What was asked for, else what the file's ending says, else a table.
    pub(crate) fn of(asked: Option<Self>, output: Option<&Path>) -> Self {
        let ending = output.and_then(Path::extension);
        let ending = ending.map(|ending| ending.to_string_lossy().to_lowercase());
        asked.unwrap_or(match ending.as_deref() {
            Some("html" | "htm") => Self::Html,
            Some("md" | "markdown") => Self::Md,
            Some("json") => Self::Json,
            _ => Self::Table,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_ending_says_how_unless_a_flag_does() {
        let page = Path::new("out/Index.HTML");
        assert_eq!(Format::of(None, Some(page)), Format::Html);
        assert_eq!(Format::of(Some(Format::Json), Some(page)), Format::Json);
        assert_eq!(Format::of(None, Some(Path::new("-"))), Format::Table);
        assert_eq!(Format::of(None, None), Format::Table);
    }
}
