//! What the service shall answer: plain values, no behaviour beyond the schedule they imply.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// How the service answers one request; write what differs and take the rest from `default()`.
///
/// The default is sixteen words at once, with usage when asked for, chunked, on a connection that
/// stays open. Texts are behind `Arc`, so that a script closure clones them for nothing.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each written by name where it differs from the default"
)]
pub struct Script {
    /// From the arrival of the request to the first token chunk, reasoning or content.
    pub first_token: Duration,
    /// Between token chunks, on a schedule from the arrival, so that lateness does not add up.
    pub gap: Duration,
    /// The answer, token by token.
    pub tokens: Arc<[String]>,
    /// Reasoning tokens, sent before the answer (`reasoning_content`; Ollama: `thinking`).
    pub reasoning: Arc<[String]>,
    /// How many tokens travel in one chunk; zero counts as one.
    pub tokens_per_chunk: usize,
    /// Whether usage is sent when `stream_options.include_usage` asks for it (Ollama and whole
    /// replies: always). `false` ignores the wish, as llama-cpp-python does.
    pub usage: bool,
    /// What usage counts beyond reasoning and content tokens: llama.cpp counts the end of sequence.
    pub extra_output_tokens: u64,
    /// How many prompt tokens usage reports as cached.
    pub cached_tokens: u64,
    /// Why the answer ends.
    pub finish_reason: &'static str,
    /// Whether the last JSON chunk carries llama.cpp's `timings`, with the scripted durations.
    pub timings: bool,
    /// The chunk before the first token, due at the arrival (OpenAI only).
    pub role_chunk: RoleChunk,
    /// How lines of the stream end.
    pub line_ending: LineEnding,
    /// Whether `: ping` comments stand between the events (OpenAI only).
    pub comments: bool,
    /// Close the connection after the reply although `Keep-Alive` was advertised, as llama-server
    /// does.
    pub close_after: bool,
    /// Chunked transfer encoding; `false` lets the end of the connection end the stream.
    pub chunked: bool,
    /// What goes wrong.
    pub fault: Option<Fault>,
}

/// The first chunk of an OpenAI stream, where servers differ most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChunk {
    /// There is none.
    None,
    /// A role and no content key.
    RoleOnly,
    /// A role and `content: null`.
    ContentNull,
    /// A role and `content: ""`.
    EmptyContent,
}

/// How lines of a stream end.
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

/// What goes wrong with a reply. Numbers of chunks count token chunks, reasoning included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status with this body, at once.
    Status(u16, String),
    /// The connection is reset (RST) instead of an answer.
    ResetBeforeHead,
    /// The connection stays open and nothing is ever sent.
    HangBeforeHead,
    /// After so many chunks nothing more is sent, and the connection stays open.
    HangAfter(usize),
    /// After so many chunks the connection is closed, without the end of the body.
    CloseAfter(usize),
    /// After so many chunks the connection is reset (RST).
    ResetAfter(usize),
    /// After so many chunks comes an error event with this message, and the body ends.
    ErrorEventAfter(usize, String),
    /// In place of every token chunk an event that is not JSON; then only the end marker.
    Garbage,
    /// `200 application/json` with the whole completion, although a stream was asked for.
    NotAStream,
    /// Only `[DONE]`; for Ollama only the last object, without counters.
    Empty,
    /// One chunk with so many bytes of text instead of the tokens.
    HugeEvent(usize),
    /// Every byte after the head is a write of its own, followed by this pause.
    Trickle(Duration),
    /// The first content chunk has bytes in its text that are not UTF-8.
    InvalidUtf8,
}

/// `count` words that make one sentence: `word0 word1 …`, each one token.
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
    /// The default with `count` words.
    pub fn words(count: usize) -> Self {
        Self {
            tokens: words(count),
            ..Self::default()
        }
    }

    /// When token chunk `index` is due after the arrival; reasoning chunks are counted first.
    pub fn due(&self, index: usize) -> Duration {
        let gaps = u32::try_from(index).unwrap_or(u32::MAX);
        self.first_token
            .saturating_add(self.gap.saturating_mul(gaps))
    }

    /// How many token chunks there are, reasoning included.
    pub fn chunks(&self) -> usize {
        let per_chunk = self.tokens_per_chunk.max(1);
        self.reasoning.len().div_ceil(per_chunk) + self.tokens.len().div_ceil(per_chunk)
    }

    /// From the arrival to the last token chunk, and to everything that follows it.
    pub fn duration(&self) -> Duration {
        self.due(self.chunks().saturating_sub(1))
    }

    /// What usage reports as output: reasoning, content and the extra tokens.
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
