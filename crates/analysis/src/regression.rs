//! Lines through points: the original's fit with its keys, and beside it what the fit is worth
//! (docs/method.md §9.2).
//!
//! [`ols`] keeps the original's rules to the letter. [`LinearFit`] is the same line with standard
//! errors, intervals and bands. [`Robust`] is a line that a few wild points do not move.

use ipw_core::stats::quantile;
use serde::Serialize;

use crate::interval::{Estimate, Interval, known, real, student_t};
use crate::saturation::theil_sen;

pub use self::tokens::{Five, Regressions, Samples, regressions};

#[cfg(test)]
mod tests;
mod tokens;

/// A robust fit looks at all pairs of points: beyond so many points it takes a sample.
pub const MOST_POINTS: usize = 2000;

/// A line by least squares, as the original reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Fit {
    /// Points that are numbers; below two points, all of them.
    pub count: u64,
    /// `None` for fewer than two points, and for points at a single place.
    pub slope: Option<f64>,
    /// The value at zero; `None` likewise.
    pub intercept: Option<f64>,
    /// The share of the spread that the line explains; 1 where there is no spread.
    pub r2: Option<f64>,
    /// Mean of all values, those of points that are left out of the fit included; `None` where
    /// one of them is no number.
    pub avg_y: Option<f64>,
}

/// A coefficient with its standard error and Student's interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coefficient {
    /// The value.
    pub value: f64,
    /// One standard error.
    pub standard_error: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A line by least squares, with what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinearFit {
    /// Points.
    pub count: u64,
    /// Growth per unit.
    pub slope: Coefficient,
    /// The value at zero.
    pub intercept: Coefficient,
    /// Standard deviation of points from the line, with two degrees of freedom less than points.
    pub residual_sigma: f64,
    /// Mean place, where the line is known best.
    pub mean_x: f64,
    /// Sum of the squared distances from it.
    pub squares_x: f64,
    /// The first place that has a point.
    pub from: f64,
    /// The last one.
    pub until: f64,
}

/// Where a line lies at one place, with intervals of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    /// The line.
    pub value: f64,
    /// Of the mean at this place.
    pub mean: Interval,
    /// Of one more point at this place.
    pub prediction: Interval,
}

/// A line by Theil and Sen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Robust {
    /// Median of the slopes between any two points, with Sen's interval of 95 %.
    pub slope: Estimate,
    /// Median value − slope × median place.
    pub intercept: f64,
    /// Points that were looked at.
    pub points: u64,
    /// One of so many points in the order of their places was taken: 1 is all of them.
    pub of_every: u64,
}

/// Sums about the means.
struct Moments {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    squares_x: f64,
    squares_y: f64,
    products: f64,
}

impl Moments {
    fn of(points: &[(f64, f64)]) -> Self {
        let count = real(points.len() as u64);
        let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
        let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
        let mut found = Self {
            count,
            mean_x,
            mean_y,
            squares_x: 0.0,
            squares_y: 0.0,
            products: 0.0,
        };
        for (x, y) in points {
            let (x, y) = (x - mean_x, y - mean_y);
            found.squares_x += x * x;
            found.squares_y += y * y;
            found.products += x * y;
        }
        // Rounding of the mean is no spread.
        if points.iter().all(|point| is_same(point.1, points[0].1)) {
            found.squares_y = 0.0;
        }
        found
    }

    fn slope(&self) -> f64 {
        self.products / self.squares_x
    }

    fn intercept(&self) -> f64 {
        self.mean_y - self.slope() * self.mean_x
    }

    /// What the line leaves of the squares.
    fn residual_squares(&self, points: &[(f64, f64)]) -> f64 {
        let (slope, intercept) = (self.slope(), self.intercept());
        points
            .iter()
            .map(|(x, y)| (y - (slope * x + intercept)).powi(2))
            .sum()
    }
}

fn is_same(left: f64, right: f64) -> bool {
    left.total_cmp(&right).is_eq()
}

/// Points that are numbers.
fn points(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    let pairs = x.iter().copied().zip(y.iter().copied());
    pairs
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect()
}

fn has_two_places(points: &[(f64, f64)]) -> bool {
    let apart = |point: &(f64, f64)| (point.0 - points[0].0).abs() > 0.0;
    points.iter().any(apart)
}

/// The line through these points by least squares, by the original's rules.
pub fn ols(x: &[f64], y: &[f64]) -> Fit {
    let samples = x.len().min(y.len());
    let fit = if samples < 2 {
        Fit {
            count: samples as u64,
            ..Fit::default()
        }
    } else {
        fitted(&points(x, y))
    };
    let all = y[..samples].iter().sum::<f64>() / real(samples as u64);
    Fit {
        avg_y: known(all),
        ..fit
    }
}

fn fitted(points: &[(f64, f64)]) -> Fit {
    let nothing = Fit {
        count: points.len() as u64,
        ..Fit::default()
    };
    if points.len() < 2 || !has_two_places(points) {
        return nothing;
    }
    let moments = Moments::of(points);
    let r2 = if moments.squares_y > 0.0 {
        1.0 - moments.residual_squares(points) / moments.squares_y
    } else {
        1.0
    };
    match (
        known(moments.slope()),
        known(moments.intercept()),
        known(r2),
    ) {
        (Some(slope), Some(intercept), Some(r2)) => Fit {
            slope: Some(slope),
            intercept: Some(intercept),
            r2: Some(r2),
            ..nothing
        },
        // Numbers so large that their squares are none.
        _ => nothing,
    }
}

impl LinearFit {
    /// The line through these points; `None` for fewer than three, and at a single place.
    pub fn through(x: &[f64], y: &[f64]) -> Option<Self> {
        let points = points(x, y);
        let count = points.len() as u64;
        if count < 3 || !has_two_places(&points) {
            return None;
        }
        let t = student_t(count - 2)?;
        let moments = Moments::of(&points);
        let sigma = (moments.residual_squares(&points) / (moments.count - 2.0)).sqrt();
        let lever = 1.0 / moments.count + moments.mean_x.powi(2) / moments.squares_x;
        let places = || points.iter().map(|point| point.0);
        Some(Self {
            count,
            slope: Coefficient::new(moments.slope(), sigma / moments.squares_x.sqrt(), t)?,
            intercept: Coefficient::new(moments.intercept(), sigma * lever.sqrt(), t)?,
            residual_sigma: known(sigma)?,
            mean_x: known(moments.mean_x)?,
            squares_x: known(moments.squares_x)?,
            from: places().reduce(f64::min)?,
            until: places().reduce(f64::max)?,
        })
    }

    /// Where the line lies at `x`; `None` for what is no number.
    pub fn band(&self, x: f64) -> Option<Band> {
        let t = student_t(self.count.checked_sub(2)?)?;
        let value = known(self.slope.value * x + self.intercept.value)?;
        let lever = 1.0 / real(self.count) + (x - self.mean_x).powi(2) / self.squares_x;
        let half = |lever: f64| known(t * self.residual_sigma * lever.sqrt());
        Some(Band {
            value,
            mean: Interval::around(value, half(lever)?),
            prediction: Interval::around(value, half(1.0 + lever)?),
        })
    }
}

impl Coefficient {
    fn new(value: f64, standard_error: f64, t: f64) -> Option<Self> {
        let Estimate { value, low, high } = Estimate::around(value, t * standard_error)?;
        Some(Self {
            value,
            standard_error,
            low,
            high,
        })
    }
}

impl Robust {
    /// The line through these points; `None` unless two of them have different places. More than
    /// [`MOST_POINTS`] are put in the order of their places, and one of every so many is taken:
    /// all places are in it, whatever order the rows came in.
    pub fn through(x: &[f64], y: &[f64]) -> Option<Self> {
        Self::of(points(x, y))
    }

    /// The same of points that are all numbers.
    pub(crate) fn of(mut points: Vec<(f64, f64)>) -> Option<Self> {
        let of_every = points.len().div_ceil(MOST_POINTS).max(1);
        if of_every > 1 {
            points.sort_by(|left, right| left.0.total_cmp(&right.0));
            points = points.into_iter().step_by(of_every).collect();
        }
        let found = theil_sen(&points)?;
        let middle = |mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            quantile(&values, 0.5)
        };
        let x = middle(points.iter().map(|point| point.0).collect())?;
        let y = middle(points.iter().map(|point| point.1).collect())?;
        Some(Self {
            slope: Estimate::known(found.slope, found.low, found.high)?,
            intercept: known(y - found.slope * x)?,
            points: points.len() as u64,
            of_every: of_every as u64,
        })
    }

    /// The line at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope.value * x
    }
}
