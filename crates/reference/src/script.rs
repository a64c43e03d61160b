//! What the service answers: plain values, with the schedule that follows from them.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// How the service answers one request; set what differs from `default()`.
///
/// The default is sixteen words at once, chunked, with usage when asked for, on a connection that
/// stays open. Texts are in `Arc`, so that cloning a script is cheap.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each written by name where it differs from the default"
)]
pub struct Script {
    /// Time from the request's arrival to the first token chunk, reasoning or content.
    pub first_token: Duration,
    /// Time between token chunks, scheduled from the arrival, so that lateness does not add up.
    pub gap: Duration,
    /// The answer, token by token.
    pub tokens: Arc<[String]>,
    /// Reasoning tokens, sent before the answer (`reasoning_content`; Ollama: `thinking`).
    pub reasoning: Arc<[String]>,
    /// Tokens per chunk; zero counts as one.
    pub tokens_per_chunk: usize,
    /// Whether usage is sent when `stream_options.include_usage` asks for it (Ollama and unstreamed
    /// replies: always). `false` ignores the option, like llama-cpp-python.
    pub usage: bool,
    /// Tokens that usage counts besides reasoning and content; llama.cpp counts the end of
    /// sequence.
    pub extra_output_tokens: u64,
    /// Number of prompt tokens that usage reports as cached.
    pub cached_tokens: u64,
    /// The finish reason.
    pub finish_reason: &'static str,
    /// Whether the last JSON chunk has llama.cpp's `timings`, with the scripted durations.
    pub timings: bool,
    /// The chunk before the first token, due at the arrival (OpenAI only).
    pub role_chunk: RoleChunk,
    /// Line ending of the stream.
    pub line_ending: LineEnding,
    /// Whether `: ping` comments are sent between events (OpenAI only).
    pub comments: bool,
    /// Closes the connection after the reply although `Keep-Alive` was advertised, like
    /// llama-server.
    pub close_after: bool,
    /// Chunked transfer encoding; `false` ends the stream by closing the connection.
    pub chunked: bool,
    /// The fault, if any.
    pub fault: Option<Fault>,
}

/// The first chunk of an OpenAI stream, in which servers differ most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChunk {
    /// No such chunk.
    None,
    /// A role without a content key.
    RoleOnly,
    /// A role and `content: null`.
    ContentNull,
    /// A role and `content: ""`.
    EmptyContent,
}

/// Line ending of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnding {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// A fault of a reply. Numbers count token chunks, reasoning included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status with this body, immediately.
    Status(u16, String),
    /// Resets the connection (RST) instead of answering.
    ResetBeforeHead,
    /// Sends nothing and keeps the connection open.
    HangBeforeHead,
    /// After this many chunks, sends nothing more and keeps the connection open.
    HangAfter(usize),
    /// After this many chunks, closes the connection without the end of the body.
    CloseAfter(usize),
    /// After this many chunks, resets the connection (RST).
    ResetAfter(usize),
    /// After this many chunks, sends an error event with this message and ends the body.
    ErrorEventAfter(usize, String),
    /// Sends an event that is not JSON for every token chunk, then only the end marker.
    Garbage,
    /// `200 application/json` with the whole completion, although a stream was asked for.
    NotAStream,
    /// Only `[DONE]`; for Ollama only the last object, without counters.
    Empty,
    /// One chunk with this many bytes of text instead of the tokens.
    HugeEvent(usize),
    /// Writes every byte after the head separately, each followed by this pause.
    Trickle(Duration),
    /// The first content chunk has text that is not UTF-8.
    InvalidUtf8,
}

/// A sentence of `count` words, `word0 word1 …`, one token each.
pub fn words(count: usize) -> Arc<[String]> {
    (0..count)
        .map(|index| match index {
            0 => "word0".to_owned(),
            _ => format!(" word{index}"),
        })
        .collect()
}

static DEFAULT_WORDS: LazyLock<Arc<[String]>> = LazyLock::new(|| words(16));

impl Default for Script {
    fn default() -> Self {
        Self {
            first_token: Duration::ZERO,
            gap: Duration::ZERO,
            tokens: Arc::clone(&DEFAULT_WORDS),
            reasoning: Arc::default(),
            tokens_per_chunk: 1,
            usage: true,
            extra_output_tokens: 0,
            cached_tokens: 0,
            finish_reason: "stop",
            timings: false,
            role_chunk: RoleChunk::RoleOnly,
            line_ending: LineEnding::Lf,
            comments: false,
            close_after: false,
            chunked: true,
            fault: None,
        }
    }
}

impl Script {
    /// The default script with `count` words.
    pub fn words(count: usize) -> Self {
        Self {
            tokens: words(count),
            ..Self::default()
        }
    }

    /// When token chunk `index` is due after the arrival; reasoning chunks come first.
    pub fn due(&self, index: usize) -> Duration {
        let gaps = u32::try_from(index).unwrap_or(u32::MAX);
        self.first_token
            .saturating_add(self.gap.saturating_mul(gaps))
    }

    /// Number of token chunks, reasoning included.
    pub fn chunks(&self) -> usize {
        let per_chunk = self.tokens_per_chunk.max(1);
        self.reasoning.len().div_ceil(per_chunk) + self.tokens.len().div_ceil(per_chunk)
    }

    /// Time from the arrival to the last token chunk and everything after it.
    pub fn duration(&self) -> Duration {
        self.due(self.chunks().saturating_sub(1))
    }

    /// Output tokens in usage: reasoning, content and the extra tokens.
    pub fn output_tokens(&self) -> u64 {
        (self.reasoning.len() + self.tokens.len()) as u64 + self.extra_output_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_counts_chunks_not_tokens() {
        let script = Script {
            first_token: Duration::from_millis(20),
            gap: Duration::from_millis(5),
            reasoning: words(3),
            tokens_per_chunk: 2,
            extra_output_tokens: 1,
            ..Script::words(5)
        };
        assert_eq!(script.chunks(), 2 + 3);
        assert_eq!(script.due(0), Duration::from_millis(20));
        assert_eq!(script.duration(), Duration::from_millis(40));
        assert_eq!(script.output_tokens(), 9);
    }

    #[test]
    fn a_reply_without_tokens_ends_when_the_first_was_due() {
        let script = Script {
            first_token: Duration::from_millis(7),
            gap: Duration::from_millis(5),
            ..Script::words(0)
        };
        assert_eq!(script.duration(), Duration::from_millis(7));
    }

    #[test]
    fn words_make_a_sentence() {
        assert_eq!(words(3).concat(), "word0 word1 word2");
    }
}
