//! 95 % confidence intervals of means, shares and coefficients, with equal tails of 2.5 %.

use std::f64::consts::FRAC_PI_2;

use serde::{Deserialize, Serialize};

/// 97.5 % quantile of the normal distribution: two-sided 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// Probability of each tail outside an interval.
pub(crate) const TAIL: f64 = 0.025;

/// Up to here the exact series is summed; above, the expansion is accurate to twelve digits.
pub(crate) const SERIES_UP_TO: u64 = 400;

/// The ends of a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `middle` ± `half`.
    pub(crate) fn around(middle: f64, half: f64) -> Self {
        Self {
            low: middle - half,
            high: middle + half,
        }
    }
}

impl Estimate {
    /// `None` unless all three are finite.
    pub(crate) fn known(value: f64, low: f64, high: f64) -> Option<Self> {
        let is_known = value.is_finite() && low.is_finite() && high.is_finite();
        is_known.then_some(Self { value, low, high })
    }

    /// `value` ± `half`.
    pub(crate) fn around(value: f64, half: f64) -> Option<Self> {
        Self::known(value, value - half, value + half)
    }

    /// The image under an increasing function.
    pub(crate) fn map(self, grows: impl Fn(f64) -> f64) -> Option<Self> {
        Self::known(grows(self.value), grows(self.low), grows(self.high))
    }
}

/// `None` for a non-finite value.
pub(crate) fn known(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// The share `hits` ÷ `count` with Wilson's interval; `None` for a count of zero.
pub fn wilson(hits: u64, count: u64) -> Option<Estimate> {
    if count == 0 {
        return None;
    }
    let (hits, count) = (real(hits), real(count));
    let value = hits / count;
    let spread = Z * Z / count;
    let middle = (value + spread / 2.0) / (1.0 + spread);
    let half = Z * (value * (1.0 - value) / count + spread / (4.0 * count)).sqrt() / (1.0 + spread);
    Some(Estimate {
        value,
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    })
}

/// 97.5 % quantile of Student's distribution: half width of a 95 % interval in standard errors.
/// `None` without a degree of freedom.
///
/// The finite series and the expansion for many degrees are Abramowitz and Stegun, 26.7.3–26.7.5.
/// Neither needs a gamma function, and neither overflows.
pub fn student_t(freedom: u64) -> Option<f64> {
    match freedom {
        0 => None,
        1..=SERIES_UP_TO => Some(by_series(freedom)),
        _ => Some(by_expansion(real(freedom))),
    }
}

fn by_series(freedom: u64) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // Bisect to the last digit of the angle.
    for _ in 0..64 {
        let angle = f64::midpoint(low, high);
        if share_within(freedom, angle) < 1.0 - 2.0 * TAIL {
            low = angle;
        } else {
            high = angle;
        }
    }
    high.tan() * real(freedom).sqrt()
}

/// The probability within ± tan(angle) · √freedom.
fn share_within(freedom: u64, angle: f64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut order = if is_odd { 3 } else { 2 };
    while order < freedom {
        term *= real(order - 1) / real(order) * cosine * cosine;
        sum += term;
        order += 2;
    }
    if is_odd {
        (angle + sine * sum) / FRAC_PI_2
    } else {
        sine * sum
    }
}

/// The expansion for many degrees of freedom, also fractional ones.
pub(crate) fn by_expansion(freedom: f64) -> f64 {
    let square = Z * Z;
    let first = Z * (square + 1.0) / 4.0;
    let second = Z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = Z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth = Z
        * ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
        / 92_160.0;
    Z + (first + (second + (third + fourth / freedom) / freedom) / freedom) / freedom
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From any table of the distribution.
    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, tabled) in [
            (1, 12.706),
            (2, 4.303),
            (5, 2.571),
            (10, 2.228),
            (30, 2.042),
        ] {
            let found = student_t(freedom).unwrap();
            assert!((found - tabled).abs() < 5e-4, "{freedom}: {found}");
        }
        assert_eq!(student_t(0), None);
    }

    #[test]
    fn series_and_expansion_meet() {
        let (series, expansion) = (by_series(SERIES_UP_TO), by_expansion(real(SERIES_UP_TO)));
        assert!((series - expansion).abs() < 1e-12, "{series} {expansion}");
    }

    #[test]
    fn more_degrees_of_freedom_are_narrower_down_to_the_normal_distribution() {
        let quantiles: Vec<f64> = (1..2000).map(|n| student_t(n).unwrap()).collect();
        assert!(quantiles.windows(2).all(|pair| pair[0] > pair[1]));
        assert!((student_t(u64::MAX).unwrap() - Z).abs() < 1e-12);
    }

    #[test]
    fn a_share_of_nothing_is_no_share() {
        assert_eq!(wilson(0, 0), None);
        let all = wilson(5, 5).unwrap();
        assert!(all.low < 1.0 && (all.high - 1.0).abs() < 1e-12);
    }
}
