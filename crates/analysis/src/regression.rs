//! Linear fits: the original's under its keys, with uncertainties and a robust line (docs/method.md
//! §9.2).
//!
//! [`ols`] follows the original's rules exactly. [`LinearFit`] is the same line with standard
//! errors, intervals and bands. [`RobustLine`] is insensitive to outliers.

use ipw_core::stats::quantile;
use serde::Serialize;

use crate::interval::{Estimate, Interval, known, real, student_t};
use crate::saturation::theil_sen;

pub use self::tokens::{Regressions, Samples, TokenFits, regressions};

#[cfg(test)]
mod tests;
mod tokens;

/// A robust fit uses all pairs of points; above this number it uses a sample.
pub const MOST_POINTS: usize = 2000;

/// A least-squares line, as the original reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Fit {
    /// Number of finite points; below two, the number of all points.
    pub count: u64,
    /// The slope; `None` for fewer than two points, or if all have the same x.
    pub slope: Option<f64>,
    /// The value at zero; `None` as for the slope.
    pub intercept: Option<f64>,
    /// Coefficient of determination; 1 where the values have no spread.
    pub r2: Option<f64>,
    /// Mean of all values, including points that the fit leaves out; `None` if one of them is not
    /// finite.
    pub avg_y: Option<f64>,
}

/// A coefficient with its standard error and Student's 95 % interval.
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

/// A least-squares line with uncertainties.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinearFit {
    /// Number of points.
    pub count: u64,
    /// The slope.
    pub slope: Coefficient,
    /// The value at zero.
    pub intercept: Coefficient,
    /// Standard deviation of the residuals, with two degrees of freedom less than points.
    pub residual_sigma: f64,
    /// Mean of x, where the line is most certain.
    pub mean_x: f64,
    /// Sum of squared distances from that mean.
    pub squares_x: f64,
    /// The smallest x.
    pub from: f64,
    /// The largest x.
    pub until: f64,
}

/// The line at one x, with 95 % intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    /// The value of the line.
    pub value: f64,
    /// Interval of the mean at this x.
    pub mean: Interval,
    /// Interval of a new observation at this x.
    pub prediction: Interval,
}

/// A Theil–Sen line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RobustLine {
    /// Median of all pairwise slopes, with Sen's 95 % interval.
    pub slope: Estimate,
    /// Median y − slope × median x.
    pub intercept: f64,
    /// Number of points used.
    pub points: u64,
    /// Every n-th point by x was used; 1 for all points.
    pub of_every: u64,
}

/// Sums of squares about the means.
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
        // Rounding of the mean is not spread.
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

    /// Sum of squared residuals.
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

/// The finite points.
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

/// The least-squares line through these points, by the original's rules.
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
        // The numbers are so large that their squares overflow.
        _ => nothing,
    }
}

impl LinearFit {
    /// The line through these points; `None` for fewer than three, or if all have the same x.
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

    /// The band at `x`; `None` for a non-finite `x`.
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

impl RobustLine {
    /// The line through these points; `None` unless two of them differ in x. More than
    /// [`MOST_POINTS`] are sorted by x and thinned evenly, so the sample does not depend on the
    /// order of the rows.
    pub fn through(x: &[f64], y: &[f64]) -> Option<Self> {
        Self::of(points(x, y))
    }

    /// The same for finite points.
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

    /// The value of the line at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope.value * x
    }
}
