//! One streamed reply, put together event by event.
//!
//! Pure: events and instants go in, a finished reply comes out. A reply counts as answered only if
//! the service said that it was over (a finish reason or `[DONE]`).

use ipw_core::reply::{Failure, Outcome, TokenCounts, TokenSource};
use ipw_core::text::excerpt;
use ipw_core::time::Timestamp;

use super::wire::{Choice, Chunk, Delta, Timings, Usage, error_text};

/// A reply that is being put together.
#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) answer: String,
    pub(super) reasoning: String,
    pub(super) finish_reason: Option<String>,
    pub(super) first_token: Option<Timestamp>,
    pub(super) first_answer_token: Option<Timestamp>,
    pub(super) chunks: Vec<Timestamp>,
    usage: Option<Usage>,
    timings: Option<Timings>,
    saw_choice: bool,
    refused: bool,
    done: bool,
    fault: Option<(Failure, String)>,
}

impl Chat {
    /// Takes the data of one event that came at `at`.
    pub(super) fn event(&mut self, data: &[u8], at: Timestamp) {
        if self.done || self.fault.is_some() {
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
            Ok(chunk) => self.chunk(chunk, at),
            Err(error) => {
                let shown = excerpt(&String::from_utf8_lossy(data), 80);
                let text = format!("an event is not a chat completion chunk ({error}): {shown}");
                self.fault = Some((Failure::BadEvent, text));
            }
        }
    }

    fn chunk(&mut self, chunk: Chunk, at: Timestamp) {
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
        for choice in chunk.choices.unwrap_or_default() {
            self.choice(choice, at);
        }
    }

    fn choice(&mut self, choice: Choice, at: Timestamp) {
        self.saw_choice = true;
        if let Some(delta) = choice.delta {
            self.delta(delta, at);
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason);
        }
    }

    fn delta(&mut self, delta: Delta, at: Timestamp) {
        let text = |part: Option<String>| part.filter(|part| !part.is_empty());
        let reasoning = text(delta.reasoning_content).or_else(|| text(delta.reasoning));
        let refusal = text(delta.refusal);
        let content = text(delta.content);
        let calls = delta
            .tool_calls
            .unwrap_or_default()
            .into_iter()
            .filter_map(|call| {
                let function = call.function?;
                text(function.arguments).or_else(|| text(function.name))
            });
        let has_call = calls.count() > 0;
        self.refused |= refusal.is_some();
        let has_answer = content.is_some() || refusal.is_some();
        if !has_answer && reasoning.is_none() && !has_call {
            return;
        }
        self.chunks.push(at);
        self.first_token.get_or_insert(at);
        if has_answer {
            self.first_answer_token.get_or_insert(at);
        }
        self.reasoning.extend(reasoning);
        self.answer.extend(content);
        self.answer.extend(refusal);
    }

    /// Whether `[DONE]` came: nothing that follows belongs to the reply.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether reading on is of no use.
    pub(super) fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    /// How the reply ended, now that nothing more will come.
    pub(super) fn outcome(&self) -> (Outcome, Option<String>) {
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
        match self.finish_reason.as_deref() {
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

    /// Token counts and who counted: the service's usage, its timings, else our count of chunks.
    pub(super) fn tokens(&self) -> (TokenCounts, Option<TokenSource>) {
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
            let output = Some(self.chunks.len() as u64);
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
}

#[cfg(test)]
mod tests;
