//! Documented streams of the messages API, cut and damaged. The README beside them names the source
//! of each.

use super::*;
use crate::stream::replay::{
    PIECES, StreamContent, plain_events, read, survives_damage, survives_every_cut,
};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../../tests/golden/", $name, ".sse"))
    };
}

const STREAMS: [&str; 6] = [
    golden!("anthropic/text"),
    golden!("anthropic/tools"),
    golden!("anthropic/thinking"),
    golden!("anthropic/refusal"),
    golden!("anthropic/error"),
    golden!("llamacpp/recorded-messages"),
];

fn said(stream: &str) -> StreamContent {
    read::<Chat>(&[stream.as_bytes()])
}

#[test]
fn the_documented_streams_read_as_they_should() {
    for (stream, outcome, answer, chunks, finish_reason) in [
        (STREAMS[0], "complete", "Grüße 😀!", 2, Some("end_turn")),
        (
            STREAMS[1],
            "complete",
            "Okay, let me check.",
            5,
            Some("tool_use"),
        ),
        (
            STREAMS[2],
            "truncated",
            "The greatest common divisor is **21**.",
            3,
            Some("max_tokens"),
        ),
        (STREAMS[3], "refused", "I", 1, Some("refusal")),
        (STREAMS[4], "failed:service", "Hel", 1, None),
        (STREAMS[5], "truncated", "🌟🌟", 2, Some("max_tokens")),
    ] {
        let said = said(stream);
        assert_eq!(said.outcome.label(), outcome, "{:?}", said.error);
        assert_eq!((said.answer.as_str(), said.chunks), (answer, chunks));
        assert_eq!(said.finish_reason.as_deref(), finish_reason);
    }
    assert!(said(STREAMS[4]).error.unwrap().contains("Overloaded"));
    let stopped = STREAMS[0].replace("end_turn", "stop_sequence");
    assert_eq!(said(&stopped).outcome, Outcome::Complete);
}

#[test]
fn the_input_is_what_was_fresh_and_what_the_cache_had() {
    let (tokens, source) = (said(STREAMS[0]).tokens, said(STREAMS[0]).source);
    assert_eq!((tokens.input, tokens.output), (Some(2125), Some(15)));
    assert_eq!(tokens.cached, Some(2000));
    assert_eq!(source, Some(TokenSource::Usage));
    // llama.cpp omitted its first event.
    let unsaid = said(STREAMS[5]).tokens;
    assert_eq!((unsaid.input, unsaid.output), (None, Some(8)));
    let plain = said(STREAMS[1]).tokens;
    assert_eq!((plain.input, plain.cached), (Some(472), None));
}

#[test]
fn the_first_events_count_of_the_output_is_not_the_last() {
    let cut = said(STREAMS[4]);
    assert_eq!(cut.source, Some(TokenSource::Chunks));
    assert_eq!((cut.tokens.input, cut.tokens.output), (Some(25), Some(1)));
}

#[test]
fn thinking_and_calls_are_kept_apart() {
    assert_eq!(
        said(STREAMS[2]).reasoning,
        "I need to find the GCD… 1071 = 2 × 462 + 147"
    );
    assert_eq!(
        said(STREAMS[1]).calls.as_deref(),
        Some(
            r#"[{"id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","arguments":"{\"location\": \"San Francisco, CA\"}"}]"#
        )
    );
}

#[test]
fn what_is_no_reply_says_so() {
    for (stream, outcome, says) in [
        ("", "failed:closed", "before a reply"),
        (
            "data: {\"type\":\"ping\"}\n\n",
            "failed:closed",
            "before a reply",
        ),
        (
            "data: {\"type\":\"message_stop\"}\n\n",
            "failed:empty",
            "without a reply",
        ),
        ("data: [DONE]\n\n", "failed:bad_event", "messages API"),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "failed:bad_event",
            "messages API",
        ),
        (
            "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 3 tokens > 2 maximum\"}}\n\n",
            "failed:context",
            "too long",
        ),
    ] {
        let said = said(stream);
        assert_eq!(said.outcome.label(), outcome, "{stream}");
        let error = said.error.unwrap();
        assert!(error.contains(says), "{stream}: {error}");
    }
}

#[test]
fn a_cut_at_any_byte_never_looks_like_success() {
    for stream in STREAMS {
        survives_every_cut::<Chat>(stream);
    }
}

/// Parses the same bytes again with `serde_json::Value`; `None` for an incomplete stream.
fn plain_reading(bytes: &[u8]) -> Option<String> {
    let (mut answer, mut saw, mut ended) = (String::new(), false, false);
    for event in plain_events(bytes) {
        let event: Value = serde_json::from_str(std::str::from_utf8(&event).ok()?).ok()?;
        match event.get("type")?.as_str()? {
            "message_stop" => {
                ended = true;
                break;
            }
            "error" => return None,
            "message_delta" => {
                let reason = event.pointer("/delta/stop_reason");
                let reason = reason.and_then(Value::as_str);
                ended |= reason.is_some_and(|reason| !reason.is_empty());
            }
            "content_block_delta" if event["delta"]["type"] == "text_delta" => {
                saw = true;
                answer.push_str(event["delta"]["text"].as_str()?);
            }
            "content_block_start" if event["content_block"]["type"] == "text" => {
                saw = true;
                answer.push_str(event["content_block"]["text"].as_str().unwrap_or_default());
            }
            kind => saw |= kind == "message_start" || kind.starts_with("content_block_"),
        }
    }
    (saw && ended).then_some(answer)
}

#[test]
fn damaged_streams_never_panic_and_never_succeed_wrongly() {
    survives_damage::<Chat>(&STREAMS, &PIECES, plain_reading);
}
