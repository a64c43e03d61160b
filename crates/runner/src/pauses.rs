//! Times in which this process did not run: it was stopped, or the machine had no time for it. What
//! queries waited for then is not the service's doing.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::reading::Window;
use ipw_core::time::Clock;

/// How often the watch looks at the clock.
const TICK: Duration = Duration::from_millis(100);

/// A busy machine is late by less.
const LATE: Duration = Duration::from_secs(1);

/// A thread that looks at the clock and sees when it did not run. Sleep of the machine does not
/// count: the clock stands still meanwhile.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Window>>,
}

impl Watch {
    /// Starts to look.
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

    /// What it saw.
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

    /// A clock that jumps once.
    struct Jumping(AtomicU64, u64);

    impl Clock for Jumping {
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
        let watch = Watch::start(Arc::new(Jumping(AtomicU64::new(0), nanos))).unwrap();
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
