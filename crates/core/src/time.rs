//! Instants on the run clock.
//!
//! An instant is nanoseconds on the monotonic clock since the reference of its *part*. The part's
//! [`Anchor`] holds the only wall-clock value, so a stepped wall clock moves no duration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the reference of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The reference itself.
    pub const ZERO: Self = Self(0);

    /// An instant `nanos` nanoseconds after the reference.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the reference.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the reference.
    pub fn seconds(self) -> f64 {
        Duration::from_nanos(self.0).as_secs_f64()
    }

    /// Time since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The instant `later` after this one.
    #[must_use]
    pub fn after(self, later: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// The instant `earlier` before this one; the reference itself if that would lie before it.
    #[must_use]
    pub fn before(self, earlier: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

/// The reference of a part on the clocks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Wall clock at the reference: nanoseconds since the Unix epoch.
    pub unix_nanos: u64,
    /// The machine's monotonic clock at the reference, in nanoseconds: comparable between processes
    /// of one boot, meaningless elsewhere.
    pub monotonic_nanos: u64,
}

impl Anchor {
    /// Wall-clock seconds since the Unix epoch at `instant`, according to the anchor.
    pub fn unix_seconds(self, instant: Timestamp) -> f64 {
        Duration::from_nanos(self.unix_nanos.saturating_add(instant.nanos())).as_secs_f64()
    }
}

/// The only source of instants of a part.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
    /// The reference of this clock.
    fn anchor(&self) -> Anchor;
    /// Time that the machine was suspended since its start, which this clock does not count. Zero
    /// where that is unknown.
    fn asleep(&self) -> Duration {
        Duration::ZERO
    }
    /// The wall clock: nanoseconds since the Unix epoch. It may be set at any time, so use it for
    /// display only, never for arithmetic.
    fn unix_nanos(&self) -> u64 {
        self.anchor().unix_nanos.saturating_add(self.now().nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero() {
        let early = Timestamp::from_nanos(5);
        let late = Timestamp::from_nanos(1_000_000_005);
        assert_eq!(late.since(early), Duration::from_secs(1));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.after(Duration::from_secs(1)), late);
    }

    #[test]
    fn the_anchor_is_the_only_wall_clock() {
        let anchor = Anchor {
            unix_nanos: 1_700_000_000_000_000_000,
            monotonic_nanos: 7,
        };
        let seconds = anchor.unix_seconds(Timestamp::from_nanos(500_000_000));
        assert!((seconds - 1_700_000_000.5).abs() < 1e-6);
    }
}
