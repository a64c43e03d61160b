//! Distributions for intervals and p-values (docs/method.md §9.1).
//!
//! Written for the arguments that occur here: absolute errors are below 1e-12. Smaller tail
//! probabilities are not accurate.

use std::f64::consts::PI;

use crate::interval::{SERIES_UP_TO, TAIL, by_expansion, real};
use crate::percentile::binomial;

/// The normal tail beyond this many deviations is negligible in a sum.
const END: f64 = 8.5;

/// Lanczos' coefficients for g = 7.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// Cumulative distribution of the standard normal: Marsaglia, "Evaluating the Normal Distribution",
/// 2004.
pub fn normal_share(value: f64) -> f64 {
    if value.abs() > END {
        return if value > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut order) = (value, value, 1.0);
    while term.abs() > f64::EPSILON * sum.abs() / 8.0 {
        order += 2.0;
        term *= value * value / order;
        sum += term;
    }
    let density = (-value * value / 2.0).exp() / (2.0 * PI).sqrt();
    (0.5 + sum * density).clamp(0.0, 1.0)
}

/// Quantile of the standard normal; `None` unless `share` lies between 0 and 1.
pub fn normal_quantile(share: f64) -> Option<f64> {
    let is_inside = share > 0.0 && share < 1.0;
    is_inside.then(|| halved(-END, END, |value| normal_share(value) < share))
}

/// 97.5 % quantile of Student's distribution, also for fractional degrees of freedom as in Welch's
/// test. `None` for fewer than one.
pub fn student_quantile(freedom: f64) -> Option<f64> {
    if freedom.is_nan() || freedom < 1.0 {
        return None;
    }
    if freedom > real(SERIES_UP_TO) {
        return Some(by_expansion(freedom));
    }
    // The tail beyond ± t is the incomplete beta function of x = ν ÷ (ν + t²).
    let outside = |x: f64| incomplete_beta(freedom / 2.0, 0.5, x);
    let x = halved(0.0, 1.0, |x| outside(x) < 2.0 * TAIL);
    Some((freedom * (1.0 - x) / x).sqrt())
}

/// Exact two-sided p-value of this split of a fair coin.
pub(crate) fn coin(one: u64, other: u64) -> Option<f64> {
    let count = usize::try_from(one.checked_add(other)?).ok()?;
    let fewer = usize::try_from(one.min(other)).ok()?;
    let (first, weights) = binomial(count, 0.5);
    let all: f64 = weights.iter().sum();
    let taken = (fewer + 1).saturating_sub(first).min(weights.len());
    let below: f64 = weights[..taken].iter().sum();
    Some((2.0 * below / all).min(1.0))
}

/// Bisects for the place where a monotone condition turns false, to the last digit.
fn halved(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn ln_gamma(value: f64) -> f64 {
    let shifted = value - 1.0;
    let base = shifted + 7.5;
    let series = LANCZOS[1..]
        .iter()
        .zip(1_u32..)
        .fold(LANCZOS[0], |sum, (coefficient, place)| {
            sum + coefficient / (shifted + f64::from(place))
        });
    0.5 * (2.0 * PI).ln() + (shifted + 0.5) * base.ln() - base + series.ln()
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun,
/// 26.5.8) from the side on which that converges fast.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction, by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut all = below;
    for order in (1..500).map(f64::from) {
        let twice = a + 2.0 * order;
        let even = order * (b - order) * x / ((twice - 1.0) * twice);
        let odd = -(a + order) * (a + b + order) * x / (twice * (twice + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            below = 1.0 / nonzero(1.0 + term * below);
            above = nonzero(1.0 + term / above);
            change = above * below;
            all *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{Z, student_t};

    #[test]
    fn quantiles_undo_shares() {
        for value in [-4.0, -3.0, -1.0, 0.0, 0.5, 1.644_853_626_951_472_2, 4.0] {
            let back = normal_quantile(normal_share(value)).unwrap();
            // In the tails, a probability has few significant digits.
            assert!((back - value).abs() < 1e-9, "{value} {back}");
        }
        assert!((normal_quantile(0.975).unwrap() - Z).abs() < 1e-12);
        for share in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(normal_quantile(share), None);
        }
    }

    #[test]
    fn whole_degrees_of_freedom_are_those_of_the_series() {
        for freedom in [1_u32, 2, 3, 7, 30, 120, 400, 401, 10_000] {
            let series = student_t(u64::from(freedom)).unwrap();
            let found = student_quantile(f64::from(freedom)).unwrap();
            assert!(
                (found / series - 1.0).abs() < 1e-11,
                "{freedom}: {found} {series}"
            );
        }
        assert_eq!(student_quantile(0.5), None);
        assert_eq!(student_quantile(f64::NAN), None);
    }

    #[test]
    fn a_coin_that_falls_evenly_says_nothing() {
        assert_eq!(coin(5, 5), Some(1.0));
        assert_eq!(coin(0, 0), Some(1.0));
        // 2 · (1 + 10) ÷ 1024
        assert!((coin(9, 1).unwrap() - 22.0 / 1024.0).abs() < 1e-12);
        assert!(coin(600_000, 400_000).unwrap() < 1e-12);
    }
}
