//! Every fault has its documented effect.

use std::time::Duration;

use ipw_reference::{Fault, Script, SendKind, Service};
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE, Reply, ReplyEnd, always, question};

fn with(fault: Fault) -> Service {
    always(Script {
        fault: Some(fault),
        ..Script::default()
    })
}

fn ask(fault: Fault) -> (Service, Reply) {
    let service = with(fault);
    let reply = Client::connect(&service).ask(&question());
    (service, reply)
}

#[test]
fn a_status_comes_with_its_body_and_keeps_the_connection() {
    let service = with(Fault::Status(503, r#"{"error":"busy"}"#.to_owned()));
    let mut client = Client::connect(&service);
    for _ in 0..2 {
        let reply = client.ask(&question());
        assert_eq!(
            (reply.status, reply.json()),
            (503, json!({"error": "busy"}))
        );
    }
    assert_eq!(service.completed(), 2);
}

#[test]
fn a_reset_before_the_head_leaves_nothing() {
    let (service, reply) = ask(Fault::ResetBeforeHead);
    assert_eq!((reply.status, reply.ended), (0, ReplyEnd::Reset));
    let log = service.log();
    assert!(!log[0].completed && log[0].sends.is_empty());
}

#[test]
fn a_hang_ends_when_the_peer_closes() {
    for (fault, contents) in [(Fault::HangBeforeHead, 0), (Fault::HangAfter(3), 3)] {
        let service = with(fault);
        let mut client = Client::connect(&service);
        client.post("/v1/chat/completions", &question());
        if contents > 0 {
            client.wait_for("word2");
        }
        drop(client);
        let log = service.logged(1, PATIENCE);
        assert_eq!(log[0].of(SendKind::Content).count(), contents);
        assert!(!log[0].completed);
        assert_eq!((service.requests(), service.completed()), (1, 0));
    }
}

#[test]
fn a_hang_ends_when_the_service_is_dropped() {
    for fault in [Fault::HangBeforeHead, Fault::HangAfter(0)] {
        let service = with(fault);
        let mut client = Client::connect(&service);
        client.post("/v1/chat/completions", &question());
        while service.requests() == 0 {
            std::thread::yield_now();
        }
        drop(service);
        assert_ne!(client.reply().ended, ReplyEnd::Properly);
    }
}

#[test]
fn a_close_cuts_the_body() {
    let (service, reply) = ask(Fault::CloseAfter(2));
    assert_eq!(
        (reply.answer().as_str(), reply.ended),
        ("word0 word1", ReplyEnd::Closed)
    );
    let log = service.log();
    assert!(!log[0].completed);
    assert_eq!(log[0].of(SendKind::Content).count(), 2);
}

#[test]
fn a_reset_cuts_the_body() {
    let (service, reply) = ask(Fault::ResetAfter(2));
    assert_eq!(reply.ended, ReplyEnd::Reset);
    assert!(!service.log()[0].completed);
}

#[test]
fn an_error_event_ends_the_stream() {
    let (_service, reply) = ask(Fault::ErrorEventAfter(2, "out of memory".to_owned()));
    assert_eq!(
        (reply.answer().as_str(), &reply.ended),
        ("word0 word1", &ReplyEnd::Properly)
    );
    let last: Value = serde_json::from_str(reply.data().last().unwrap()).unwrap();
    assert_eq!(last["error"]["message"], "out of memory");

    let service = with(Fault::ErrorEventAfter(0, "gone".to_owned()));
    let reply = Client::connect(&service).ask_ollama(&question());
    assert_eq!(reply.objects(), [json!({"error": "gone"})]);
}

#[test]
fn garbage_is_not_json() {
    let (service, reply) = ask(Fault::Garbage);
    assert_eq!(reply.data().last(), Some(&"[DONE]"));
    assert_eq!(reply.objects().len(), 1, "only the role chunk");
    assert_eq!(service.log()[0].of(SendKind::Garbage).count(), 16);
}

#[test]
fn not_a_stream_is_a_whole_completion() {
    let (_service, reply) = ask(Fault::NotAStream);
    assert!(reply.head.contains("Content-Type: application/json\r\n"));
    assert_eq!(reply.json()["object"], "chat.completion");
}

#[test]
fn an_empty_stream_has_only_its_end() {
    let (service, reply) = ask(Fault::Empty);
    assert_eq!(reply.text(), "data: [DONE]\n\n");
    let reply = Client::connect(&service).ask_ollama(&question());
    let objects = reply.objects();
    assert_eq!((objects.len(), &objects[0]["done"]), (1, &json!(true)));
    assert_eq!(objects[0].get("eval_count"), None);
}

#[test]
fn a_huge_event_is_one_event() {
    let (_service, reply) = ask(Fault::HugeEvent(3_000_000));
    assert_eq!(reply.answer().len(), 3_000_000);
    assert_eq!(reply.objects().len(), 4, "role, content, finish and usage");
}

#[test]
fn a_trickle_is_the_same_stream_byte_by_byte() {
    let (_service, whole) = ask(Fault::Trickle(Duration::ZERO));
    let service = always(Script {
        fault: Some(Fault::Trickle(Duration::from_micros(1))),
        ..Script::words(2)
    });
    let reply = Client::connect(&service).ask(&question());
    assert_eq!(whole.answer().split(' ').count(), 16);
    assert_eq!(reply.answer(), "word0 word1");
    let exchange = &service.log()[0];
    assert!(exchange.completed);
    let writes = exchange.sends.windows(2);
    for pair in writes {
        assert!(pair[0].written <= pair[1].at, "pieces do not share writes");
    }
}

#[test]
fn invalid_utf8_is_in_the_first_content() {
    let (_service, reply) = ask(Fault::InvalidUtf8);
    assert_eq!(reply.ended, ReplyEnd::Properly);
    assert!(std::str::from_utf8(&reply.body).is_err());
    assert!(String::from_utf8_lossy(&reply.body).contains(r#"{"content":" word1"}"#));
}
