//! Replies and their timing.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::time::Timestamp;

/// How a query ended. A failed query is stored as a row and never aborts the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The service ended the reply by itself.
    Complete,
    /// The service cut the reply at a length limit.
    Truncated,
    /// The service or the model declined to answer.
    Refused,
    /// A time limit of the plan passed.
    TimedOut,
    /// The user stopped the run.
    Cancelled,
    /// An error occurred.
    Failed(Failure),
}

impl Outcome {
    /// Whether the query has a reply with meaningful latencies.
    pub fn is_answered(&self) -> bool {
        matches!(self, Self::Complete | Self::Truncated | Self::Refused)
    }

    /// The name in the `outcome` column.
    pub fn label(&self) -> Cow<'static, str> {
        match self {
            Self::Complete => "complete".into(),
            Self::Truncated => "truncated".into(),
            Self::Refused => "refused".into(),
            Self::TimedOut => "timed_out".into(),
            Self::Cancelled => "cancelled".into(),
            Self::Failed(failure) => format!("failed:{failure}").into(),
        }
    }
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The host's name has no address.
    Dns,
    /// No connection: refused, unreachable, or timed out.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The service does not support HTTP/2 as requested.
    Protocol,
    /// The connection broke before the first byte of the reply.
    Reset,
    /// The connection broke, or the stream ended, in the middle of the reply.
    Closed,
    /// An HTTP status other than success.
    Http(u16),
    /// A reply that is not an event stream.
    NotAStream,
    /// An event that violates the API.
    BadEvent,
    /// The service sent an error object in the stream.
    Service,
    /// The stream ended properly without a reply.
    Empty,
    /// An event above the size limit.
    TooLarge,
    /// The engine rejects a generation parameter or its value, or a client's API has no such
    /// request. Nothing was sent.
    Parameter,
    /// The prompt does not fit the model's context.
    Context,
    /// An earlier turn of the conversation has no reply, and this turn needs it. Nothing was sent.
    History,
    /// The model's chat template cannot be rendered for this prompt.
    Template,
    /// The engine failed.
    Engine,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Http(status) => return write!(formatter, "http_{status}"),
            Self::NotAStream => "not_a_stream",
            Self::BadEvent => "bad_event",
            Self::Service => "service",
            Self::Empty => "empty",
            Self::TooLarge => "too_large",
            Self::Parameter => "parameter",
            Self::Context => "context",
            Self::History => "history",
            Self::Template => "template",
            Self::Engine => "engine",
        };
        formatter.write_str(label)
    }
}

/// Timestamps of one query on the run clock; `None` for steps that did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The attempt began.
    pub start: Timestamp,
    /// Name resolution ended, for the service or the proxy. `None` without a lookup; on a reused
    /// connection, all fields up to `connected` are `None`.
    pub dns: Option<Timestamp>,
    /// The socket was connected, to the service or the proxy.
    pub tcp: Option<Timestamp>,
    /// The proxy had opened its tunnel; `None` without a proxy.
    pub proxy: Option<Timestamp>,
    /// The TLS handshake ended; `None` without TLS.
    pub tls: Option<Timestamp>,
    /// A new connection was ready for use, TLS included; `None` on a reused one.
    pub connected: Option<Timestamp>,
    /// First byte of the request on a connected socket.
    pub sent: Option<Timestamp>,
    /// First byte of the reply.
    pub first_byte: Option<Timestamp>,
    /// First chunk with content: text, reasoning or tool-call arguments.
    pub first_token: Option<Timestamp>,
    /// First chunk with text of the answer.
    pub first_answer_token: Option<Timestamp>,
    /// Every chunk with content.
    pub chunks: Vec<Timestamp>,
    /// The end of the reply: its last byte, or the error.
    pub end: Timestamp,
    /// Delay of the thread that takes timestamps: busy, stopped, or not scheduled. `None` if it was
    /// not observed.
    pub own_delay: Option<Duration>,
    /// Which clock dated the bytes of the reply; `None` if no socket was read.
    pub stamp_source: Option<StampSource>,
}

/// What dated the bytes that came from a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel, when the packet arrived.
    Kernel,
    /// This process, after it had read them.
    Read,
    /// The kernel for some reads of a reply, this process for others.
    Mixed,
}

impl StampSource {
    /// Its name in files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Read => "read",
            Self::Mixed => "mixed",
        }
    }
}

/// When bytes came from a socket, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When they came.
    pub at: Timestamp,
    /// What says so.
    pub source: StampSource,
    /// When this process had read them.
    pub read: Timestamp,
}

impl Stamp {
    /// Bytes that are dated by their read.
    pub const fn by_read(at: Timestamp) -> Self {
        Self {
            at,
            source: StampSource::Read,
            read: at,
        }
    }
}

impl Timing {
    /// A read of the reply's head.
    pub fn came_first(&mut self, stamp: Stamp) {
        self.first_byte.get_or_insert(stamp.at);
        self.stamped_by(stamp.source);
    }

    /// A read of the reply's body.
    pub fn came(&mut self, stamp: Stamp) {
        self.end = stamp.at;
        self.stamped_by(stamp.source);
    }

    fn stamped_by(&mut self, source: StampSource) {
        self.stamp_source = match self.stamp_source {
            None => Some(source),
            Some(before) if before == source => Some(source),
            Some(_) => Some(StampSource::Mixed),
        };
    }

    /// Reads of the socket that brought several chunks. They share the stamp of the last packet, so
    /// all but the last may have come earlier; `None` if no socket was read.
    pub fn shared_reads(&self) -> Option<u64> {
        self.stamp_source?;
        let reads = self.chunks.chunk_by(|one, next| one == next);
        Some(reads.filter(|chunks| chunks.len() > 1).count() as u64)
    }

    /// The timing of an attempt that starts now.
    pub fn begun(start: Timestamp) -> Self {
        Self {
            start,
            dns: None,
            tcp: None,
            proxy: None,
            tls: None,
            connected: None,
            sent: None,
            first_byte: None,
            first_token: None,
            first_answer_token: None,
            chunks: Vec::new(),
            end: start,
            own_delay: None,
            stamp_source: None,
        }
    }
}

/// Token counts by kind; `None` where they are neither reported nor countable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens of the prompt as the model saw it.
    pub input: Option<u64>,
    /// Tokens generated, reasoning included.
    pub output: Option<u64>,
    /// Tokens of the output that were reasoning.
    pub reasoning: Option<u64>,
    /// Tokens of the input from the service's prompt cache.
    pub cached: Option<u64>,
    /// Tokens of the output that were tool calls.
    pub tool_call: Option<u64>,
    /// Speculative tokens that were accepted, from a draft model or a prediction.
    pub speculative_accepted: Option<u64>,
    /// Speculative tokens that were rejected.
    pub speculative_rejected: Option<u64>,
    /// Impossible input count claimed by the service ([`crate::claim`]).
    pub claimed_input: Option<u64>,
    /// Impossible output count claimed by the service.
    pub claimed_output: Option<u64>,
}

/// Largest relative difference of two counts that agree.
const AGREEMENT: f64 = 0.02;

/// Whether two counts of the same tokens agree.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53, and a ratio is all that is wanted"
)]
pub fn agree(one: u64, other: u64) -> bool {
    one.abs_diff(other) as f64 <= AGREEMENT * one.max(other) as f64
}

/// Origin of the token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSource {
    /// The service's usage object.
    Usage,
    /// The service's own timings.
    Timings,
    /// A tokenizer that the user named, as the service reported no counts.
    Tokenizer,
    /// The number of chunks with content; a chunk is not always one token.
    Chunks,
}

impl TokenSource {
    /// The name in the `token_source` column.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Timings => "timings",
            Self::Tokenizer => "tokenizer",
            Self::Chunks => "chunks",
        }
    }
}

/// Facts about the HTTP exchange; all `None` for a client without HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Status of the reply.
    pub status: Option<u16>,
    /// Whether an earlier query's connection was reused.
    pub connection_reused: Option<bool>,
    /// Number of dead reused connections that were replaced by a new one (0 or 1).
    pub connections_replaced: Option<u32>,
    /// Number of times the query was sent.
    pub attempts: Option<u32>,
    /// Value of the service's Retry-After header.
    pub retry_after: Option<Duration>,
}

/// Durations by the service's own clock; `None` where it reports none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceTiming {
    /// Time in the service's queue.
    pub queue: Option<Duration>,
    /// Loading the model.
    pub load: Option<Duration>,
    /// Reading the prompt.
    pub prompt: Option<Duration>,
    /// Generating the reply.
    pub decode: Option<Duration>,
    /// The whole, as the service counts it.
    pub total: Option<Duration>,
}

/// Arithmetic of one reply, where the shape of the model is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compute {
    /// Floating-point operations of prompt and reply.
    pub flops: f64,
    /// Bytes of weights, keys and values read from memory.
    pub bytes: f64,
}

impl Compute {
    /// Arithmetic intensity: operations per byte.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.flops / self.bytes)
    }
}

/// The reply to one query.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The outcome of the query.
    pub outcome: Outcome,
    /// The error message, if there is an error.
    pub error: Option<String>,
    /// The answer without the reasoning; partial if the reply broke off.
    pub answer: String,
    /// The reasoning, where the service separates it.
    pub reasoning: Option<String>,
    /// The tool calls as a JSON list of `{"id", "name", "arguments"}`, in the service's order;
    /// partial if the reply broke off. `None` without calls. `arguments` is the text that the model
    /// wrote.
    pub tool_calls: Option<String>,
    /// The service's finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Origin of the counts; `None` without counts.
    pub token_source: Option<TokenSource>,
    /// Another source's count, if the two disagree.
    pub token_note: Option<String>,
    /// Timestamps of the query.
    pub timing: Timing,
    /// Facts about the HTTP exchange.
    pub exchange: Exchange,
    /// Durations that the service reports.
    pub service_timing: ServiceTiming,
    /// Arithmetic of the reply; `None` where the model's shape is unknown.
    pub compute: Option<Compute>,
}

impl Reply {
    /// The reply of a query that was never sent, at `at`.
    pub fn unsent(at: Timestamp, failure: Failure, error: String) -> Self {
        Self {
            outcome: Outcome::Failed(failure),
            error: Some(error),
            answer: String::new(),
            reasoning: None,
            tool_calls: None,
            finish_reason: None,
            tokens: TokenCounts::default(),
            token_source: None,
            token_note: None,
            timing: Timing::begun(at),
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: None,
        }
    }
}
