//! Times of sends. Test machines are noisy: bounds are orderings, lower bounds and generous
//! medians. The figure itself is printed.

use std::time::Duration;

use ipw_reference::{Fault, Script, SendKind};

use crate::client::{Client, PATIENCE, always, question};

const FAR: Duration = Duration::from_hours(1);

#[test]
fn nothing_is_sent_before_it_is_due() {
    let script = Script {
        first_token: Duration::from_millis(40),
        gap: Duration::from_millis(3),
        ..Script::words(6)
    };
    let service = always(script.clone());
    Client::connect(&service).ask(&question());
    let log = service.log();
    let exchange = &log[0];
    for (index, send) in exchange.of(SendKind::Content).enumerate() {
        assert_eq!(send.due, exchange.arrived.after(script.due(index)));
    }
    for send in &exchange.sends {
        assert!(send.due <= send.at && send.at <= send.written);
    }
    assert!(exchange.sends.is_sorted_by_key(|send| send.at));
    let done = exchange.of(SendKind::Done).next().unwrap();
    assert!(done.at.since(exchange.arrived) >= script.duration());
    let head = exchange.of(SendKind::Head).next().unwrap();
    assert_eq!(
        head.due, exchange.arrived,
        "the head does not wait for the first token"
    );
}

#[test]
fn chunks_leave_close_to_their_schedule() {
    let service = always(Script {
        first_token: Duration::from_millis(5),
        gap: Duration::from_millis(2),
        ..Script::words(200)
    });
    Client::connect(&service).ask(&question());
    let log = service.log();
    let mut lateness: Vec<Duration> = log[0]
        .of(SendKind::Content)
        .map(|send| send.at.since(send.due))
        .collect();
    assert_eq!(lateness.len(), 200);
    lateness.sort();
    eprintln!(
        "late by {:?} (p50), {:?} (p95)",
        lateness[100], lateness[190]
    );
    assert!(lateness[100] < Duration::from_millis(2));
}

#[test]
fn what_is_due_together_leaves_in_one_write() {
    let service = always(Script::default());
    Client::connect(&service).ask(&question());
    let log = service.log();
    let first = log[0].sends[0];
    assert_eq!(log[0].sends.len(), 1 + 1 + 16 + 3);
    for send in &log[0].sends {
        assert_eq!((send.at, send.written), (first.at, first.written));
    }
}

#[test]
fn a_whole_completion_waits_for_its_last_token() {
    let script = Script {
        first_token: Duration::from_millis(4),
        gap: Duration::from_millis(1),
        fault: Some(Fault::NotAStream),
        ..Script::words(4)
    };
    let service = always(script.clone());
    Client::connect(&service).ask(&question());
    let log = service.log();
    assert!(log[0].sends[0].at.since(log[0].arrived) >= script.duration());
}

#[test]
fn a_peer_that_leaves_is_noticed_while_the_first_token_is_far() {
    let service = always(Script {
        first_token: FAR,
        ..Script::default()
    });
    let mut client = Client::connect(&service);
    client.post("/v1/chat/completions", &question());
    client.wait_for("assistant");
    drop(client);
    let log = service.logged(1, PATIENCE);
    assert_eq!(log.len(), 1);
    assert!(!log[0].completed);
    assert_eq!(log[0].of(SendKind::Content).count(), 0);
}

#[test]
fn a_drop_does_not_wait_for_the_schedule() {
    let service = always(Script {
        first_token: FAR,
        ..Script::default()
    });
    let mut waiting = Client::connect(&service);
    waiting.post("/v1/chat/completions", &question());
    waiting.wait_for("assistant");
    let mut pipelining = Client::connect(&service);
    pipelining.post("/v1/chat/completions", &question());
    pipelining.post("/v1/chat/completions", &question());
    pipelining.wait_for("assistant");
    let mut idle = Client::connect(&service);
    idle.get("/health");
    drop(service);
    idle.end();
}
