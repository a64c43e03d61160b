//! Assembles one streamed reply of the responses API from its events.
//!
//! Pure: takes events with their receive times and returns a reply. Events that only repeat earlier
//! deltas (`….done`) are skipped. The reply counts as answered only after `response.completed`,
//! `response.incomplete` or `[DONE]`.

mod wire;

use ipw_core::reply::{Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::time::Timestamp;
use serde_json::Value;

use super::counts::Counts;
use crate::fault;
use crate::sse::Splitter;
use crate::stream::{self, CallPiece, Piece, Transcript};
use wire::{Event, Item, Response};

#[derive(Debug, Default)]
pub(super) struct Responses {
    transcript: Transcript,
    /// Item ids of calls, for services that send no index.
    items: Vec<String>,
    counts: Counts,
    saw_response: bool,
    refused: bool,
    end: Option<End>,
    fault: Option<(Outcome, String)>,
}

/// How the service ended the reply.
#[derive(Debug, Clone, Copy)]
enum End {
    Completed,
    Incomplete,
    /// The stream ended without a status.
    Unsaid,
}

impl Responses {
    fn take(&mut self, event: Event, at: Timestamp) {
        match event {
            Event::Created { .. } => self.saw_response = true,
            Event::Text { delta } => self.answer(&delta, at),
            Event::Refusal { delta } => {
                self.refused = true;
                self.answer(&delta, at);
            }
            Event::Reasoning { delta } => {
                self.saw_response = true;
                let piece = Piece {
                    reasoning: Some(&delta),
                    ..Piece::default()
                };
                self.transcript.take(piece, at);
            }
            Event::Item { output_index, item } => self.item(output_index, item, at),
            Event::Arguments {
                output_index,
                item_id,
                delta,
            } => {
                let piece = CallPiece {
                    index: self.place(output_index, item_id),
                    arguments: Some(&delta),
                    ..CallPiece::default()
                };
                self.call(piece, at);
            }
            Event::Completed { response, timings } => {
                self.counts.end(None, timings);
                self.over(End::Completed, response, at);
            }
            Event::Incomplete { response } => self.over(End::Incomplete, response, at),
            Event::Failed { response } => {
                self.counts.end(response.usage.map(Into::into), None);
                self.fault = Some(fault::of_event(&response.error));
            }
            Event::Error(error) => self.fault = Some(fault::of_event(&error)),
            Event::Other => {}
        }
    }

    fn answer(&mut self, text: &str, at: Timestamp) {
        self.saw_response = true;
        let piece = Piece {
            answer: Some(text),
            ..Piece::default()
        };
        self.transcript.take(piece, at);
    }

    /// Starts a call with its name; the arguments follow.
    fn item(&mut self, index: Option<u64>, item: Item, at: Timestamp) {
        self.saw_response = true;
        if let Item::FunctionCall {
            id,
            call_id,
            name,
            arguments,
        } = item
        {
            let piece = CallPiece {
                index: self.place(index, id),
                id: call_id.as_deref(),
                name: Some(&name),
                arguments: arguments.as_deref(),
            };
            self.call(piece, at);
        }
    }

    /// The call's index: as given, else by the item's id.
    fn place(&mut self, index: Option<u64>, item: Option<String>) -> Option<u64> {
        if index.is_some() {
            return index;
        }
        let item = item?;
        let known = self.items.iter().position(|known| *known == item);
        let place = known.unwrap_or_else(|| {
            self.items.push(item);
            self.items.len() - 1
        });
        u64::try_from(place).ok()
    }

    fn call(&mut self, piece: CallPiece<'_>, at: Timestamp) {
        self.saw_response = true;
        self.transcript.calls.take(piece);
        let piece = Piece {
            has_call: piece.says_something(),
            ..Piece::default()
        };
        self.transcript.take(piece, at);
    }

    fn over(&mut self, end: End, response: Response, at: Timestamp) {
        self.saw_response = true;
        self.counts.end(response.usage.map(Into::into), None);
        let reason = response.incomplete_details.and_then(|why| why.reason);
        self.transcript.finish_reason = reason.or(response.status);
        // A service without deltas sends the text only here.
        if self.transcript.chunks.is_empty() {
            for text in response.output.iter().flat_map(Item::texts) {
                self.answer(text, at);
            }
        }
        self.end = Some(end);
    }
}

/// Parses one event. An error object without a type counts as an error event.
fn parse(data: &[u8]) -> Result<Event, String> {
    let text = std::str::from_utf8(data).map_err(|error| error.to_string())?;
    serde_json::from_str(text).or_else(|error: serde_json::Error| {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match value.get("error") {
            Some(problem) if !problem.is_null() && value.get("type").is_none() => {
                Ok(Event::Error(problem.clone()))
            }
            _ => Err(error.to_string()),
        }
    })
}

impl stream::Chat for Responses {
    type Splitter = Splitter;
    const ACCEPT: &'static str = "text/event-stream";
    const STREAM: &'static str = "an event stream";

    fn event(&mut self, data: &[u8], at: Timestamp) {
        if self.is_done() || self.fault.is_some() {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.end = Some(End::Unsaid);
            return;
        }
        match parse(data) {
            Ok(event) => self.take(event, at),
            Err(error) => {
                self.fault = Some(stream::bad_event(
                    data,
                    "valid in the responses API",
                    &error,
                ));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn fault(&self) -> Option<&(Outcome, String)> {
        self.fault.as_ref()
    }

    fn ended(&self) -> (Outcome, Option<String>) {
        match (self.end, self.transcript.finish_reason.as_deref()) {
            (None, _) if self.saw_response => stream::cut_short(),
            (None, _) => stream::without_reply(false),
            (Some(End::Unsaid), _) if !self.saw_response => stream::without_reply(true),
            (Some(End::Incomplete), Some("content_filter")) => (Outcome::Refused, None),
            (Some(End::Incomplete), _) => (Outcome::Truncated, None),
            _ if self.refused => (Outcome::Refused, None),
            _ => (Outcome::Complete, None),
        }
    }

    fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
        match self.counts.tokens() {
            Some((counts, source)) => (counts, Some(source)),
            None if self.saw_response => (self.transcript.counts(), Some(TokenSource::Chunks)),
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
mod tests;
