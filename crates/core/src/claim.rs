//! Impossible token counts: limits that bytes and time put on a service's usage (docs/method.md
//! §3).
//!
//! The limits are wide because honest services count hidden tokens too: reasoning, chat-template
//! marks, system prompts, search results. A count beyond them is stored as the service's claim and
//! enters no figure.

use serde_json::{Map, Value};

use crate::query::Query;
use crate::reply::{Reply, TokenSource};

/// No model reads or writes more tokens than this in one request.
const MOST: u64 = 10_000_000;

/// Output tokens without text: marks, ends, stripped tokens.
const MARKS: u64 = 4_096;

/// No stream exceeds this rate in tokens per second. It bounds reasoning that is neither shown nor
/// counted.
const FASTEST: f64 = 20_000.0;

/// Hidden reasoning that a service may report for a reply from its cache.
const MOST_REASONING: u64 = 200_000;

/// Input that a service may add to the request: system prompt, tools, search results.
const ADDED: u64 = 200_000;

/// Upper limit of tokens per prompt byte: Unicode normal forms make text longer.
const PER_BYTE: u64 = 2;

/// Moves impossible counts of `reply` to its claims. `more` are the bytes that the plan adds to
/// every query. Output then falls back to the number of chunks, if there are any.
pub fn settle(query: &Query, more: usize, reply: &mut Reply) {
    let is_said = matches!(
        reply.token_source,
        Some(TokenSource::Usage | TokenSource::Timings)
    );
    if !is_said {
        return;
    }
    let mut notes = Vec::new();
    if let Some(claim) = reply
        .tokens
        .input
        .filter(|input| *input > most_input(query, more))
    {
        reply.tokens.claimed_input = Some(claim);
        (reply.tokens.input, reply.tokens.cached) = (None, None);
        notes.push(format!(
            "the service claims {claim} input tokens, more than the prompt can have"
        ));
    }
    if let Some(claim) = reply
        .tokens
        .output
        .filter(|output| *output > most_output(reply))
    {
        let chunks = reply.timing.chunks.len() as u64;
        reply.tokens.claimed_output = Some(claim);
        reply.tokens.output = (chunks > 0).then_some(chunks);
        (reply.tokens.reasoning, reply.tokens.tool_call) = (None, None);
        (
            reply.tokens.speculative_accepted,
            reply.tokens.speculative_rejected,
        ) = (None, None);
        reply.token_source = (chunks > 0).then_some(TokenSource::Chunks);
        notes.push(format!(
            "the service claims {claim} output tokens, more than {} bytes in {:.1} s can be",
            shown(reply),
            seconds(reply)
        ));
    }
    if !notes.is_empty() {
        let known = reply.token_note.take().into_iter();
        reply.token_note = Some(known.chain(notes).collect::<Vec<_>>().join("; "));
    }
}

/// Upper limit of tokens that the model can have read.
fn most_input(query: &Query, more: usize) -> u64 {
    if query
        .messages
        .iter()
        .any(|message| has_media(message.fields()))
    {
        // The tokens of an image, a sound or a file depend on the model.
        return MOST;
    }
    let messages = query.messages.iter();
    let messages: usize = messages.map(|message| length(message.fields())).sum();
    let bytes = query.problem.len() + messages + length(&query.parameters) + more;
    (bytes as u64 * PER_BYTE).saturating_add(ADDED).min(MOST)
}

/// Upper limit of tokens that the model can have written.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that is not negative; a huge one saturates"
)]
fn most_output(reply: &Reply) -> u64 {
    let by_time = (seconds(reply) * FASTEST) as u64;
    let reported = reply.tokens.reasoning.unwrap_or(0).min(MOST_REASONING);
    shown(reply)
        .saturating_add(MARKS)
        .saturating_add(by_time.max(reported))
        .min(MOST)
}

/// Bytes received: a visible token has at least one.
fn shown(reply: &Reply) -> u64 {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    (reply.answer.len() + length(&reply.reasoning) + length(&reply.tool_calls)) as u64
}

fn seconds(reply: &Reply) -> f64 {
    reply.timing.end.since(reply.timing.start).as_secs_f64()
}

/// Length of these fields as JSON, in bytes.
pub fn length(fields: &Map<String, Value>) -> usize {
    fields
        .iter()
        .map(|(name, value)| name.len() + value.to_string().len())
        .sum()
}

/// Whether a message holds more than text.
fn has_media(message: &Map<String, Value>) -> bool {
    let parts = message.get("content").and_then(Value::as_array);
    let is_text = |part: &Value| part.get("text").is_some_and(Value::is_string);
    parts.is_some_and(|parts| !parts.iter().all(is_text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::chat::Message;
    use crate::reply::{Failure, Outcome, TokenCounts};
    use crate::time::Timestamp;

    /// A reply of `answer` in `chunks` that took `took`.
    fn reply(answer: &str, chunks: usize, took: Duration, tokens: TokenCounts) -> Reply {
        let start = Timestamp::ZERO;
        let mut reply = Reply::unsent(start, Failure::Empty, String::new());
        reply.outcome = Outcome::Complete;
        reply.answer = answer.to_owned();
        reply.timing.chunks = vec![start; chunks];
        reply.timing.end = start.after(took);
        reply.tokens = tokens;
        reply.token_source = Some(TokenSource::Usage);
        reply
    }

    fn counts(input: u64, output: u64, reasoning: Option<u64>) -> TokenCounts {
        TokenCounts {
            input: Some(input),
            output: Some(output),
            reasoning,
            ..TokenCounts::default()
        }
    }

    #[test]
    fn what_cannot_be_is_a_claim_and_chunks_count() {
        for output in [1_000_000_000_000, u64::MAX, 300_000] {
            let mut said = reply("a b c", 3, Duration::from_secs(2), counts(5, output, None));
            settle(&Query::asking("hi".to_owned()), 0, &mut said);
            assert_eq!(said.tokens.output, Some(3));
            assert_eq!(said.tokens.claimed_output, Some(output));
            assert_eq!(said.tokens.input, Some(5));
            assert_eq!(said.token_source, Some(TokenSource::Chunks));
            assert!(said.token_note.unwrap().contains("claims"));
        }
        let huge = counts(1_000_000_000, 3, Some(u64::MAX));
        let mut said = reply("a b c", 3, Duration::from_secs(2), huge);
        settle(&Query::asking("hi".to_owned()), 0, &mut said);
        assert_eq!((said.tokens.input, said.tokens.output), (None, Some(3)));
        assert_eq!(said.tokens.claimed_input, Some(1_000_000_000));
        assert_eq!(said.token_source, Some(TokenSource::Usage));
        // Without a chunk nothing counts.
        let mut said = reply("", 0, Duration::ZERO, counts(5, 1 << 40, None));
        settle(&Query::asking("hi".to_owned()), 0, &mut said);
        assert_eq!((said.tokens.output, said.token_source), (None, None));
    }

    #[test]
    fn honest_extremes_are_left_alone() {
        let ms = Duration::from_millis;
        let text = Query::asking("hi".to_owned());
        let image = Query {
            messages: vec![
                Message::written(
                    json!({"role": "user", "content": [
                        {"type": "text", "text": "what is it?"},
                        {"type": "image_url", "image_url": {"url": "https://x/y.mp4"}},
                    ]})
                    .as_object()
                    .unwrap()
                    .clone(),
                )
                .unwrap(),
            ],
            ..Query::asking("what is it?".to_owned())
        };
        for (query, said) in [
            // Reasoning that is neither shown nor reported, at the speed of a fast machine.
            (&text, reply("42", 1, ms(4_000), counts(5, 60_000, None))),
            // A reply out of a cache, with the reasoning that it once took.
            (
                &text,
                reply("42", 1, ms(5), counts(5, 130_000, Some(129_990))),
            ),
            // Byte by byte, and a token for the end.
            (
                &text,
                reply("\u{1f31f}\u{1f31f}", 1, ms(1), counts(5, 9, None)),
            ),
            // Padding that leaves no text.
            (&text, reply("", 0, ms(1), counts(5, 4_096, None))),
            // The service searched the web.
            (&text, reply("42", 1, ms(900), counts(150_000, 2, None))),
            // A film.
            (&image, reply("a cat", 1, ms(900), counts(900_000, 2, None))),
        ] {
            let mut settled = said.clone();
            settle(query, 0, &mut settled);
            assert_eq!(settled, said);
        }
        // A long prompt of the plan is no claim.
        let mut long = reply("42", 1, ms(1), counts(900_000, 1, None));
        settle(&text, 1_000_000, &mut long);
        assert_eq!(long.tokens.claimed_input, None);
    }
}
