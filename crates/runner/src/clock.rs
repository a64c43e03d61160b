//! The clock of this process, the only place that reads the system's time.

#[cfg(target_os = "linux")]
use std::time::Duration;

use ipw_core::time::{Anchor, Clock, Timestamp};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The system's monotonic clock; time zero is its creation.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    anchor: Anchor,
}

impl SystemClock {
    /// A clock whose time zero is now.
    pub fn start() -> Self {
        let monotonic_nanos = nanos(clock_gettime(ClockId::Monotonic));
        let unix_nanos = nanos(clock_gettime(ClockId::Realtime));
        Self {
            anchor: Anchor {
                unix_nanos,
                monotonic_nanos,
            },
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = nanos(clock_gettime(ClockId::Monotonic));
        Timestamp::from_nanos(now.saturating_sub(self.anchor.monotonic_nanos))
    }

    fn anchor(&self) -> Anchor {
        self.anchor
    }

    #[cfg(target_os = "linux")]
    fn asleep(&self) -> Duration {
        // Monotonic first: time between the two calls must not look like system sleep.
        let awake = nanos(clock_gettime(ClockId::Monotonic));
        let since_boot = nanos(clock_gettime(ClockId::Boottime));
        Duration::from_nanos(since_boot.saturating_sub(awake))
    }

    fn unix_nanos(&self) -> u64 {
        nanos(clock_gettime(ClockId::Realtime))
    }
}

/// Nanoseconds; a time before the clock's epoch counts as zero.
fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_at_the_reference_and_goes_forward() {
        let clock = SystemClock::start();
        let first = clock.now();
        let second = clock.now();
        assert!(second >= first);
        assert!(clock.anchor().unix_nanos > 1_600_000_000_000_000_000);
    }
}
