//! A thread that signals when queries are due.
//!
//! It sleeps to absolute instants and never spins. The runtime's timers tick in milliseconds, which
//! is too coarse. Each row records how late its query started (`schedule_lag`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use ipw_core::time::{Clock, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::schedule::Schedule;

/// A running schedule.
pub(crate) struct Pacer {
    due: UnboundedReceiver<Timestamp>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pacer {
    /// Starts the schedule at `start`; no query is due at or after `until`.
    pub(crate) fn start(
        schedule: Schedule,
        start: Timestamp,
        until: Option<Timestamp>,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let (sender, due) = unbounded_channel();
        let stopped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stopped);
        let thread = std::thread::Builder::new()
            .name("ipw-pacer".to_owned())
            .spawn(move || {
                wake_exactly();
                for offset in schedule {
                    let instant = start.after(offset);
                    if until.is_some_and(|until| instant >= until) {
                        break;
                    }
                    if !sleep_until(instant, &*clock, &told) || sender.send(instant).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self {
            due,
            stopped,
            thread: Some(thread),
        })
    }

    /// Waits for the next due instant; `None` at the end of the schedule.
    pub(crate) async fn next(&mut self) -> Option<Timestamp> {
        self.due.recv().await
    }

    /// A due instant that has already passed.
    pub(crate) fn ready(&mut self) -> Option<Timestamp> {
        self.due.try_recv().ok()
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Sleeps until `instant`; false as soon as it is stopped.
fn sleep_until(instant: Timestamp, clock: &dyn Clock, stopped: &AtomicBool) -> bool {
    loop {
        if stopped.load(Ordering::Relaxed) {
            return false;
        }
        let left = instant.since(clock.now());
        if left.is_zero() {
            return true;
        }
        std::thread::park_timeout(left);
    }
}

/// Removes the kernel's timer slack of up to 50 µs for this thread.
fn wake_exactly() {
    #[cfg(target_os = "linux")]
    // If the kernel refuses, queries start up to 50 µs later, and the lag shows it.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
