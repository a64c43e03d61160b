//! The client `openai` against the reference service: requests, parsing, times.

use std::sync::Arc;
use std::time::Duration;

use ipw_clients::{ClientSpec, connect};
use ipw_core::reply::{Outcome, TokenSource};
use ipw_core::time::Clock;
use ipw_reference::{Fault, LineEnding, RoleChunk, Script, SendKind, words};
use ipw_runner::SystemClock;
use serde_json::{Map, Value, json};

use crate::bench::{Bench, PROMPT, spec, text};

#[test]
fn a_reply_comes_whole_with_the_services_own_counts() {
    let bench = Bench::openai(|_| Script {
        extra_output_tokens: 1,
        cached_tokens: 2,
        ..Script::words(16)
    });
    let reply = bench.ask();
    assert_eq!((reply.outcome, reply.error), (Outcome::Complete, None));
    assert_eq!(reply.answer, text(16));
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(
        (reply.tokens.input, reply.tokens.output),
        (Some(3), Some(17))
    );
    assert_eq!(reply.tokens.cached, Some(2));
    assert_eq!(reply.token_source, Some(TokenSource::Usage));
    assert_eq!(reply.exchange.status, Some(200));
}

#[test]
fn the_request_holds_what_was_asked_for_and_nothing_else() {
    let bench = Bench::openai(|_| Script::default());
    bench.ask();
    let body = &bench.service.log()[0].received.body;
    let expected = json!({
        "model": "reference",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(*body, expected);
    let headers = &bench.service.log()[0].received;
    assert_eq!(headers.header("authorization"), None);
    assert_eq!(headers.path, "/v1/chat/completions");
}

#[test]
fn parameters_go_along_but_cannot_change_the_request_itself() {
    let bench = Bench::openai(|_| Script::default());
    let Value::Object(parameters) = json!({"temperature": 0, "stop": ["x"], "stream": false})
    else {
        unreachable!()
    };
    let reply = bench.ask_with(&parameters, Duration::from_secs(20), None);
    assert_eq!(reply.outcome, Outcome::Complete);
    let body = &bench.service.log()[0].received.body;
    assert_eq!(body["temperature"], 0);
    assert_eq!(body["stop"], json!(["x"]));
    assert_eq!(body["stream"], true);
}

#[test]
fn stamps_come_in_order_and_never_before_the_service_sent() {
    let bench = Bench::openai(|_| Script {
        first_token: Duration::from_millis(20),
        gap: Duration::from_millis(3),
        ..Script::words(10)
    });
    let reply = bench.ask();
    let timing = &reply.timing;
    let exchange = &bench.service.log()[0];
    let order = [
        timing.start,
        timing.connected.unwrap(),
        timing.sent.unwrap(),
        timing.first_byte.unwrap(),
        timing.first_token.unwrap(),
        timing.end,
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(timing.sent.unwrap() <= exchange.arrived);
    let sends: Vec<_> = exchange.of(SendKind::Content).collect();
    assert_eq!(sends.len(), timing.chunks.len());
    for (send, chunk) in sends.iter().zip(&timing.chunks) {
        assert!(
            *chunk >= send.at,
            "stamped {chunk:?} before it was sent at {:?}",
            send.at
        );
    }
    assert_eq!(timing.first_token, timing.chunks.first().copied());
}

#[test]
fn chunks_that_hold_nothing_are_no_tokens() {
    for role_chunk in [
        RoleChunk::None,
        RoleChunk::RoleOnly,
        RoleChunk::ContentNull,
        RoleChunk::EmptyContent,
    ] {
        let bench = Bench::openai(move |_| Script {
            role_chunk,
            first_token: Duration::from_millis(15),
            ..Script::words(4)
        });
        let reply = bench.ask();
        let exchange = &bench.service.log()[0];
        let first = exchange.of(SendKind::Content).next().unwrap().at;
        assert!(reply.timing.first_token.unwrap() >= first, "{role_chunk:?}");
        assert_eq!(reply.timing.chunks.len(), 4, "{role_chunk:?}");
    }
}

#[test]
fn without_usage_the_output_is_counted_and_the_input_is_unknown() {
    let bench = Bench::openai(|_| Script {
        usage: false,
        ..Script::words(7)
    });
    let reply = bench.ask();
    assert_eq!((reply.tokens.input, reply.tokens.output), (None, Some(7)));
    assert_eq!(reply.token_source, Some(TokenSource::Chunks));
}

#[test]
fn without_usage_the_services_timings_count() {
    let bench = Bench::openai(|_| Script {
        usage: false,
        timings: true,
        ..Script::words(7)
    });
    let reply = bench.ask();
    assert_eq!(
        (reply.tokens.input, reply.tokens.output),
        (Some(3), Some(7))
    );
    assert_eq!(reply.token_source, Some(TokenSource::Timings));
    let decode = reply.service_timing.decode.unwrap();
    assert_eq!(decode, Duration::ZERO, "as scripted");
    assert!(reply.service_timing.prompt.is_some() && reply.service_timing.load.is_none());
}

#[test]
fn several_tokens_in_a_chunk_are_not_one_token() {
    let bench = Bench::openai(|_| Script {
        tokens_per_chunk: 4,
        ..Script::words(12)
    });
    let reply = bench.ask();
    assert_eq!(reply.tokens.output, Some(12));
    assert_eq!(reply.timing.chunks.len(), 3);
}

#[test]
fn reasoning_is_kept_apart_and_has_its_own_first_token() {
    let bench = Bench::openai(|_| Script {
        reasoning: words(3),
        gap: Duration::from_millis(5),
        ..Script::words(2)
    });
    let reply = bench.ask();
    assert_eq!(reply.reasoning.as_deref(), Some(text(3).as_str()));
    assert_eq!(reply.answer, text(2));
    assert!(reply.timing.first_answer_token > reply.timing.first_token);
    assert_eq!(reply.timing.chunks.len(), 5);
}

#[test]
fn carriage_returns_and_comments_change_nothing() {
    let bench = Bench::openai(|_| Script {
        line_ending: LineEnding::CrLf,
        comments: true,
        ..Script::words(5)
    });
    let reply = bench.ask();
    assert_eq!((reply.outcome, reply.answer), (Outcome::Complete, text(5)));
}

#[test]
fn a_stream_cut_into_single_bytes_changes_nothing() {
    let bench = Bench::openai(|_| Script {
        fault: Some(Fault::Trickle(Duration::ZERO)),
        ..Script::words(3)
    });
    let reply = bench.ask();
    assert_eq!((reply.outcome, reply.answer), (Outcome::Complete, text(3)));
}

#[test]
fn a_reply_that_ends_with_the_connection_is_whole() {
    let bench = Bench::openai(|_| Script {
        chunked: false,
        ..Script::words(5)
    });
    for _ in 0..3 {
        let reply = bench.ask();
        assert_eq!((reply.outcome, reply.answer), (Outcome::Complete, text(5)));
    }
}

#[test]
fn a_length_limit_is_a_truncated_reply() {
    let bench = Bench::openai(|_| Script {
        finish_reason: "length",
        ..Script::default()
    });
    assert_eq!(bench.ask().outcome, Outcome::Truncated);
}

#[test]
fn a_content_filter_is_a_refusal() {
    let bench = Bench::openai(|_| Script {
        finish_reason: "content_filter",
        ..Script::default()
    });
    assert_eq!(bench.ask().outcome, Outcome::Refused);
}

#[test]
fn no_tokens_is_a_reply_without_a_first_token() {
    let bench = Bench::openai(|_| Script::words(0));
    let reply = bench.ask();
    assert_eq!(reply.outcome, Outcome::Complete);
    assert_eq!(reply.tokens.output, Some(0));
    assert_eq!(
        (reply.timing.first_token, reply.timing.chunks.len()),
        (None, 0)
    );
}

#[test]
fn a_connection_is_used_again() {
    let bench = Bench::openai(|_| Script::default());
    let first = bench.ask();
    let second = bench.ask();
    assert_eq!(first.exchange.connection_reused, Some(false));
    assert_eq!(second.exchange.connection_reused, Some(true));
    assert_eq!(second.timing.connected, None);
    let log = bench.service.log();
    assert_eq!(log[0].connection, log[1].connection);
}

#[test]
fn a_connection_that_was_closed_in_spite_of_keep_alive_costs_nothing() {
    let bench = Bench::openai(|_| Script {
        close_after: true,
        ..Script::default()
    });
    for _ in 0..5 {
        assert_eq!(bench.ask().outcome, Outcome::Complete);
    }
    assert_eq!(bench.service.requests(), 5);
}

#[test]
fn a_reused_connection_that_died_is_replaced_once_and_counted() {
    let bench = Bench::openai(|number| Script {
        fault: (number == 1).then_some(Fault::ResetBeforeHead),
        ..Script::default()
    });
    assert_eq!(bench.ask().exchange.connections_replaced, Some(0));
    let replaced = bench.ask();
    assert_eq!(replaced.outcome, Outcome::Complete);
    assert_eq!(replaced.exchange.connections_replaced, Some(1));
    assert_eq!(replaced.exchange.connection_reused, Some(false));
    assert!(replaced.timing.connected.is_some());
    assert_eq!(bench.service.requests(), 3);
}

#[test]
fn a_cancelled_query_keeps_what_came() {
    let bench = Bench::openai(|_| Script {
        fault: Some(Fault::HangAfter(2)),
        ..Script::words(6)
    });
    let reply = bench.ask_with(
        &Map::new(),
        Duration::from_mins(1),
        Some(Duration::from_millis(200)),
    );
    assert_eq!((reply.outcome, reply.answer), (Outcome::Cancelled, text(2)));
}

#[test]
fn a_model_that_the_service_lacks_is_a_warning_with_near_names() {
    let bench = Bench::openai(|_| Script::default());
    bench.runtime.block_on(async {
        assert!(bench.client.prepare("reference").await.unwrap().is_empty());
        let warnings = bench.client.prepare("referense").await.unwrap();
        assert!(warnings[0].contains("`referense`") && warnings[0].contains("`reference`"));
        assert_eq!(bench.client.models().await.unwrap(), ["reference"]);
    });
}

#[test]
fn unknown_ids_and_parameters_are_named() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let unknown = ClientSpec {
        id: "opneai".to_owned(),
        ..spec("openai", "http://x")
    };
    let error = connect(&unknown, Arc::clone(&clock))
        .err()
        .unwrap()
        .to_string();
    let start = "unknown client `opneai`; did you mean `openai`? (known: openai, ollama, ";
    assert!(error.starts_with(start), "{error}");
    let mut odd = spec("openai", "http://x");
    odd.params.insert("include_usages", "true");
    let error = connect(&odd, clock).err().unwrap().to_string();
    assert!(
        error.contains("`include_usages`") && error.contains("`include_usage`"),
        "{error}"
    );
}
