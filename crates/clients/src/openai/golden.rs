//! Documented streams of servers with OpenAI's chat and completions APIs. The README beside them
//! names the source of each.

use std::time::Duration;

use ipw_core::reply::{TokenCounts, TokenSource};

use super::chat::Chat;
use super::chat::tests::plain_reading;
use crate::stream::replay::{PIECES, StreamContent, read, survives_damage, survives_every_cut};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../tests/golden/", $name, ".sse"))
    };
}

const STREAMS: [&str; 13] = [
    golden!("openai/chat"),
    golden!("openai/tools"),
    golden!("openai/completions"),
    golden!("vllm/continuous"),
    golden!("sglang/chat"),
    golden!("llamacpp/chat"),
    golden!("llamacpp/per-token"),
    golden!("tgi/chat"),
    golden!("tgi/error"),
    golden!("lmstudio/chat"),
    golden!("lmstudio/stats"),
    golden!("llamacpp/recorded-chat"),
    golden!("llamacpp/recorded-completions"),
];

fn said(stream: &str) -> StreamContent {
    read::<Chat>(&[stream.as_bytes()])
}

#[test]
fn the_documented_streams_read_as_they_should() {
    let seen: Vec<_> = STREAMS
        .map(|stream| {
            let said = said(stream);
            (
                said.outcome.label().into_owned(),
                said.answer,
                said.tokens.output,
                said.chunks,
            )
        })
        .into();
    let expected = [
        ("complete", "Grüße 😀", Some(10), 2),
        ("complete", "", Some(5), 5),
        ("truncated", "This is a “test”", Some(7), 3),
        ("truncated", "Vier, natürlich.", Some(10), 4),
        ("complete", "Paris 🗼", Some(10), 3),
        ("complete", "One naïve answer.", Some(57), 3),
        ("truncated", "One word", Some(3), 2),
        ("complete", "The capital — Paris", Some(9), 3),
        ("failed:service", "The", Some(1), 1),
        ("complete", "Why did the tomato…", Some(53), 2),
        ("complete", "Why", Some(53), 1),
        ("truncated", "🌟🌟", Some(8), 2),
        ("truncated", ", they can be used to create a", Some(8), 8),
    ];
    let expected: Vec<_> = expected
        .map(|(outcome, answer, output, chunks)| {
            (outcome.to_owned(), answer.to_owned(), output, chunks)
        })
        .into();
    assert_eq!(seen, expected);
}

#[test]
fn every_kind_of_token_is_counted_as_the_transcript_says() {
    let counts = |input, output| TokenCounts {
        input: Some(input),
        output: Some(output),
        ..TokenCounts::default()
    };
    for (stream, source, expected) in [
        (
            golden!("openai/chat"),
            TokenSource::Usage,
            TokenCounts {
                reasoning: Some(3),
                cached: Some(4),
                speculative_accepted: Some(2),
                speculative_rejected: Some(1),
                ..counts(19, 10)
            },
        ),
        (
            golden!("openai/tools"),
            TokenSource::Chunks,
            TokenCounts {
                output: Some(5),
                tool_call: Some(5),
                ..TokenCounts::default()
            },
        ),
        (
            golden!("vllm/continuous"),
            TokenSource::Usage,
            TokenCounts {
                cached: Some(8),
                ..counts(15, 10)
            },
        ),
        (
            golden!("sglang/chat"),
            TokenSource::Usage,
            TokenCounts {
                reasoning: Some(3),
                ..counts(36, 10)
            },
        ),
        (
            golden!("llamacpp/chat"),
            TokenSource::Usage,
            TokenCounts {
                cached: Some(40),
                speculative_accepted: Some(24),
                speculative_rejected: Some(6),
                ..counts(44, 57)
            },
        ),
        (
            golden!("llamacpp/per-token"),
            TokenSource::Timings,
            TokenCounts {
                cached: Some(0),
                ..counts(44, 3)
            },
        ),
    ] {
        let said = said(stream);
        assert_eq!((said.tokens, said.source), (expected, Some(source)));
        assert_eq!(said.note, None);
    }
}

#[test]
fn reasoning_answer_and_calls_are_kept_apart() {
    let vllm = said(golden!("vllm/continuous"));
    assert_eq!(vllm.reasoning, "Okay, the sum");
    assert_eq!(said(golden!("sglang/chat")).reasoning, "Hm.");
    let calls = said(golden!("openai/tools")).calls;
    assert_eq!(
        calls.as_deref(),
        Some(
            r#"[{"id":"call_DdmO9pD3xa9XTPNJ32zg2hcA","name":"get_weather","arguments":"{\"location\":\"Paris\"}"},{"id":"call_LNbwqVhhVlGUT2Kn0G8pGhL4","name":"get_weather","arguments":"{\"location\":\"Bogotá\"}"}]"#
        )
    );
    assert_eq!(said(golden!("openai/chat")).calls, None);
}

#[test]
fn a_servers_own_times_are_kept() {
    let timing = said(golden!("llamacpp/chat")).timing;
    assert_eq!(timing.prompt, Some(Duration::from_micros(24_500)));
    assert_eq!(timing.decode, Some(Duration::from_micros(633_250)));
    let timing = said(golden!("lmstudio/stats")).timing;
    assert_eq!(
        (timing.prompt, timing.decode),
        (None, Some(Duration::from_millis(954)))
    );
}

#[test]
fn a_reply_that_was_cut_short_has_the_counts_that_came_so_far() {
    let whole = golden!("vllm/continuous");
    let half = &whole[..whole.find("natürlich").unwrap()];
    let said = read::<Chat>(&[half.as_bytes()]);
    assert_eq!(said.outcome.label(), "failed:closed");
    assert_eq!(said.tokens.output, Some(7), "of the last chunk that came");
    assert_eq!(said.source, Some(TokenSource::Usage));
}

#[test]
fn a_cut_at_any_byte_never_looks_like_success() {
    for stream in STREAMS {
        survives_every_cut::<Chat>(stream);
    }
}

#[test]
fn damaged_streams_never_panic_and_never_succeed_wrongly() {
    survives_damage::<Chat>(&STREAMS, &PIECES, plain_reading);
}
