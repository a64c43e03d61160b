//! 95 % confidence intervals of ratios by resampling queries (docs/method.md §9.4).
//!
//! Up to [`MOST_DRAWN`] queries are resampled with replacement, [`RESAMPLES`] times. The interval
//! is Efron's `BCa`: bias-corrected and accelerated. With more queries the logarithm is practically
//! normal, and the delta method gives its deviation in one pass. The result names the method. The
//! same seed gives the same interval.

use std::collections::BTreeMap;

use ipw_core::random::Random;
use ipw_core::stats::{quantile, standard_deviation};
use serde::Serialize;

use crate::distribution::{normal_quantile, normal_share};
use crate::interval::{Estimate, Interval, TAIL, Z, real};
use crate::metric::{Kind, Metric, Recipe, Row, Sums, by_query, total};

/// Number of resamples.
pub const RESAMPLES: usize = 2000;

/// Above this number of queries the delta method is used.
pub const MOST_DRAWN: usize = 10_000;

/// Method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Bootstrap, bias-corrected and accelerated.
    Bca,
    /// Bootstrap percentiles, where no correction is possible.
    Percentile,
    /// The logarithm ± 1.96 deviations, linearised.
    Delta,
}

/// A metric with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MetricEstimate {
    /// The metric over all queries.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Method of the interval.
    pub method: Method,
    /// Number of queries.
    pub queries: u64,
}

impl MetricEstimate {
    /// The interval including a relative standard deviation of the energy that all queries share.
    /// Both uncertainties are combined on the log scale. `None` if an end is not above zero.
    pub fn with_sigma(self, relative: f64) -> Option<Interval> {
        let doubt = Z * relative;
        let away = |end: f64| {
            let drawn = (end / self.value).ln();
            drawn.hypot(doubt)
        };
        let is_positive = self.low > 0.0 && self.value > 0.0 && relative.is_finite();
        is_positive.then(|| Interval {
            low: self.value * (-away(self.low)).exp(),
            high: self.value * away(self.high).exp(),
        })
    }
}

/// The interval of each of these metrics over these rows. `None` if the metric is unknown, has
/// fewer than two queries, or is undefined in too many resamples. Also `None` for a percentile;
/// [`crate::percentile`] has its interval.
pub fn intervals(
    rows: &[Row],
    metrics: &[Metric],
    seed: u64,
) -> BTreeMap<Metric, Option<MetricEstimate>> {
    let queries: Vec<Sums> = by_query(rows)
        .into_iter()
        .map(|(_, one)| one.sums)
        .collect();
    let recipes: Vec<(Metric, Option<Recipe>)> = metrics
        .iter()
        .map(|metric| match metric.kind() {
            Kind::Ratio(recipe) | Kind::Share(recipe) => (*metric, Some(recipe)),
            Kind::Percentile(..) => (*metric, None),
        })
        .collect();
    let draws = (2..=MOST_DRAWN)
        .contains(&queries.len())
        .then(|| drawn(&queries, seed));
    recipes
        .into_iter()
        .map(|(metric, recipe)| {
            let sure = recipe.and_then(|recipe| match &draws {
                Some(draws) => by_draws(&recipe, &queries, draws),
                None => by_delta(&recipe, &queries),
            });
            (metric, sure)
        })
        .collect()
}

/// The indices that are drawn, resample by resample, for checking an interval elsewhere.
pub fn places(queries: usize, resamples: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    (0..resamples)
        .map(|_| draw(&mut random, queries).collect())
        .collect()
}

fn draw(random: &mut Random, queries: usize) -> impl Iterator<Item = usize> {
    (0..queries).map(move |_| random.up_to(queries - 1))
}

/// The sums of each resample.
fn drawn(queries: &[Sums], seed: u64) -> Vec<Sums> {
    let mut random = Random::new(seed);
    (0..RESAMPLES)
        .map(|_| {
            let mut sums = Sums::default();
            for place in draw(&mut random, queries.len()) {
                sums.add(&queries[place]);
            }
            sums
        })
        .collect()
}

fn by_draws(recipe: &Recipe, queries: &[Sums], draws: &[Sums]) -> Option<MetricEstimate> {
    let all = total(queries);
    let value = recipe.value(&all)?;
    // A resample without a correct answer has infinite joules per correct answer.
    let mut values: Vec<f64> = draws
        .iter()
        .map(|sums| recipe.value(sums).unwrap_or(f64::INFINITY))
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let corrected = bias(&values, value)
        .zip(acceleration(recipe, queries, &all))
        .and_then(|(bias, acceleration)| shares(bias, acceleration));
    let (method, [low, high]) = match corrected {
        Some(shares) => (Method::Bca, shares),
        None => (Method::Percentile, [TAIL, 1.0 - TAIL]),
    };
    let found = Estimate::known(value, quantile(&values, low)?, quantile(&values, high)?)?;
    Some(MetricEstimate::new(found, method, queries.len()))
}

fn by_delta(recipe: &Recipe, queries: &[Sums]) -> Option<MetricEstimate> {
    let value = recipe.value(&total(queries))?;
    let means = total(queries).over(queries.len() as u64);
    let influences: Option<Vec<f64>> = queries
        .iter()
        .map(|one| recipe.influence(one, &means))
        .collect();
    let error = standard_deviation(&influences?)? / real(queries.len() as u64).sqrt();
    delta(value, error, queries.len())
}

/// The delta method over rows that arrive twice and are not stored. Each row must be another query.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    all: Sums,
    queries: u64,
    /// By metric, on the second pass.
    again: Option<Vec<Influence>>,
}

/// Influence of single queries on a metric.
#[derive(Debug, Clone, Copy)]
struct Influence {
    metric: Metric,
    recipe: Recipe,
    /// Sum and sum of squares; `None` where the value has no logarithm.
    sums: Option<(f64, f64)>,
}

impl Delta {
    /// Adds one row.
    pub fn push(&mut self, row: &Row<'_>) {
        let one = row.sums();
        let Some(again) = &mut self.again else {
            self.queries += 1;
            self.all.add(&one);
            return;
        };
        let means = self.all.over(self.queries);
        for own in again {
            let influence = own.recipe.influence(&one, &means);
            let sums = own.sums.zip(influence);
            own.sums = sums.map(|((sum, squares), influence)| {
                (sum + influence, squares + influence * influence)
            });
        }
    }

    /// Number of rows.
    pub const fn queries(&self) -> u64 {
        self.queries
    }

    /// Starts the second pass over the same rows.
    pub fn look_again(&mut self) {
        let recipe = |metric: Metric| match metric.kind() {
            Kind::Ratio(recipe) | Kind::Share(recipe) => Some(Influence {
                metric,
                recipe,
                sums: Some((0.0, 0.0)),
            }),
            Kind::Percentile(..) => None,
        };
        self.again = Some(Metric::ALL.into_iter().filter_map(recipe).collect());
    }

    /// The interval of each of these metrics; `None` as for [`intervals`].
    pub fn intervals(&self, metrics: &[Metric]) -> BTreeMap<Metric, Option<MetricEstimate>> {
        let sure = |metric: Metric| {
            let mut again = self.again.iter().flatten();
            let own = again.find(|own| own.metric == metric)?;
            let (sum, squares) = own.sums?;
            let value = own.recipe.value(&self.all)?;
            let count = real(self.queries);
            let variance = (squares - sum * sum / count) / (count - 1.0);
            let error = (variance.max(0.0) / count).sqrt();
            delta(value, error, usize::try_from(self.queries).ok()?)
        };
        metrics
            .iter()
            .map(|metric| (*metric, sure(*metric)))
            .collect()
    }
}

fn delta(value: f64, error: f64, queries: usize) -> Option<MetricEstimate> {
    let (low, high) = (value * (-Z * error).exp(), value * (Z * error).exp());
    let found = Estimate::known(value, low, high)?;
    Some(MetricEstimate::new(found, Method::Delta, queries))
}

/// Bias of the resamples against the value, in standard deviations; `None` if all are on one side.
fn bias(sorted: &[f64], value: f64) -> Option<f64> {
    let below = sorted.partition_point(|one| *one < value) as u64;
    let up_to = sorted.partition_point(|one| *one <= value) as u64;
    let count = real(sorted.len() as u64);
    normal_quantile(f64::midpoint(real(below), real(up_to)) / count)
}

/// Acceleration: how fast the deviation grows with the value. It is the skewness of the jackknife
/// influences ÷ 6.
fn acceleration(recipe: &Recipe, queries: &[Sums], all: &Sums) -> Option<f64> {
    let without: Option<Vec<f64>> = queries
        .iter()
        .map(|one| recipe.value_without(all, one))
        .collect();
    let without = without?;
    let middle = ipw_core::stats::mean(&without)?;
    let (squares, cubes) = without.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let distance = middle - value;
        (squares + distance.powi(2), cubes + distance.powi(3))
    });
    let skewness = cubes / (6.0 * squares.powf(1.5));
    // Queries without any spread have no skewness.
    Some(if skewness.is_finite() { skewness } else { 0.0 })
}

/// The quantiles of the resamples to use.
fn shares(bias: f64, acceleration: f64) -> Option<[f64; 2]> {
    let share = |z: f64| {
        let moved = bias + z;
        let share = normal_share(bias + moved / (1.0 - acceleration * moved));
        (share > 0.0 && share < 1.0).then_some(share)
    };
    Some([share(-Z)?, share(Z)?])
}

impl MetricEstimate {
    fn new(found: Estimate, method: Method, queries: usize) -> Self {
        Self {
            value: found.value,
            low: found.low,
            high: found.high,
            method,
            queries: queries as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: [Metric; 5] = [
        Metric::Accuracy,
        Metric::Ipw,
        Metric::Ipj,
        Metric::JoulesPerCorrect,
        Metric::JoulesPerToken,
    ];

    fn rows(names: &[String], seed: u64) -> Vec<Row<'_>> {
        let mut random = Random::new(seed);
        names
            .iter()
            .map(|query| {
                let tokens = 10 + random.up_to(500) as u64;
                let joules = real(tokens) * 0.5 * (1.0 + 0.2 * random.unit());
                Row {
                    query,
                    joules: Some(joules),
                    seconds: Some(joules / 40.0 * (0.9 + 0.2 * random.unit())),
                    total_tokens: Some(tokens),
                    is_answered: true,
                    is_correct: Some(random.unit() < 0.7),
                    ..Row::default()
                }
                .alone()
            })
            .collect()
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|place| place.to_string()).collect()
    }

    #[test]
    fn what_the_meter_does_not_know_widens_an_interval() {
        let sure = MetricEstimate {
            value: 2.0,
            low: 1.8,
            high: 2.2,
            method: Method::Bca,
            queries: 100,
        };
        let exact = sure.with_sigma(0.0).unwrap();
        assert!((exact.low - 1.8).abs() < 1e-12 && (exact.high - 2.2).abs() < 1e-12);
        let wide = sure.with_sigma(0.5).unwrap();
        assert!(wide.low < 2.0 * (-0.98_f64).exp() && wide.high > 2.0 * 0.98_f64.exp());
        let none = MetricEstimate { low: 0.0, ..sure };
        assert_eq!(none.with_sigma(0.1), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let names = names(60);
        let rows = rows(&names, 1);
        let found = intervals(&rows, &METRICS, 7);
        assert_eq!(found, intervals(&rows, &METRICS, 7));
        assert_ne!(found, intervals(&rows, &METRICS, 8));
        for (metric, sure) in found {
            let sure = sure.unwrap();
            assert!(
                sure.low < sure.value && sure.value < sure.high,
                "{metric:?} {sure:?}"
            );
            assert_eq!((sure.method, sure.queries), (Method::Bca, 60));
        }
    }

    /// Both methods agree where the delta method takes over.
    #[test]
    fn draws_and_delta_meet_for_many_queries() {
        let names = names(4000);
        let rows = rows(&names, 3);
        let queries: Vec<Sums> = rows.iter().map(Row::sums).collect();
        let draws = drawn(&queries, 5);
        for metric in METRICS {
            let (Kind::Ratio(recipe) | Kind::Share(recipe)) = metric.kind() else {
                panic!("a ratio");
            };
            let drawn = by_draws(&recipe, &queries, &draws).unwrap();
            let delta = by_delta(&recipe, &queries).unwrap();
            let width = delta.high - delta.low;
            // Two thousand resamples leave an error of about four percent in an end.
            assert!(
                (drawn.low - delta.low).abs() < 0.1 * width,
                "{drawn:?} {delta:?}"
            );
            assert!(
                (drawn.high - delta.high).abs() < 0.1 * width,
                "{drawn:?} {delta:?}"
            );
        }
    }

    #[test]
    fn rows_of_one_query_are_drawn_together() {
        let few = names(20);
        let once = rows(&few, 11);
        let mut thrice = once.clone();
        thrice.extend_from_slice(&once);
        thrice.extend_from_slice(&once);
        let interval = |rows: &[Row]| intervals(rows, &[Metric::JoulesPerToken], 2);
        let (once, thrice) = (interval(&once), interval(&thrice));
        let [once, thrice] = [once, thrice].map(|found| found[&Metric::JoulesPerToken].unwrap());
        assert!((once.low - thrice.low).abs() < 1e-9 && (once.high - thrice.high).abs() < 1e-9);
    }

    #[test]
    fn nothing_one_and_all_alike() {
        assert_eq!(intervals(&[], &METRICS, 0)[&Metric::Ipj], None);
        let names = names(8);
        let one = Row {
            query: "a",
            joules: Some(3.0),
            seconds: Some(1.0),
            total_tokens: Some(10),
            is_answered: true,
            is_correct: Some(true),
            ..Row::default()
        }
        .alone();
        assert!(intervals(&[one], &METRICS, 0).values().all(Option::is_none));
        let alike: Vec<Row> = names.iter().map(|query| Row { query, ..one }).collect();
        for (metric, sure) in intervals(&alike, &METRICS, 0) {
            let sure = sure.unwrap();
            assert!(sure.high - sure.low < 1e-12, "{metric:?} {sure:?}");
        }
        let wrong: Vec<Row> = alike
            .iter()
            .map(|row| Row {
                is_correct: Some(false),
                ..*row
            })
            .collect();
        let found = intervals(&wrong, &METRICS, 0);
        assert_eq!(found[&Metric::JoulesPerCorrect], None);
        assert_eq!(
            intervals(&wrong, &[Metric::TtftP50], 0)[&Metric::TtftP50],
            None
        );
    }

    /// One correct answer is missing in a third of the resamples, so there is no upper end.
    #[test]
    fn an_end_that_no_draw_has_is_not_made_up() {
        let names = names(30);
        let mut rows = rows(&names, 4);
        for (place, row) in rows.iter_mut().enumerate() {
            row.is_correct = Some(place == 0);
        }
        let found = intervals(&rows, &METRICS, 0);
        assert_eq!(found[&Metric::JoulesPerCorrect], None);
        assert!(found[&Metric::Accuracy].is_some());
    }
}
