//! Waiting for an instant without spinning, and noticing meanwhile that nobody waits any more.
//!
//! A long wait watches the socket, whose timeout is coarse (it counts in scheduler ticks), and
//! leaves the last stretch to a sleep, which is exact to some ten microseconds once the thread's
//! timer slack is gone.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};

/// Longer waits watch the socket first.
const LONG: Duration = Duration::from_millis(30);
/// What a long wait leaves for the sleep: more than the coarseness of a socket timeout.
const LAST_STRETCH: Duration = Duration::from_millis(15);
/// How long a stop may go unnoticed while unread requests keep the socket readable.
const UNWATCHED: Duration = Duration::from_millis(50);

/// Lets the kernel wake this thread when it asked to be woken, not up to 50 µs later.
pub(crate) fn wake_exactly() {
    #[cfg(target_os = "linux")]
    // A kernel that refuses leaves the default slack: later by 50 µs, and the log says so.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Paces one connection.
pub(crate) struct Pace<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) stream: &'a TcpStream,
    pub(crate) stopped: &'a AtomicBool,
}

impl Pace<'_> {
    /// Returns at `deadline`, or with an error as soon as the peer or the service is gone.
    pub(crate) fn until(&self, deadline: Timestamp) -> io::Result<()> {
        loop {
            let remaining = deadline.since(self.clock.now());
            if remaining.is_zero() {
                return Ok(());
            }
            if self.stopped.load(Ordering::SeqCst) {
                return Err(gone());
            }
            if remaining > LONG {
                self.watch(remaining.saturating_sub(LAST_STRETCH))?;
            } else {
                thread::sleep(remaining);
            }
        }
    }

    /// Returns when the peer has closed the connection or the service stops.
    pub(crate) fn hang(&self) {
        // Everything the peer still says is discarded; an error means that it is gone as well.
        let _ = io::copy(&mut { self.stream }, &mut io::sink());
    }

    /// Waits `at_most` this long for the peer to close. A half-closed connection counts as closed:
    /// a peer that still wants its answer has no reason to say that it will never ask again.
    fn watch(&self, at_most: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(at_most))?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(None)?;
        match peeked {
            Ok(0) => Err(gone()),
            Ok(_) => {
                thread::sleep(at_most.min(UNWATCHED));
                Ok(())
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            },
        }
    }
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
