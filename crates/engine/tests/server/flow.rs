//! Order: tokens as they are made, requests in line, clients that leave, and the end.

use std::net::TcpStream;
use std::time::Duration;

use ipw_engine::server::Limits;
use ipw_testkit::tiny_model::TinyModel;
use serde_json::{Value, json};

use crate::harness::{Connection, Running, chat, events};

const CHAT: &str = "/v1/chat/completions";

fn limited(limits: Limits) -> Running {
    Running::with(&TinyModel::default(), |server| server.with_limits(limits))
}

/// A request for a stream of `tokens` tokens, not read yet.
fn streaming(server: &Running, tokens: u64) -> Connection {
    let mut connection = server.connect();
    let asked = json!({ "stream": true, "max_tokens": tokens, "ignore_eos": true });
    connection.send("POST", CHAT, "", &chat(&asked).to_string());
    connection
}

/// The next event of a stream, which is one piece of the body.
fn event(connection: &mut Connection) -> Option<Value> {
    let chunk = String::from_utf8(connection.chunk()?).unwrap();
    let mut events = events(&chunk);
    assert_eq!(events.len(), 1, "{chunk}");
    events.pop()
}

fn has_text(event: &Value) -> bool {
    event["choices"][0]["delta"]["content"]
        .as_str()
        .is_some_and(|text| !text.is_empty())
}

/// Reads the head and the first `texts` events with text.
fn begin(connection: &mut Connection, texts: usize) {
    let (status, head) = connection.head();
    assert_eq!(status, 200, "{head}");
    let events = std::iter::from_fn(|| event(connection));
    assert_eq!(events.filter(has_text).take(texts).count(), texts);
}

#[test]
fn text_arrives_while_the_reply_is_still_being_made() {
    let server = Running::start();
    server.clock.permit(40);
    let mut connection = streaming(&server, 80);
    // The engine stands still in the middle: what is here now did not wait for the end.
    begin(&mut connection, 5);
    assert!(server.clock.looks() <= 40);
    server.clock.permit(u64::MAX);
    let rest: Vec<_> = std::iter::from_fn(|| event(&mut connection)).collect();
    assert!(rest.iter().any(has_text));
    assert_eq!(rest.last().unwrap(), "[DONE]");
}

#[test]
fn requests_at_once_wait_in_line_and_are_all_answered() {
    let server = Running::start();
    server.clock.permit(0);
    let mut first = streaming(&server, 10);
    let asked = chat(&json!({ "max_tokens": 10, "ignore_eos": true })).to_string();
    let mut others = [server.connect(), server.connect(), server.connect()];
    for other in &mut others {
        other.send("POST", CHAT, "", &asked);
    }
    // What needs no engine does not wait for it.
    assert_eq!(server.get("/health").status, 200);
    server.clock.permit(u64::MAX);
    assert_eq!(first.answer("POST").events().last().unwrap(), "[DONE]");
    let answers = others.map(|mut other| other.answer("POST").json()["choices"].clone());
    assert!(answers[0][0]["message"]["content"].is_string());
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn a_client_that_leaves_does_not_keep_the_engine() {
    const TOKENS: u64 = 20_000;
    let model = TinyModel {
        context: 32_000,
        ..TinyModel::default()
    };
    let server = Running::with(&model, |server| server);
    // In the middle of a stream, before its first token, and before a whole reply.
    let mut streamed = streaming(&server, TOKENS);
    begin(&mut streamed, 1);
    server.clock.permit(20);
    let waiting = streaming(&server, TOKENS);
    let mut whole = server.connect();
    let asked = json!({ "max_tokens": TOKENS, "ignore_eos": true });
    whole.send("POST", CHAT, "", &chat(&asked).to_string());
    drop((streamed, waiting, whole));
    server.clock.permit(u64::MAX);
    let answer = server.chat(&json!({ "max_tokens": 5, "ignore_eos": true }));
    assert_eq!(answer.json()["usage"]["completion_tokens"], 5);
    // Every token is a look at the clock: had one of them gone on, there would be more.
    assert!(server.clock.looks() < TOKENS, "{}", server.clock.looks());
}

#[test]
fn a_connection_is_used_again() {
    let server = Running::start();
    let mut connection = server.connect();
    let asked = json!({ "max_tokens": 3, "ignore_eos": true, "stream": true });
    for _ in 0..3 {
        assert_eq!(connection.ask("GET", "/health", "", "").status, 200);
        let answer = connection.ask("POST", CHAT, "", &chat(&asked).to_string());
        assert_eq!(answer.events().last().unwrap(), "[DONE]");
        assert_eq!(connection.ask("POST", CHAT, "", "{").status, 400);
        assert_eq!(connection.ask("GET", "/nowhere", "", "").status, 404);
    }
}

#[test]
fn one_connection_too_many_is_told_so() {
    let server = limited(Limits {
        connections: 2,
        ..Limits::default()
    });
    let mut held = [server.connect(), server.connect()];
    for connection in &mut held {
        assert_eq!(connection.ask("GET", "/health", "", "").status, 200);
    }
    let mut third = server.connect();
    let refused = third.ask("GET", "/health", "", "");
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"]["code"], "too_many_connections");
    assert!(
        refused.head.contains("connection: close"),
        "{}",
        refused.head
    );
    assert_eq!(third.rest(), "");
    // A place that becomes free is given to the next who asks.
    drop(held);
    while server.get("/health").status == 503 {}
}

#[test]
fn an_idle_connection_is_closed() {
    let server = limited(Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    });
    let mut silent = server.connect();
    assert_eq!(silent.rest(), "");
    let mut slow = server.connect();
    slow.write(b"GET /health HTTP/1.1\r\nHos");
    let _ = slow.rest();
    let mut used = server.connect();
    assert_eq!(used.ask("GET", "/health", "", "").status, 200);
    assert_eq!(used.rest(), "");
}

#[test]
fn told_to_stop_it_ends_what_it_has_begun_and_begins_nothing() {
    let mut server = Running::start();
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET", "/health", "", "").status, 200);
    let mut silent = server.connect();
    server.clock.permit(30);
    let mut connection = streaming(&server, 60);
    begin(&mut connection, 1);
    server.stop();
    // Those who wait for nothing are sent away at once, while the reply is still held.
    assert_eq!((idle.rest(), silent.rest()), (String::new(), String::new()));
    assert!(TcpStream::connect(server.address).is_err());
    server.clock.permit(u64::MAX);
    let rest: Vec<_> = std::iter::from_fn(|| event(&mut connection)).collect();
    assert_eq!(rest.last().unwrap(), "[DONE]");
    server.join();
}

#[test]
fn told_to_stop_it_does_not_wait_for_ever() {
    let limits = Limits {
        grace: Duration::from_millis(50),
        ..Limits::default()
    };
    let mut server = limited(limits);
    server.clock.permit(30);
    let mut connection = streaming(&server, 60);
    begin(&mut connection, 1);
    server.stop();
    server.join();
    assert!(!connection.rest().contains("[DONE]"));
    server.clock.permit(u64::MAX);
}
