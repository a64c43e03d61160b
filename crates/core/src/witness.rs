//! Observation of a single exchange, for `ipw ping`.
//!
//! Runs have no witness; without one, no event is computed.

use std::net::SocketAddr;

use crate::reply::{ServiceTiming, Stamp, TokenCounts, TokenSource};
use crate::time::Timestamp;

/// Receives the events of one exchange, in order.
pub trait Witness: Sync {
    /// Receives one event.
    fn saw(&self, sight: ExchangeEvent<'_>);
}

/// An event of an exchange.
#[derive(Debug, Clone, Copy)]
pub enum ExchangeEvent<'a> {
    /// The host name of the service or its proxy was resolved.
    Resolved {
        /// When.
        at: Timestamp,
        /// In the order in which they are tried.
        addresses: &'a [SocketAddr],
    },
    /// A socket is connected.
    Connected {
        /// When.
        at: Timestamp,
        /// The peer: an address or the path of a socket.
        peer: &'a str,
        /// The proxy's host and port, for a connection to a proxy.
        proxy: Option<&'a str>,
    },
    /// The proxy has opened its tunnel.
    Tunnelled {
        /// When.
        at: Timestamp,
    },
    /// The TLS handshake is over.
    Secured {
        /// When.
        at: Timestamp,
        /// The protocol version and the cipher suite.
        with: &'a str,
    },
    /// A connection is assigned to the request.
    Carried {
        /// The protocol.
        by: &'static str,
        /// Whether it was opened for this request.
        is_new: bool,
        /// Number of concurrent streams that the service allows, where it tells.
        streams: Option<usize>,
    },
    /// The request is sent.
    Asked {
        /// Its head; possible secrets are shown as `…`.
        head: &'a str,
        /// Its body.
        body: &'a [u8],
    },
    /// The head of the reply arrived.
    Answered {
        /// When its first byte came.
        at: Timestamp,
        /// The status line, verbatim.
        status: &'a str,
        /// The headers; possible secrets are shown as `…`.
        headers: &'a [(String, String)],
    },
    /// A read returned part of the body.
    Read {
        /// When the bytes arrived, and when the read returned.
        stamp: Stamp,
        /// Bytes of the body, without framing.
        bytes: usize,
    },
    /// An event of the stream is complete.
    Event {
        /// When its last read returned.
        at: Timestamp,
        /// Its data.
        data: &'a [u8],
        /// Its content.
        meaning: &'a Meaning<'a>,
    },
}

/// Content of one event; all fields empty for a role or no content.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meaning<'a> {
    /// Text of the reasoning.
    pub reasoning: Option<&'a str>,
    /// Text of the answer.
    pub answer: Option<&'a str>,
    /// Part of a tool call.
    pub is_call: bool,
    /// The finish reason.
    pub finish: Option<&'a str>,
    /// Token counts that the service reports, and their origin.
    pub tokens: Option<(TokenCounts, TokenSource)>,
    /// Durations that the service reports.
    pub timings: Option<ServiceTiming>,
    /// Whether the reply ends here.
    pub is_last: bool,
    /// Whether it breaks the reply.
    pub is_fault: bool,
}
