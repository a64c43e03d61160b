//! The client `ollama` against the reference service: requests, parsing, times.

use std::sync::Arc;
use std::time::Duration;

use ipw_clients::connect;
use ipw_core::reply::{Outcome, ServiceTiming, TokenSource};
use ipw_core::time::Clock;
use ipw_reference::{LineEnding, Options, Script, SendKind, Service, words};
use ipw_runner::SystemClock;
use serde_json::{Value, json};

use crate::bench::{Ask, Bench, PROMPT, runtime, send, spec, text};

#[test]
fn a_reply_comes_whole_with_the_services_own_counts_and_durations() {
    let bench = Bench::ollama(|_| Script {
        first_token: Duration::from_millis(20),
        gap: Duration::from_millis(5),
        extra_output_tokens: 1,
        ..Script::words(5)
    });
    let reply = bench.ask();
    assert_eq!((reply.outcome, reply.error), (Outcome::Complete, None));
    assert_eq!(reply.answer, text(5));
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!(
        (reply.tokens.input, reply.tokens.output),
        (Some(3), Some(6))
    );
    assert_eq!(reply.token_source, Some(TokenSource::Usage));
    let expected = ServiceTiming {
        queue: None,
        load: Some(Duration::ZERO),
        prompt: Some(Duration::from_millis(20)),
        decode: Some(Duration::from_millis(20)),
        total: Some(Duration::from_millis(40)),
    };
    assert_eq!(reply.service_timing, expected);
}

#[test]
fn the_request_holds_what_was_asked_for_and_nothing_else() {
    let bench = Bench::ollama(|_| Script::default());
    bench.ask();
    let received = &bench.service.log()[0].received;
    let expected = json!({
        "model": "reference",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": true,
    });
    assert_eq!(received.body, expected);
    assert_eq!(received.path, "/api/chat");
    assert_eq!(received.header("authorization"), None);
}

#[test]
fn parameters_go_by_ollamas_names_and_cannot_change_the_request_itself() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(Arc::clone(&clock), |_| Script::default()).unwrap();
    let mut spec = spec("ollama", &format!("{}/api", service.url()));
    spec.params.insert("keep_alive", "10m");
    let client = connect(&spec, clock).unwrap();
    let Value::Object(parameters) =
        json!({"temperature": 0, "max_tokens": 9, "stop": "x", "think": false, "stream": false})
    else {
        unreachable!()
    };
    let ask = Ask {
        parameters,
        ..Ask::default()
    };
    let reply = runtime().block_on(send(client.as_ref(), ask));
    assert_eq!(reply.outcome, Outcome::Complete);
    let expected = json!({
        "model": "reference",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": true,
        "think": false,
        "keep_alive": "10m",
        "options": {"temperature": 0, "num_predict": 9, "stop": ["x"]},
    });
    assert_eq!(service.log()[0].received.body, expected);
}

#[test]
fn stamps_come_in_order_and_never_before_the_service_sent() {
    let bench = Bench::ollama(|_| Script {
        first_token: Duration::from_millis(20),
        gap: Duration::from_millis(3),
        reasoning: words(2),
        ..Script::words(4)
    });
    let reply = bench.ask();
    assert_eq!(reply.reasoning.as_deref(), Some(text(2).as_str()));
    assert_eq!(reply.answer, text(4));
    let timing = &reply.timing;
    let order = [
        timing.start,
        timing.connected.unwrap(),
        timing.sent.unwrap(),
        timing.first_byte.unwrap(),
        timing.first_token.unwrap(),
        timing.first_answer_token.unwrap(),
        timing.end,
    ];
    assert!(order.is_sorted(), "{order:?}");
    let exchange = &bench.service.log()[0];
    let sends = exchange
        .of(SendKind::Reasoning)
        .chain(exchange.of(SendKind::Content));
    let sends: Vec<_> = sends.map(|send| send.at).collect();
    assert_eq!(sends.len(), timing.chunks.len());
    for (sent, chunk) in sends.iter().zip(&timing.chunks) {
        assert!(chunk >= sent, "stamped {chunk:?}, sent {sent:?}");
    }
}

#[test]
fn a_length_limit_is_a_truncated_reply_and_carriage_returns_change_nothing() {
    let bench = Bench::ollama(|_| Script {
        finish_reason: "length",
        line_ending: LineEnding::CrLf,
        ..Script::words(3)
    });
    let reply = bench.ask();
    assert_eq!((reply.outcome, reply.answer), (Outcome::Truncated, text(3)));
    assert_eq!(
        bench.ask().exchange.connection_reused,
        Some(true),
        "a connection is used again"
    );
}

#[test]
fn without_counters_the_chunks_are_counted() {
    let bench = Bench::ollama(|_| Script {
        usage: false,
        ..Script::words(4)
    });
    let reply = bench.ask();
    assert_eq!((reply.tokens.input, reply.tokens.output), (None, Some(4)));
    assert_eq!(reply.token_source, Some(TokenSource::Chunks));
    assert_eq!(reply.service_timing, ServiceTiming::default());
}

#[test]
fn a_model_that_is_not_pulled_is_a_warning_with_the_command_that_pulls_it() {
    let models = vec!["llama3.2:latest".to_owned(), "qwen3:0.6b".to_owned()];
    let options = Options {
        models,
        ..Options::default()
    };
    let bench = Bench::with("ollama", options, |_| Script::default());
    bench.runtime.block_on(async {
        let client = bench.client.as_ref();
        for pulled in ["llama3.2", "llama3.2:latest", "qwen3:0.6b"] {
            assert!(client.prepare(pulled).await.unwrap().is_empty(), "{pulled}");
        }
        for missing in ["qwen3", "llama3.2:1b"] {
            let warnings = client.prepare(missing).await.unwrap();
            assert!(
                warnings[0].contains(&format!("`ollama pull {missing}`")),
                "{warnings:?}"
            );
            assert!(warnings[0].contains("`qwen3:0.6b`"), "{warnings:?}");
        }
        let about = client.describe().await;
        assert!(about["version"].is_string(), "{about}");
        assert_eq!(about["models"], json!(["llama3.2:latest", "qwen3:0.6b"]));
    });
    assert!(
        bench
            .service
            .others()
            .contains(&"GET /api/version".to_owned())
    );
}

#[test]
fn what_is_not_ollama_is_told_apart() {
    // A path that the reference service does not have.
    let bench = Bench::ollama(|_| Script::default());
    let url = format!("{}/elsewhere", bench.service.url());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let client = connect(&spec("ollama", &url), clock).unwrap();
    let error = runtime().block_on(client.health()).unwrap_err();
    assert!(error.cause.contains("Ollama"), "{error:?}");
    assert!(error.help.unwrap().contains("client=openai"));
}
