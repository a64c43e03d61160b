//! Round-trip times of requests, which bound the uncertainty of a reading's timestamp.

use std::collections::VecDeque;
use std::time::Duration;

use ipw_core::alignment::{AlignmentMethod, ClockOffset};

/// Number of requests that are remembered.
const REMEMBERED: usize = 30;
/// Minimum number of requests for a median.
const ENOUGH: usize = 10;
/// A request is late if it takes this many times the median, and more than a tenth of a second.
const LATE: u32 = 4;
const NEVER_LATE: Duration = Duration::from_millis(100);

/// The latest requests.
#[derive(Debug, Default)]
pub(super) struct Trips {
    latest: VecDeque<Duration>,
    /// The longest request whose reading was used.
    worst: Duration,
    looks: u64,
}

impl Trips {
    /// Adds a request. Returns whether its reading may be used. A late reading could be from any
    /// time during the request, and would widen the bound of all others. If all requests become
    /// this slow, the median follows soon.
    pub(super) fn take(&mut self, took: Duration) -> bool {
        let is_late = self.latest.len() >= ENOUGH
            && took > NEVER_LATE
            && took > median(self.latest.iter().copied()).saturating_mul(LATE);
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back(took);
        self.looks += 1;
        if !is_late {
            self.worst = self.worst.max(took);
        }
        !is_late
    }

    /// The longest request whose reading was used.
    pub(super) fn worst(&self) -> Duration {
        self.worst
    }

    /// The bound of the timestamps' error.
    pub(super) fn aligned(&self) -> Option<ClockOffset> {
        (self.looks > 0).then_some(ClockOffset {
            how: AlignmentMethod::RoundTrip,
            shift_nanos: 0,
            bound: self.worst / 2,
            drift_ppm: None,
            drift_bound_ppm: None,
            looks: self.looks,
            steps: 0,
        })
    }
}

/// The median; zero if empty.
pub(super) fn median(lengths: impl Iterator<Item = Duration>) -> Duration {
    let mut lengths: Vec<Duration> = lengths.collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn the_bound_is_half_of_the_longest_usual_request_and_never_narrows() {
        let mut trips = Trips::default();
        assert!(trips.aligned().is_none());
        for took in [5, 30, 8].into_iter().chain([4; 40]) {
            assert!(trips.take(milliseconds(took)));
        }
        let aligned = trips.aligned().unwrap();
        assert_eq!(
            (aligned.how, aligned.bound),
            (AlignmentMethod::RoundTrip, milliseconds(15))
        );
        assert_eq!((aligned.shift_nanos, aligned.looks), (0, 43));
    }

    #[test]
    fn one_late_reply_is_left_out_and_a_slow_device_is_usual_soon() {
        let mut trips = Trips::default();
        for _ in 0..20 {
            trips.take(milliseconds(20));
        }
        assert!(trips.take(milliseconds(99)), "a short delay is no matter");
        assert!(!trips.take(milliseconds(2000)));
        assert_eq!(trips.worst(), milliseconds(99));
        let left_out = (0..30).filter(|_| !trips.take(milliseconds(2000))).count();
        assert!(left_out < 20, "{left_out}");
        assert_eq!(trips.worst(), milliseconds(2000));
    }
}
