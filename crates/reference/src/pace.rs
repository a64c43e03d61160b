//! Waits for an instant without spinning, and stops early if the peer disconnects.
//!
//! A long wait watches the socket, whose timeout is coarse (scheduler ticks). It leaves the last
//! stretch to a sleep, which is accurate to about ten microseconds without timer slack.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ipw_core::time::{Clock, Timestamp};

/// Longer waits watch the socket first.
const LONG: Duration = Duration::from_millis(30);
/// The last stretch of a long wait: more than the error of a socket timeout.
const LAST_STRETCH: Duration = Duration::from_millis(15);
/// Longest delay of noticing a stop while unread requests keep the socket readable.
const UNWATCHED: Duration = Duration::from_millis(50);

/// Removes the kernel's timer slack of up to 50 µs for this thread.
pub(crate) fn wake_exactly() {
    #[cfg(target_os = "linux")]
    // If the kernel refuses, sends are up to 50 µs late, and the log shows it.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Paces one connection.
pub(crate) struct Pace<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) stream: &'a TcpStream,
    pub(crate) stopped: &'a AtomicBool,
}

impl Pace<'_> {
    /// Returns at `deadline`; fails as soon as the peer disconnects or the service stops.
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
        // Further requests are discarded; an error means that the peer has disconnected.
        let _ = io::copy(&mut { self.stream }, &mut io::sink());
    }

    /// Waits up to `at_most` for the peer to close. A half-closed connection counts as closed:
    /// clients that wait for an answer keep their writing side open.
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
