//! CPU time since boot, from the first line of `/proc/stat`.
//!
//! Columns: `user nice system idle iowait irq softirq steal guest guest_nice` (`proc_stat(5)`).
//! `user` and `nice` already contain the guest columns. Waiting for I/O counts as idle. Stolen time
//! is another guest's work on the same CPU and not this machine's.

use std::path::Path;
use std::time::Duration;

use super::files::Reader;

/// The unit of the columns: `USER_HZ`, 100 on every architecture that matters here.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// CPU time of all CPUs since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// Busy time.
    pub(crate) busy: u64,
    /// Busy and idle time.
    pub(crate) total: u64,
}

impl CpuTimes {
    /// Reads the file; `None` if it is unreadable or malformed.
    pub(crate) fn read(reader: &mut Reader, stat: &Path) -> Option<Self> {
        Self::parse(reader.read(stat)?)
    }

    fn parse(stat: &str) -> Option<Self> {
        let columns = stat.lines().next()?.strip_prefix("cpu ")?;
        let mut ticks = [0_u64; 8];
        let mut found = 0;
        for (place, column) in ticks.iter_mut().zip(columns.split_ascii_whitespace()) {
            *place = column.parse().ok()?;
            found += 1;
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
        let sum = |parts: &[u64]| {
            parts
                .iter()
                .try_fold(0_u64, |sum, part| sum.checked_add(*part))
        };
        let busy = sum(&[user, nice, system, irq, softirq])?;
        let total = sum(&[busy, idle, iowait, steal])?;
        (found >= 4).then_some(Self { busy, total })
    }

    /// The busy share of all CPU time since `earlier`; `None` if no time has passed or the counters
    /// went backwards.
    pub(crate) fn busy_share_since(self, earlier: Self) -> Option<f64> {
        let busy = self.busy.checked_sub(earlier.busy)?;
        let total = self.total.checked_sub(earlier.total)?;
        // `iowait` may decrease, so that total time may grow less than busy time.
        (total > 0).then(|| (exact(busy) / exact(total)).min(1.0))
    }

    /// Busy time since `earlier` over all CPUs, in seconds; `None` if it went backwards.
    pub(crate) fn busy_seconds_since(self, earlier: Self) -> Option<f64> {
        let ticks = self.busy.checked_sub(earlier.busy)?;
        Some(exact(ticks) * TICK.as_secs_f64())
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 ticks are a million years of CPU time"
)]
fn exact(ticks: u64) -> f64 {
    ticks as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_and_stolen_time_is_not_busy_and_guests_are_not_counted_twice() {
        let times = CpuTimes::parse("cpu  10 20 30 40 50 60 70 80 9 9\ncpu0 1 1 1 1\n");
        assert_eq!(
            times,
            Some(CpuTimes {
                busy: 190,
                total: 360
            })
        );
    }

    #[test]
    fn garbage_is_nothing() {
        for garbage in [
            "",
            "cpu",
            "cpu  1 2",
            "cpu  1 2 x 4",
            "cpu0 1 2 3 4",
            "cpu  -1 2 3 4",
        ] {
            assert_eq!(CpuTimes::parse(garbage), None, "{garbage}");
        }
        let full = format!("cpu  {0} {0} 0 0", u64::MAX);
        assert_eq!(CpuTimes::parse(&full), None);
    }

    #[test]
    fn going_backwards_is_nothing() {
        let early = CpuTimes {
            busy: 10,
            total: 20,
        };
        let late = CpuTimes {
            busy: 15,
            total: 30,
        };
        assert_eq!(late.busy_share_since(early), Some(0.5));
        assert_eq!(early.busy_share_since(late), None);
        assert_eq!(early.busy_share_since(early), None);
        assert_eq!(early.busy_seconds_since(late), None);
    }
}
