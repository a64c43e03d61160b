//! Measures delays of the thread that takes the timestamps.
//!
//! All queries run on one thread. While it is busy, stopped or not scheduled, bytes wait in the
//! socket and their timestamps are late. The service does not cause this delay. The thread reads
//! the clock at least every [`TICK`]; a longer gap counts as delay.

use std::time::Duration;

use ipw_core::time::Timestamp;

/// Interval of the thread's beats.
pub(crate) const TICK: Duration = Duration::from_millis(10);
/// Lateness of a beat that is normal for timers and schedulers.
const TOLERANCE: Duration = Duration::from_millis(10);

/// Delays of the measuring thread.
#[derive(Debug)]
pub(crate) struct Pulse {
    last: Timestamp,
    delayed: Duration,
}

impl Pulse {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            last: now,
            delayed: Duration::ZERO,
        }
    }

    /// Records a beat; returns the sum of all delays so far.
    pub(crate) fn beat(&mut self, now: Timestamp) -> Duration {
        let late = now.since(self.last).saturating_sub(TICK);
        if late > TOLERANCE {
            self.delayed += late;
        }
        self.last = now;
        self.delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_between_two_beats_is_a_delay_and_small_ones_are_not() {
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let mut pulse = Pulse::new(at(0));
        for millis in [10, 20, 31, 31, 50] {
            assert_eq!(pulse.beat(at(millis)), Duration::ZERO, "{millis}");
        }
        assert_eq!(pulse.beat(at(150)), Duration::from_millis(90));
        assert_eq!(pulse.beat(at(160)), Duration::from_millis(90));
        assert_eq!(pulse.beat(at(20_160)), Duration::from_millis(20_080));
    }
}
