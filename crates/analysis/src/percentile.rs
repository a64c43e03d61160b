//! Percentiles from raw values, with the interval that the sample supports.
//!
//! Percentiles use one definition everywhere: [`ipw_core::stats::quantile`]. The 95 % interval
//! comes from order statistics. For any distribution, the number of values below its quantile is
//! binomial, so two ranks enclose it. It needs no normal approximation and no assumption on the
//! tail. A sample too small for ranks on both sides has no such percentile, and reports the size it
//! needs. Values are assumed independent.

use ipw_core::stats::quantile_by;
use serde::{Deserialize, Serialize};

use crate::interval::{Interval, TAIL, real, student_t};
use crate::sample::Distribution;

/// Binomial weights below this share of the largest one are negligible.
const NEGLIGIBLE: f64 = 1e-20;

/// A percentile, or the sample size that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Percentile {
    /// The sample supports it.
    Known {
        /// The value, by linear interpolation between order statistics.
        value: f64,
        /// Lower end of the 95 % interval, one of the values.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The sample is too small.
    Unsupported {
        /// Smallest sample size that supports it.
        needs: u64,
    },
}

/// Summary of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Student's 95 % interval of the mean; `None` for a single value.
    pub mean_interval: Option<Interval>,
    /// Sample standard deviation; `None` for a single value.
    pub standard_deviation: Option<f64>,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub p50: Percentile,
    /// 90th percentile.
    pub p90: Percentile,
    /// 95th percentile.
    pub p95: Percentile,
    /// 99th percentile.
    pub p99: Percentile,
    /// The largest.
    pub max: f64,
}

impl Percentile {
    /// The percentile of sorted values. `None` without values, and for a fraction outside of (0,
    /// 1): the ends are not percentiles.
    pub fn of(sorted: &[f64], fraction: f64) -> Option<Self> {
        Self::of_order(sorted.len(), fraction, |rank| sorted[rank])
    }

    /// The same percentile of `count` values, where `at` returns the value of each rank, from 0.
    pub(crate) fn of_order(count: usize, fraction: f64, at: impl Fn(usize) -> f64) -> Option<Self> {
        let needs = needed(fraction)?;
        let value = quantile_by(count, fraction, &at)?;
        Some(match ranks(count, fraction) {
            Some((low, high)) => Self::Known {
                value,
                low: at(low),
                high: at(high),
            },
            None => Self::Unsupported { needs },
        })
    }

    /// The value; `None` where the sample does not support it.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Unsupported { .. } => None,
        }
    }
}

impl Summary {
    /// The summary of these values; `None` without any. Non-finite values are left out.
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let mut values = values;
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        Self::of_distribution(&Distribution::sorted(values)?)
    }

    pub(crate) fn of_distribution(values: &Distribution) -> Option<Self> {
        let (count, mean) = (values.count, values.mean);
        let standard_deviation = values.standard_deviation;
        let error = standard_deviation.map(|deviation| deviation / real(count).sqrt());
        let mean_interval = error
            .zip(student_t(count - 1))
            .map(|(error, t)| Interval::around(mean, t * error));
        Some(Self {
            count,
            mean,
            mean_interval,
            standard_deviation,
            min: values.least,
            p50: values.percentile(0.5)?,
            p90: values.percentile(0.9)?,
            p95: values.percentile(0.95)?,
            p99: values.percentile(0.99)?,
            max: values.most,
        })
    }
}

/// The smallest sample size whose extremes enclose this quantile, each side failing in at most 2.5
/// % of samples. `None` for a fraction outside of (0, 1).
pub fn needed(fraction: f64) -> Option<u64> {
    let farther = fraction.max(1.0 - fraction);
    // NaN is rejected here as well.
    let is_inside = fraction > 0.0 && farther < 1.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and at most some 1e17"
    )]
    is_inside.then(|| (TAIL.ln() / farther.ln()).ceil() as u64)
}

/// Ranks among `count` sorted values, from 0, that enclose this quantile in 95 % of samples. On
/// each side at most 2.5 % of samples miss it. `None` if there are no such ranks.
pub fn ranks(count: usize, fraction: f64) -> Option<(usize, usize)> {
    if u64::try_from(count).ok()? < needed(fraction)? {
        return None;
    }
    let (first, weights) = binomial(count, fraction);
    let bound = TAIL * weights.iter().sum::<f64>();
    let within = |sum: &mut f64, weight: &f64| {
        *sum += weight;
        (*sum <= bound).then_some(())
    };
    let below = weights.iter().scan(0.0, within).count();
    let above = weights.iter().rev().scan(0.0, within).count();
    let low = (first + below).checked_sub(1)?;
    let high = (first + weights.len() - 1).checked_sub(above)?;
    (high < count).then_some((low, high))
}

/// Binomial probabilities up to a common factor, with the first number of hits that is not
/// negligible. They are built from the mode by ratios of neighbours. Without factorials nothing
/// overflows, and only a few standard deviations are kept.
pub(crate) fn binomial(count: usize, fraction: f64) -> (usize, Vec<f64>) {
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    let number = |place: usize| place as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the count"
    )]
    let likeliest = ((number(count) + 1.0) * fraction).floor() as usize;
    let likeliest = likeliest.min(count);
    let odds = fraction / (1.0 - fraction);
    let weights = |ratio: &dyn Fn(usize) -> f64, steps: usize| {
        (0..steps)
            .scan(1.0, |weight, step| {
                *weight *= ratio(step);
                (*weight > NEGLIGIBLE).then_some(*weight)
            })
            .collect::<Vec<f64>>()
    };
    let down = |step: usize| {
        let place = likeliest - step;
        number(place) / (number(count - place + 1) * odds)
    };
    let up = |step: usize| {
        let place = likeliest + step;
        number(count - place) * odds / number(place + 1)
    };
    let mut all = weights(&down, likeliest);
    let first = likeliest - all.len();
    all.reverse();
    all.push(1.0);
    all.extend(weights(&up, count - likeliest));
    (first, all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_percentile_is_shown_from_the_least_sample_that_has_both_ends() {
        for (fraction, least) in [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)] {
            assert_eq!(needed(fraction), Some(least as u64), "{fraction}");
            assert_eq!(ranks(least - 1, fraction), None);
            let (_, high) = ranks(least, fraction).unwrap();
            assert_eq!(high, least - 1, "the largest of all, for {fraction}");
        }
    }

    #[test]
    fn a_low_percentile_needs_as_many_values_as_its_mirror_image() {
        assert_eq!(needed(0.01), needed(0.99));
        let (low, high) = ranks(1000, 0.05).unwrap();
        let (mirrored_low, mirrored_high) = ranks(1000, 0.95).unwrap();
        assert_eq!((999 - high, 999 - low), (mirrored_low, mirrored_high));
    }

    /// Conover's table: 95 % of the median of ten values lies between the second and the ninth.
    #[test]
    fn the_median_of_ten_lies_between_the_second_and_the_ninth() {
        assert_eq!(ranks(10, 0.5), Some((1, 8)));
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let Some(Percentile::Known { value, low, high }) = Percentile::of(&ten, 0.5) else {
            panic!("ten values are enough");
        };
        assert!((value - 5.5).abs() < 1e-12 && (low - 2.0).abs() < 1e-12);
        assert!((high - 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_million_values_have_ranks_a_few_standard_deviations_apart() {
        for fraction in [1e-3, 0.5, 0.9, 0.99, 0.999, 0.999_9] {
            let (low, high) = ranks(1_000_000, fraction).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let width = (high - low) as f64;
            let expected = 2.0 * 1.96 * (1e6 * fraction * (1.0 - fraction)).sqrt();
            assert!((width / expected - 1.0).abs() < 0.1, "{fraction}: {width}");
        }
    }

    #[test]
    fn the_ends_are_no_percentiles() {
        for fraction in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(needed(fraction), None);
            assert_eq!(ranks(100, fraction), None);
            assert_eq!(Percentile::of(&[1.0, 2.0], fraction), None);
        }
        assert_eq!(Percentile::of(&[], 0.5), None);
    }

    #[test]
    fn a_small_sample_says_what_it_needs() {
        let summary = Summary::of((1..=50).map(f64::from).collect()).unwrap();
        assert_eq!(summary.p99, Percentile::Unsupported { needs: 368 });
        assert_eq!(summary.p99.value(), None);
        assert_eq!(summary.p95, Percentile::Unsupported { needs: 72 });
        assert!((summary.p90.value().unwrap() - 45.1).abs() < 1e-9);
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains(r#""p99":{"needs":368}"#), "{text}");
        assert!(text.contains(r#""p50":{"value":25.5,"#), "{text}");
    }

    #[test]
    fn one_value_has_a_mean_and_no_interval() {
        let one = Summary::of(vec![3.0]).unwrap();
        assert_eq!((one.mean_interval, one.standard_deviation), (None, None));
        assert_eq!(one.p50, Percentile::Unsupported { needs: 6 });
        assert_eq!(Summary::of(Vec::new()), None);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let values = vec![f64::NAN, 1.0, f64::INFINITY, 3.0];
        let summary = Summary::of(values).unwrap();
        assert_eq!(summary.count, 2);
        assert!((summary.mean - 2.0).abs() < 1e-12);
        assert_eq!(Summary::of(vec![f64::NAN]), None);
    }

    #[test]
    fn ties_have_an_interval_without_width() {
        let Percentile::Known { value, low, high } = Summary::of(vec![2.0; 400]).unwrap().p99
        else {
            panic!("four hundred values are enough");
        };
        assert!(
            [value, low, high]
                .iter()
                .all(|end| (end - 2.0).abs() < 1e-12)
        );
    }

    proptest! {
        #[test]
        fn the_interval_encloses_the_percentile(
            mut values in prop::collection::vec(0.0..1e6, 1..800),
            fraction in 0.001..0.999,
        ) {
            values.sort_by(f64::total_cmp);
            let needs = needed(fraction).unwrap();
            match Percentile::of(&values, fraction).unwrap() {
                Percentile::Known { value, low, high } => {
                    prop_assert!(low <= value && value <= high);
                    prop_assert!(values.len() as u64 >= needs);
                }
                Percentile::Unsupported { needs: said } => {
                    prop_assert_eq!(said, needs);
                    prop_assert!((values.len() as u64) < needs);
                }
            }
        }

        /// Compared with directly computed sums of the distribution.
        #[test]
        fn ranks_are_the_tightest_that_leave_no_more_than_a_tail(
            count in 6_usize..400,
            fraction in 0.02..0.98,
        ) {
            let mut chance = vec![1.0_f64];
            for _ in 0..count {
                let mut next = vec![0.0; chance.len() + 1];
                for (hits, share) in chance.iter().enumerate() {
                    next[hits] += share * (1.0 - fraction);
                    next[hits + 1] += share * fraction;
                }
                chance = next;
            }
            if let Some((low, high)) = ranks(count, fraction) {
                let below = |end: usize| chance[..=end].iter().sum::<f64>();
                let above = |start: usize| chance[start..].iter().sum::<f64>();
                prop_assert!(below(low) <= TAIL + 1e-12 && below(low + 1) > TAIL - 1e-12);
                prop_assert!(above(high + 1) <= TAIL + 1e-12 && above(high) > TAIL - 1e-12);
            }
        }

        #[test]
        fn the_order_of_values_does_not_matter(
            values in prop::collection::vec(-1e6..1e6, 1..200),
        ) {
            let mut turned = values.clone();
            turned.reverse();
            prop_assert_eq!(Summary::of(values), Summary::of(turned));
        }
    }
}
