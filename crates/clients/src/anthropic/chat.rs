//! Assembles one streamed reply of the messages API from its events.
//!
//! Pure: takes events with their receive times and returns a reply. The reply counts as answered
//! only after a stop reason or `message_stop`.

use ipw_core::reply::{Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;
use serde_json::Value;

use super::wire::{Block, Delta, Event, Usage};
use crate::fault;
use crate::sse::Splitter;
use crate::stream::{self, CallPiece, Piece, Transcript, some_text};

#[derive(Debug, Default)]
pub(super) struct Chat {
    transcript: Transcript,
    /// The prompt's counts come in the first event, the final counts in the last one.
    usage: Usage,
    /// Set only once the service has counted the whole output.
    output: Option<u64>,
    saw_message: bool,
    done: bool,
    fault: Option<(Outcome, String)>,
}

impl Chat {
    fn take(&mut self, event: Event, at: Timestamp) {
        match event {
            Event::MessageStart { message } => {
                self.saw_message = true;
                self.count(message.usage.unwrap_or_default());
            }
            Event::ContentBlockStart {
                index,
                content_block,
            } => self.block(index, content_block, at),
            Event::ContentBlockDelta { index, delta } => self.delta(index, delta, at),
            Event::MessageDelta { delta, usage } => {
                let usage = usage.unwrap_or_default();
                self.count(usage);
                // `message_start` counts the output so far, `message_delta` all of it.
                self.output = usage.output_tokens.or(self.output);
                let reason = some_text(delta.stop_reason);
                let before = self.transcript.finish_reason.take();
                self.transcript.finish_reason = reason.or(before);
            }
            Event::MessageStop => self.done = true,
            Event::Error { error } => self.fault = Some(fault::of_event(&error)),
            Event::Other => {}
        }
    }

    fn count(&mut self, said: Usage) {
        let usage = &mut self.usage;
        usage.input_tokens = said.input_tokens.or(usage.input_tokens);
        usage.cache_creation_input_tokens = said
            .cache_creation_input_tokens
            .or(usage.cache_creation_input_tokens);
        usage.cache_read_input_tokens = said
            .cache_read_input_tokens
            .or(usage.cache_read_input_tokens);
    }

    fn block(&mut self, index: u64, block: Block, at: Timestamp) {
        self.saw_message = true;
        match block {
            Block::Text { text } => self.text(None, Some(&text), at),
            Block::Thinking { thinking } => self.text(Some(&thinking), None, at),
            Block::ToolUse { id, name, input } => {
                // Usually empty here and streamed as deltas; some servers send it whole.
                let whole = match &input {
                    Value::Object(fields) if !fields.is_empty() => Some(input.to_string()),
                    _ => None,
                };
                let piece = CallPiece {
                    index: Some(index),
                    id: id.as_deref(),
                    name: Some(&name),
                    arguments: whole.as_deref(),
                };
                self.call(piece, at);
            }
            Block::Other => {}
        }
    }

    fn delta(&mut self, index: u64, delta: Delta, at: Timestamp) {
        self.saw_message = true;
        match delta {
            Delta::Text { text } => self.text(None, Some(&text), at),
            Delta::Thinking { thinking } => self.text(Some(&thinking), None, at),
            Delta::Json { partial_json } => {
                let piece = CallPiece {
                    index: Some(index),
                    arguments: Some(&partial_json),
                    ..CallPiece::default()
                };
                self.call(piece, at);
            }
            Delta::Other => {}
        }
    }

    fn text(&mut self, reasoning: Option<&str>, answer: Option<&str>, at: Timestamp) {
        let piece = Piece {
            reasoning,
            answer,
            has_call: false,
        };
        self.transcript.take(piece, at);
    }

    fn call(&mut self, piece: CallPiece<'_>, at: Timestamp) {
        self.transcript.calls.take(piece);
        let piece = Piece {
            has_call: piece.says_something(),
            ..Piece::default()
        };
        self.transcript.take(piece, at);
    }

    /// All prompt tokens: `input_tokens` excludes those written to or read from the cache.
    fn input(&self) -> Option<u64> {
        let Usage {
            input_tokens,
            cache_creation_input_tokens: created,
            cache_read_input_tokens: read,
            ..
        } = self.usage;
        let cached = created.unwrap_or(0).saturating_add(read.unwrap_or(0));
        input_tokens.map(|fresh| fresh.saturating_add(cached))
    }
}

impl stream::Chat for Chat {
    type Splitter = Splitter;
    const ACCEPT: &'static str = "text/event-stream";
    const STREAM: &'static str = "an event stream";

    fn event(&mut self, data: &[u8], at: Timestamp) {
        if self.done || self.fault.is_some() {
            return;
        }
        match stream::parse(data) {
            Ok(event) => self.take(event, at),
            Err(error) => {
                self.fault = Some(stream::bad_event(data, "valid in the messages API", &error));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn fault(&self) -> Option<&(Outcome, String)> {
        self.fault.as_ref()
    }

    fn ended(&self) -> (Outcome, Option<String>) {
        if !self.saw_message {
            return stream::without_reply(self.done);
        }
        match self.transcript.finish_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => (Outcome::Truncated, None),
            Some("refusal") => (Outcome::Refused, None),
            Some(_) => (Outcome::Complete, None),
            None if self.done => (Outcome::Complete, None),
            None => stream::cut_short(),
        }
    }

    fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
        let (counts, source) = match self.output {
            Some(output) => {
                let counts = TokenCounts {
                    output: Some(output),
                    ..TokenCounts::default()
                };
                (counts, TokenSource::Usage)
            }
            None if self.saw_message => (self.transcript.counts(), TokenSource::Chunks),
            None => return (TokenCounts::default(), None),
        };
        let counts = TokenCounts {
            input: self.input(),
            cached: self.usage.cache_read_input_tokens,
            ..counts
        };
        (counts, Some(source))
    }

    /// The API reports no durations.
    fn service_timing(&self) -> ServiceTiming {
        ServiceTiming::default()
    }

    fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    fn into_transcript(self) -> Transcript {
        self.transcript
    }
}

#[cfg(test)]
mod tests;
