//! A clock that a test moves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ipw_core::time::{Anchor, Clock, Timestamp};

/// Time that passes when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicU64,
    asleep: AtomicU64,
}

impl ManualClock {
    /// Makes it that instant.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.nanos(), Ordering::SeqCst);
    }

    /// Lets the machine have slept for so long in all.
    pub fn sleep(&self, asleep: Duration) {
        let nanos = u64::try_from(asleep.as_nanos()).unwrap_or(u64::MAX);
        self.asleep.store(nanos, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now.load(Ordering::SeqCst))
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 1_700_000_000_000_000_000,
            monotonic_nanos: 0,
        }
    }

    fn asleep(&self) -> Duration {
        Duration::from_nanos(self.asleep.load(Ordering::SeqCst))
    }
}
