//! Finds the update period of a device by polling it faster than it updates.

use std::time::Duration;

use ipw_core::time::Timestamp;

use super::trips::median;

/// Time limit of the observation.
pub(super) const LONGEST: Duration = Duration::from_secs(3);
/// Time between two requests: small devices cannot serve more.
pub(super) const SPACING: Duration = Duration::from_millis(50);
/// Maximum number of requests.
pub(super) const QUESTIONS: usize = 60;
/// This many changes are enough.
const ENOUGH: usize = 6;
/// If changes are about as frequent as requests, the device updates faster than it is polled.
const TOO_FAST: f64 = 1.5;

/// The changes of one source's values.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    last: Option<(Timestamp, f64)>,
    /// Times of changes: the middle between two requests.
    at: Vec<Timestamp>,
    between: Vec<Duration>,
}

impl Changes {
    /// Adds a value.
    pub(super) fn take(&mut self, at: Timestamp, value: f64) {
        if let Some((before, last)) = self.last.replace((at, value)) {
            self.between.push(at.since(before));
            if last.to_bits() != value.to_bits() {
                self.at.push(before.after(at.since(before) / 2));
            }
        }
    }

    /// Whether further values are pointless.
    pub(super) fn is_enough(&self) -> bool {
        self.at.len() >= ENOUGH
    }

    /// The update period; `None` if it changed less than twice, or too fast to see.
    pub(super) fn period(&self) -> Option<Duration> {
        let (first, last) = (self.at.first()?, self.at.last()?);
        let steps = || self.at.windows(2).map(|two| two[1].since(two[0]));
        let usual = median(steps());
        let spacing = median(self.between.iter().copied());
        if self.at.len() < 2 || usual <= spacing.mul_f64(TOO_FAST) {
            return None;
        }
        // For regular steps, the mean is more precise than any single one; for irregular ones it is
        // useless.
        let is_even = steps().all(|step| step.abs_diff(usual) <= spacing.mul_f64(TOO_FAST));
        let count = u32::try_from(self.at.len() - 1).ok()?;
        Some(if is_even {
            last.since(*first) / count
        } else {
            usual
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that updates every `period`, polled every 50 ms for three seconds.
    fn seen(period: u64, value: impl Fn(u64) -> f64) -> Option<Duration> {
        let mut changes = Changes::default();
        for question in 0..60_u64 {
            let now = 7 + question * 50;
            let update = (now + 13) / period;
            changes.take(Timestamp::from_nanos(now * 1_000_000), value(update));
        }
        changes.period()
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn counts(update: u64) -> f64 {
        update as f64
    }

    #[test]
    fn the_period_is_found_within_its_resolution() {
        for period in [120, 200, 333, 500, 1000, 1300] {
            let found = seen(period, counts).unwrap();
            let off = found.abs_diff(Duration::from_millis(period));
            assert!(off <= Duration::from_millis(50), "{period}: {found:?}");
        }
    }

    #[test]
    fn what_is_too_fast_too_slow_or_still_has_no_period() {
        assert_eq!(seen(10, counts), None);
        assert_eq!(seen(2500, counts), None);
        assert_eq!(seen(100, |_| 5.0), None);
    }

    #[test]
    fn a_value_that_sometimes_stays_does_not_make_the_period_long() {
        // Every seventh update has the same value.
        let found = seen(200, |update| counts(update - update / 7)).unwrap();
        let off = found.abs_diff(Duration::from_millis(200));
        assert!(off <= Duration::from_millis(50), "{found:?}");
    }
}
