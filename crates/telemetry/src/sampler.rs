//! Polls collectors at absolute deadlines.
//!
//! Each collector has its own thread, or shares one with the collectors of its circle while all of
//! them are fast ([`circle`]). Threads sleep until their deadlines and never spin: spinning would
//! use energy on the measured machine. Their CPU time is measured too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};
use rustix::time::{ClockId, clock_gettime};

use crate::session::Shared;
use crate::{Collector, PollError};

mod circle;

pub(crate) use circle::Sampler;

/// A shorter difference between the two clocks is noise, not a suspended machine.
const NAP: Duration = Duration::from_millis(100);
/// How often a collector that is gone is polled again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// One collector, with the session that its readings go into.
pub struct Poller {
    collector: Box<dyn Collector>,
    interval: Duration,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
    /// Index of the collector's first source.
    first: usize,
    polled: Vec<(usize, Timestamp, f64)>,
    /// Total time that the machine had been suspended at the last poll.
    asleep: Duration,
    has_panicked: bool,
}

impl Poller {
    pub(crate) fn new(
        collector: Box<dyn Collector>,
        interval: Duration,
        clock: Arc<dyn Clock>,
        shared: Arc<Shared>,
        first: usize,
    ) -> Self {
        let asleep = clock.asleep();
        Self {
            collector,
            interval,
            clock,
            shared,
            first,
            polled: Vec::new(),
            asleep,
            has_panicked: false,
        }
    }

    fn circle(&self) -> Option<&'static str> {
        self.collector.circle()
    }

    /// Polls once. Returns the time to wait before the next poll.
    pub fn poll(&mut self) -> Duration {
        let asleep = self.clock.asleep();
        if asleep.saturating_sub(self.asleep) > NAP {
            self.shared
                .interrupt(self.first, self.collector.sources().len());
        }
        self.asleep = asleep;
        let Self {
            collector,
            clock,
            polled,
            has_panicked,
            ..
        } = self;
        polled.clear();
        // A collector may be the user's own. After a panic its state is unknown: it is not polled
        // again.
        let result = if *has_panicked {
            Ok(())
        } else {
            let poll = || {
                collector.poll(&**clock, &mut |place, at, value| {
                    polled.push((place, at, value));
                })
            };
            catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|_| {
                *has_panicked = true;
                Err(PollError::Gone(
                    "it panicked and is no longer polled".to_owned(),
                ))
            })
        };
        if !polled.is_empty() {
            self.shared.take(self.first, &self.polled);
        }
        if let Some(aligned) = self.collector.aligned() {
            let count = self.collector.sources().len();
            self.shared.align(self.first, count, aligned);
        }
        if let Err(error) = &result {
            self.shared.fault(self.collector.id(), error);
        }
        match result {
            Ok(()) | Err(PollError::Retry(_)) => self.interval,
            Err(PollError::Gone(_)) => self.interval.max(LOOK_AGAIN),
        }
    }
}

/// The next deadline on the grid after `now`. Missed deadlines are skipped, not made up for.
fn next_deadline(last: Timestamp, interval: Duration, now: Timestamp) -> Timestamp {
    let next = last.after(interval);
    if next > now {
        return next;
    }
    let behind = now.since(last).as_nanos();
    let steps = behind / interval.as_nanos().max(1) + 1;
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    last.after(interval.saturating_mul(steps))
}

fn own_cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_stay_on_the_grid_and_are_not_made_up_for() {
        let at = Timestamp::from_nanos;
        let interval = Duration::from_nanos(10);
        assert_eq!(next_deadline(at(100), interval, at(103)), at(110));
        assert_eq!(next_deadline(at(100), interval, at(110)), at(120));
        assert_eq!(next_deadline(at(100), interval, at(157)), at(160));
    }
}
