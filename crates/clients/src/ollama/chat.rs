//! Assembles one streamed reply of Ollama from its lines.
//!
//! Pure: takes lines with their receive times and returns a reply. The reply counts as answered
//! only after `done`.

use std::time::Duration;

use ipw_core::reply::{Failure, Outcome, ServiceTiming, TokenCounts, TokenSource};
use ipw_core::text::excerpt;
use ipw_core::time::Timestamp;

use super::wire::{Counters, Message, StreamLine};
use crate::fault;
use crate::ndjson::Splitter;
use crate::stream::{self, Piece, Transcript, some_text};

#[derive(Debug, Default)]
pub(super) struct Chat {
    transcript: Transcript,
    counters: Counters,
    saw_message: bool,
    done: bool,
    fault: Option<(Outcome, String)>,
}

impl Chat {
    fn line(&mut self, line: StreamLine, at: Timestamp) {
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            self.fault = Some(fault::of_event(&error));
            return;
        }
        if let Some(message) = line.message {
            self.message(&message, at);
        }
        if line.done == Some(true) {
            self.done = true;
            self.transcript.finish_reason = some_text(line.done_reason);
            self.counters = line.counters;
        }
    }

    fn message(&mut self, message: &Message, at: Timestamp) {
        self.saw_message = true;
        let calls = message.tool_calls.as_deref().unwrap_or_default();
        for call in calls {
            let Some(function) = &call.function else {
                continue;
            };
            let name = function.name.as_deref().unwrap_or_default();
            let arguments = function.arguments.to_string();
            let calls = &mut self.transcript.calls;
            calls.push(call.id.as_deref(), name, &arguments);
        }
        let piece = Piece {
            reasoning: message.thinking.as_deref(),
            answer: message.content.as_deref(),
            has_call: !calls.is_empty(),
        };
        self.transcript.take(piece, at);
    }
}

/// Parses one line; the error tells a cut line from an invalid one.
fn parse(data: &[u8]) -> Result<StreamLine, (Failure, String)> {
    let wrong = |cut: bool, error: String| {
        let shown = excerpt(&String::from_utf8_lossy(data), 80);
        if cut {
            let text = format!("the stream ended in the middle of a line: {shown}");
            return (Failure::Closed, text);
        }
        let text = format!("a line is not part of a chat ({error}): {shown}");
        (Failure::BadEvent, text)
    };
    // serde_json does not validate strings that it skips: check the whole line.
    let text = std::str::from_utf8(data)
        .map_err(|error| wrong(error.error_len().is_none(), error.to_string()))?;
    let line: StreamLine =
        serde_json::from_str(text).map_err(|error| wrong(error.is_eof(), error.to_string()))?;
    if line.done.is_none() && line.error.is_none() {
        return Err(wrong(false, "`done` is missing".to_owned()));
    }
    Ok(line)
}

impl stream::Chat for Chat {
    type Splitter = Splitter;
    const ACCEPT: &'static str = "application/x-ndjson";
    const STREAM: &'static str = "a stream of JSON lines";

    fn event(&mut self, data: &[u8], at: Timestamp) {
        if self.done || self.fault.is_some() {
            return;
        }
        match parse(data) {
            Ok(line) => self.line(line, at),
            Err((failure, text)) => self.fault = Some((Outcome::Failed(failure), text)),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn fault(&self) -> Option<&(Outcome, String)> {
        self.fault.as_ref()
    }

    fn ended(&self) -> (Outcome, Option<String>) {
        let failed = |failure, text: &str| (Outcome::Failed(failure), Some(text.to_owned()));
        if !self.done {
            return if self.saw_message {
                stream::cut_short()
            } else {
                stream::without_reply(false)
            };
        }
        let said_nothing = self.transcript.chunks.is_empty() && self.counters.eval_count.is_none();
        match self.transcript.finish_reason.as_deref() {
            // Reported when a request only loads or unloads the model.
            Some("load" | "unload") => failed(
                Failure::Empty,
                "the service loaded or unloaded the model and generated nothing",
            ),
            _ if said_nothing => failed(
                Failure::Empty,
                "the service ended the stream without a reply",
            ),
            Some("length") => (Outcome::Truncated, None),
            _ => (Outcome::Complete, None),
        }
    }

    /// The service's counts, else the number of chunks. Older versions of Ollama omit the prompt's
    /// count if all of it was cached: that does not mean zero tokens.
    fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
        let (counts, source) = match self.counters.eval_count {
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
            input: self.counters.prompt_eval_count,
            cached: self.counters.prompt_eval_cached_count,
            ..counts
        };
        (counts, Some(source))
    }

    fn service_timing(&self) -> ServiceTiming {
        let span = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
        ServiceTiming {
            queue: None,
            load: span(self.counters.load_duration),
            prompt: span(self.counters.prompt_eval_duration),
            decode: span(self.counters.eval_duration),
            total: span(self.counters.total_duration),
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
