//! Delivers events to observers, best effort: a slow observer never delays a row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::event::{Event, Notice, Observer};
use ipw_core::time::Clock;

/// Queue length for slow observers; further notices are dropped.
const QUEUE: usize = 4096;

/// Pause between wake-ups. Waking the receiver for every notice would cost time on the sender's
/// thread.
const LINGER: Duration = Duration::from_millis(2);

/// Passes notices to observers on its own thread.
pub struct Notices {
    notifier: Notifier,
    thread: JoinHandle<()>,
}

/// Sends notices; can be cloned.
#[derive(Clone)]
pub struct Notifier {
    sender: SyncSender<Notice>,
    clock: Arc<dyn Clock>,
    dropped: Arc<AtomicU64>,
}

impl Notifier {
    /// Passes an event on, or drops it if the observers lag.
    pub fn send(&self, event: Event) {
        let notice = Notice {
            at: self.clock.now(),
            event,
        };
        if let Err(TrySendError::Full(_)) = self.sender.try_send(notice) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Notices {
    /// Starts the observers' thread.
    pub fn start(
        observers: Vec<Box<dyn Observer>>,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("ipw-notices".to_owned())
            .spawn(move || observe(&receiver, observers))?;
        let notifier = Notifier {
            sender,
            clock,
            dropped: Arc::default(),
        };
        Ok(Self { notifier, thread })
    }

    /// Passes an event on, or drops it if the observers lag.
    pub fn send(&self, event: Event) {
        self.notifier.send(event);
    }

    /// A sender of notices. Drop it before [`Notices::finish`].
    pub fn notifier(&self) -> Notifier {
        self.notifier.clone()
    }

    /// Sends the last event, made from the number of dropped notices, and waits for the observers.
    pub fn finish(self, last: impl FnOnce(u64) -> Event) {
        let Notifier {
            sender,
            clock,
            dropped,
        } = self.notifier;
        let event = last(dropped.load(Ordering::Relaxed));
        // Waiting is fine here: the measurement is over.
        let _ = sender.send(Notice {
            at: clock.now(),
            event,
        });
        drop(sender);
        let _ = self.thread.join();
    }
}

fn observe(receiver: &Receiver<Notice>, mut observers: Vec<Box<dyn Observer>>) {
    let mut tell = |notice: Notice| {
        for observer in &mut observers {
            observer.notice(&notice);
        }
    };
    while let Ok(first) = receiver.recv() {
        tell(first);
        receiver.try_iter().for_each(&mut tell);
        std::thread::sleep(LINGER);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;
    use crate::SystemClock;

    struct StalledObserver {
        release: Receiver<()>,
        seen: Arc<Mutex<Vec<Event>>>,
    }

    impl Observer for StalledObserver {
        fn notice(&mut self, notice: &Notice) {
            let _ = self.release.recv();
            self.seen.lock().unwrap().push(notice.event.clone());
        }
    }

    #[test]
    fn a_stalled_observer_costs_notices_and_no_time() {
        let (release, released) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observer = StalledObserver {
            release: released,
            seen: Arc::clone(&seen),
        };
        let clock = Arc::new(SystemClock::start());
        let notices = Notices::start(vec![Box::new(observer)], clock).unwrap();
        let sent = QUEUE as u64 + 100;
        for _ in 0..sent {
            notices.send(Event::Stopping {
                reason: String::new(),
            });
        }
        drop(release);
        notices.finish(|notices_dropped| Event::RunFinished {
            status: String::new(),
            rows: 0,
            notices_dropped,
        });
        let seen = seen.lock().unwrap();
        let Some(Event::RunFinished {
            notices_dropped, ..
        }) = seen.last()
        else {
            panic!("the last notice always comes through")
        };
        assert!(*notices_dropped >= 99, "{notices_dropped}");
        assert_eq!(seen.len() as u64 - 1 + notices_dropped, sent);
    }
}
