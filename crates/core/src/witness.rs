//! Who looks on while one exchange happens, for `ipw ping`.
//!
//! A run has no witness; without one, nothing of this is computed.

use std::net::SocketAddr;

use crate::reply::{ServiceTiming, TokenCounts, TokenSource};
use crate::time::Timestamp;

/// Sees one exchange, in the order in which things happen.
pub trait Witness: Sync {
    /// Something happened.
    fn saw(&self, sight: Sight<'_>);
}

/// What there is to see.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// The name, of the service or of its proxy, has these addresses.
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
        /// To what: an address or the path of a socket.
        peer: &'a str,
        /// The proxy's host and port, if it is a proxy's.
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
        /// The version of the protocol and the cipher suite.
        with: &'a str,
    },
    /// There is a connection for the request.
    Carried {
        /// The protocol.
        by: &'static str,
        /// Whether it was opened for this request.
        is_new: bool,
        /// How many requests the service takes on it at a time, where it says.
        streams: Option<usize>,
    },
    /// The request goes out.
    Asked {
        /// Its head; what may be secret is `…`.
        head: &'a str,
        /// Its body.
        body: &'a [u8],
    },
    /// The head of the reply is there.
    Answered {
        /// When its first byte came.
        at: Timestamp,
        /// The status, as the service put it.
        status: &'a str,
        /// The headers; what may be secret is `…`.
        headers: &'a [(String, String)],
    },
    /// A read brought some of the body.
    Read {
        /// When.
        at: Timestamp,
        /// How much of the body, without the framing.
        bytes: usize,
    },
    /// An event of the stream was whole.
    Event {
        /// When the read that completed it came.
        at: Timestamp,
        /// Its data.
        data: &'a [u8],
        /// What it says.
        meaning: &'a Meaning<'a>,
    },
}

/// What one event says; all of it empty: a role, or nothing at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meaning<'a> {
    /// Text of the reasoning.
    pub reasoning: Option<&'a str>,
    /// Text of the answer.
    pub answer: Option<&'a str>,
    /// Part of a tool call.
    pub is_call: bool,
    /// Why the service stops.
    pub finish: Option<&'a str>,
    /// Counts of tokens that the service reports, and where.
    pub tokens: Option<(TokenCounts, TokenSource)>,
    /// Durations that the service reports.
    pub timings: Option<ServiceTiming>,
    /// Nothing that follows belongs to the reply.
    pub is_last: bool,
    /// It breaks the reply.
    pub is_fault: bool,
}
