//! Limits how much work one connection does before it yields.
//!
//! All queries share one thread. A service that always has more data would block timers, signals
//! and other queries. A connection therefore yields after a bounded amount of work.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::Stream;
use super::stamps::WallTime;

/// Bytes per turn: well below a millisecond of work.
const MOST_BYTES: usize = 64 << 10;
/// Minimum cost of a read, in bytes.
const READ: usize = 2 << 10;

/// Bytes read since the last wait.
#[derive(Debug, Default)]
pub(super) struct Turn(usize);

impl Turn {
    /// Counts `bytes`.
    pub(super) fn took(&mut self, bytes: usize) {
        self.0 += bytes;
    }

    /// Whether the turn is used up; if so, a new one starts.
    pub(super) fn is_over(&mut self) -> bool {
        let is_over = self.0 >= MOST_BYTES;
        if is_over {
            self.waited();
        }
        is_over
    }

    /// Starts a new turn after a wait.
    pub(super) fn waited(&mut self) {
        self.0 = 0;
    }
}

/// A socket that yields after each turn. It lies below TLS, which also reads in a loop.
pub(super) struct FairSocket<S> {
    socket: S,
    turn: Turn,
}

impl<S> FairSocket<S> {
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            turn: Turn::default(),
        }
    }
}

impl<S: Stream> Stream for FairSocket<S> {
    fn arrived(&self) -> Option<WallTime> {
        self.socket.arrived()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FairSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.turn.is_over() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = room.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, room);
        if polled.is_pending() {
            self.turn.waited();
        }
        ready!(polled)?;
        let read = room.filled().len() - before;
        self.turn.took(read.max(READ));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FairSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Number of reads in one turn, with a buffer of `room` bytes each.
    fn reads_in_a_turn(room: usize) -> usize {
        let mut fair = FairSocket::new(tokio::io::repeat(b'\n'));
        let mut buffer = vec![0; room];
        let mut context = Context::from_waker(Waker::noop());
        let mut reads = 0;
        while Pin::new(&mut fair)
            .poll_read(&mut context, &mut ReadBuf::new(&mut buffer))
            .is_ready()
        {
            reads += 1;
        }
        reads
    }

    #[test]
    fn a_socket_that_never_dries_up_lets_go_by_itself() {
        assert_eq!(reads_in_a_turn(1), MOST_BYTES / READ);
        assert_eq!(reads_in_a_turn(MOST_BYTES), 1);
    }
}
