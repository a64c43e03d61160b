//! Basic statistics of rows and summaries, each with one definition.

/// Quantile by linear interpolation between order statistics (numpy's default); `sorted` must be
/// sorted. `None` for no values.
pub fn quantile(sorted: &[f64], fraction: f64) -> Option<f64> {
    quantile_by(sorted.len(), fraction, |rank| sorted[rank])
}

/// The same quantile of `count` values, where `at` returns the value of each rank, from 0.
pub fn quantile_by(count: usize, fraction: f64, at: impl Fn(usize) -> f64) -> Option<f64> {
    let last = count.checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    let position = fraction.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the last index"
    )]
    let below = position.floor() as usize;
    let (low, high) = (at(below), at((below + 1).min(last)));
    let share = position.fract();
    // Interpolate from the nearer end as numpy does, so that rounding never exceeds an end.
    Some(if share < 0.5 {
        low + (high - low) * share
    } else {
        high - (high - low) * (1.0 - share)
    })
}

/// Arithmetic mean; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    let count = values.len() as f64;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
}

/// Sample standard deviation; `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / freedom).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((quantile(&ten, 0.9).unwrap() - 9.1).abs() < 1e-12);
        assert!((quantile(&[1.0, 2.0], 0.99).unwrap() - 1.99).abs() < 1e-12);
        assert_eq!(quantile(&[3.0], 0.5), Some(3.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn spread_needs_two_values() {
        assert_eq!(standard_deviation(&[1.0]), None);
        assert!((standard_deviation(&[1.0, 3.0]).unwrap() - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(mean(&[]), None);
    }

    proptest! {
        #[test]
        fn a_quantile_lies_among_the_values_and_grows_with_its_fraction(
            mut values in prop::collection::vec(-1e9..1e9, 1..50),
            (left, right) in (0.0..=1.0, 0.0..=1.0),
        ) {
            values.sort_by(f64::total_cmp);
            let (lower, upper) = (f64::min(left, right), f64::max(left, right));
            let (low, high) = (quantile(&values, lower).unwrap(), quantile(&values, upper).unwrap());
            prop_assert!(values[0] <= low && low <= high && high <= values[values.len() - 1]);
        }
    }
}
