//! Empirical cumulative distribution, thinned for plotting (docs/method.md §9.5).

use serde::Serialize;

use crate::interval::{TAIL, real};

/// Values in this top share are all kept, if there is room.
pub const TOP: f64 = 0.01;

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// A value.
    pub value: f64,
    /// The share of values up to this one.
    pub share: f64,
}

/// An empirical cumulative distribution as a step curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ecdf {
    /// Number of values.
    pub count: u64,
    /// Points by increasing value; the last has the share 1.
    pub points: Vec<Point>,
    /// Above this share every distinct value is a point; 0 if all are.
    pub exact_from: f64,
    /// Half height of the 95 % confidence band of the whole curve, clipped to 0–1. It is Dvoretzky,
    /// Kiefer and Wolfowitz's with Massart's constant.
    pub band: f64,
}

impl Ecdf {
    /// The curve of these values in at most `most` points, at least 8; `None` without values.
    /// Non-finite values are left out. Half of the points are for the tail: all distinct values of
    /// the top percent, or the largest that fit. The others lie at even shares.
    pub fn of(mut values: Vec<f64>, most: usize) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let count = real(values.len() as u64);
        let steps = steps(&values);
        if steps.is_empty() {
            return None;
        }
        let most = most.max(8);
        let (points, exact_from) = if steps.len() <= most {
            (steps, 0.0)
        } else {
            thinned(&steps, most)
        };
        Some(Self {
            count: values.len() as u64,
            points,
            exact_from,
            band: ((1.0 / TAIL).ln() / (2.0 * count)).sqrt().min(1.0),
        })
    }
}

/// One point per distinct value.
fn steps(sorted: &[f64]) -> Vec<Point> {
    let count = real(sorted.len() as u64);
    let mut passed = 0;
    sorted
        .chunk_by(|left, right| left.total_cmp(right).is_eq())
        .map(|same| {
            passed += same.len() as u64;
            Point {
                value: same[0],
                share: real(passed) / count,
            }
        })
        .collect()
}

fn thinned(steps: &[Point], most: usize) -> (Vec<Point>, f64) {
    let top = steps.partition_point(|point| point.share <= 1.0 - TOP);
    let tail = top.max(steps.len() - most / 2);
    let (body, tail) = steps.split_at(tail);
    let room = real((most - tail.len()) as u64);
    let until = body.last().map_or(0.0, |point| point.share);
    // The first point, then one per even share that the body passes.
    let mut points: Vec<Point> = Vec::with_capacity(most);
    for point in body {
        let wanted = until * real(points.len() as u64) / (room - 1.0).max(1.0);
        let has_room = points.len() + tail.len() < most;
        if has_room && (points.is_empty() || point.share >= wanted) {
            points.push(*point);
        }
    }
    let exact_from = tail.first().map_or(1.0, |point| point.share);
    points.extend_from_slice(tail);
    (points, exact_from)
}

#[cfg(test)]
mod tests {
    use ipw_core::random::Random;

    use super::*;

    #[test]
    fn few_values_are_all_there() {
        let found = Ecdf::of(vec![3.0, 1.0, 1.0, f64::NAN, 2.0], 100).unwrap();
        let points: Vec<(f64, f64)> = found
            .points
            .iter()
            .map(|point| (point.value, point.share))
            .collect();
        assert_eq!(points, [(1.0, 0.5), (2.0, 0.75), (3.0, 1.0)]);
        assert!(found.exact_from.abs() < 1e-12 && found.count == 4);
        assert_eq!(Ecdf::of(vec![], 100), None);
        let one = Ecdf::of(vec![7.0], 100).unwrap();
        assert!(one.points.len() == 1 && (one.band - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_tail_is_exact_and_the_body_is_thin() {
        let mut random = Random::new(9);
        let values: Vec<f64> = (0..10_000).map(|_| random.exponential()).collect();
        let found = Ecdf::of(values.clone(), 400).unwrap();
        assert!(found.points.len() <= 400 && found.points.len() > 390);
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        let tail: Vec<f64> = found
            .points
            .iter()
            .filter(|point| point.share > 0.99)
            .map(|point| point.value)
            .collect();
        assert_eq!(tail, &sorted[9900..]);
        assert!(found.exact_from < 0.990_2);
        // Gaps in the body are at most slightly wider than the spacing.
        for pair in found.points.windows(2) {
            assert!(pair[0].value < pair[1].value && pair[1].share - pair[0].share < 0.006);
        }
        assert!((found.points.last().unwrap().share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_tail_without_room_says_from_where_it_is_exact() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let found = Ecdf::of(values, 200).unwrap();
        assert!(found.points.len() <= 200);
        assert!(
            (found.exact_from - 0.999_01).abs() < 1e-9,
            "{}",
            found.exact_from
        );
        assert!((found.points.last().unwrap().value - 99_999.0).abs() < 1e-9);
    }

    #[test]
    fn the_band_is_massarts() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let found = Ecdf::of(values, 100).unwrap();
        assert!((found.band - 0.042_947).abs() < 1e-6, "{}", found.band);
    }
}
