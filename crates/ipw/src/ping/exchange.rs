//! What a witness records of one exchange.

use std::sync::{Mutex, PoisonError};

use ipw_clients::{ExchangeEvent, Meaning, Witness};
use ipw_core::reply::{ServiceTiming, Stamp, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;

/// Everything observed in one exchange, in order.
#[derive(Debug, Default)]
pub struct Exchange {
    /// Resolved addresses of the service, in the order in which they are tried.
    pub addresses: Vec<String>,
    /// The peer: an address, or the path of a socket.
    pub peer: Option<String>,
    /// The proxy; `None` for a direct connection.
    pub proxy: Option<String>,
    /// TLS version and cipher; `None` without TLS.
    pub tls: Option<String>,
    /// The connection that carried the request.
    pub connection: Option<Connection>,
    /// The request as it was sent.
    pub request: Option<SentRequest>,
    /// The head of the response.
    pub response: Option<ResponseHead>,
    /// The body of the response, piece by piece.
    pub pieces: Vec<Piece>,
}

/// The connection of a request.
#[derive(Debug)]
pub struct Connection {
    /// The protocol.
    pub by: &'static str,
    /// Whether the connection was opened for this request.
    pub is_new: bool,
    /// How many concurrent requests the service allows on it; `None` where it does not say.
    pub streams: Option<usize>,
}

/// The request as it was sent.
#[derive(Debug)]
pub struct SentRequest {
    /// The head, with secrets replaced by `…`.
    pub head: String,
    /// The body as it was sent.
    pub body: String,
}

/// The head of the response.
#[derive(Debug)]
pub struct ResponseHead {
    /// The status, as the service sent it.
    pub status: String,
    /// The headers, with secrets replaced by `…`.
    pub headers: Vec<(String, String)>,
}

/// A piece of the response body.
#[derive(Debug)]
pub enum Piece {
    /// A read returned bytes.
    Read {
        /// When the bytes arrived, and when the read returned.
        stamp: Stamp,
        /// Number of bytes.
        bytes: usize,
    },
    /// An event was complete.
    Event {
        /// When its last byte arrived.
        at: Timestamp,
        /// The raw data.
        data: String,
        /// Its content, as the client understands it.
        said: Vec<EventPart>,
    },
}

/// One element of an event.
#[derive(Debug)]
pub enum EventPart {
    /// Text of the answer.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// A tool call, or a part of one.
    Call,
    /// The finish reason.
    Finish(String),
    /// Token counts, and where they come from.
    Tokens(TokenCounts, TokenSource),
    /// Durations that the service reports.
    Timings(ServiceTiming),
    /// A role without content.
    Role,
    /// The end marker of a stream.
    End,
    /// An error.
    Fault,
    /// Nothing that the client uses.
    Nothing,
}

impl EventPart {
    /// The kind as one or two words.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::Call => "tool call",
            Self::Finish(_) => "finish",
            Self::Tokens(_, TokenSource::Timings) | Self::Timings(_) => "timings",
            Self::Tokens(..) => "usage",
            Self::Role => "role only",
            Self::End => "end",
            Self::Fault => "fault",
            Self::Nothing => "nothing",
        }
    }
}

/// A witness that records what it sees.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Exchange>);

impl Log {
    pub(super) fn into_exchange(self) -> Exchange {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Log {
    fn saw(&self, sight: ExchangeEvent<'_>) {
        let mut exchange = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sight {
            ExchangeEvent::Resolved { addresses, .. } => {
                let addresses = addresses.iter().map(|address| address.ip().to_string());
                exchange.addresses = addresses.collect();
            }
            ExchangeEvent::Connected { peer, proxy, .. } => {
                exchange.peer = Some(peer.to_owned());
                exchange.proxy = proxy.map(str::to_owned);
            }
            // The time is in the row.
            ExchangeEvent::Tunnelled { .. } => {}
            ExchangeEvent::Secured { with, .. } => exchange.tls = Some(with.to_owned()),
            ExchangeEvent::Carried {
                by,
                is_new,
                streams,
            } => {
                exchange.connection = Some(Connection {
                    by,
                    is_new,
                    streams,
                });
            }
            ExchangeEvent::Asked { head, body } => {
                let body = String::from_utf8_lossy(body).into_owned();
                let head = head.to_owned();
                exchange.request = Some(SentRequest { head, body });
            }
            ExchangeEvent::Answered {
                status, headers, ..
            } => {
                exchange.response = Some(ResponseHead {
                    status: status.to_owned(),
                    headers: headers.to_vec(),
                });
            }
            ExchangeEvent::Read { stamp, bytes } => {
                exchange.pieces.push(Piece::Read { stamp, bytes });
            }
            ExchangeEvent::Event { at, data, meaning } => {
                let data = String::from_utf8_lossy(data).into_owned();
                let said = said(&data, meaning);
                exchange.pieces.push(Piece::Event { at, data, said });
            }
        }
    }
}

/// The elements of an event; never empty.
fn said(data: &str, meaning: &Meaning<'_>) -> Vec<EventPart> {
    let mut said = Vec::new();
    let text = |text: Option<&str>| text.map(str::to_owned);
    said.extend(text(meaning.reasoning).map(EventPart::Reasoning));
    said.extend(text(meaning.answer).map(EventPart::Text));
    said.extend(meaning.is_call.then_some(EventPart::Call));
    said.extend(text(meaning.finish).map(EventPart::Finish));
    said.extend(
        meaning
            .tokens
            .map(|(counts, source)| EventPart::Tokens(counts, source)),
    );
    said.extend(meaning.timings.map(EventPart::Timings));
    said.extend(meaning.is_fault.then_some(EventPart::Fault));
    if said.is_empty() {
        said.push(match (meaning.is_last, data.contains("\"role\"")) {
            (true, _) => EventPart::End,
            (false, true) => EventPart::Role,
            (false, false) => EventPart::Nothing,
        });
    }
    said
}
