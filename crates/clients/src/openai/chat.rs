//! One streamed reply, put together event by event.
//!
//! Pure: events and instants go in, a finished reply comes out. A reply counts as answered only if
//! the service said that it was over (a finish reason or `[DONE]`).

use std::time::Duration;

use ipw_core::reply::{Failure, Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::text::excerpt;
use ipw_core::time::Timestamp;

use super::frame::{Field, Frame};
use super::wire::{Choice, Chunk, Delta, Timings, ToolCall, Usage, some};
use crate::service::error_text;
use crate::sse::Splitter;
use crate::stream::{self, Piece, Transcript};

/// A reply that is being put together.
#[derive(Debug, Default)]
pub(super) struct Chat {
    transcript: Transcript,
    frame: Frame,
    usage: Option<Usage>,
    timings: Option<Timings>,
    saw_choice: bool,
    refused: bool,
    done: bool,
    fault: Option<(Failure, String)>,
}

impl Chat {
    fn chunk(&mut self, chunk: Chunk<'_>, at: Timestamp) {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let text = error_text(&error).unwrap_or_else(|| "no message".to_owned());
            self.fault = Some((
                Failure::Service,
                format!("the service sent an error: {text}"),
            ));
            return;
        }
        self.usage = chunk.usage.or(self.usage);
        self.timings = chunk.timings.or(self.timings);
        for choice in chunk.choices.iter().flatten() {
            self.choice(choice, at);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, at: Timestamp) {
        self.saw_choice = true;
        if let Some(delta) = &choice.delta {
            self.delta(delta, at);
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
        let piece = Piece {
            reasoning: some(delta.reasoning_content.as_ref()).or(some(delta.reasoning.as_ref())),
            answer,
            has_call: delta.tool_calls.iter().flatten().any(says_something),
        };
        self.transcript.take(piece, at);
    }

    /// Takes the text of an event that holds nothing else.
    fn text(&mut self, field: Field, text: &str, at: Timestamp) {
        let mut piece = Piece::default();
        match field {
            Field::Answer => piece.answer = Some(text),
            Field::Reasoning => piece.reasoning = Some(text),
        }
        self.transcript.take(piece, at);
    }
}

fn says_something(call: &ToolCall<'_>) -> bool {
    call.function.as_ref().is_some_and(|function| {
        some(function.arguments.as_ref())
            .or(some(function.name.as_ref()))
            .is_some()
    })
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
        // serde_json does not look into strings that it skips: an event is UTF-8 as a whole or not.
        let parsed = std::str::from_utf8(data)
            .map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str(text).map_err(|error| error.to_string()));
        match parsed {
            Ok(chunk) => {
                self.frame.learn(data, &chunk);
                self.chunk(chunk, at);
            }
            Err(error) => {
                let shown = excerpt(&String::from_utf8_lossy(data), 80);
                let text = format!("an event is not a chat completion chunk ({error}): {shown}");
                self.fault = Some((Failure::BadEvent, text));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    fn outcome(&self) -> (Outcome, Option<String>) {
        if let Some((failure, text)) = &self.fault {
            return (Outcome::Failed(*failure), Some(text.clone()));
        }
        let failed = |failure, text: &str| (Outcome::Failed(failure), Some(text.to_owned()));
        if !self.saw_choice {
            return if self.done {
                failed(
                    Failure::Empty,
                    "the service ended the stream without a reply",
                )
            } else {
                failed(Failure::Closed, "the stream ended before a reply came")
            };
        }
        match self.transcript.finish_reason.as_deref() {
            Some("length") => (Outcome::Truncated, None),
            Some("content_filter") => (Outcome::Refused, None),
            _ if self.refused => (Outcome::Refused, None),
            Some(_) => (Outcome::Complete, None),
            None if self.done => (Outcome::Complete, None),
            None => failed(
                Failure::Closed,
                "the stream ended in the middle of the reply",
            ),
        }
    }

    fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
        if let Some(usage) = self.usage.filter(|usage| usage.completion_tokens.is_some()) {
            let counts = TokenCounts {
                input: usage.prompt_tokens,
                output: usage.completion_tokens,
                reasoning: usage
                    .completion_tokens_details
                    .and_then(|of| of.reasoning_tokens),
                cached: usage.prompt_tokens_details.and_then(|of| of.cached_tokens),
            };
            return (counts, Some(TokenSource::Usage));
        }
        if let Some(timings) = self.timings.filter(|timings| timings.predicted_n.is_some()) {
            let cached = timings.cache_n;
            let counts = TokenCounts {
                // `prompt_n` counts only what was processed; the cache held the rest.
                input: timings.prompt_n.map(|fresh| fresh + cached.unwrap_or(0)),
                output: timings.predicted_n,
                reasoning: None,
                cached,
            };
            return (counts, Some(TokenSource::Timings));
        }
        if self.saw_choice {
            let output = Some(self.transcript.chunks.len() as u64);
            return (
                TokenCounts {
                    output,
                    ..TokenCounts::default()
                },
                Some(TokenSource::Chunks),
            );
        }
        (TokenCounts::default(), None)
    }

    fn service_timing(&self) -> ServiceTiming {
        let span = |milliseconds: Option<f64>| {
            milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok())
        };
        ServiceTiming {
            prompt: self.timings.and_then(|timings| span(timings.prompt_ms)),
            decode: self.timings.and_then(|timings| span(timings.predicted_ms)),
            ..ServiceTiming::default()
        }
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
