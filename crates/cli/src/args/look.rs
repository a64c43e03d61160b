//! Flags of commands that read runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ipw_core::attribution::Weights;
use ipw_report::figures::Picture;

use super::values::{at_least_one, at_least_zero};
use super::{BasisArgs, IdlePower};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Run directory; also a sweep, or a directory of runs
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Price of a kilowatt-hour: shows the cost of the run's energy
    #[arg(long, value_name = "MONEY", value_parser = at_least_zero)]
    pub(crate) price_per_kwh: Option<f64>,
    /// Grams of CO₂ per kilowatt-hour: shows the emissions of the run's energy
    #[arg(long, value_name = "GRAMS", value_parser = at_least_zero)]
    pub(crate) carbon_per_kwh: Option<f64>,
    /// Power usage effectiveness of the building, for cost and emissions
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = at_least_one)]
    pub(crate) pue: f64,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `ipw analyze`.
#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Run directories
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Run only this analysis; repeatable (see `ipw list analyses`) [default: all]
    #[arg(long = "analysis", value_name = "ID")]
    pub(crate) analyses: Vec<String>,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Option of an analysis; repeatable (see `ipw list analyses --long`)
    #[arg(long = "option", value_name = "NAME=NUMBER")]
    pub(crate) options: Vec<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `ipw plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Directories of runs or sweeps
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Draw only this figure; repeatable (see `ipw list plots`) [default: all]
    #[arg(long = "plot", value_name = "ID")]
    pub(crate) plots: Vec<String>,
    /// Write only this format; repeatable [default: both]
    #[arg(long = "format", value_name = "FORMAT")]
    pub(crate) formats: Vec<PlotFormat>,
    /// Directory for the files [default: `plots` in the run]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// File format of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    /// Vector graphics, for light and dark pages
    Svg,
    /// Pixels
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
    /// Run directories; each gets its own report
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// File to write; `-` is standard output [default: `report.html` in the run, else standard
    /// output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "html")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Leave out prompts, replies, error texts, machine names, paths and addresses
    #[arg(long)]
    pub(crate) redact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One self-contained page
    Html,
    /// Markdown, without the queries
    Md,
    /// Everything on the page, as JSON
    Json,
    /// The queries of the page
    Csv,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ExportArgs {
    /// Run directories, finished or not
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// File format [default: parquet]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Directory for the files; `-` prints the rows (csv, jsonl) [default: .]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Write a flat table of about 30 columns, named after the metrics, without empty columns
    #[arg(long)]
    pub(crate) tidy: bool,
    /// Write only these columns or groups, such as timing,*joules; repeatable
    ///
    /// With `--tidy`, columns keep the given order.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    #[command(flatten)]
    pub(crate) basis: BasisArgs,
    /// Leave out prompts, answers, and columns that may quote them
    #[arg(long)]
    pub(crate) no_text: bool,
    /// Leave out the raw hardware readings
    #[arg(long)]
    pub(crate) no_readings: bool,
    /// Write all runs into one table that starts with the columns `run` and `model`
    #[arg(long)]
    pub(crate) together: bool,
    /// Replace existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// File format of exported tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Nested columns, typed and compressed
    Parquet,
    /// Flat columns with dotted names; lists as JSON
    Csv,
    /// One nested JSON object per line
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct AttributeArgs {
    /// Run directory: finished, killed or resumed
    pub(crate) run: PathBuf,
    /// How queries in flight at the same time share energy
    #[arg(long, value_name = "WEIGHTS", default_value = "equal")]
    pub(crate) weights: WeightChoice,
    /// Idle power of a source in watts; `NAME=W`, repeatable, if several sources are measured
    /// [default: as recorded in the run]
    #[arg(long, value_name = "[NAME=]W")]
    pub(crate) idle: Vec<IdlePower>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How queries in flight share the energy of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightChoice {
    /// By time alone
    Equal,
    /// By the tokens processed in each interval
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
