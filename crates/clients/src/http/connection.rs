//! One HTTP/1.1 connection, driven by the task that waits for its reply.
//!
//! Each read is timestamped at once, stripped of its framing in place and returned as one piece.
//! Nothing is copied or passed to another task between the read and its timestamp
//! (docs/decisions/0001). Under TLS, reads and writes mean those above the session, so that a
//! session ticket is not mistaken for a reply.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ipw_core::reply::{Failure, Stamp, Timing};
use ipw_core::time::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::HttpError;
use super::framing::Framing;
use super::head::Head;
use super::stamps::{Stamper, WallTime};

/// Initial buffer size for a read.
const LEAST_READ: usize = 2 << 10;
/// Largest read, used while more data is waiting.
const MOST_READ: usize = 64 << 10;
/// Larger heads are refused.
pub(super) const LARGEST_HEAD: usize = 256 << 10;
/// More interim heads before a reply are refused.
const MOST_INTERIM: usize = 64;

/// A plain or TLS socket.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// When the kernel received the bytes of the last read; `None` where it does not say.
    fn arrived(&self) -> Option<WallTime> {
        None
    }
}

impl Stream for tokio::net::UnixStream {}

impl Stream for Box<dyn Stream> {
    fn arrived(&self) -> Option<WallTime> {
        (**self).arrived()
    }
}

/// A read of several records hands them out one by one: the stamp is that of their read.
impl<S: Stream> Stream for tokio_rustls::client::TlsStream<S> {
    fn arrived(&self) -> Option<WallTime> {
        self.get_ref().0.arrived()
    }
}

#[cfg(test)]
impl Stream for tokio::io::DuplexStream {}

/// A connection that carries one exchange at a time.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    stamper: Arc<Stamper>,
    buffer: Vec<u8>,
    /// Range of the buffer that was read but not yet used.
    unused: Range<usize>,
    /// Range of the last head in the buffer; valid until the next read.
    head: Range<usize>,
    /// Time of the last read.
    read_at: Stamp,
    /// Bytes that are read next cannot have come before: our last write, or the last read.
    not_before: Timestamp,
}

impl Connection {
    pub(crate) fn new(stream: Box<dyn Stream>, stamper: Arc<Stamper>) -> Self {
        Self {
            stream,
            stamper,
            buffer: vec![0; LEAST_READ],
            unused: 0..0,
            head: 0..0,
            read_at: Stamp::by_read(Timestamp::ZERO),
            not_before: Timestamp::ZERO,
        }
    }

    /// Whether the connection can carry another exchange, judged by the data received so far.
    pub(crate) async fn is_alive(&mut self) -> bool {
        // A service sends nothing before a request: any data or end of stream means the connection
        // is done. The first poll may end the socket's turn, hence the second one.
        let mut is_quiet = |context: &mut Context<'_>| self.poll_fill(context).is_pending();
        poll_fn(|context| Poll::Ready(is_quiet(context) && is_quiet(context))).await
    }

    /// Sends `request` and waits for the head of the reply; `timing` is updated at each step.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        timing: &mut Timing,
    ) -> Result<Head, HttpError> {
        let mut sending = SendState::Bytes(request);
        let mut interim = InterimHeads::default();
        loop {
            let read = poll_fn(|context| {
                let sent = self.poll_send(&mut sending, timing, context);
                // A service may answer early and close its reading side.
                match (self.poll_fill(context), sent) {
                    (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error)),
                    (read, _) => read,
                }
            });
            match read.await {
                Ok(1..) => {}
                Ok(0) => return Err(lost(timing, "the service closed it")),
                Err(error) => return Err(lost(timing, &error.to_string())),
            }
            timing.came_first(self.read_at);
            while let Some(mut head) = self.head()? {
                if head.is_interim() {
                    interim.came(self.head.len())?;
                    continue;
                }
                if head.status.is_success() {
                    // An early answer. If the service stops reading now, the reply matters more
                    // than that.
                    let _ = poll_fn(|context| self.poll_send(&mut sending, timing, context)).await;
                }
                head.keeps_alive &= matches!(sending, SendState::Done);
                return Ok(head);
            }
        }
    }

    /// The next head; `None` until it is complete.
    fn head(&mut self) -> Result<Option<Head>, HttpError> {
        let no_http = |why: &str| {
            let text = format!("the reply is not HTTP: {why}");
            HttpError::new(Failure::NotAStream, text)
        };
        let parsed = Head::parse(&self.buffer[self.unused.clone()]);
        match parsed.map_err(|error| no_http(&error.to_string()))? {
            Some((head, length)) => {
                self.head = self.unused.start..self.unused.start + length;
                self.unused.start += length;
                Ok(Some(head))
            }
            None if self.unused.len() >= LARGEST_HEAD => Err(no_http("its head does not end")),
            None => Ok(None),
        }
    }

    /// Writes as much as the socket accepts.
    fn poll_send(
        &mut self,
        sending: &mut SendState<'_>,
        timing: &mut Timing,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match sending {
                SendState::Bytes([]) => {
                    ready!(Pin::new(&mut self.stream).poll_flush(context))?;
                    *sending = SendState::Done;
                }
                SendState::Bytes(bytes) => {
                    let before = self.stamper.now();
                    let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
                    if written == 0 {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    if timing.sent.is_none() {
                        timing.sent = Some(before);
                        self.not_before = before;
                    }
                    *bytes = &bytes[written..];
                }
                SendState::Done => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Reads once into the buffer and timestamps the read; 0 at the end of the stream.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.unused.is_empty() {
            self.unused = 0..0;
        }
        if self.unused.end == self.buffer.len() {
            // Only an incomplete head leaves bytes here.
            if self.unused.start > 0 {
                self.buffer.copy_within(self.unused.clone(), 0);
                self.unused = 0..self.unused.len();
                self.head = 0..0;
            } else {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        let mut room = ReadBuf::new(&mut self.buffer[self.unused.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut room))?;
        let read = room.filled().len();
        let is_full = room.remaining() == 0;
        if read > 0 {
            self.read_at = self.stamper.date(self.stream.arrived(), self.not_before);
            self.not_before = self.read_at.at;
        }
        self.unused.end += read;
        if is_full && self.buffer.len() < MOST_READ {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        Poll::Ready(Ok(read))
    }
}

/// Interim heads (`100 Continue`, `103 Early Hints`) before a reply.
#[derive(Debug, Default)]
pub(super) struct InterimHeads {
    count: usize,
    bytes: usize,
}

impl InterimHeads {
    /// Counts an interim head of `bytes` bytes; an error beyond the limit.
    pub(super) fn came(&mut self, bytes: usize) -> Result<(), HttpError> {
        self.count += 1;
        self.bytes += bytes;
        if self.count > MOST_INTERIM || self.bytes > LARGEST_HEAD {
            let text = format!(
                "the reply is not HTTP: {} interim heads (1xx) without a reply",
                self.count
            );
            return Err(HttpError::new(Failure::NotAStream, text));
        }
        Ok(())
    }
}

/// Progress of writing a request.
enum SendState<'a> {
    Bytes(&'a [u8]),
    Done,
}

/// The error of a connection that broke before the head was complete.
fn lost(timing: &Timing, why: &str) -> HttpError {
    match timing.first_byte {
        Some(_) => HttpError::new(Failure::Closed, format!("connection lost: {why}")),
        None => HttpError::new(
            Failure::Reset,
            format!("connection lost before a reply: {why}"),
        ),
    }
}

/// A reply's body and its connection.
pub(crate) struct Body {
    connection: Connection,
    framing: Framing,
    keeps_alive: bool,
    /// Whether the whole body was returned.
    is_over: bool,
}

impl Body {
    pub(super) fn new(head: &mut Head, connection: Connection) -> Self {
        Self {
            connection,
            framing: std::mem::replace(&mut head.framing, Framing::UntilClose),
            keeps_alive: head.keeps_alive,
            is_over: false,
        }
    }

    /// The next piece with its receive time; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(&[u8], Stamp)>, HttpError> {
        let lost = |why: &str| {
            let text = format!("connection lost mid-reply: {why}");
            HttpError::new(Failure::Closed, text)
        };
        loop {
            let piece = self.strip().map_err(|error| lost(&error.to_string()))?;
            self.is_over |= self.framing.is_over();
            if !piece.is_empty() {
                let Connection {
                    buffer, read_at, ..
                } = &self.connection;
                return Ok(Some((&buffer[piece], *read_at)));
            }
            if self.is_over {
                return Ok(None);
            }
            let read = poll_fn(|context| self.connection.poll_fill(context)).await;
            match (read, &self.framing) {
                (Ok(1..), _) => {}
                (Ok(0), Framing::UntilClose) => self.is_over = true,
                (Ok(0), _) => return Err(lost("the service closed it")),
                (Err(error), _) => return Err(lost(&error.to_string())),
            }
        }
    }

    /// Strips the framing of what was read; returns the content's range in the buffer.
    fn strip(&mut self) -> Result<Range<usize>, super::framing::FramingError> {
        let Connection { buffer, unused, .. } = &mut self.connection;
        let stripped = self.framing.strip(&mut buffer[unused.clone()])?;
        let start = unused.start;
        unused.start += stripped.used;
        Ok(start..start + stripped.content)
    }

    /// The head as received. Valid only until the first piece is taken.
    pub(crate) fn head(&self) -> &[u8] {
        let Connection { buffer, head, .. } = &self.connection;
        buffer.get(head.clone()).unwrap_or_default()
    }

    /// Whether the whole body has arrived.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The connection, if it can be reused: the reply was read to its end and no bytes follow it.
    pub(super) fn into_idle(self) -> Option<Connection> {
        let is_clean = self.is_over && self.keeps_alive && self.connection.unused.is_empty();
        is_clean.then_some(self.connection)
    }
}

#[cfg(test)]
mod tests;
