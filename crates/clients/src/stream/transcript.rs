//! The texts of one reply and the times of their pieces.

use ipw_core::reply::TokenCounts;
use ipw_core::time::Timestamp;

use super::Calls;

/// What was received of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) answer: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Calls,
    /// Chunks with nothing but a part of a tool call.
    pub(crate) call_chunks: u64,
    pub(crate) finish_reason: Option<String>,
    pub(crate) first_token: Option<Timestamp>,
    pub(crate) first_answer_token: Option<Timestamp>,
    pub(crate) chunks: Vec<Timestamp>,
}

/// One event's additions; empty texts are ignored.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) reasoning: Option<&'a str>,
    pub(crate) answer: Option<&'a str>,
    pub(crate) has_call: bool,
}

impl Transcript {
    /// Adds a piece received at `at`. A piece without content counts as no token.
    pub(crate) fn take(&mut self, piece: Piece<'_>, at: Timestamp) {
        let Piece {
            reasoning,
            answer,
            has_call,
        } = piece;
        let reasoning = reasoning.filter(|text| !text.is_empty());
        let answer = answer.filter(|text| !text.is_empty());
        if answer.is_none() && reasoning.is_none() && !has_call {
            return;
        }
        self.chunks.push(at);
        self.first_token.get_or_insert(at);
        if answer.is_none() && reasoning.is_none() {
            self.call_chunks += 1;
        }
        if answer.is_some() {
            self.first_answer_token.get_or_insert(at);
        }
        self.reasoning.extend(reasoning);
        self.answer.extend(answer);
    }

    /// Counts without a better source: chunks with content, and chunks of tool calls.
    pub(crate) fn counts(&self) -> TokenCounts {
        TokenCounts {
            output: Some(self.chunks.len() as u64),
            tool_call: (self.call_chunks > 0).then_some(self.call_chunks),
            ..TokenCounts::default()
        }
    }
}

/// The text, unless it is missing or empty.
pub(crate) fn some_text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
