//! Outlying queries and their causes (docs/method.md §9.8).
//!
//! A long reply takes long, so a row is compared with the typical value for its tokens. That is the
//! line of Theil and Sen, which outliers do not move. Deviations are logarithms of ratios, in units
//! of their median absolute deviation. For given tokens, seconds and tokens per second deviate
//! together, as do joules and joules per token. Each pair is tested once, and both values are
//! reported.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::distribution::normal_quantile;
use crate::interval::{known, real};
use crate::line::Line;
use crate::regression::RobustLine;
use ipw_core::stats::quantile;

pub use self::cold::{ColdCause, ColdRow};

mod cold;
#[cfg(test)]
mod tests;

/// Smallest score of an outlier (Iglewicz and Hoaglin, 1993).
pub const LEAST_SCORE: f64 = 3.5;

/// Share of runs with a false outlier, for log-normal values with a known deviation. As the
/// deviation is estimated, the true share is slightly higher.
const CHANCE: f64 = 0.01;

/// A smaller spread counts as one percent, so that the clock's resolution causes no outliers.
const LEAST_SPREAD: f64 = 0.01;

/// Fewest rows with a typical value.
const FEWEST: usize = 8;

/// The deviation of a normal distribution ÷ its median absolute deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// The quantity of an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Seconds to the end, for its output tokens; its rate is tokens per second.
    Latency,
    /// Seconds to the first token, for its input tokens; without a rate.
    Ttft,
    /// Joules, for all of its tokens; its rate is joules per token.
    Joules,
}

/// An outlying row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// Index of the row, from 0 in the given order.
    pub row: u64,
    /// The query's id; empty until [`Outliers::name`].
    pub query: String,
    /// The quantity.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// The typical value for its tokens.
    pub usual: f64,
    /// The number of tokens.
    pub tokens: f64,
    /// Tokens per second, or joules per token; `None` for a quantity without a rate, and without
    /// tokens.
    pub rate: Option<f64>,
    /// The typical rate for its tokens.
    pub usual_rate: Option<f64>,
    /// Deviation in robust standard deviations of the logarithm; negative below the typical value.
    pub score: f64,
    /// The reason in words.
    pub reason: String,
    /// Set if it was the first query or followed a pause, so that the service may have been cold.
    pub cold: Option<ColdCause>,
}

/// Outlier test of one quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutlierTest {
    /// The quantity.
    pub quantity: Quantity,
    /// Number of rows with the quantity.
    pub rows: u64,
    /// Number of outliers.
    pub far_out: u64,
    /// Smallest score of an outlier.
    pub bound: f64,
}

/// Outliers of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outliers {
    /// Each quantity with enough rows.
    pub looked: Vec<OutlierTest>,
    /// The largest outliers, in decreasing order.
    pub outliers: Vec<Outlier>,
    /// The first of the rows that may have been cold.
    pub cold: Vec<ColdRow>,
    /// Total number of such rows.
    pub cold_rows: u64,
}

/// A possible [`Outlier`].
struct Candidate {
    row: usize,
    quantity: Quantity,
    value: f64,
    usual: f64,
    tokens: f64,
    score: f64,
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Self; 3] = [Self::Latency, Self::Ttft, Self::Joules];

    /// Tokens and value of a row with both.
    fn point(self, line: &Line) -> Option<(f64, f64)> {
        let (tokens, value) = match self {
            Self::Latency => (line.output_tokens.get()?, line.total.get()?),
            Self::Ttft => (line.input_tokens.get()?, line.first_token.get()?),
            Self::Joules => (line.all_tokens()?, line.joules.get()?),
        };
        let is_positive = known(value)? > 0.0 && known(tokens)? >= 0.0;
        (line.is_answered && is_positive).then_some((tokens, value))
    }

    /// The customary rate of a value for its tokens.
    fn rate(self, value: f64, tokens: f64) -> Option<f64> {
        match self {
            Self::Latency => known(tokens / value),
            Self::Joules => known(value / tokens),
            Self::Ttft => None,
        }
    }

    const fn words(self) -> Words {
        let (noun, unit, tokens, rate) = match self {
            Self::Latency => ("latency", "s", "output tokens", "tokens/s"),
            Self::Ttft => ("time to first token", "s", "input tokens", ""),
            Self::Joules => ("energy", "J", "tokens", "J/token"),
        };
        Words {
            noun,
            unit,
            tokens,
            rate,
        }
    }
}

/// Wording for a quantity.
struct Words {
    noun: &'static str,
    unit: &'static str,
    tokens: &'static str,
    rate: &'static str,
}

/// Two significant digits, or all integer digits.
fn two_digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 9.95 => 0,
        value if value >= 0.995 => 1,
        value if value >= 0.099_5 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

impl Outliers {
    /// Indices of the listed rows.
    pub fn rows(&self) -> BTreeSet<u64> {
        let cold = self.cold.iter().map(|one| one.row);
        self.outliers
            .iter()
            .map(|one| one.row)
            .chain(cold)
            .collect()
    }

    /// Sets the query ids of these rows.
    pub fn name(&mut self, names: &BTreeMap<u64, String>) {
        let name = |row: u64| names.get(&row).cloned().unwrap_or_default();
        for one in &mut self.outliers {
            one.query = name(one.row);
        }
        for one in &mut self.cold {
            one.query = name(one.row);
        }
    }
}

/// The outliers, at most `most`; also at most `most` cold rows.
pub fn outliers(lines: &[Line], most: usize) -> Outliers {
    let marks = cold::marks(lines);
    let mut looked = Vec::new();
    let mut candidates = Vec::new();
    for quantity in Quantity::ALL {
        if let Some((one, mut found)) = far_out(lines, quantity) {
            looked.push(one);
            candidates.append(&mut found);
        }
    }
    candidates.sort_by(|left, right| {
        let farther = right.score.abs().total_cmp(&left.score.abs());
        farther
            .then(left.row.cmp(&right.row))
            .then(left.quantity.cmp(&right.quantity))
    });
    candidates.truncate(most);
    Outliers {
        looked,
        outliers: candidates
            .into_iter()
            .map(|one| one.outlier(marks.get(&one.row).copied()))
            .collect(),
        cold_rows: marks.len() as u64,
        cold: cold::listed(&marks, most),
    }
}

fn far_out(lines: &[Line], quantity: Quantity) -> Option<(OutlierTest, Vec<Candidate>)> {
    // Recomputed several times rather than stored, as a run may have millions of rows.
    let points = || {
        let lines = lines.iter().enumerate();
        lines.filter_map(|(place, line)| Some((place, quantity.point(line)?)))
    };
    let rows = points().count();
    if rows < FEWEST {
        return None;
    }
    let usual = usual(points().map(|(_, point)| point), rows)?;
    let distance = |(tokens, value): (f64, f64)| (value / usual(tokens)).ln();
    let mut sorted = Vec::with_capacity(rows);
    sorted.extend(points().map(|(_, point)| distance(point)));
    let middle = median(&mut sorted)?;
    for distance in &mut sorted {
        *distance = (*distance - middle).abs();
    }
    let spread = (NORMAL * median(&mut sorted)?).max(LEAST_SPREAD);
    let bound = bound(rows);
    let found: Vec<Candidate> = points()
        .map(|(row, (tokens, value))| Candidate {
            row,
            quantity,
            value,
            usual: usual(tokens) * middle.exp(),
            tokens,
            score: (distance((tokens, value)) - middle) / spread,
        })
        .filter(|one| one.score.is_finite() && one.score.abs() > bound)
        .collect();
    let looked = OutlierTest {
        quantity,
        rows: rows as u64,
        far_out: found.len() as u64,
        bound,
    };
    Some((looked, found))
}

/// The typical value for a number of tokens: the robust line, but at least half of the 5th
/// percentile, as a line may reach zero. If all rows have the same number of tokens, the median.
fn usual(
    points: impl Iterator<Item = (f64, f64)> + Clone,
    count: usize,
) -> Option<impl Fn(f64) -> f64> {
    let mut all = Vec::with_capacity(count);
    all.extend(
        points
            .clone()
            .filter(|(x, y)| x.is_finite() && y.is_finite()),
    );
    let line = RobustLine::of(all);
    let mut sorted = Vec::with_capacity(count);
    sorted.extend(points.map(|(_, value)| value));
    sorted.sort_unstable_by(f64::total_cmp);
    let (floor, middle) = (quantile(&sorted, 0.05)? / 2.0, quantile(&sorted, 0.5)?);
    Some(move |tokens: f64| line.map_or(middle, |line| line.at(tokens).max(floor)))
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    quantile(values, 0.5)
}

/// The score that none of this many normal rows exceeds in 99 % of runs (Bonferroni).
fn bound(rows: usize) -> f64 {
    let tail = CHANCE / (2.0 * real(rows as u64));
    normal_quantile(tail).map_or(LEAST_SCORE, |quantile| (-quantile).max(LEAST_SCORE))
}

impl Candidate {
    fn outlier(&self, cold: Option<ColdCause>) -> Outlier {
        let Self {
            quantity,
            value,
            usual,
            tokens,
            ..
        } = *self;
        let [rate, usual_rate] = [value, usual].map(|value| quantity.rate(value, tokens));
        Outlier {
            row: self.row as u64,
            query: String::new(),
            quantity,
            value,
            usual,
            tokens,
            rate,
            usual_rate,
            score: self.score,
            reason: self.reason(rate.zip(usual_rate), cold),
            cold,
        }
    }

    fn reason(&self, rates: Option<(f64, f64)>, cold: Option<ColdCause>) -> String {
        let words = self.quantity.words();
        let written = |value: f64| match value {
            value if value < 0.1 => format!("{} m{}", two_digits(value * 1e3), words.unit),
            value => format!("{} {}", two_digits(value), words.unit),
        };
        let mut reason = format!(
            "{} {} where {} is usual for {:.0} {}",
            words.noun,
            written(self.value),
            written(self.usual),
            self.tokens,
            words.tokens
        );
        if let Some((rate, usual)) = rates {
            let (rate, usual) = (two_digits(rate), two_digits(usual));
            reason = format!("{reason} ({rate} {}, not {usual})", words.rate);
        }
        match cold {
            Some(cold) => format!("{reason}, {cold}"),
            None => reason,
        }
    }
}
