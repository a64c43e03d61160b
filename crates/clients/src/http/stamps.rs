//! Dates the bytes of a socket: by the kernel's receive stamp where there is one, else by the read.
//!
//! The kernel stamps packets with the wall clock, the run counts on the monotonic clock. The
//! difference of the two is measured after every read, so a stamp is converted with a difference
//! that is as old as the packet. A step of the wall clock shows as a difference that changed by
//! more than a slewed clock can; packets from before such a change are dated by the read.

use std::sync::{Arc, Mutex};

use ipw_core::reply::{Stamp, StampSource};
use ipw_core::time::{Clock, Timestamp};

use super::lock;

/// The wall clock: nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WallTime(pub(crate) u64);

/// A change of the difference, in nanoseconds, that is no step: reading two clocks takes no longer,
/// unless this thread is preempted between them.
const JITTER: i128 = 20_000;
/// The fastest slew that is followed, as a fraction of the time passed: one in a thousand. Kernels
/// slew by one in two thousand.
const SLEW: i128 = 1000;
/// How often the clocks are read again when the difference seems to have changed.
const ATTEMPTS: usize = 3;

/// Dates reads on one run's clock; shared by all connections, so that the difference is never old.
pub(crate) struct Stamper {
    clock: Arc<dyn Clock>,
    difference: Mutex<Option<Difference>>,
}

/// How far the wall clock is ahead of the run's.
#[derive(Debug, Clone, Copy)]
struct Difference {
    nanos: i128,
    /// When it was measured.
    at: Timestamp,
    /// Packets from before this instant may have been stamped by a wall clock that was set since.
    valid_from: Timestamp,
}

impl Stamper {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            difference: Mutex::default(),
        }
    }

    /// The present instant.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Dates bytes that were read just now and that the kernel got at `arrived`. They cannot have
    /// come before `not_before`.
    pub(crate) fn date(&self, arrived: Option<WallTime>, not_before: Timestamp) -> Stamp {
        let Some(WallTime(arrived)) = arrived else {
            return Stamp::by_read(self.now());
        };
        let difference = self.difference();
        let mut at = i128::from(arrived) - difference.nanos;
        let earliest = i128::from(not_before.nanos());
        if at < earliest && earliest - at <= JITTER {
            // One is a reading of the run's clock, the other was converted.
            at = earliest;
        }
        let is_possible = at >= earliest && at >= i128::from(difference.valid_from.nanos());
        match u64::try_from(at).map(Timestamp::from_nanos) {
            Ok(at) if is_possible && at <= difference.at => Stamp {
                at,
                source: StampSource::Kernel,
                read: difference.at,
            },
            _ => Stamp::by_read(difference.at),
        }
    }

    /// The difference now; its instant is later than everything that was read before.
    fn difference(&self) -> Difference {
        let mut kept = lock(&self.difference);
        let Some(before) = *kept else {
            let first = self.measured();
            let valid_from = Timestamp::ZERO;
            return *kept.insert(Difference {
                valid_from,
                ..first
            });
        };
        let mut now = self.measured();
        for _ in 1..ATTEMPTS {
            if !before.has_changed(&now) {
                break;
            }
            // This thread may have been away between its two clocks.
            now = self.measured();
        }
        *kept.insert(before.followed_by(now))
    }

    /// Reads the wall clock, then the run's: being preempted in between makes stamps later than
    /// they were, never earlier.
    fn measured(&self) -> Difference {
        let wall = self.clock.unix_nanos();
        let at = self.clock.now();
        Difference {
            nanos: i128::from(wall) - i128::from(at.nanos()),
            at,
            valid_from: at,
        }
    }
}

impl Difference {
    /// Whether the wall clock was set in between.
    fn has_changed(&self, now: &Self) -> bool {
        (now.nanos - self.nanos).abs() > JITTER + self.slewed(now)
    }

    /// How much it may have slewed until then.
    fn slewed(&self, now: &Self) -> i128 {
        now.at
            .since(self.at)
            .as_nanos()
            .try_into()
            .unwrap_or(i128::MAX)
            / SLEW
    }

    fn followed_by(self, now: Self) -> Self {
        if self.has_changed(&now) {
            return now;
        }
        Self {
            // A pair that was read with a pause in between is too small: the larger is closer.
            nanos: now.nanos.max(self.nanos - self.slewed(&now)),
            at: now.at,
            valid_from: self.valid_from,
        }
    }
}

#[cfg(test)]
mod tests;
