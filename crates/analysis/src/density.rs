//! Kernel density estimate with a Gaussian kernel, as the original plots tokens of replies
//! (docs/method.md §9.5).

use std::f64::consts::TAU;

use ipw_core::stats::{mean, quantile, standard_deviation};
use serde::Serialize;

use crate::interval::{known, real};

/// Number of points of the curve.
pub const POINTS: u32 = 512;

/// Above this number of distinct values, they are binned to a grid of this size.
const MOST_PLACES: u32 = 8192;

/// A kernel is negligible beyond this many bandwidths.
const REACH: f64 = 9.0;

/// A density curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Density {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Deviation of the kernel: 0.9 · σ · count^−0.2.
    pub bandwidth: f64,
    /// Whether values were binned first, as there were too many distinct ones.
    pub is_binned: bool,
    /// Evenly spaced from the smallest value to the largest.
    pub x: Vec<f64>,
    /// The density at each `x`.
    pub y: Vec<f64>,
}

impl Density {
    /// The density of these values; `None` for fewer than two values, or without any spread.
    /// Non-finite values are left out.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let (&first, &last) = (values.first()?, values.last()?);
        if last - first <= 1e-8 + 1e-5 * first.abs() {
            return None;
        }
        let count = real(values.len() as u64);
        let bandwidth = known(0.9 * standard_deviation(&values)? * count.powf(-0.2))?;
        let step = known((last - first) / f64::from(POINTS - 1))?;
        let mut weighted = weighted(&values);
        let is_binned = weighted.len() > MOST_PLACES as usize;
        if is_binned {
            weighted = binned(&weighted, first, last);
        }
        let x: Vec<f64> = (0..POINTS)
            .map(|place| (first + step * f64::from(place)).min(last))
            .collect();
        let scale = count * bandwidth * TAU.sqrt();
        let y = x
            .iter()
            .map(|x| kernel_sum(&weighted, *x, bandwidth) / scale)
            .collect();
        Some(Self {
            count: values.len() as u64,
            mean: known(mean(&values)?)?,
            median: quantile(&values, 0.5)?,
            bandwidth,
            is_binned,
            x,
            y,
        })
    }
}

/// Each distinct value with its count.
fn weighted(sorted: &[f64]) -> Vec<(f64, f64)> {
    sorted
        .chunk_by(|left, right| left.total_cmp(right).is_eq())
        .map(|same| (same[0], real(same.len() as u64)))
        .collect()
}

/// Splits values between the two nearest grid points. The error is negligible for a kernel much
/// wider than the grid.
fn binned(weighted: &[(f64, f64)], first: f64, last: f64) -> Vec<(f64, f64)> {
    let most = MOST_PLACES - 1;
    let step = (last - first) / f64::from(most);
    let mut bins: Vec<(f64, f64)> = (0..MOST_PLACES)
        .map(|place| (first + step * f64::from(place), 0.0))
        .collect();
    for (value, weight) in weighted {
        let position = ((value - first) / step).clamp(0.0, f64::from(most));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the last place"
        )]
        let place = (position.floor() as usize).min(most as usize - 1);
        let share = position - real(place as u64);
        bins[place].1 += weight * (1.0 - share);
        bins[place + 1].1 += weight * share;
    }
    bins
}

fn kernel_sum(weighted: &[(f64, f64)], x: f64, bandwidth: f64) -> f64 {
    let from = weighted.partition_point(|(value, _)| *value < x - REACH * bandwidth);
    let until = weighted.partition_point(|(value, _)| *value <= x + REACH * bandwidth);
    weighted[from..until.max(from)]
        .iter()
        .map(|(value, weight)| weight * (-0.5 * ((x - value) / bandwidth).powi(2)).exp())
        .sum()
}

#[cfg(test)]
mod tests {
    use ipw_core::random::Random;

    use super::*;

    fn area(density: &Density) -> f64 {
        let step = density.x[1] - density.x[0];
        density.y.iter().sum::<f64>() * step
    }

    #[test]
    fn most_of_the_area_lies_between_the_ends() {
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..5000).map(|_| random.normal()).collect();
        let density = Density::of(values).unwrap();
        assert!((area(&density) - 1.0).abs() < 0.01, "{}", area(&density));
        assert_eq!((density.x.len(), density.is_binned), (512, false));
    }

    #[test]
    fn values_without_spread_have_no_density() {
        assert_eq!(Density::of(vec![]), None);
        assert_eq!(Density::of(vec![3.0]), None);
        assert_eq!(Density::of(vec![3.0; 10]), None);
        assert_eq!(Density::of(vec![3.0, f64::NAN]), None);
        assert_eq!(Density::of(vec![f64::MIN, f64::MAX]), None);
    }

    #[test]
    fn the_grid_changes_nothing_that_can_be_seen() {
        let mut random = Random::new(6);
        let values: Vec<f64> = (0..40_000).map(|_| random.gamma(2.0)).collect();
        let binned = Density::of(values.clone()).unwrap();
        assert!(binned.is_binned);
        let mut sorted = values;
        sorted.sort_unstable_by(f64::total_cmp);
        let exact = weighted(&sorted);
        let scale = 40_000.0 * binned.bandwidth * TAU.sqrt();
        let highest = binned.y.iter().copied().fold(0.0, f64::max);
        for (x, y) in binned.x.iter().zip(&binned.y).step_by(37) {
            let truth = kernel_sum(&exact, *x, binned.bandwidth) / scale;
            assert!((y - truth).abs() < 1e-4 * highest, "{x}: {y} {truth}");
        }
    }
}
