//! Repetitions of one measurement.

use std::fmt;
use std::time::Duration;

use ipw_core::stats::quantile;

/// The median of some values, and between which they lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    /// The spread of at least one value.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values);
        Self {
            median: at(&sorted, 0.5),
            lowest: at(&sorted, 0.0),
            highest: at(&sorted, 1.0),
        }
    }

    /// The spread of what `value` says of each repetition.
    pub(crate) fn over<T>(repetitions: &[T], value: impl Fn(&T) -> f64) -> Self {
        Self::of(repetitions.iter().map(value))
    }
}

/// `median (lowest–highest)`, to the precision asked for.
impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = formatter.precision().unwrap_or(1);
        write!(
            formatter,
            "{:.digits$} ({:.digits$}–{:.digits$})",
            self.median, self.lowest, self.highest
        )
    }
}

/// The values in their order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A quantile of sorted values, of which there is at least one.
pub(crate) fn at(sorted: &[f64], fraction: f64) -> f64 {
    quantile(sorted, fraction).expect("every benchmark measures something")
}

/// Microseconds.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A count as a number to divide by.
pub(crate) fn number(count: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "nothing is counted beyond 2^52 here"
    )]
    let number = count as f64;
    number
}
