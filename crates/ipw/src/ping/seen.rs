//! What a witness keeps of one exchange.

use std::sync::{Mutex, PoisonError};

use ipw_clients::{Meaning, Sight, Witness};
use ipw_core::reply::{ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;

/// All that was seen, in order.
#[derive(Debug, Default)]
pub struct Seen {
    /// Addresses of the service's name, in the order in which they are tried.
    pub addresses: Vec<String>,
    /// An address, or the path of a socket.
    pub peer: Option<String>,
    /// The proxy, if there is one.
    pub proxy: Option<String>,
    /// Version and cipher of TLS.
    pub tls: Option<String>,
    /// The connection that carried the request.
    pub carried: Option<Carried>,
    /// The request.
    pub request: Option<Asked>,
    /// The head of the reply.
    pub answered: Option<Answered>,
    /// Its body, piece by piece.
    pub pieces: Vec<Piece>,
}

/// What carried the request.
#[derive(Debug)]
pub struct Carried {
    /// The protocol.
    pub by: &'static str,
    /// Whether it was opened for this request.
    pub is_new: bool,
    /// How many requests the service takes on it at a time, where it says.
    pub streams: Option<usize>,
}

/// What was asked.
#[derive(Debug)]
pub struct Asked {
    /// Its head; what may be secret is `…`.
    pub head: String,
    /// Its body.
    pub body: String,
}

/// The head of the reply.
#[derive(Debug)]
pub struct Answered {
    /// The status, as the service put it.
    pub status: String,
    /// The headers; what may be secret is `…`.
    pub headers: Vec<(String, String)>,
}

/// A piece of the reply's body.
#[derive(Debug)]
pub enum Piece {
    /// A read brought bytes.
    Read {
        /// When.
        at: Timestamp,
        /// How many.
        bytes: usize,
    },
    /// An event was whole.
    Event {
        /// When its last byte came.
        at: Timestamp,
        /// As it came.
        data: String,
        /// What it says.
        said: Vec<Said>,
    },
}

/// One thing that an event said.
#[derive(Debug)]
pub enum Said {
    /// Text of the answer.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A tool call, or a part of one.
    Call,
    /// Why the service stopped.
    Finish(String),
    /// Token counts.
    Tokens(TokenCounts, TokenSource),
    /// The service's own durations.
    Timings(ServiceTiming),
    /// A role, and nothing else.
    Role,
    /// What stands at the end of a stream, and nothing else.
    End,
    /// An error.
    Fault,
    /// Nothing that counts.
    Nothing,
}

impl Said {
    /// What kind it is, in a word.
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

/// Writes down what it sees.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Seen>);

impl Log {
    pub(super) fn into_seen(self) -> Seen {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Log {
    fn saw(&self, sight: Sight<'_>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sight {
            Sight::Resolved { addresses, .. } => {
                let addresses = addresses.iter().map(|address| address.ip().to_string());
                seen.addresses = addresses.collect();
            }
            Sight::Connected { peer, proxy, .. } => {
                seen.peer = Some(peer.to_owned());
                seen.proxy = proxy.map(str::to_owned);
            }
            // When is in the row.
            Sight::Tunnelled { .. } => {}
            Sight::Secured { with, .. } => seen.tls = Some(with.to_owned()),
            Sight::Carried {
                by,
                is_new,
                streams,
            } => {
                seen.carried = Some(Carried {
                    by,
                    is_new,
                    streams,
                });
            }
            Sight::Asked { head, body } => {
                let body = String::from_utf8_lossy(body).into_owned();
                let head = head.to_owned();
                seen.request = Some(Asked { head, body });
            }
            Sight::Answered {
                status, headers, ..
            } => {
                seen.answered = Some(Answered {
                    status: status.to_owned(),
                    headers: headers.to_vec(),
                });
            }
            Sight::Read { at, bytes } => seen.pieces.push(Piece::Read { at, bytes }),
            Sight::Event { at, data, meaning } => {
                let data = String::from_utf8_lossy(data).into_owned();
                let said = said(&data, meaning);
                seen.pieces.push(Piece::Event { at, data, said });
            }
        }
    }
}

/// What an event said, one by one; never empty.
fn said(data: &str, meaning: &Meaning<'_>) -> Vec<Said> {
    let mut said = Vec::new();
    let text = |text: Option<&str>| text.map(str::to_owned);
    said.extend(text(meaning.reasoning).map(Said::Reasoning));
    said.extend(text(meaning.answer).map(Said::Text));
    said.extend(meaning.is_call.then_some(Said::Call));
    said.extend(text(meaning.finish).map(Said::Finish));
    said.extend(
        meaning
            .tokens
            .map(|(counts, source)| Said::Tokens(counts, source)),
    );
    said.extend(meaning.timings.map(Said::Timings));
    said.extend(meaning.is_fault.then_some(Said::Fault));
    if said.is_empty() {
        said.push(match (meaning.is_last, data.contains("\"role\"")) {
            (true, _) => Said::End,
            (false, true) => Said::Role,
            (false, false) => Said::Nothing,
        });
    }
    said
}
