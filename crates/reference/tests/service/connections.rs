//! Connections, requests other than chats, and the log.

use std::thread;

use ipw_reference::{Options, Script, Service};
use serde_json::json;

use crate::client::{Client, ReplyEnd, always, clock, question, serve};

#[test]
fn keep_alive_serves_several_requests() {
    let service = serve(|received| Script::words(1 + usize::try_from(received.number).unwrap()));
    let mut client = Client::connect(&service);
    assert_eq!(client.ask(&question()).answer(), "word0");
    assert_eq!(client.ask(&question()).answer(), "word0 word1");
    assert_eq!(
        Client::connect(&service).ask(&question()).answer(),
        "word0 word1 word2"
    );
    let log = service.log();
    let connections: Vec<u64> = log.iter().map(|exchange| exchange.connection).collect();
    assert_eq!(connections, [0, 0, 1]);
    assert!(log.iter().all(|exchange| exchange.completed));
    assert!(log.is_sorted_by_key(|exchange| exchange.arrived));
    assert_eq!((service.requests(), service.completed()), (3, 3));
}

#[test]
fn requests_may_be_pipelined() {
    let service = always(Script::default());
    let mut client = Client::connect(&service);
    for _ in 0..3 {
        client.post("/v1/chat/completions", &question());
    }
    for _ in 0..3 {
        assert_eq!(client.reply().ended, ReplyEnd::Properly);
    }
    assert_eq!(service.completed(), 3);
}

#[test]
fn the_request_is_kept_as_received() {
    let service = always(Script::default());
    let mut client = Client::connect(&service);
    client.write(b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nauthorization: Bearer k\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.write(b"5;note=x\r\n{\"a\":\r\n2\r\n1}\r\n");
    client.write(b"0\r\nTrailer: t\r\n\r\n");
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.ask(&question()).status, 200);
    let log = service.log();
    assert_eq!(log[0].received.body, json!({"a": 1}));
    assert_eq!(log[0].received.path, "/v1/chat/completions");
    assert_eq!(log[0].received.header("Authorization"), Some("Bearer k"));
    assert_eq!(log[1].received.body, question());
}

#[test]
fn a_large_prompt_arrives_whole() {
    let service = always(Script::words(1));
    let prompt = "word ".repeat(200_000);
    let body = json!({"messages": [{"role": "user", "content": prompt}]});
    let completion = Client::connect(&service).ask(&body).json();
    assert_eq!(completion["usage"]["prompt_tokens"], 200_000);
}

#[test]
fn close_after_breaks_the_promise_of_keep_alive() {
    let service = always(Script {
        close_after: true,
        ..Script::default()
    });
    let mut client = Client::connect(&service);
    let reply = client.ask(&question());
    assert_eq!(reply.ended, ReplyEnd::Properly);
    assert!(reply.head.contains("Keep-Alive: timeout=5"));
    assert!(!reply.head.contains("Connection: close"));
    assert_eq!(client.end(), ReplyEnd::Closed);
}

#[test]
fn a_client_that_asks_to_close_is_obeyed() {
    let service = always(Script::default());
    for head in ["HTTP/1.1\r\nConnection: close", "HTTP/1.0"] {
        let mut client = Client::connect(&service);
        client.write(
            format!("POST /v1/chat/completions {head}\r\nContent-Length: 2\r\n\r\n{{}}").as_bytes(),
        );
        let reply = client.reply();
        assert!(reply.head.contains("Connection: close\r\n"));
        assert_eq!(client.end(), ReplyEnd::Closed);
    }
}

#[test]
fn a_long_body_is_invited() {
    let service = always(Script::default());
    let mut client = Client::connect(&service);
    client.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n",
    );
    client.wait_for("HTTP/1.1 100 Continue\r\n\r\n");
    client.write(b"{}");
    assert_eq!(client.reply().status, 200);
}

#[test]
fn what_is_no_chat_can_be_refused_while_chats_are_not() {
    let options = Options {
        question_status: Some(401),
        ..Options::default()
    };
    let service = Service::start_with(options, clock(), |_| Script::default()).unwrap();
    let mut client = Client::connect(&service);
    for path in ["/v1/models", "/api/version"] {
        assert_eq!(client.get(path).status, 401, "{path}");
    }
    assert_eq!(client.ask(&json!({})).status, 200);
}

#[test]
fn what_is_no_chat_is_answered_and_noted() {
    let options = Options {
        models: vec!["a".to_owned(), "b".to_owned()],
        ..Options::default()
    };
    let service = Service::start_with(options, clock(), |_| Script::default()).unwrap();
    let mut client = Client::connect(&service);
    let models = client.get("/v1/models").json();
    assert_eq!(
        (&models["data"][0]["id"], &models["data"][1]["id"]),
        (&json!("a"), &json!("b"))
    );
    assert_eq!(client.get("/api/tags").json()["models"][1]["name"], "b");
    assert!(client.get("/api/version").json()["version"].is_string());
    assert_eq!(client.get("/health").status, 200);
    assert_eq!(client.get("/nowhere").status, 404);
    let others = [
        "GET /v1/models",
        "GET /api/tags",
        "GET /api/version",
        "GET /health",
        "GET /nowhere",
    ];
    assert_eq!(service.others(), others);
    assert_eq!((service.requests(), service.log().len()), (0, 0));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let service = always(Script::default());
    let mut client = Client::connect(&service);
    client.write(b"POST /api/chat HTTP/1.1\r\nContent-Length: 3\r\n\r\n{a}");
    assert_eq!(client.reply().status, 400);
    assert_eq!(client.ask(&question()).status, 200);
    client.write(b"\x16\x03\x01 this is TLS\r\n\r\n");
    assert_eq!(client.reply().status, 400);
    assert_eq!(client.end(), ReplyEnd::Closed);
    assert_eq!(service.requests(), 1);
}

#[test]
fn the_log_can_be_off_and_the_counters_still_count() {
    let options = Options {
        log: false,
        ..Options::default()
    };
    let service = Service::start_with(options, clock(), |_| Script::default()).unwrap();
    Client::connect(&service).ask(&question());
    assert_eq!(
        (service.requests(), service.completed(), service.log().len()),
        (1, 1, 0)
    );
}

#[test]
fn many_connections_at_once_are_served_and_logged_in_order() {
    let service = always(Script::default());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut clients: Vec<_> = (0..32).map(|_| Client::connect(&service)).collect();
                for client in &mut clients {
                    assert_eq!(client.ask(&question()).ended, ReplyEnd::Properly);
                }
            });
        }
    });
    let numbers: Vec<u64> = service
        .log()
        .iter()
        .map(|exchange| exchange.received.number)
        .collect();
    assert_eq!(numbers, (0..256).collect::<Vec<_>>());
}
