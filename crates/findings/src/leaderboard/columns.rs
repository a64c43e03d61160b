//! What is said of each run, column by column.

use ipw_analysis::metric::Metric;
use ipw_core::quantity::grouped;

use super::Entry;
use crate::calibration::day;
use crate::written::UNKNOWN;

/// A column of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Place in the section.
    Rank,
    /// The model.
    Model,
    /// The run's name.
    Name,
    /// Id of the client.
    Client,
    /// How queries were sent.
    Load,
    /// The hardware.
    Hardware,
    /// Number of queries.
    Queries,
    /// A metric.
    Of(Metric),
    /// Where the run lies.
    Run,
    /// The day of the run.
    Day,
}

/// The metrics of a board, the most important first.
const METRICS: [Metric; 9] = [
    Metric::Accuracy,
    Metric::Ipw,
    Metric::JoulesPerQuery,
    Metric::Watts,
    Metric::Ipj,
    Metric::JoulesPerOutputToken,
    Metric::JoulesPerCorrect,
    Metric::LatencyP50,
    Metric::TokensPerSecond,
];

/// The metrics of a board, with the one that it is sorted by.
pub fn metrics(sort: Metric) -> Vec<Metric> {
    let mut metrics = METRICS.to_vec();
    if !metrics.contains(&sort) {
        metrics.insert(1, sort);
    }
    metrics
}

/// All columns of a board.
pub fn with(sort: Metric) -> Vec<Column> {
    let about = [
        Column::Rank,
        Column::Model,
        Column::Name,
        Column::Client,
        Column::Load,
        Column::Hardware,
        Column::Queries,
    ];
    let metrics = metrics(sort).into_iter().map(Column::Of);
    let rest = [Column::Run, Column::Day];
    about.into_iter().chain(metrics).chain(rest).collect()
}

impl Column {
    /// The head of the column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rank => "#",
            Self::Model => "model",
            Self::Name => "name",
            Self::Client => "client",
            Self::Run => "run",
            Self::Hardware => "hardware",
            Self::Load => "load",
            Self::Queries => "queries",
            Self::Of(metric) => metric.definition().title,
            Self::Day => "day",
        }
    }

    /// Whether its cells are numbers.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Rank | Self::Queries | Self::Of(_))
    }

    /// What stands there.
    pub fn text(self, entry: &Entry) -> String {
        let facts = &entry.facts;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        match self {
            Self::Rank => entry
                .rank
                .map_or_else(|| UNKNOWN.to_owned(), |rank| rank.to_string()),
            Self::Model => facts.model.clone(),
            Self::Name => known(&facts.name),
            Self::Client => known(&facts.client),
            Self::Run => entry.place.clone(),
            Self::Hardware => known(&facts.hardware),
            Self::Load => known(&facts.load),
            Self::Queries => grouped(facts.queries),
            Self::Of(metric) => {
                let figure = entry.figure(metric);
                let is_estimate = metric.has_energy() && facts.energy.is_estimated();
                match figure.value {
                    None => UNKNOWN.to_owned(),
                    Some(value) => {
                        let mark = if is_estimate { "~" } else { "" };
                        format!("{mark}{}", metric.unit().show(value))
                    }
                }
            }
            Self::Day => facts.started_at.map_or_else(|| UNKNOWN.to_owned(), day),
        }
    }

    /// Its interval of 95 %, where it has one.
    pub fn interval(self, entry: &Entry) -> Option<String> {
        let Self::Of(metric) = self else { return None };
        let (low, high) = entry.figure(metric).ends()?;
        Some(metric.unit().range(low, high))
    }

    /// What to sort by; `None` for a text.
    pub fn number(self, entry: &Entry) -> Option<f64> {
        match self {
            Self::Rank => entry.rank.map(real),
            Self::Queries => Some(real(entry.facts.queries)),
            Self::Of(metric) => entry.figure(metric).value,
            Self::Day => entry.facts.started_at,
            _ => None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of queries")]
fn real(count: u64) -> f64 {
    count as f64
}
