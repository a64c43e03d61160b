//! Flags of commands that read several runs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::BasisArgs;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run directories; each is compared with the first
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Conditions that must hold, such as `joules_per_token<=+3%,accuracy>=-1pp`; exit with code 7
    /// if one fails
    #[arg(long, value_name = "CONDITIONS")]
    pub(crate) gate: Option<String>,
    /// Require the whole 95 % confidence interval to meet the gate, not only the measured value
    #[arg(long, requires = "gate")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Compare only this metric (see docs/metrics.md); repeatable [default: the common ones]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// Output format [default: by the file extension, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// File to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compare runs that are not comparable; the output says so
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LeaderboardArgs {
    /// Directory to search for runs, at any depth
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Metric to rank by (see docs/metrics.md) [default: ipw]
    #[arg(long, value_name = "NAME")]
    pub(crate) sort: Option<String>,
    /// Least number of graded answers for a rank; runs with fewer are listed separately
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) min_graded: u64,
    /// Show only matching runs, such as model=llama,hardware=H100,tag.driver=550
    ///
    /// Keys are name, model, dataset, hardware, client, load and status, which match part of a
    /// text, and `tag.KEY`, which matches the whole value.
    #[arg(long, value_name = "KEY=TEXT", value_delimiter = ',')]
    pub(crate) filter: Vec<String>,
    /// Output format [default: by the file extension, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// File to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write a submission for the original project's leaderboard
    #[arg(long, value_name = "FILE")]
    pub(crate) submission: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Directory to search for runs, at any depth
    #[arg(value_name = "DIR", env = "IPW_OUTPUT_DIR", default_value = "runs")]
    pub(crate) directory: PathBuf,
    /// Show only matching runs, such as name=baseline,tag.driver=550
    ///
    /// Keys are name, model, dataset, hardware, client, load and status, which match part of a
    /// text, and `tag.KEY`, which matches the whole value.
    #[arg(long, value_name = "KEY=TEXT", value_delimiter = ',')]
    pub(crate) filter: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Output format of comparisons and leaderboards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Table for a terminal
    Table,
    /// Markdown
    Md,
    /// JSON
    Json,
    /// One self-contained page
    Html,
}

impl Format {
    /// The chosen format, else by the file extension, else a table.
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
