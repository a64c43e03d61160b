//! Reply bodies: a whole JSON value, or events as the engine generates them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::chat::Chunks;
use crate::engine::Generation;
use crate::generate::Part;

/// The body of a reply.
pub(super) enum ReplyBody {
    /// One JSON value.
    Whole(Full<Bytes>),
    /// Server-sent events.
    Events(Events),
}

/// A reply of one JSON value.
pub(super) fn json(status: StatusCode, value: &Value) -> Response<ReplyBody> {
    let body = ReplyBody::Whole(Full::new(Bytes::from(value.to_string())));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A reply of server-sent events: `chunks` formats `first` and the rest of `generation`.
pub(super) fn events(generation: Generation, first: Part, chunks: Chunks) -> Response<ReplyBody> {
    let mut waiting = VecDeque::new();
    waiting.push_back(chunks.role());
    let is_over = chunks.part(first, &mut waiting);
    let source = Source {
        generation,
        chunks,
        waiting,
        is_over,
    };
    let mut response = Response::new(ReplyBody::Events(Events {
        next: Some(Box::pin(source.next())),
    }));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

type NextEvent = Pin<Box<dyn Future<Output = Option<(Bytes, Source)>> + Send>>;

/// The next event in progress. It owns the generation: when a client leaves, hyper drops the body,
/// which cancels the generation.
pub(super) struct Events {
    next: Option<NextEvent>,
}

struct Source {
    generation: Generation,
    chunks: Chunks,
    /// Events that are ready to send.
    waiting: VecDeque<Bytes>,
    is_over: bool,
}

impl Source {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some((event, self));
            }
            if self.is_over {
                return None;
            }
            self.is_over = match self.generation.next().await {
                Some(part) => self.chunks.part(part, &mut self.waiting),
                None => self.chunks.broken(&mut self.waiting),
            };
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let events = match self.get_mut() {
            Self::Whole(whole) => return Pin::new(whole).poll_frame(context),
            Self::Events(events) => events,
        };
        let Some(next) = &mut events.next else {
            return Poll::Ready(None);
        };
        let event = ready!(next.as_mut().poll(context)).map(|(event, source)| {
            events.next = Some(Box::pin(source.next()));
            Ok(Frame::data(event))
        });
        if event.is_none() {
            events.next = None;
        }
        Poll::Ready(event)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_end_stream(),
            Self::Events(events) => events.next.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
