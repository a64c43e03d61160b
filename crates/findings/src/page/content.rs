//! What a page is made of: plain data. `None` is not known.

use crate::timeline::Timeline;
use ipw_analysis::metric::Values;
use ipw_core::rollup::Choice;
use ipw_core::warning::{Severity, Warning};
use serde::{Deserialize, Serialize, Serializer};

/// The report of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// What was measured, where and when.
    pub about: About,
    /// The result in one or two sentences.
    pub lede: String,
    /// The figures that people quote.
    pub headline: Vec<Headline>,
    /// Which sources the energy counts.
    pub basis: Choice,
    /// Every metric of the dictionary, for programs.
    pub metrics: Values,
    /// What to know before quoting them.
    #[serde(rename = "notes", serialize_with = "noted")]
    pub warnings: Vec<Warning>,
    /// The same in more detail.
    pub tables: Vec<Table>,
    /// Drawings; empty until `ipw-report` adds them.
    pub figures: Vec<Figure>,
    /// Power and queries over time.
    pub timeline: Timeline,
    /// The queries one by one.
    pub queries: Queries,
    /// What it ran on.
    pub manifest: Vec<Section>,
    /// This tool's own error on this hardware.
    pub calibration: Calibration,
    /// The plan as TOML; `None` where the run has none.
    pub plan: Option<String>,
    /// The command that runs it again.
    pub command: String,
    /// Whether texts, names and places were left out.
    pub is_redacted: bool,
}

/// Warnings as the JSON of a page has them.
fn noted<S: Serializer>(warnings: &[Warning], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WarningEntry<'a> {
        level: Severity,
        finding: &'a str,
        advice: Option<&'a str>,
    }
    to.collect_seq(warnings.iter().map(|warning| WarningEntry {
        level: warning.severity,
        finding: &warning.text,
        advice: warning.advice.as_deref(),
    }))
}

/// What was measured, where and when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The model's label.
    pub model: String,
    /// What the user calls the run.
    #[serde(default)]
    pub name: Option<String>,
    /// The dataset's name.
    pub dataset: Option<String>,
    /// Short name of the hardware.
    pub hardware: Option<String>,
    /// `complete`, `running`, `interrupted`, `failed`.
    pub status: String,
    /// Why, where it is not simply complete.
    pub reason: Option<String>,
    /// When it began, by Greenwich.
    pub started: Option<String>,
    /// From the first query due to the last end.
    pub duration: Option<String>,
    /// Rows in all.
    pub rows: u64,
    /// The version that measured.
    pub ipw: Option<String>,
}

/// How a figure came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Differences of a hardware counter.
    Counter,
    /// Power readings, integrated over time.
    Integrated,
    /// Both, of different devices.
    CounterAndIntegrated,
    /// A model of the hardware, not a measurement.
    Estimated,
    /// Stamps of the clock.
    Clock,
    /// Answers compared with references.
    Graded,
}

impl How {
    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Counter => "measured by counter",
            Self::Integrated => "measured power, integrated",
            Self::CounterAndIntegrated => "measured by counter and power",
            Self::Estimated => "estimated, not measured",
            Self::Clock => "measured by the clock",
            Self::Graded => "graded answers",
        }
    }
}

/// A figure that people quote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// A name for programs.
    pub id: String,
    /// Its name.
    pub label: String,
    /// With its unit; `None` is not known, and `detail` says why.
    pub value: Option<String>,
    /// Its interval, or why there is no value.
    pub detail: Option<String>,
    /// How it came about; `None` without a value.
    pub how: Option<How>,
    /// What it means.
    pub meaning: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A name for programs and links.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows, in a sentence.
    pub caption: String,
    /// Its columns; the first names the row.
    pub columns: Vec<Column>,
    /// Its rows, as wide as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its head.
    pub label: String,
    /// Whether it holds numbers.
    pub is_number: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Its interval, or why it says nothing.
    pub detail: Option<String>,
    /// Whether it is a model's and not a measurement.
    pub is_estimated: bool,
}

/// A drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// A name for links.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The drawing itself: SVG that we made, without style or script. Colours are the variables
    /// `--ipw-ink`, `--ipw-soft`, `--ipw-paper`, `--ipw-grid` and `--ipw-series-1` to `-7`.
    pub svg: String,
    /// What it shows, in a sentence.
    pub caption: String,
}

/// The queries one by one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queries {
    /// Rows in all.
    pub in_all: u64,
    /// Those that are here.
    pub lines: Vec<QueryLine>,
    /// Above this many seconds a query is one of the slowest; `None` for too few.
    pub slow: Option<f64>,
    /// Above this many joules it is one of the costliest.
    pub costly: Option<f64>,
    /// Whether energy by source was left out to keep the page small.
    pub is_without_shares: bool,
}

/// A text from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// As far as it is here.
    pub text: String,
    /// Whether there is more of it in the run.
    pub is_cut: bool,
}

/// One query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryLine {
    /// Place in the run's order.
    pub index: u64,
    /// Which part of the run.
    pub part: u32,
    /// What the question is about.
    pub subject: Option<String>,
    /// The prompt.
    pub prompt: Option<Text>,
    /// The model's answer.
    pub answer: Option<Text>,
    /// The expected answer.
    pub expected: Option<Text>,
    /// The model's reasoning.
    pub reasoning: Option<Text>,
    /// What went wrong.
    pub error: Option<Text>,
    /// How it ended.
    pub outcome: String,
    /// Whether there is an answer.
    pub is_answered: bool,
    /// Whether the answer is right; `None`: not graded.
    pub is_correct: Option<bool>,
    /// When it began, in seconds on the timeline.
    pub start: Option<f64>,
    /// When it was over.
    pub end: Option<f64>,
    /// From the send to the end, in seconds.
    pub seconds: Option<f64>,
    /// From the send to the first token, in seconds.
    pub time_to_first_token_seconds: Option<f64>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens generated.
    pub output_tokens: Option<u64>,
    /// Its energy.
    pub joules: Option<f64>,
    /// One standard deviation of it.
    pub sigma_joules: Option<f64>,
    /// What of it is above idle.
    pub above_idle_joules: Option<f64>,
    /// Whether the energy is a model's.
    pub is_estimated: bool,
    /// Why there is no energy.
    pub energy_reason: Option<String>,
    /// Whether it kept the limits.
    pub is_slo_met: Option<bool>,
    /// Energy by source.
    pub shares: Vec<LineShare>,
}

/// What one source says of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineShare {
    /// The source.
    pub name: String,
    /// Joules.
    pub joules: Option<f64>,
    /// One standard deviation.
    pub sigma_joules: Option<f64>,
    /// `counter`, `integrated` or `estimated`.
    pub method: String,
    /// Covered share of the query's time.
    pub coverage: Option<f64>,
    /// Why it is null or partial.
    pub reason: Option<String>,
}

/// Facts under one title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// Name and value.
    pub facts: Vec<(String, String)>,
}

/// This tool's own error on this hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// In words.
    pub text: String,
    /// Whether every check passed; `None` where it never ran.
    pub passed: Option<bool>,
    /// Figures that are out of their bounds, in words.
    pub out: Vec<String>,
    /// The checks.
    pub table: Option<Table>,
}

impl Cell {
    /// A plain one.
    pub fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// One that is not known, and why.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self {
            text: "n/a".to_owned(),
            detail: Some(why.into()),
            is_estimated: false,
        }
    }

    /// The same with its interval or a remark.
    #[must_use]
    pub fn with(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same, marked if it is a model's.
    #[must_use]
    pub fn estimated(mut self, is_estimated: bool) -> Self {
        self.is_estimated = is_estimated;
        self
    }
}

impl Column {
    /// A column of words.
    pub fn words(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_number: false,
        }
    }

    /// A column of numbers.
    pub fn numbers(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_number: true,
        }
    }
}
