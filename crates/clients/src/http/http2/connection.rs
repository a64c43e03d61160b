//! One HTTP/2 connection: opening it, driving it and sending requests on it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Reason;
use h2::client::{Builder, ResponseFuture, SendRequest};
use http::Response;
use ipw_core::reply::{Failure, Timing};

use super::Body;
use super::message::Message;
use super::wire::{Stamps, Wire};
use crate::http::connection::{InterimHeads, LARGEST_HEAD, Stream};
use crate::http::head::{Head, MOST_HEADERS};
use crate::http::stamps::Stamper;
use crate::http::{HttpError, HttpReply};

/// Flow-control windows, large enough that a service never waits for us.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

type H2Connection = h2::client::Connection<Wire, Bytes>;

/// A connection that carries concurrent exchanges.
pub(in crate::http) struct Connection {
    sender: SendRequest<Bytes>,
    stamps: Arc<Stamps>,
    /// Counts the streams in use: one reference here and one for each stream.
    place: Arc<()>,
}

impl Connection {
    /// Opens a connection over `stream` and waits for the service's settings. The error says what
    /// the service did instead.
    pub(in crate::http) async fn open(
        stream: Box<dyn Stream>,
        stamper: Arc<Stamper>,
    ) -> Result<Self, String> {
        let (wire, stamps) = Wire::new(stream, stamper);
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(LARGEST_HEAD).unwrap_or(u32::MAX))
            // Until the service's settings arrive.
            .initial_max_send_streams(0);
        let opened = builder.handshake(wire).await;
        let (sender, mut driven) = opened.map_err(|error| error.to_string())?;
        settled(&mut driven, &stamps).await?;
        tokio::spawn(drive(driven, Arc::clone(&stamps)));
        Ok(Self {
            sender,
            stamps,
            place: Arc::default(),
        })
    }

    /// Whether the connection accepts more streams, judged by the data received so far.
    pub(super) fn is_alive(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.sender.poll_ready(&mut context), Poll::Ready(Ok(())))
    }

    /// Whether it has no exchange in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    /// Number of streams that are still free.
    pub(super) fn places(&self) -> usize {
        let limit = self.sender.current_max_send_streams();
        limit.saturating_sub(self.in_flight())
    }

    fn in_flight(&self) -> usize {
        Arc::strong_count(&self.place) - 1
    }

    /// Reserves a stream.
    pub(super) fn line(&self) -> Slot {
        Slot {
            sender: self.sender.clone(),
            stamps: Arc::clone(&self.stamps),
            place: Arc::clone(&self.place),
        }
    }

    /// Number of streams still held, by our count and by `h2`'s.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.in_flight(), self.sender.num_wired_streams())
    }
}

/// Waits for the service's settings.
async fn settled(driven: &mut H2Connection, stamps: &Stamps) -> Result<(), String> {
    poll_fn(|context| {
        stamps.begin_turn();
        let ended = match Pin::new(&mut *driven).poll(context) {
            Poll::Pending if driven.max_concurrent_send_streams() > 0 => {
                return Poll::Ready(Ok(()));
            }
            Poll::Pending if stamps.is_held() => {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Pending => return Poll::Pending,
            Poll::Ready(ended) => ended,
        };
        Poll::Ready(Err(match ended {
            _ if stamps.is_http1() => "it answers with HTTP/1.1".to_owned(),
            Ok(()) => "it closes the connection".to_owned(),
            Err(error) => error.to_string(),
        }))
    })
    .await
}

/// Reads and writes for all streams until the connection ends. Streams see the end by themselves.
async fn drive(mut driven: H2Connection, stamps: Arc<Stamps>) {
    loop {
        let ended = poll_fn(|context| {
            stamps.begin_turn();
            match Pin::new(&mut driven).poll(context) {
                Poll::Pending if stamps.is_held() => Poll::Ready(false),
                polled => polled.map(|_| true),
            }
        });
        if ended.await {
            return;
        }
        // Let the streams take what this read brought, before the next read.
        tokio::task::yield_now().await;
    }
}

/// A reserved stream, for one exchange.
pub(super) struct Slot {
    sender: SendRequest<Bytes>,
    stamps: Arc<Stamps>,
    place: Arc<()>,
}

/// An exchange that failed before the head of its reply.
pub(super) struct ExchangeError {
    pub(super) error: HttpError,
    /// Whether the service did not process it: the connection died, or the service says so.
    pub(super) may_be_replaced: bool,
}

impl Slot {
    /// The service's limit of concurrent streams; `None` if it sets none.
    pub(super) fn limit(&self) -> Option<usize> {
        let limit = self.sender.current_max_send_streams();
        Some(limit).filter(|limit| *limit < usize::MAX)
    }

    /// Sends a request and waits for the head of the reply; `timing` is updated at each step.
    pub(super) async fn ask(
        mut self,
        message: Message,
        timing: &mut Timing,
    ) -> Result<HttpReply, ExchangeError> {
        let Message { head, body } = message;
        let wrote = self.stamps.next_write();
        let sent = self.sender.send_request(head, body.is_empty());
        let (mut response, mut rest) = sent.map_err(|error| lost(&error, timing))?;
        if !body.is_empty() {
            let sent = rest.send_data(body, true);
            sent.map_err(|error| lost(&error, timing))?;
        }
        let mut interim = InterimHeads::default();
        let answered = poll_fn(|context| {
            let polled = poll_head(&mut response, &mut interim, timing, &self.stamps, context);
            if timing.sent.is_none() {
                timing.sent = wrote.get().copied();
            }
            polled
        });
        let response = answered.await?;
        let (parts, stream) = response.into_parts();
        if parts.headers.len() > MOST_HEADERS {
            return Err(not_http("it has too many headers").into());
        }
        Ok(HttpReply {
            head: Head::of_http2(&parts),
            body: super::super::Body::Shared(Body::new(
                stream,
                parts.headers,
                self.stamps,
                self.place,
            )),
        })
    }
}

/// Polls for the head of the reply. Interim heads set only the time of the first byte.
fn poll_head(
    response: &mut ResponseFuture,
    interim: &mut InterimHeads,
    timing: &mut Timing,
    stamps: &Stamps,
    context: &mut Context<'_>,
) -> Poll<Result<Response<h2::RecvStream>, ExchangeError>> {
    while let Poll::Ready(Some(Ok(_))) = response.poll_informational(context) {
        timing.came_first(stamps.read_at());
        // `h2` limits the size of each.
        interim.came(0)?;
    }
    let polled = Pin::new(response).poll(context);
    if let Poll::Ready(Ok(_)) = polled {
        timing.came_first(stamps.read_at());
    }
    polled.map_err(|error| lost(&error, timing))
}

impl From<HttpError> for ExchangeError {
    fn from(error: HttpError) -> Self {
        Self {
            error,
            may_be_replaced: false,
        }
    }
}

fn not_http(why: &str) -> HttpError {
    let text = format!("the reply is not HTTP/2: {why}");
    HttpError::new(Failure::NotAStream, text)
}

/// Classifies a fault before the head of the reply.
fn lost(error: &h2::Error, timing: &Timing) -> ExchangeError {
    if error.is_reset() && error.is_library() {
        return not_http("its head is too large or invalid").into();
    }
    let why = said(error);
    let (failure, text) = match timing.first_byte {
        Some(_) => (Failure::Closed, format!("connection lost: {why}")),
        None => (
            Failure::Reset,
            format!("connection lost before a reply: {why}"),
        ),
    };
    let is_refused = error.reason() == Some(Reason::REFUSED_STREAM);
    ExchangeError {
        error: HttpError::new(failure, text),
        may_be_replaced: failure == Failure::Reset && (!error.is_reset() || is_refused),
    }
}

/// A fault as text.
pub(super) fn said(error: &h2::Error) -> String {
    let reason = error.reason().map(|reason| format!("{reason:?}"));
    let reason = reason.unwrap_or_default();
    match (error.is_reset(), error.is_go_away(), error.is_remote()) {
        (true, _, true) => format!("the service reset the stream ({reason})"),
        (_, true, true) => format!("the service closes the connection (GOAWAY, {reason})"),
        (true, ..) | (_, true, _) => {
            format!("the service violates the HTTP/2 protocol ({reason})")
        }
        _ => error.to_string(),
    }
}
