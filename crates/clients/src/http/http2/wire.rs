//! The socket below HTTP/2: timestamps every read and write before `h2` sees the bytes.
//!
//! `h2` reads until nothing is left, and only then wakes the streams. This layer therefore allows
//! one read per turn of the connection: a stream then finds the timestamp of the read that brought
//! its bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};

use ipw_core::reply::Stamp;
use ipw_core::time::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::connection::Stream;
use crate::http::lock;
use crate::http::stamps::Stamper;

/// The start of any HTTP/1.1 answer.
const HTTP_1: &[u8] = b"HTTP/1.";

/// Times of the socket's last reads and writes.
pub(super) struct Stamps {
    /// Time of the last read that returned bytes.
    read_at: Mutex<Stamp>,
    /// Whether a read happened in this turn.
    has_read: AtomicBool,
    /// Whether a second read in this turn was held back.
    is_held: AtomicBool,
    /// Set by the next write.
    next_write: Mutex<Arc<OnceLock<Timestamp>>>,
    /// Whether the first bytes were HTTP/1.1.
    is_http1: OnceLock<bool>,
}

impl Stamps {
    /// Time of the last read that returned bytes: not before the read of the bytes at hand, and not
    /// after now.
    pub(super) fn read_at(&self) -> Stamp {
        *lock(&self.read_at)
    }

    /// A cell that the next successful write fills with its start time.
    pub(super) fn next_write(&self) -> Arc<OnceLock<Timestamp>> {
        Arc::clone(&lock(&self.next_write))
    }

    /// Whether the first bytes were HTTP/1.1.
    pub(super) fn is_http1(&self) -> bool {
        self.is_http1.get() == Some(&true)
    }

    /// Allows one more read.
    pub(super) fn begin_turn(&self) {
        self.has_read.store(false, Ordering::Relaxed);
        self.is_held.store(false, Ordering::Relaxed);
    }

    /// Whether a second read in this turn was held back.
    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    fn wrote(&self, before: Timestamp) {
        let mut next = lock(&self.next_write);
        // More than one reference: a stream waits for this time.
        if Arc::strong_count(&next) > 1 {
            let _ = next.set(before);
            *next = Arc::default();
        }
    }
}

/// A plain or TLS socket with timestamps.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    stamps: Arc<Stamps>,
    stamper: Arc<Stamper>,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>, stamper: Arc<Stamper>) -> (Self, Arc<Stamps>) {
        let stamps = Arc::new(Stamps {
            read_at: Mutex::new(Stamp::by_read(Timestamp::ZERO)),
            has_read: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            next_write: Mutex::default(),
            is_http1: OnceLock::new(),
        });
        let wire = Self {
            stream,
            stamps: Arc::clone(&stamps),
            stamper,
        };
        (wire, stamps)
    }

    /// Calls `write` and records its start time, if the socket accepted any bytes.
    fn write(
        &mut self,
        write: impl FnOnce(Pin<&mut Box<dyn Stream>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let before = self.stamper.now();
        let written = ready!(write(Pin::new(&mut self.stream)))?;
        if written > 0 {
            self.stamps.wrote(before);
        }
        Poll::Ready(Ok(written))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.stamps.has_read.load(Ordering::Relaxed) {
            // The connection's task starts the next turn.
            self.stamps.is_held.store(true, Ordering::Relaxed);
            return Poll::Pending;
        }
        let before = room.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, room))?;
        let Some(came @ [_, ..]) = room.filled().get(before..) else {
            return Poll::Ready(Ok(()));
        };
        let stamps = &self.stamps;
        let mut read_at = lock(&stamps.read_at);
        *read_at = self.stamper.date(self.stream.arrived(), read_at.at);
        drop(read_at);
        stamps.has_read.store(true, Ordering::Relaxed);
        stamps.is_http1.get_or_init(|| came.starts_with(HTTP_1));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(|stream| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(|stream| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use ipw_core::time::Clock;
    use ipw_testkit::ManualClock;
    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    fn wire() -> (Wire, Arc<Stamps>, DuplexStream, Arc<ManualClock>) {
        let (ours, theirs) = duplex(64);
        let clock = Arc::new(ManualClock::default());
        let (wire, stamps) = Wire::new(
            Box::new(ours),
            Arc::new(Stamper::new(Arc::clone(&clock) as Arc<dyn Clock>)),
        );
        (wire, stamps, theirs, clock)
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    }

    /// Reads up to four bytes, if available.
    fn read(wire: &mut Wire) -> Option<Vec<u8>> {
        let mut bytes = [0; 4];
        let mut room = ReadBuf::new(&mut bytes);
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(wire).poll_read(&mut context, &mut room) {
            Poll::Ready(read) => read.map(|()| room.filled().to_vec()).ok(),
            Poll::Pending => None,
        }
    }

    async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) {
        stream.write_all(bytes).await.unwrap();
    }

    #[test]
    fn a_turn_reads_once_and_every_read_has_its_own_stamp() {
        let (mut wire, stamps, mut theirs, clock) = wire();
        let runtime = runtime();
        runtime.block_on(write(&mut theirs, b"HTTP/1.1"));
        for (at, bytes) in [(10, b"HTTP"), (20, b"/1.1")] {
            clock.set(Timestamp::from_nanos(at));
            stamps.begin_turn();
            assert_eq!(read(&mut wire).as_deref(), Some(&bytes[..]));
            assert!(!stamps.is_held());
            clock.set(Timestamp::from_nanos(at + 5));
            assert_eq!(read(&mut wire), None);
            assert!(stamps.is_held());
            assert_eq!(stamps.read_at().at, Timestamp::from_nanos(at));
        }
        // Without bytes to read, nothing is held or stamped; the end of stream does not count as a
        // read.
        stamps.begin_turn();
        assert_eq!(read(&mut wire), None);
        assert!(!stamps.is_held());
        drop(theirs);
        assert_eq!(read(&mut wire), Some(Vec::new()));
        assert_eq!(stamps.read_at().at, Timestamp::from_nanos(20));
    }

    #[test]
    fn a_waiter_for_a_write_gets_the_start_of_the_next_one() {
        let (mut wire, stamps, _theirs, clock) = wire();
        let runtime = runtime();
        runtime.block_on(async {
            let (first, second) = (stamps.next_write(), stamps.next_write());
            assert_eq!(first.get(), None);
            clock.set(Timestamp::from_nanos(7));
            write(&mut wire, b"a").await;
            let third = stamps.next_write();
            clock.set(Timestamp::from_nanos(9));
            write(&mut wire, b"b").await;
            write(&mut wire, b"c").await;
            let at = |nanos| Some(Timestamp::from_nanos(nanos));
            assert_eq!(
                (first.get().copied(), second.get().copied()),
                (at(7), at(7))
            );
            assert_eq!(third.get().copied(), at(9));
        });
    }
}
