//! The client `anthropic` against documented replies: its requests and its parsing.

use std::io::Write as _;
use std::sync::Arc;

use ipw_clients::{Client, ClientError, ClientSpec, KeySource, connect};
use ipw_core::reply::{Failure, Outcome, Reply, TokenSource};
use ipw_core::time::Clock;
use ipw_runner::SystemClock;
use serde_json::{Map, Value, json};

use crate::bench::{Ask, PROMPT, runtime, send, spec};
use crate::scripted::{Answer, JSON, STREAM, Scripted};

const MODELS: Answer = (
    200,
    JSON,
    r#"{"data":[{"type":"model","id":"claude-sonnet-4-5","display_name":"Claude Sonnet 4.5","created_at":"2025-09-29T00:00:00Z"}],"has_more":false,"first_id":"claude-sonnet-4-5","last_id":"claude-sonnet-4-5"}"#,
);
const ANSWERS: &[(&str, Answer)] = &[
    ("GET /v1/models", MODELS),
    (
        "POST /v1/messages",
        (200, STREAM, include_str!("../golden/anthropic/text.sse")),
    ),
];

fn made(spec: &ClientSpec) -> Box<dyn Client> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    connect(spec, clock).unwrap()
}

fn ask(client: &dyn Client, system: Option<&'static str>, parameters: Value) -> Reply {
    let Value::Object(parameters) = parameters else {
        unreachable!("{parameters}")
    };
    let ask = Ask {
        system,
        parameters,
        ..Ask::default()
    };
    runtime().block_on(send(client, ask))
}

#[test]
fn a_reply_comes_whole_with_the_services_own_counts() {
    let service = Scripted::start(ANSWERS);
    let client = made(&spec("anthropic", &service.url()));
    let reply = ask(client.as_ref(), None, json!({"max_tokens": 64}));
    assert_eq!((reply.outcome, reply.error), (Outcome::Complete, None));
    assert_eq!(reply.answer, "Grüße 😀!");
    assert_eq!(reply.tokens.input, Some(2125));
    assert_eq!(reply.token_source, Some(TokenSource::Usage));
    assert!(reply.timing.first_token.is_some());
}

#[test]
fn the_request_holds_what_was_asked_for_and_what_the_api_wants() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"very-secret\n").unwrap();
    let service = Scripted::start(ANSWERS);
    let mut asked = spec("anthropic", &format!("{}/v1/messages", service.url()));
    asked.key = KeySource::File(file.path().to_owned());
    let client = made(&asked);
    let parameters = json!({
        "max_completion_tokens": 64, "stop": "x", "temperature": 0, "system": "no", "stream": false,
    });
    let reply = ask(client.as_ref(), Some("be brief"), parameters);
    assert_eq!(reply.outcome, Outcome::Complete);
    let received = &service.asked()[0];
    let expected = json!({
        "model": "reference",
        "max_tokens": 64,
        "system": "be brief",
        "messages": [{"role": "user", "content": PROMPT}],
        "stop_sequences": ["x"],
        "temperature": 0,
        "stream": true,
    });
    assert_eq!(received.body, expected);
    assert_eq!(received.header("x-api-key"), Some("very-secret"));
    assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(received.header("authorization"), None);
}

#[test]
fn without_a_limit_nothing_is_sent_and_the_error_says_which() {
    let service = Scripted::start(ANSWERS);
    let asked = spec("anthropic", &service.url());
    let error = ipw_clients::check(&asked, None, &Map::new()).unwrap_err();
    assert!(matches!(
        error,
        ClientError::Required {
            name: "max_tokens",
            ..
        }
    ));
    assert!(error.to_string().contains("param=max_tokens="), "{error}");
    let reply = ask(made(&asked).as_ref(), None, json!({}));
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Parameter));
    assert!(reply.error.unwrap().contains("`max_tokens`"));
    assert!(service.asked().is_empty());
}

#[test]
fn its_models_are_listed_and_one_that_is_not_is_a_warning() {
    let service = Scripted::start(ANSWERS);
    let client = made(&spec("anthropic", &service.url()));
    runtime().block_on(async {
        client.health().await.unwrap();
        assert_eq!(client.models().await.unwrap(), ["claude-sonnet-4-5"]);
        assert!(
            client
                .prepare("claude-sonnet-4-5")
                .await
                .unwrap()
                .is_empty()
        );
        let warnings = client.prepare("claude-sonet").await.unwrap();
        assert!(warnings[0].contains("`claude-sonnet-4-5`"), "{warnings:?}");
        assert_eq!(
            client.describe().await["models"],
            json!(["claude-sonnet-4-5"])
        );
    });
}

#[test]
fn an_overload_is_a_status_with_its_words() {
    let service = Scripted::start(&[(
        "POST /v1/messages",
        (
            529,
            JSON,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
    )]);
    let client = made(&spec("anthropic", &service.url()));
    let reply = ask(client.as_ref(), None, json!({"max_tokens": 64}));
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Http(529)));
    assert!(reply.error.unwrap().contains(": Overloaded"));
}
