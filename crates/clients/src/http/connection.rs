//! One HTTP/1.1 connection, driven by the task that waits for its reply.
//!
//! hyper's connection is usually a task of its own. Here the waiting task polls it, and polls the
//! body first: hyper reads on only when the last piece was taken, so whatever piece comes out was
//! in the read that was stamped last, and no hand-over between tasks delays it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ipw_core::reply::Failure;
use ipw_core::text::with_causes;
use ipw_core::time::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};

use super::timed::{Stamps, Timed};
use super::{HttpError, HttpRequest};

/// A socket, or TLS over one.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Driver = http1::Connection<TokioIo<Timed<Box<dyn Stream>>>, Full<Bytes>>;

/// A connection that carries one exchange at a time.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` once the connection is over: it must not be polled again.
    driver: Option<Driver>,
    stamps: Arc<Stamps>,
}

impl Connection {
    pub(crate) async fn open(
        stream: Box<dyn Stream>,
        stamps: Arc<Stamps>,
    ) -> Result<Self, HttpError> {
        let stream = TokioIo::new(Timed::new(stream, Arc::clone(&stamps)));
        let (sender, driver) = http1::handshake(stream)
            .await
            .map_err(|error| HttpError::new(Failure::Connect, error.to_string()))?;
        Ok(Self {
            sender,
            driver: Some(driver),
            stamps,
        })
    }

    pub(crate) fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    /// Whether the connection can carry another exchange, as far as has arrived here.
    pub(crate) async fn is_alive(&mut self) -> bool {
        let is_over =
            poll_fn(|context| Poll::Ready(drive(&mut self.driver, context).is_some())).await;
        !is_over && self.sender.is_ready()
    }

    /// Sends `request` and waits for the head of the reply.
    pub(crate) async fn exchange(
        &mut self,
        request: HttpRequest,
    ) -> Result<Response<Incoming>, HttpError> {
        let mut response = pin!(self.sender.send_request(request));
        let (driver, stamps) = (&mut self.driver, &self.stamps);
        poll_fn(|context| {
            let is_over = drive(driver, context).is_some();
            match response.as_mut().poll(context) {
                Poll::Ready(answered) => {
                    Poll::Ready(answered.map_err(|error| no_head(&error, stamps)))
                }
                // hyper answers or fails every request that a connection took; this is a guard.
                Poll::Pending if is_over => {
                    Poll::Ready(Err(HttpError::new(Failure::Reset, "connection closed")))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Lets the connection work; `Some` with how it ended when it is over.
fn drive(
    driver: &mut Option<Driver>,
    context: &mut Context<'_>,
) -> Option<Result<(), hyper::Error>> {
    let Some(open) = driver else {
        return Some(Ok(()));
    };
    match Pin::new(open).poll(context) {
        Poll::Ready(ended) => {
            *driver = None;
            Some(ended)
        }
        Poll::Pending => None,
    }
}

fn no_head(error: &hyper::Error, stamps: &Stamps) -> HttpError {
    let text = with_causes(error);
    if error.is_parse() {
        return HttpError::new(
            Failure::NotAStream,
            format!("the reply is not HTTP: {text}"),
        );
    }
    match stamps.first_read() {
        Some(_) => HttpError::new(Failure::Closed, format!("connection lost: {text}")),
        None => HttpError::new(
            Failure::Reset,
            format!("connection lost before a reply: {text}"),
        ),
    }
}

/// The body of a reply, on its connection.
pub(crate) struct Body {
    pieces: Incoming,
    connection: Connection,
    ended: bool,
}

impl Body {
    pub(super) fn new(body: Incoming, connection: Connection) -> Self {
        Self {
            pieces: body,
            connection,
            ended: false,
        }
    }

    /// The next piece, and when it came off the socket; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(Bytes, Timestamp)>, HttpError> {
        let piece = poll_fn(|context| self.poll_piece(context)).await;
        let stamps = self.connection.stamps();
        let at = stamps.last_read().unwrap_or_else(|| stamps.now());
        match piece {
            Some(Ok(bytes)) => Ok(Some((bytes, at))),
            Some(Err(error)) => Err(error),
            None => {
                self.ended = true;
                Ok(None)
            }
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        let taken = self.poll_body(context);
        if taken.is_ready() {
            return taken;
        }
        let is_over = drive(&mut self.connection.driver, context).is_some();
        match self.poll_body(context) {
            Poll::Pending if is_over => {
                let error = HttpError::new(Failure::Closed, "connection closed mid-reply");
                Poll::Ready(Some(Err(error)))
            }
            polled => polled,
        }
    }

    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            return match Pin::new(&mut self.pieces).poll_frame(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    let text = format!("connection lost mid-reply: {}", with_causes(&error));
                    Poll::Ready(Some(Err(HttpError::new(Failure::Closed, text))))
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => Poll::Ready(Some(Ok(bytes))),
                    // Trailers and empty pieces carry nothing for us.
                    _ => continue,
                },
            };
        }
    }

    /// Up to `most` bytes of the body.
    pub(crate) async fn collect(&mut self, most: usize) -> Result<Vec<u8>, HttpError> {
        let mut collected = Vec::new();
        while let Some((bytes, _)) = self.next().await? {
            let room = most.saturating_sub(collected.len());
            collected.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if collected.len() >= most {
                break;
            }
        }
        Ok(collected)
    }

    /// The connection, if the reply was read to its end.
    pub(super) fn into_idle(self) -> Option<Connection> {
        (self.ended && self.connection.driver.is_some()).then_some(self.connection)
    }
}
