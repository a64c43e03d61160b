//! The command lines of what looks at runs that are there.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ipw_core::attribution::Weights;
use ipw_report::figures::Picture;

use super::values::{at_least_one, at_least_zero};
use super::{BasisArgs, IdlePower};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run directory
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// What a kilowatt-hour costs: shows what the run's energy came to
    #[arg(long, value_name = "MONEY", value_parser = at_least_zero)]
    pub(crate) price_per_kwh: Option<f64>,
    /// Grams of CO₂ for a kilowatt-hour
    #[arg(long, value_name = "GRAMS", value_parser = at_least_zero)]
    pub(crate) carbon_per_kwh: Option<f64>,
    /// What the building takes for each joule of the machine
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = at_least_one)]
    pub(crate) pue: f64,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `ipw analyze`.
#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// The run directories
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Only this analysis; may be repeated [default: all; see `ipw list analyses`]
    #[arg(long = "analysis", value_name = "ID")]
    pub(crate) analyses: Vec<String>,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// An option of an analysis; may be repeated
    #[arg(long = "option", value_name = "NAME=NUMBER")]
    pub(crate) options: Vec<String>,
    /// Print JSON instead of a few lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `ipw plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// The run directories, or those of sweeps
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Only this figure; may be repeated [default: all; see `ipw list plots`]
    #[arg(long = "plot", value_name = "ID")]
    pub(crate) plots: Vec<String>,
    /// Only this format; may be repeated [default: both]
    #[arg(long = "format", value_name = "FORMAT")]
    pub(crate) formats: Vec<PlotFormat>,
    /// Where the files go [default: `plots` in the run]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// What a figure is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    /// Text that scales, and follows light and dark.
    Svg,
    /// Pixels.
    Png,
}

impl From<PlotFormat> for Picture {
    fn from(format: PlotFormat) -> Self {
        match format {
            PlotFormat::Svg => Self::Svg,
            PlotFormat::Png => Self::Png,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run directories; each gets a report of its own
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write there; `-` is standard output [default: `report.html` in the run, else standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "html")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Leave out prompts, replies, error texts, names of machines, paths and addresses
    #[arg(long)]
    pub(crate) redact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One self-contained page
    Html,
    /// Markdown, without the queries
    Md,
    /// Everything that the page says, for programs
    Json,
    /// The queries of the page
    Csv,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ExportArgs {
    /// The run directories, finished or not
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// How the tables are written [default: parquet]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Where the files go; `-` prints the rows (csv, jsonl) [default: .]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// A flat table of some 30 short columns with the metrics' names, without empty ones
    #[arg(long)]
    pub(crate) tidy: bool,
    /// Only these columns or groups of them, like timing,*joules; repeat for more. With `--tidy`
    /// in the order given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Leave out prompts, answers, and what may quote them
    #[arg(long)]
    pub(crate) no_text: bool,
    /// Leave out the raw readings of the hardware
    #[arg(long)]
    pub(crate) no_readings: bool,
    /// All runs in one table, with `run` and `model` in front
    #[arg(long)]
    pub(crate) together: bool,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Nested columns, typed and compressed
    Parquet,
    /// Flat columns by dotted names, lists as JSON
    Csv,
    /// One JSON object a line, nested
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct AttributeArgs {
    /// The run's directory: finished, killed or resumed
    pub(crate) run: PathBuf,
    /// What decides how queries in flight share a step
    #[arg(long, value_name = "WHAT", default_value = "equal")]
    pub(crate) weights: WeightChoice,
    /// What a source draws with nobody asking, in watts; with several measured sources
    /// `NAME=W`, repeated [default: what the run found]
    #[arg(long, value_name = "[NAME=]W")]
    pub(crate) idle: Vec<IdlePower>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// What decides how a step is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightChoice {
    /// Time alone
    Equal,
    /// The tokens that were processed in it
    Tokens,
}

impl From<WeightChoice> for Weights {
    fn from(choice: WeightChoice) -> Self {
        match choice {
            WeightChoice::Equal => Self::Equal,
            WeightChoice::Tokens => Self::Tokens,
        }
    }
}
