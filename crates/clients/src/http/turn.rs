//! How much one connection may do before others have their turn.
//!
//! All queries share one thread. A service that always has more to read would keep it: timers,
//! signals and other queries would wait. So a connection that was not made to wait lets go by itself
//! after a bounded amount of work.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are taken in one turn: well below a millisecond of work.
const MOST_BYTES: usize = 64 << 10;
/// What a read of the socket counts for at least, however little it brings.
const READ: usize = 2 << 10;

/// Bytes that were taken since the last wait.
#[derive(Debug, Default)]
pub(super) struct Turn(usize);

impl Turn {
    /// So much was taken.
    pub(super) fn took(&mut self, bytes: usize) {
        self.0 += bytes;
    }

    /// Whether others come first now; if so, the next turn begins.
    pub(super) fn is_over(&mut self) -> bool {
        let is_over = self.0 >= MOST_BYTES;
        if is_over {
            self.waited();
        }
        is_over
    }

    /// Others had their turn.
    pub(super) fn waited(&mut self) {
        self.0 = 0;
    }
}

/// A socket that ends its turn by itself. It lies below TLS, whose own loops read on as well.
pub(super) struct Fair<S> {
    socket: S,
    turn: Turn,
}

impl<S> Fair<S> {
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            turn: Turn::default(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Fair<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Fair<S> {
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

    /// Reads that the socket answers in one turn, if each has so much room.
    fn reads_in_a_turn(room: usize) -> usize {
        let mut fair = Fair::new(tokio::io::repeat(b'\n'));
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
