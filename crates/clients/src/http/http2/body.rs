//! The body of a reply, read frame by frame.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h2::{Reason, RecvStream};
use http::HeaderMap;
use ipw_core::reply::{Failure, Stamp};

use super::connection::said;
use super::wire::Stamps;
use crate::http::turn::Turn;
use crate::http::{HttpError, shown};

/// A reply's body on a stream of a shared connection.
pub(crate) struct Body {
    stream: RecvStream,
    headers: HeaderMap,
    /// The piece returned last.
    piece: Bytes,
    stamps: Arc<Stamps>,
    turn: Turn,
    is_over: bool,
    /// Held until the stream is done: it counts the streams in use.
    _place: Arc<()>,
}

impl Body {
    pub(super) fn new(
        stream: RecvStream,
        headers: HeaderMap,
        stamps: Arc<Stamps>,
        place: Arc<()>,
    ) -> Self {
        Self {
            stream,
            headers,
            piece: Bytes::new(),
            stamps,
            turn: Turn::default(),
            is_over: false,
            _place: place,
        }
    }

    /// The next piece with its receive time; `None` at the end.
    pub(in crate::http) async fn next(&mut self) -> Result<Option<(&[u8], Stamp)>, HttpError> {
        while !self.is_over {
            if self.turn.is_over() {
                tokio::task::yield_now().await;
            }
            let came = poll_fn(|context| {
                let polled = self.stream.poll_data(context);
                if polled.is_pending() {
                    self.turn.waited();
                }
                polled
            })
            .await;
            // Must follow the hand-over directly: the stamp belongs to the read that brought it.
            let at = self.stamps.read_at();
            match came {
                Some(Ok(bytes)) => {
                    // Return the flow-control window at once, so that the service never waits for
                    // it.
                    let _ = self.stream.flow_control().release_capacity(bytes.len());
                    self.turn.took(bytes.len());
                    self.is_over = self.stream.is_end_stream();
                    if !bytes.is_empty() {
                        self.piece = bytes;
                        return Ok(Some((&self.piece, at)));
                    }
                }
                // The reply is complete despite the reset (RFC 9113 §8.1).
                Some(Err(error)) if is_no_fault(&error) => self.is_over = true,
                Some(Err(error)) => {
                    let text = format!("connection lost mid-reply: {}", said(&error));
                    return Err(HttpError::new(Failure::Closed, text));
                }
                // Trailers are ignored.
                None => self.is_over = true,
            }
        }
        Ok(None)
    }

    /// Whether the whole body has arrived.
    pub(in crate::http) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The headers with secrets hidden.
    pub(in crate::http) fn headers(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| shown::header((name.to_string(), text(value.as_bytes()))))
            .collect()
    }
}

fn is_no_fault(error: &h2::Error) -> bool {
    error.is_reset() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}
