//! Splitter and reply together, against streams that are cut, mutated and shuffled.

use ipw_core::reply::Outcome;
use ipw_core::time::Timestamp;
use ipw_testkit::fuzz::{Random, damaged, rounds};
use serde_json::Value;

use super::{Chat, Field, Frame};
use crate::sse::Splitter;
use crate::stream::Chat as _;
use crate::stream::replay::plain_events;

/// Recorded from real servers: llama.cpp's opening and closing, reasoning, a tool call, an emoji.
const STREAMS: [&str; 4] = [
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":null}]}\n\n\
     data: {\"choices\":[{\"delta\":{\"content\":\"Grü\"},\"finish_reason\":null}]}\n\n\
     data: {\"choices\":[{\"delta\":{\"content\":\"ße 😀\"}}]}\n\n\
     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
     data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3}}\n\n\
     data: [DONE]\n\n",
    ": ping\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\n\
     data: {\"choices\":[{\"delta\":{\"content\":\"4\"}}]}\r\n\r\n\
     data: {\"choices\":[{\"finish_reason\":\"length\"}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n\
     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"no\"}}\n\n",
];

fn read(pieces: &[&[u8]]) -> Chat {
    let mut chat = Chat::default();
    let mut splitter = Splitter::default();
    for (at, piece) in pieces.iter().enumerate() {
        let at = Timestamp::from_nanos(at as u64);
        splitter.push(piece, |data| chat.event(data, at)).unwrap();
    }
    splitter.finish(|data| chat.event(data, Timestamp::from_nanos(pieces.len() as u64)));
    chat
}

/// Parses the same bytes again: whole lines, `serde_json::Value`. `None` for an incomplete stream.
pub(in crate::openai) fn plain_reading(bytes: &[u8]) -> Option<String> {
    let (mut answer, mut ended, mut choices) = (String::new(), false, 0);
    for event in plain_events(bytes) {
        if event.trim_ascii() == b"[DONE]" {
            ended = true;
            break;
        }
        let event: Value = serde_json::from_slice(&event).ok()?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return None;
        }
        for choice in event
            .get("choices")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            choices += 1;
            if let Some(text) = choice.pointer("/delta/content").and_then(Value::as_str) {
                answer.push_str(text);
            }
            if let Some(text) = choice.get("text").and_then(Value::as_str) {
                answer.push_str(text);
            }
            ended |= choice["finish_reason"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty());
        }
    }
    (ended && choices > 0).then_some(answer)
}

#[test]
fn a_cut_at_any_byte_never_looks_like_success() {
    for stream in STREAMS {
        let whole = read(&[stream.as_bytes()]);
        for cut in 0..stream.len() {
            let bytes = &stream.as_bytes()[..cut];
            let chat = read(&[bytes]);
            if chat.outcome().0.is_answered() {
                assert!(plain_reading(bytes).is_some(), "cut at {cut} of {stream:?}");
                assert_eq!(
                    chat.transcript.answer, whole.transcript.answer,
                    "cut at {cut} of {stream:?}"
                );
            }
            let (left, right) = stream.as_bytes().split_at(cut);
            let joined = read(&[left, right]);
            assert_eq!(joined.outcome(), whole.outcome(), "split at {cut}");
            assert_eq!(
                (joined.transcript.answer, joined.transcript.reasoning),
                (
                    whole.transcript.answer.clone(),
                    whole.transcript.reasoning.clone()
                )
            );
        }
    }
}

#[test]
fn the_streams_read_as_they_should() {
    let outcomes =
        STREAMS.map(|stream| read(&[stream.as_bytes()]).outcome().0.label().into_owned());
    assert_eq!(
        outcomes,
        ["complete", "truncated", "complete", "failed:service"]
    );
    let chat = read(&[STREAMS[0].as_bytes()]);
    assert_eq!(chat.transcript.answer, "Grüße 😀");
    assert_eq!(chat.tokens().0.output, Some(3));
    assert_eq!(
        read(&[STREAMS[2].as_bytes()]).transcript.chunks.len(),
        1,
        "tool-call arguments are tokens"
    );
}

/// Mutated and cut streams must not panic, and an answered reply must match a plain parser.
#[test]
fn mutated_streams_never_panic_and_never_succeed_wrongly() {
    let check = |seed| {
        let mut random = Random::new(seed);
        for _ in 0..rounds(1_000_000) / 4 {
            mutate_and_check(&mut random);
        }
    };
    let threads: Vec<_> = (0..4_u64)
        .map(|seed| std::thread::spawn(move || check(seed)))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn mutate_and_check(random: &mut Random) {
    const PIECES: [&[u8]; 12] = [
        b"\n",
        b"\r",
        b"data:",
        b"[DONE]",
        b"null",
        b"\"",
        b"{",
        b"}",
        b"\xff",
        b"\"error\":1,",
        b"\"finish_reason\":\"stop\"",
        b"\xf0\x9f",
    ];
    let corpus = STREAMS.map(str::as_bytes);
    let bytes = damaged(random, &corpus, &PIECES);
    let cut = random.below(bytes.len() + 1);
    let chat = read(&[&bytes[..cut], &bytes[cut..]]);
    let (outcome, error) = chat.outcome();
    if outcome.is_answered() {
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(
            plain_reading(&bytes).as_deref(),
            Some(chat.transcript.answer.as_str()),
            "{shown}"
        );
    } else {
        assert!(matches!(outcome, Outcome::Failed(_)) && error.is_some());
    }
}

/// Events as services write them: plain, escaped, empty and non-ASCII texts, and every other field
/// that an event may have.
const EVENTS: [&str; 16] = [
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"Grüße 😀"},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"line\nbreak \"x\""},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":null},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"length"}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"c","refusal":"no"},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"d"},"finish_reason":null}],"usage":{"completion_tokens":9}}"#,
    r#"{"id":"c-1","choices":[{"delta":{"content":"e"}},{"delta":{"content":"f"}}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"reasoning":"so"},"finish_reason":null}]}"#,
    r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"g"}}],"created":7,"id":"c","timings":null}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

/// The reply that a chat makes of events, with and without learned frames.
fn both_readings(events: &[Vec<u8>]) -> (Chat, Chat) {
    let (mut quick, mut parsed) = (Chat::default(), Chat::default());
    for (at, event) in events.iter().enumerate() {
        let at = Timestamp::from_nanos(at as u64);
        quick.event(event, at);
        parsed.frame = Frame::default();
        parsed.event(event, at);
    }
    (quick, parsed)
}

fn assert_same(events: &[Vec<u8>]) {
    let (quick, parsed) = both_readings(events);
    let shown = events.iter().map(|event| String::from_utf8_lossy(event));
    let shown: Vec<_> = shown.collect();
    let said = |chat: &Chat| {
        let tokens = chat.tokens();
        (chat.outcome(), tokens, format!("{:?}", chat.transcript))
    };
    assert_eq!(said(&quick), said(&parsed), "{shown:#?}");
}

#[test]
fn an_event_that_differs_in_its_text_alone_needs_no_parser() {
    let mut chat = Chat::default();
    chat.event(EVENTS[1].as_bytes(), Timestamp::ZERO);
    for (event, text) in [
        (EVENTS[2], Some((Field::Answer, " word"))),
        (EVENTS[3], Some((Field::Answer, "Grüße 😀"))),
        (EVENTS[5], Some((Field::Answer, ""))),
        (EVENTS[4], None),
        (EVENTS[7], None),
        (EVENTS[8], None),
        (EVENTS[11], None),
        (EVENTS[15], None),
    ] {
        assert_eq!(chat.frame.text(event.as_bytes()), text, "{event}");
    }
    let raw = EVENTS[1].replace("\"a\"", "\"a\tb\"");
    assert_eq!(
        chat.frame.text(raw.as_bytes()),
        None,
        "no control character"
    );
    chat.event(EVENTS[11].as_bytes(), Timestamp::ZERO);
    let next = EVENTS[11].replace("hm", "well");
    let text = chat.frame.text(next.as_bytes());
    assert_eq!(text, Some((Field::Reasoning, "well")));
}

#[test]
fn what_is_learnt_from_events_never_changes_what_they_say() {
    const PIECES: [&[u8]; 10] = [
        b"\"",
        b"\\",
        b"\\n",
        b"\x01",
        b"\xff",
        b"\xf0\x9f",
        b"x",
        b"}",
        b"null",
        b"\"content\":\"y\",",
    ];
    let corpus = EVENTS.map(str::as_bytes);
    let mut random = Random::new(7);
    for _ in 0..rounds(100_000) {
        let count = 1 + random.below(8);
        let events: Vec<Vec<u8>> = (0..count)
            .map(|_| match random.below(4) {
                0 => damaged(&mut random, &corpus, &PIECES),
                _ => random.one_of(&corpus).to_vec(),
            })
            .collect();
        assert_same(&events);
    }
}
