//! The notice rail: best effort, never in the way of a row.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use ipw_core::event::{Event, Notice, Observer};
use ipw_core::time::Clock;

/// Notices that may wait for slow observers before they are dropped.
const QUEUE: usize = 4096;

/// Hands notices to observers on a thread of their own.
pub struct Notices {
    sender: SyncSender<Notice>,
    thread: JoinHandle<()>,
    clock: Arc<dyn Clock>,
    dropped: u64,
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
        Ok(Self {
            sender,
            thread,
            clock,
            dropped: 0,
        })
    }

    /// Passes an event on, or drops it when the observers lag.
    pub fn send(&mut self, event: Event) {
        let notice = Notice {
            at: self.clock.now(),
            event,
        };
        if let Err(TrySendError::Full(_)) = self.sender.try_send(notice) {
            self.dropped += 1;
        }
    }

    /// Sends the last event, made from the number that was dropped, and waits for the observers.
    pub fn finish(self, last: impl FnOnce(u64) -> Event) {
        let notice = Notice {
            at: self.clock.now(),
            event: last(self.dropped),
        };
        // The last one may wait: nothing is measured any more.
        let _ = self.sender.send(notice);
        drop(self.sender);
        let _ = self.thread.join();
    }
}

fn observe(receiver: &Receiver<Notice>, mut observers: Vec<Box<dyn Observer>>) {
    for notice in receiver {
        for observer in &mut observers {
            observer.notice(&notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;
    use crate::SystemClock;

    struct Stalled {
        release: Receiver<()>,
        seen: Arc<Mutex<Vec<Event>>>,
    }

    impl Observer for Stalled {
        fn notice(&mut self, notice: &Notice) {
            let _ = self.release.recv();
            self.seen.lock().unwrap().push(notice.event.clone());
        }
    }

    #[test]
    fn a_stalled_observer_costs_notices_and_no_time() {
        let (release, released) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observer = Stalled {
            release: released,
            seen: Arc::clone(&seen),
        };
        let clock = Arc::new(SystemClock::start());
        let mut notices = Notices::start(vec![Box::new(observer)], clock).unwrap();
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
