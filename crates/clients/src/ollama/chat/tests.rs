//! Splitter and reply together, against documented streams that are cut and mutated.

use ipw_core::reply::Outcome;
use ipw_core::time::Timestamp;
use ipw_testkit::fuzz::{Random, damaged, rounds};
use serde_json::Value;

use super::*;
use crate::stream::Chat as _;

/// Documented streams; the README beside them names their sources.
macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../../tests/golden/ollama/", $name, ".ndjson"))
    };
}

const STREAMS: [&str; 7] = [
    golden!("chat"),
    golden!("whole"),
    golden!("tools"),
    golden!("load"),
    golden!("thinking"),
    golden!("error"),
    golden!("cached"),
];

fn read(pieces: &[&[u8]]) -> Chat {
    let mut chat = Chat::default();
    let mut splitter = Splitter::default();
    for (at, piece) in pieces.iter().enumerate() {
        let at = Timestamp::from_nanos(at as u64);
        splitter.push(piece, |line| chat.event(line, at)).unwrap();
    }
    splitter.finish(|line| chat.event(line, Timestamp::from_nanos(pieces.len() as u64)));
    chat
}

#[test]
fn the_documented_streams_read_as_they_should() {
    let read: Vec<_> = STREAMS.map(|stream| read(&[stream.as_bytes()])).into();
    let outcomes: Vec<_> = read.iter().map(|chat| chat.outcome().0.label()).collect();
    assert_eq!(
        outcomes,
        [
            "complete",
            "complete",
            "complete",
            "failed:empty",
            "truncated",
            "failed:service",
            "complete"
        ]
    );
    let answers: Vec<_> = read
        .iter()
        .map(|chat| chat.transcript.answer.as_str())
        .collect();
    let json = r#"{"age": 22, "available": false}"#;
    assert_eq!(
        answers,
        [
            "The",
            json,
            "",
            "",
            "Grüße 😀",
            " Yes.",
            "Hello! How can I help you today?"
        ]
    );
    let (counts, source) = read[0].tokens();
    assert_eq!((counts.input, counts.output), (Some(26), Some(282)));
    assert_eq!(source, Some(TokenSource::Usage));
    assert_eq!(
        read[2].transcript.chunks.len(),
        1,
        "a tool call is a token without text"
    );
    assert_eq!(
        read[2].transcript.calls.json().as_deref(),
        Some(
            r#"[{"id":null,"name":"get_current_weather","arguments":"{\"format\":\"celsius\",\"location\":\"Paris, FR\"}"}]"#
        )
    );
}

#[test]
fn durations_are_kept_and_a_cached_prompt_is_not_zero_tokens() {
    let chat = read(&[golden!("thinking").as_bytes()]);
    let timing = chat.service_timing();
    assert_eq!(timing.load, Some(Duration::from_nanos(101_397_084)));
    assert_eq!(timing.prompt, Some(Duration::from_nanos(13_074_791)));
    assert_eq!(timing.decode, Some(Duration::from_nanos(52_479_709)));
    assert_eq!(timing.total, Some(Duration::from_nanos(174_560_334)));
    assert_eq!(chat.tokens().0.input, None);
    assert_eq!(chat.transcript.reasoning, "Hm, two.");
    let cached = read(&[golden!("cached").as_bytes()]).tokens().0;
    assert_eq!((cached.input, cached.cached), (Some(11), Some(8)));
    let nothing = read(&[golden!("load").as_bytes()]);
    assert_eq!(nothing.service_timing(), ServiceTiming::default());
}

#[test]
fn without_counters_the_chunks_are_counted() {
    let stream = r#"{"message":{"content":"a"},"done":false}
        {"message":{"content":"b"},"done":true}"#;
    let (counts, source) = read(&[stream.as_bytes()]).tokens();
    assert_eq!((counts.input, counts.output), (None, Some(2)));
    assert_eq!(source, Some(TokenSource::Chunks));
}

#[test]
fn what_is_no_chat_says_so() {
    for (stream, kind, says) in [
        (
            "{\"model\": not json\n",
            Failure::BadEvent,
            "not part of a chat",
        ),
        ("{\"a\": 1}\n", Failure::BadEvent, "`done` is missing"),
        (
            "{\"message\":{\"content\":\"a\"",
            Failure::Closed,
            "middle of a line",
        ),
        ("", Failure::Closed, "before a reply"),
        ("{\"done\":true}\n", Failure::Empty, "without a reply"),
        (
            "{\"error\":{\"message\":\"boom\"}}\n",
            Failure::Service,
            "boom",
        ),
    ] {
        let (outcome, error) = read(&[stream.as_bytes()]).outcome();
        assert_eq!(outcome, Outcome::Failed(kind), "{stream}");
        assert!(
            error.as_deref().is_some_and(|text| text.contains(says)),
            "{stream}: {error:?}"
        );
    }
}

#[test]
fn a_cut_at_any_byte_never_looks_like_success() {
    for stream in STREAMS {
        let whole = read(&[stream.as_bytes()]);
        for cut in 0..stream.len() {
            let bytes = &stream.as_bytes()[..cut];
            let chat = read(&[bytes]);
            if chat.outcome().0.is_answered() {
                assert_eq!(cut, stream.len() - 1, "only the last line's end is missing");
            }
            let (left, right) = stream.as_bytes().split_at(cut);
            let joined = read(&[left, right]);
            assert_eq!(joined.outcome(), whole.outcome(), "split at {cut}");
            assert_eq!(joined.transcript.answer, whole.transcript.answer);
            assert_eq!(joined.transcript.reasoning, whole.transcript.reasoning);
        }
    }
}

/// Parses the same bytes again: whole lines, `serde_json::Value`. `None` for an incomplete stream.
fn plain_reading(bytes: &[u8]) -> Option<String> {
    let mut answer = String::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line: Value = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
        if line.get("error").is_some_and(|error| !error.is_null()) {
            return None;
        }
        if let Some(text) = line.pointer("/message/content").and_then(Value::as_str) {
            answer.push_str(text);
        }
        if line.get("done")?.as_bool()? {
            return Some(answer);
        }
    }
    None
}

#[test]
fn mutated_streams_never_panic_and_never_succeed_wrongly() {
    let mut random = Random::new(0);
    for _ in 0..rounds(100_000) {
        mutate_and_check(&mut random);
    }
}

fn mutate_and_check(random: &mut Random) {
    const PIECES: [&[u8]; 12] = [
        b"\n",
        b"\r",
        b"null",
        b"\"",
        b"{",
        b"}",
        b"[]",
        b"\xff",
        b"\xf0\x9f",
        b"\"error\":1,",
        b"\"done\":true",
        b"false",
    ];
    let corpus = STREAMS.map(str::as_bytes);
    let bytes = damaged(random, &corpus, &PIECES);
    let cut = random.below(bytes.len() + 1);
    let chat = read(&[&bytes[..cut], &bytes[cut..]]);
    let (outcome, error) = chat.outcome();
    if outcome.is_answered() {
        let shown = String::from_utf8_lossy(&bytes);
        let plain = plain_reading(&bytes);
        assert_eq!(
            plain.as_deref(),
            Some(chat.transcript.answer.as_str()),
            "{shown}"
        );
    } else {
        assert!(matches!(outcome, Outcome::Failed(_)) && error.is_some());
    }
}
