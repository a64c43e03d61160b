//! Assembles one streamed reply of the chat or completions API from its events.
//!
//! Pure: takes events with their receive times and returns a reply. The reply counts as answered
//! only after a finish reason or `[DONE]`.

use ipw_core::reply::{Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;

use super::counts::Counts;
use super::frame::{Field, Frame};
use super::wire::{Choice, Chunk, Delta, ToolCall, some};
use crate::fault;
use crate::sse::Splitter;
use crate::stream::{self, CallPiece, Piece, Transcript};

#[derive(Debug, Default)]
pub(super) struct Chat {
    transcript: Transcript,
    frame: Frame,
    counts: Counts,
    saw_choice: bool,
    refused: bool,
    done: bool,
    fault: Option<(Outcome, String)>,
}

impl Chat {
    fn chunk(&mut self, chunk: &Chunk<'_>, at: Timestamp) {
        if let Some(error) = chunk.error.as_ref().filter(|error| !error.is_null()) {
            self.fault = Some(fault::of_event(error));
            return;
        }
        self.counts.take(chunk);
        for choice in chunk.choices.iter().flatten() {
            self.choice(choice, at);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, at: Timestamp) {
        self.saw_choice = true;
        if let Some(delta) = &choice.delta {
            self.delta(delta, at);
        }
        if let Some(text) = some(choice.text.as_ref()) {
            self.text(Field::Answer, text, at);
        }
        if let Some(reason) = some(choice.finish_reason.as_ref()) {
            self.transcript.finish_reason = Some(reason.to_owned());
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, at: Timestamp) {
        let refusal = some(delta.refusal.as_ref());
        self.refused |= refusal.is_some();
        let both;
        let answer = match (some(delta.content.as_ref()), refusal) {
            (Some(content), Some(refusal)) => {
                both = [content, refusal].concat();
                Some(both.as_str())
            }
            (content, refusal) => content.or(refusal),
        };
        let mut has_call = false;
        for call in delta.tool_calls.iter().flatten() {
            let piece = call_piece(call);
            has_call |= piece.says_something();
            self.transcript.calls.take(piece);
        }
        let piece = Piece {
            reasoning: some(delta.reasoning_content.as_ref()).or(some(delta.reasoning.as_ref())),
            answer,
            has_call,
        };
        self.transcript.take(piece, at);
    }

    /// Takes the text of an event with nothing else in it.
    fn text(&mut self, field: Field, text: &str, at: Timestamp) {
        let mut piece = Piece::default();
        match field {
            Field::Answer => piece.answer = Some(text),
            Field::Reasoning => piece.reasoning = Some(text),
        }
        self.transcript.take(piece, at);
    }
}

fn call_piece<'a>(call: &'a ToolCall<'_>) -> CallPiece<'a> {
    let function = call.function.as_ref();
    CallPiece {
        index: call.index,
        id: some(call.id.as_ref()),
        name: function.and_then(|function| some(function.name.as_ref())),
        arguments: function.and_then(|function| some(function.arguments.as_ref())),
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
        if let Some((field, text)) = self.frame.text(data) {
            self.text(field, text, at);
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        match stream::parse(data) {
            Ok(chunk) => {
                self.frame.learn(data, &chunk);
                self.chunk(&chunk, at);
            }
            Err(error) => {
                self.fault = Some(stream::bad_event(data, "a chat completion chunk", &error));
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
        if !self.saw_choice {
            return stream::without_reply(self.done);
        }
        match self.transcript.finish_reason.as_deref() {
            Some("length") => (Outcome::Truncated, None),
            Some("content_filter") => (Outcome::Refused, None),
            _ if self.refused => (Outcome::Refused, None),
            Some(_) => (Outcome::Complete, None),
            None if self.done => (Outcome::Complete, None),
            None => stream::cut_short(),
        }
    }

    fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
        match self.counts.tokens() {
            Some((counts, source)) => (counts, Some(source)),
            None if self.saw_choice => (self.transcript.counts(), Some(TokenSource::Chunks)),
            None => (TokenCounts::default(), None),
        }
    }

    fn token_note(&self) -> Option<String> {
        self.counts.note()
    }

    fn service_timing(&self) -> ServiceTiming {
        self.counts.durations()
    }

    fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    fn into_transcript(self) -> Transcript {
        self.transcript
    }
}

#[cfg(test)]
pub(super) mod tests;
