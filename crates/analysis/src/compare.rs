//! Comparison of two runs: differences, their confidence intervals, and a verdict (docs/method.md
//! §9.6).
//!
//! Queries in both runs are paired, which removes the spread between queries. Ratios are compared
//! by the logarithm of B ÷ A. Its interval uses the jackknife's deviation and Student's quantile if
//! paired, Welch's otherwise. Shares and percentiles combine the intervals of both runs (Zou and
//! Donner, "Construction of confidence limits about effect measures", 2008), less the correlation
//! of pairs.

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

/// How rows of the two runs are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Each query with the same query.
    Paired,
    /// All queries of one run with all of the other.
    Unpaired,
}

/// Method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Jackknife over pairs, Student's quantile.
    Paired,
    /// Jackknife over either run, Welch's degrees of freedom.
    Welch,
    /// Wilson's intervals combined with the correlation of pairs (Newcombe 1998, method 10).
    NewcombePaired,
    /// Wilson's intervals combined (Newcombe 1998, hybrid score).
    Newcombe,
    /// Intervals from order statistics, combined with the correlation of pairs.
    OrderStatistics,
}

/// Why a metric cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum NotCompared {
    /// A run has no value of the metric.
    #[error("{run} has no value for it")]
    Unknown {
        /// The run without a value.
        run: Side,
    },
    /// Too few queries.
    #[error("{queries} queries are too few: needs ≥ {needs}")]
    TooFew {
        /// Number of queries.
        queries: u64,
        /// Number of queries needed.
        needs: u64,
    },
}

/// One of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

/// A comparison of two runs in one metric. B is compared with A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// The metric.
    pub metric: Metric,
    /// Unit of its values.
    pub unit: Unit,
    /// The better direction.
    pub better: Better,
    /// How rows are matched.
    pub pairing: Pairing,
    /// Number of queries of A that count.
    pub queries_a: u64,
    /// Number of queries of B that count; equal to that of A if paired.
    pub queries_b: u64,
    /// Queries of either run that do not count: without a partner or without the metric.
    pub left_out: u64,
    /// The metric of A over these queries.
    pub a: Option<f64>,
    /// The metric of B.
    pub b: Option<f64>,
    /// B ÷ A − 1 with its 95 % interval.
    pub relative: Option<Estimate>,
    /// B − A with its 95 % interval.
    pub absolute: Option<Estimate>,
    /// Exact p-value of discordant pairs (`McNemar`); `None` except for paired shares.
    pub p_value: Option<f64>,
    /// Method of the intervals; `None` without any.
    pub method: Option<Method>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict, if the data do not suffice.
    pub reason: Option<NotCompared>,
}

/// Result of a method.
#[derive(Debug, Clone, Copy, Default)]
struct MethodResult {
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

/// Compares B with A in each of these metrics. Queries are paired if at least half of the queries
/// of either run are in the other one.
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

impl MethodResult {
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

/// The interval of B − A from those of A and B with this `correlation`.
fn together(a: Estimate, b: Estimate, correlation: f64) -> Option<Estimate> {
    let half = |b: f64, a: f64| (b * b - 2.0 * correlation * b * a + a * a).max(0.0).sqrt();
    let value = b.value - a.value;
    Estimate::known(
        value,
        value - half(b.value - b.low, a.high - a.value),
        value + half(b.high - b.value, a.value - a.low),
    )
}
