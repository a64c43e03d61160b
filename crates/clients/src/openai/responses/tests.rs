//! Documented streams of the responses API, cut and damaged. The README beside them names the
//! source of each.

use serde_json::Value;

use super::*;
use crate::stream::replay::{
    PIECES, StreamContent, plain_events, read, survives_damage, survives_every_cut,
};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../../tests/golden/", $name, ".sse"))
    };
}

const STREAMS: [&str; 7] = [
    golden!("openai/responses"),
    golden!("openai/responses-tools"),
    golden!("openai/responses-reasoning"),
    golden!("openai/responses-refusal"),
    golden!("openai/responses-failed"),
    golden!("openai/responses-error"),
    golden!("llamacpp/recorded-responses"),
];

fn said(stream: &str) -> StreamContent {
    read::<Responses>(&[stream.as_bytes()])
}

#[test]
fn the_documented_streams_read_as_they_should() {
    for (stream, outcome, answer, chunks, finish_reason) in [
        (
            STREAMS[0],
            "complete",
            "Hi there! Grüße 😀",
            3,
            Some("completed"),
        ),
        (STREAMS[1], "complete", "", 7, Some("completed")),
        (
            STREAMS[2],
            "truncated",
            "Hello",
            3,
            Some("max_output_tokens"),
        ),
        (
            STREAMS[3],
            "refused",
            "I'm sorry, I cannot help with that.",
            2,
            Some("completed"),
        ),
        (STREAMS[4], "failed:service", "Hi", 1, None),
        (STREAMS[5], "failed:service", "", 0, None),
        (
            STREAMS[6],
            "complete",
            "Aw, what a delightful combination of",
            8,
            Some("completed"),
        ),
    ] {
        let said = said(stream);
        assert_eq!(said.outcome.label(), outcome, "{:?}", said.error);
        assert_eq!((said.answer.as_str(), said.chunks), (answer, chunks));
        assert_eq!(said.finish_reason.as_deref(), finish_reason);
    }
    let says = |stream| said(stream).error.unwrap();
    assert!(says(STREAMS[4]).contains("failed to generate"));
    assert!(says(STREAMS[5]).contains("Something went wrong"));
}

#[test]
fn tokens_are_counted_as_the_transcript_says() {
    let whole = said(STREAMS[0]);
    assert_eq!(whole.source, Some(TokenSource::Usage));
    assert_eq!(
        (whole.tokens.input, whole.tokens.output),
        (Some(37), Some(11))
    );
    assert_eq!(
        (whole.tokens.cached, whole.tokens.reasoning),
        (Some(8), Some(0))
    );
    assert_eq!(said(STREAMS[2]).tokens.reasoning, Some(64));
    let recorded = said(STREAMS[6]);
    assert_eq!(
        (recorded.tokens.input, recorded.tokens.output),
        (Some(33), Some(8))
    );
    let decode = recorded.timing.decode;
    assert_eq!(decode, Some(std::time::Duration::from_micros(885_780)));
    let cut = said(STREAMS[4]);
    assert_eq!(cut.source, Some(TokenSource::Chunks), "no source counted");
    assert_eq!(cut.tokens.output, Some(1));
}

#[test]
fn reasoning_and_calls_are_kept_apart() {
    assert_eq!(said(STREAMS[2]).reasoning, "**Responding to a greeting**");
    assert_eq!(
        said(STREAMS[1]).calls.as_deref(),
        Some(
            r#"[{"id":"call_1234xyz","name":"get_weather","arguments":"{\"location\":\"Paris, France\"}"}]"#
        )
    );
}

/// llama.cpp's form: no `output_index`, and two calls at once.
#[test]
fn calls_are_told_apart_by_their_items_where_they_have_no_number() {
    let stream = [
        r#"{"type":"response.created","response":{}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"fc_a","call_id":"a","name":"one","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{","item_id":"fc_a"}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"fc_b","call_id":"b","name":"two","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"1","item_id":"fc_b"}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"}","item_id":"fc_a"}"#,
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ]
    .map(|event| format!("data: {event}\n\n"))
    .concat();
    assert_eq!(
        said(&stream).calls.as_deref(),
        Some(
            r#"[{"id":"a","name":"one","arguments":"{}"},{"id":"b","name":"two","arguments":"1"}]"#
        )
    );
}

#[test]
fn what_was_not_streamed_is_taken_from_the_whole() {
    let stream = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\"},{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"four\"}]}]}}\n\n";
    let said = said(stream);
    assert_eq!((said.answer.as_str(), said.chunks), ("four", 1));
}

#[test]
fn what_is_no_reply_says_so() {
    for (stream, outcome, says) in [
        ("", "failed:closed", "before a reply"),
        ("data: [DONE]\n\n", "failed:empty", "without a reply"),
        ("data: {}\n\n", "failed:bad_event", "responses API"),
        ("data: nonsense\n\n", "failed:bad_event", "responses API"),
        (
            "data: {\"error\":{\"message\":\"boom\"}}\n\n",
            "failed:service",
            "boom",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}}\n\n",
            "failed:context",
            "too long",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "failed:bad_event",
            "responses API",
        ),
    ] {
        let said = said(stream);
        assert_eq!(said.outcome.label(), outcome, "{stream}");
        let error = said.error.unwrap();
        assert!(error.contains(says), "{stream}: {error}");
    }
}

#[test]
fn a_filter_that_ends_a_reply_is_a_refusal() {
    let stream = STREAMS[2].replace("max_output_tokens\"}", "content_filter\"}");
    assert_eq!(said(&stream).outcome.label(), "refused");
}

#[test]
fn a_cut_at_any_byte_never_looks_like_success() {
    for stream in STREAMS {
        survives_every_cut::<Responses>(stream);
    }
}

/// Parses the same bytes again with `serde_json::Value`; `None` for an incomplete stream.
fn plain_reading(bytes: &[u8]) -> Option<String> {
    let (mut answer, mut pieces, mut saw) = (String::new(), 0, false);
    for event in plain_events(bytes) {
        if event.trim_ascii() == b"[DONE]" {
            return saw.then_some(answer);
        }
        let event: Value = serde_json::from_str(std::str::from_utf8(&event).ok()?).ok()?;
        match event.get("type")?.as_str()? {
            "response.output_text.delta" | "response.refusal.delta" => {
                answer.push_str(event["delta"].as_str()?);
                pieces += 1;
                saw = true;
            }
            "response.completed" | "response.incomplete" => {
                let parts = event.pointer("/response/output").and_then(Value::as_array);
                let parts = parts.into_iter().flatten();
                let parts = parts
                    .filter_map(|item| item["content"].as_array())
                    .flatten();
                let texts: String = parts.filter_map(|part| part["text"].as_str()).collect();
                return Some(if pieces == 0 { texts } else { answer });
            }
            "response.failed" | "error" => return None,
            kind => {
                saw |= kind.starts_with("response.");
                pieces += usize::from(kind.contains("arguments.delta"));
                pieces += usize::from(kind.contains("reasoning") && kind.ends_with("text.delta"));
                pieces += usize::from(event.pointer("/item/name").is_some());
            }
        }
    }
    None
}

#[test]
fn damaged_streams_never_panic_and_never_succeed_wrongly() {
    survives_damage::<Responses>(&STREAMS, &PIECES, plain_reading);
}
