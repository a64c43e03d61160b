//! Two runs side by side: what is different, how sure that is, and what to make of it
//! (docs/method.md §9.6).
//!
//! Where both runs asked the same queries, each query is compared with itself, which takes the
//! spread between queries out. Ratios are compared by the logarithm of B ÷ A, with the jackknife's
//! deviation and Student's quantile (paired) or Welch's; shares and percentiles by the intervals of
//! the two runs, put together (Zou and Donner, "Construction of confidence limits about effect
//! measures", 2008), less what pairs have in common.

use serde::Serialize;

use crate::interval::Estimate;
use crate::metric::{Better, Kind, Metric, Row, Unit, by_query};

pub use self::verdict::{Tolerance, Verdict};

mod pairs;
mod percentiles;
mod ratios;
mod shares;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

/// Which rows were compared with which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Each query with itself.
    Paired,
    /// All of one run with all of the other.
    Unpaired,
}

/// Where the intervals come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Jackknife over pairs, Student's quantile.
    Paired,
    /// Jackknife over either run, Welch's degrees of freedom.
    Welch,
    /// Wilson's intervals put together with the correlation of pairs (Newcombe 1998, method 10).
    NewcombePaired,
    /// Wilson's intervals put together (Newcombe 1998, hybrid score).
    Newcombe,
    /// Intervals from order statistics put together, with the correlation of pairs.
    OrderStatistics,
}

/// Why two runs cannot be compared by a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum NotCompared {
    /// One run knows nothing of it.
    #[error("{run} has no value for it")]
    Unknown {
        /// Which.
        run: Side,
    },
    /// Too few queries.
    #[error("{queries} queries are too few: needs ≥ {needs}")]
    TooFew {
        /// How many there are.
        queries: u64,
        /// How many it takes.
        needs: u64,
    },
}

/// One of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What is compared against.
    A,
    /// What is compared.
    B,
}

/// Two runs by one metric. B is compared against A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// By what.
    pub metric: Metric,
    /// What its numbers are.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Which rows were compared with which.
    pub pairing: Pairing,
    /// Queries of A that count.
    pub queries_a: u64,
    /// Queries of B that count; the same as of A where they are paired.
    pub queries_b: u64,
    /// Queries of either run that do not count: without a partner, or without the metric.
    pub left_out: u64,
    /// The metric of A over these queries.
    pub a: Option<f64>,
    /// The metric of B.
    pub b: Option<f64>,
    /// B ÷ A − 1, with its interval of 95 %.
    pub relative: Option<Estimate>,
    /// B − A, with its interval of 95 %.
    pub absolute: Option<Estimate>,
    /// Exact p-value of the pairs that differ (`McNemar`); `None` for all but paired shares.
    pub p_value: Option<f64>,
    /// Where the intervals come from; `None` without any.
    pub method: Option<Method>,
    /// What to make of it.
    pub verdict: Verdict,
    /// Why it cannot be told, where that is so for want of numbers.
    pub reason: Option<NotCompared>,
}

/// What a method finds.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    queries: [u64; 2],
    values: [Option<f64>; 2],
    relative: Option<Estimate>,
    absolute: Option<Estimate>,
    p_value: Option<f64>,
    method: Option<Method>,
    needs: u64,
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// Compares B against A by each of these metrics. Queries are paired if at least half of the
/// queries of either run are in the other one, too.
pub fn compare(a: &[Row], b: &[Row], metrics: &[Metric], tolerance: Tolerance) -> Vec<Comparison> {
    let queries = [by_query(a), by_query(b)];
    let pairs = pairs::of(&queries);
    let most = queries[0].len().max(queries[1].len());
    let pairing = if most > 0 && 2 * pairs.len() >= most {
        Pairing::Paired
    } else {
        Pairing::Unpaired
    };
    let is_percentile = |metric: &Metric| matches!(metric.kind(), Kind::Percentile(..));
    let places = if metrics.iter().any(is_percentile) && pairing == Pairing::Paired {
        pairs::of_rows(a, b)
    } else {
        Vec::new()
    };
    metrics
        .iter()
        .map(|metric| {
            let found = match (metric.kind(), pairing) {
                (Kind::Ratio(recipe), Pairing::Paired) => ratios::paired(&recipe, &pairs),
                (Kind::Ratio(recipe), Pairing::Unpaired) => ratios::unpaired(&recipe, &queries),
                (Kind::Share(recipe), Pairing::Paired) => shares::paired(&recipe, &pairs),
                (Kind::Share(recipe), Pairing::Unpaired) => shares::unpaired(&recipe, &queries),
                (Kind::Percentile(time, fraction), Pairing::Paired) => {
                    let both = |&(left, right): &(usize, usize)| {
                        Some((a[left].time(time)?, b[right].time(time)?))
                    };
                    let times: Vec<(f64, f64)> = places.iter().filter_map(both).collect();
                    percentiles::paired(&times, fraction)
                }
                (Kind::Percentile(time, fraction), Pairing::Unpaired) => {
                    let times =
                        |rows: &[Row]| rows.iter().filter_map(|row| row.time(time)).collect();
                    let values = [times(a), times(b)];
                    percentiles::unpaired(values, fraction)
                }
            };
            let rows = match metric.kind() {
                Kind::Percentile(..) => (a.len() + b.len()) as u64,
                _ => (queries[0].len() + queries[1].len()) as u64,
            };
            found.comparison(*metric, pairing, rows, tolerance)
        })
        .collect()
}

impl Found {
    fn comparison(
        self,
        metric: Metric,
        pairing: Pairing,
        all: u64,
        tolerance: Tolerance,
    ) -> Comparison {
        let has_interval = self.relative.is_some() || self.absolute.is_some();
        Comparison {
            metric,
            unit: metric.unit(),
            better: metric.better(),
            pairing,
            queries_a: self.queries[0],
            queries_b: self.queries[1],
            left_out: all.saturating_sub(self.queries.iter().sum()),
            a: self.values[0],
            b: self.values[1],
            relative: self.relative,
            absolute: self.absolute,
            p_value: self.p_value,
            method: self.method.filter(|_| has_interval),
            verdict: Verdict::of(metric, self.relative, self.absolute, tolerance),
            reason: if has_interval { None } else { self.reason() },
        }
    }

    fn reason(&self) -> Option<NotCompared> {
        let [a, b] = self.values;
        let unknown = |run| Some(NotCompared::Unknown { run });
        if a.is_none() && self.queries[0] == 0 {
            return unknown(Side::A);
        }
        if b.is_none() && self.queries[1] == 0 {
            return unknown(Side::B);
        }
        let queries = self.queries[0].min(self.queries[1]);
        if queries < self.needs {
            return Some(NotCompared::TooFew {
                queries,
                needs: self.needs,
            });
        }
        match (a, b) {
            (None, _) => unknown(Side::A),
            (_, None) => unknown(Side::B),
            _ => None,
        }
    }
}

/// The interval of B − A from those of A and B, where the two go together by `correlation`.
fn together(a: Estimate, b: Estimate, correlation: f64) -> Option<Estimate> {
    let half = |b: f64, a: f64| (b * b - 2.0 * correlation * b * a + a * a).max(0.0).sqrt();
    let value = b.value - a.value;
    Estimate::known(
        value,
        value - half(b.value - b.low, a.high - a.value),
        value + half(b.high - b.value, a.value - a.low),
    )
}
