//! Detects times in which this process did not run: it was stopped, or not scheduled. Waiting time
//! of queries then is not due to the service.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::reading::Window;
use ipw_core::time::Clock;

/// Interval between looks at the clock.
const TICK: Duration = Duration::from_millis(100);

/// Smaller delays are normal on a busy machine.
const LATE: Duration = Duration::from_secs(1);

/// A thread that detects pauses of this process by its clock. System sleep does not count: the
/// clock stands still meanwhile.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Window>>,
}

impl Watch {
    /// Starts the thread.
    pub fn start(clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("ipw-pauses".to_owned())
            .spawn(move || {
                let mut pauses = Vec::new();
                let mut last = clock.now();
                loop {
                    let is_over = stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout);
                    let now = clock.now();
                    if now.since(last) > TICK + LATE {
                        pauses.extend(Window::new(last, now));
                    }
                    last = now;
                    if is_over {
                        return pauses;
                    }
                }
            })?;
        Ok(Self { stop, thread })
    }

    /// Stops the thread and returns the pauses.
    pub fn finish(self) -> Vec<Window> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use ipw_core::time::{Anchor, Timestamp};

    use super::*;

    struct JumpingClock(AtomicU64, u64);

    impl Clock for JumpingClock {
        fn now(&self) -> Timestamp {
            let calls = self.0.fetch_add(1, Ordering::Relaxed);
            let jump = if calls >= 2 { self.1 } else { 0 };
            Timestamp::from_nanos(calls * 100_000_000 + jump)
        }

        fn anchor(&self) -> Anchor {
            Anchor {
                unix_nanos: 0,
                monotonic_nanos: 0,
            }
        }
    }

    fn seen(jump: Duration) -> Vec<Duration> {
        let nanos = u64::try_from(jump.as_nanos()).unwrap();
        let watch = Watch::start(Arc::new(JumpingClock(AtomicU64::new(0), nanos))).unwrap();
        std::thread::sleep(TICK * 4);
        watch.finish().into_iter().map(Window::length).collect()
    }

    #[test]
    fn a_time_without_a_tick_is_a_pause() {
        let pauses = seen(Duration::from_secs(20));
        assert_eq!(pauses, [Duration::from_millis(20_100)]);
        assert!(seen(Duration::from_millis(500)).is_empty());
    }
}
