//! What is said of each run, column by column.

use ipw_analysis::metric::{Metric, Unit};

use super::board::Entry;
use crate::calibration::day;
use crate::compared::has_energy;
use crate::written::{self, UNKNOWN};

/// A column of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Rank,
    Model,
    Run,
    Hardware,
    Load,
    Queries,
    Of(Metric),
    Basis,
    Day,
}

/// All of them, in order.
pub(super) const ALL: [Column; 16] = [
    Column::Rank,
    Column::Model,
    Column::Run,
    Column::Hardware,
    Column::Load,
    Column::Queries,
    Column::Of(Metric::Accuracy),
    Column::Of(Metric::Ipw),
    Column::Of(Metric::Ipj),
    Column::Of(Metric::JoulesPerQuery),
    Column::Of(Metric::JoulesPerToken),
    Column::Of(Metric::JoulesPerCorrect),
    Column::Of(Metric::LatencyP50),
    Column::Of(Metric::TokensPerSecond),
    Column::Basis,
    Column::Day,
];

/// The columns of a board, with the one that it is sorted by.
pub(super) fn with(sort: Metric) -> Vec<Column> {
    let mut columns = ALL.to_vec();
    if !columns.contains(&Column::Of(sort)) {
        columns.insert(6, Column::Of(sort));
    }
    columns
}

impl Column {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Rank => "#",
            Self::Model => "model",
            Self::Run => "run",
            Self::Hardware => "hardware",
            Self::Load => "load",
            Self::Queries => "queries",
            Self::Of(Metric::Accuracy) => "accuracy",
            Self::Of(Metric::Ipw) => "IPW",
            Self::Of(Metric::Ipj) => "IPJ",
            Self::Of(Metric::JoulesPerQuery) => "J/query",
            Self::Of(Metric::JoulesPerToken) => "J/token",
            Self::Of(Metric::JoulesPerCorrect) => "J/right",
            Self::Of(Metric::LatencyP50) => "p50",
            Self::Of(Metric::TokensPerSecond) => "tokens/s",
            Self::Of(metric) => metric.name(),
            Self::Basis => "energy",
            Self::Day => "day",
        }
    }

    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Rank | Self::Queries | Self::Of(_))
    }

    /// What stands there.
    pub(super) fn text(self, entry: &Entry) -> String {
        let facts = &entry.facts;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        match self {
            Self::Rank => entry
                .rank
                .map_or_else(|| UNKNOWN.to_owned(), |rank| rank.to_string()),
            Self::Model => facts.model.clone(),
            Self::Run => entry.place.clone(),
            Self::Hardware => known(&facts.hardware),
            Self::Load => known(&facts.load),
            Self::Queries => facts.queries.to_string(),
            Self::Of(metric) => {
                let figure = entry.figure(metric);
                let is_estimate = has_energy(metric) && facts.energy.is_estimated();
                match figure.value {
                    None => UNKNOWN.to_owned(),
                    Some(value) => {
                        let mark = if is_estimate { "~" } else { "" };
                        format!("{mark}{}", bare(metric, value))
                    }
                }
            }
            Self::Basis => facts.basis_label().unwrap_or_else(|| UNKNOWN.to_owned()),
            Self::Day => facts.started_at.map_or_else(|| UNKNOWN.to_owned(), day),
        }
    }

    /// Its interval of 95 %, where it has one.
    pub(super) fn interval(self, entry: &Entry) -> Option<String> {
        let Self::Of(metric) = self else { return None };
        let (low, high) = entry.figure(metric).ends()?;
        let (low, high) = (bare(metric, low), bare(metric, high));
        Some(match low.split_once(' ').zip(high.split_once(' ')) {
            Some(((number, one), (_, other))) if one == other => format!("{number}–{high}"),
            _ => format!("{low}–{high}"),
        })
    }

    /// What to sort by; `None` for a text.
    pub(super) fn number(self, entry: &Entry) -> Option<f64> {
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

/// The value without a unit that the title says already.
fn bare(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::PerWatt | Unit::PerJoule | Unit::PerSecond => written::digits(value),
        unit => written::value(unit, value),
    }
}
