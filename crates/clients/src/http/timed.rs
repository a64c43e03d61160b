//! A stream that stamps: first write, first read, last read since it was armed.
//!
//! Under TLS it sits above the session, so that a session ticket is not taken for a reply.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use ipw_core::time::{Clock, Timestamp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const NOT_YET: u64 = u64::MAX;

/// The stamps of one connection.
pub(crate) struct Stamps {
    clock: Arc<dyn Clock>,
    first_write: AtomicU64,
    first_read: AtomicU64,
    last_read: AtomicU64,
}

impl Stamps {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        let unset = || AtomicU64::new(NOT_YET);
        Arc::new(Self {
            clock,
            first_write: unset(),
            first_read: unset(),
            last_read: unset(),
        })
    }

    /// Forgets the last exchange.
    pub(crate) fn arm(&self) {
        for stamp in [&self.first_write, &self.first_read, &self.last_read] {
            stamp.store(NOT_YET, Ordering::Relaxed);
        }
    }

    pub(crate) fn first_write(&self) -> Option<Timestamp> {
        load(&self.first_write)
    }

    pub(crate) fn first_read(&self) -> Option<Timestamp> {
        load(&self.first_read)
    }

    /// When the bytes that were last handed out came off the socket.
    pub(crate) fn last_read(&self) -> Option<Timestamp> {
        load(&self.last_read)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn read(&self) {
        let now = self.clock.now().nanos();
        self.last_read.store(now, Ordering::Relaxed);
        set_once(&self.first_read, now);
    }
}

fn load(stamp: &AtomicU64) -> Option<Timestamp> {
    match stamp.load(Ordering::Relaxed) {
        NOT_YET => None,
        nanos => Some(Timestamp::from_nanos(nanos)),
    }
}

fn set_once(stamp: &AtomicU64, now: u64) {
    let _ = stamp.compare_exchange(NOT_YET, now, Ordering::Relaxed, Ordering::Relaxed);
}

/// A stream whose reads and writes are stamped.
pub(crate) struct Timed<S> {
    inner: S,
    stamps: Arc<Stamps>,
}

impl<S> Timed<S> {
    pub(crate) fn new(inner: S, stamps: Arc<Stamps>) -> Self {
        Self { inner, stamps }
    }

    /// The instant before the write that carries the first byte.
    fn written(&self, before: Timestamp, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(1..)) = result {
            set_once(&self.stamps.first_write, before.nanos());
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        if result.is_ready() && buffer.filled().len() > before {
            self.stamps.read();
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let before = self.stamps.now();
        let result = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.written(before, &result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let before = self.stamps.now();
        let result = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.written(before, &result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
