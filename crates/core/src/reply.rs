//! What came back, and when.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::time::Timestamp;

/// How a query ended. A failure is a row, never an abort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The service ended the reply by itself.
    Complete,
    /// The service cut the reply at a length limit.
    Truncated,
    /// The service or the model declined to answer.
    Refused,
    /// A time limit of ours passed.
    TimedOut,
    /// We were told to stop.
    Cancelled,
    /// Something broke.
    Failed(Failure),
}

impl Outcome {
    /// Whether there is a reply whose latency means something.
    pub fn is_answered(&self) -> bool {
        matches!(self, Self::Complete | Self::Truncated | Self::Refused)
    }

    /// The outcome as the `outcome` column spells it.
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

/// What broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The host's name has no address.
    Dns,
    /// No connection: refused, unreachable, or not in time.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The service does not speak HTTP/2, which was asked for.
    Protocol,
    /// The connection broke before the first byte of the reply.
    Reset,
    /// The connection broke, or the stream ended, in the middle of the reply.
    Closed,
    /// An HTTP status that is not success.
    Http(u16),
    /// A reply that is not an event stream.
    NotAStream,
    /// An event that is not what the API promises.
    BadEvent,
    /// The service sent an error object in the stream.
    Service,
    /// The stream ended properly and held no reply at all.
    Empty,
    /// An event beyond the limit.
    TooLarge,
    /// The engine knows no such generation parameter, or not with this value; or a client's API takes
    /// no such request, and nothing was sent.
    Parameter,
    /// The prompt does not fit the model's context.
    Context,
    /// An earlier turn of the conversation was not answered, and its reply is part of what is asked:
    /// nothing was sent.
    History,
    /// The model's chat template cannot be rendered for this prompt.
    Template,
    /// The engine itself broke.
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

/// When things happened to one query, on the run clock. `None`: it did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The attempt began.
    pub start: Timestamp,
    /// The host's name had its addresses, or the proxy's; `None` on a reused connection, as all
    /// that follows up to `connected`, and where no name had to be looked up.
    pub dns: Option<Timestamp>,
    /// The socket was connected: to the service, or to the proxy.
    pub tcp: Option<Timestamp>,
    /// The proxy had opened its tunnel; `None` without one.
    pub proxy: Option<Timestamp>,
    /// The TLS handshake was over; `None` in plain text.
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
    /// The reply was over: its last byte, or the fault.
    pub end: Timestamp,
    /// For how long our own thread, which stamps, was not there meanwhile: busy, stopped, or not
    /// scheduled. `None`: not observed.
    pub own_delay: Option<Duration>,
}

impl Timing {
    /// An attempt that begins now and has seen nothing yet.
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
        }
    }
}

/// How many tokens of which kind; `None`: nobody said, and it cannot be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens of the prompt as the model saw it.
    pub input: Option<u64>,
    /// Tokens generated, reasoning included.
    pub output: Option<u64>,
    /// Tokens of the output that were reasoning.
    pub reasoning: Option<u64>,
    /// Tokens of the input that came out of the service's cache.
    pub cached: Option<u64>,
    /// Tokens of the output that were tool calls.
    pub tool_call: Option<u64>,
    /// Tokens that were guessed ahead and kept: a draft model's, or a prediction's.
    pub speculative_accepted: Option<u64>,
    /// Tokens that were guessed ahead and thrown away.
    pub speculative_rejected: Option<u64>,
    /// Input that the service claims and that cannot be ([`crate::claim`]).
    pub claimed_input: Option<u64>,
    /// The same of the output.
    pub claimed_output: Option<u64>,
}

/// Two counts of the same tokens that differ by no more than this share agree.
const AGREEMENT: f64 = 0.02;

/// Whether two counts of the same tokens agree.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53, and a ratio is all that is wanted"
)]
pub fn agree(one: u64, other: u64) -> bool {
    one.abs_diff(other) as f64 <= AGREEMENT * one.max(other) as f64
}

/// Who counted the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSource {
    /// The service's usage.
    Usage,
    /// The service's own timings.
    Timings,
    /// A tokenizer that the user named counted the texts, as the service said nothing.
    Tokenizer,
    /// We counted chunks with content: a chunk is not always one token.
    Chunks,
}

impl TokenSource {
    /// The source as the `token_source` column spells it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Timings => "timings",
            Self::Tokenizer => "tokenizer",
            Self::Chunks => "chunks",
        }
    }
}

/// What the HTTP exchange looked like; all `None` for a client without HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Status of the reply.
    pub status: Option<u16>,
    /// Whether an earlier query's connection was used again.
    pub connection_reused: Option<bool>,
    /// How many reused connections had died and were replaced by a fresh one (0 or 1).
    pub connections_replaced: Option<u32>,
    /// How often the query was sent.
    pub attempts: Option<u32>,
    /// How long the service asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// How long things took by the service's own clock; `None`: it did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceTiming {
    /// Waiting for its turn.
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

/// The arithmetic of one reply, where the shape of the model is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compute {
    /// Floating-point operations, prompt and reply together.
    pub flops: f64,
    /// Bytes of weights, keys and values that had to be read for it.
    pub bytes: f64,
}

impl Compute {
    /// Operations per byte.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.flops / self.bytes)
    }
}

/// What came back for one query.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, in words; `None` when nothing did.
    pub error: Option<String>,
    /// The answer without the reasoning, as far as it came.
    pub answer: String,
    /// The reasoning, where the service keeps it apart.
    pub reasoning: Option<String>,
    /// The tool calls as a JSON list of `{"id", "name", "arguments"}`, in the service's order, as far
    /// as they came; `None` when there were none. `arguments` is the text that the model wrote.
    pub tool_calls: Option<String>,
    /// Why the service stopped, in its own word.
    pub finish_reason: Option<String>,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Who counted them; `None` when they were not counted.
    pub token_source: Option<TokenSource>,
    /// What another source counted, where the two do not agree.
    pub token_note: Option<String>,
    /// When things happened.
    pub timing: Timing,
    /// What the HTTP exchange looked like.
    pub exchange: Exchange,
    /// What the service says of its own durations.
    pub service_timing: ServiceTiming,
    /// What it took to compute; `None` where the model's shape is not known.
    pub compute: Option<Compute>,
}

impl Reply {
    /// A reply to a query that was never sent, at `at`.
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
