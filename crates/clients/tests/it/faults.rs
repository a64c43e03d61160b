//! Faults: each is an outcome with an error text, and the next query still works.

use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use ipw_clients::connect;
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::time::Clock;
use ipw_reference::{Fault, Options, Script};
use ipw_runner::SystemClock;

use crate::bench::{Ask, Bench, CLIENTS, runtime, send, spec, text};

/// Asks a service that fails the first query, and checks that the second works.
fn first_reply(id: &str, fault: Fault) -> Reply {
    let bench = Bench::new(id, move |number| Script {
        fault: (number == 0).then(|| fault.clone()),
        gap: Duration::from_millis(2),
        ..Script::words(6)
    });
    let reply = bench.ask();
    assert!(reply.timing.end >= reply.timing.start);
    assert_eq!(bench.ask().outcome, Outcome::Complete, "{id}: the next one");
    reply
}

fn assert_fails(id: &str, fault: Fault, failure: Failure, says: &str) {
    let shown = format!("{id}, {fault:?}");
    let reply = first_reply(id, fault);
    let error = reply.error.unwrap_or_default();
    assert_eq!(reply.outcome, Outcome::Failed(failure), "{shown}: {error}");
    assert!(error.contains(says), "{shown}: {error}");
}

#[test]
fn each_fault_is_an_outcome_with_words() {
    for id in CLIENTS {
        let no_chat = match id {
            "openai" => "not a chat completion chunk",
            _ => "not part of a chat",
        };
        let error = Fault::ErrorEventAfter(2, "boom".to_owned());
        for (fault, failure, says) in [
            (Fault::CloseAfter(3), Failure::Closed, "mid-reply"),
            (Fault::ResetAfter(3), Failure::Closed, "mid-reply"),
            (error, Failure::Service, "boom"),
            (Fault::Garbage, Failure::BadEvent, no_chat),
            (Fault::InvalidUtf8, Failure::BadEvent, no_chat),
            (Fault::NotAStream, Failure::NotAStream, "application/json"),
            (Fault::Empty, Failure::Empty, "without a reply"),
        ] {
            assert_fails(id, fault, failure, says);
        }
    }
}

#[test]
fn each_status_is_told_with_what_the_service_says_of_it() {
    for id in CLIENTS {
        for status in [400, 401, 403, 404, 408, 429, 500, 503] {
            for (body, says) in [
                (
                    r#"{"error": {"message": "out of cheese"}}"#,
                    ": out of cheese",
                ),
                (r#"{"error": "no cheese"}"#, ": no cheese"),
                ("plain words", ": plain words"),
            ] {
                let fault = Fault::Status(status, body.to_owned());
                assert_fails(id, fault, Failure::Http(status), says);
            }
        }
    }
}

#[test]
fn what_came_before_the_fault_is_kept() {
    for id in CLIENTS {
        let reply = first_reply(id, Fault::CloseAfter(3));
        assert_eq!(reply.answer, text(3), "{id}");
        assert_eq!(reply.timing.chunks.len(), 3, "{id}");
        assert!(reply.timing.first_token.is_some(), "{id}");
    }
}

#[test]
fn a_fresh_connection_that_dies_is_a_failure_and_no_second_try() {
    for id in CLIENTS {
        let bench = Bench::new(id, |_| Script {
            fault: Some(Fault::ResetBeforeHead),
            ..Script::default()
        });
        let reply = bench.ask();
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Reset), "{id}");
        assert_eq!(bench.service.requests(), 1, "{id}");
    }
}

#[test]
fn ten_megabytes_in_one_event_are_accepted_and_more_than_the_limit_is_not() {
    for id in CLIENTS {
        let reply = first_reply(id, Fault::HugeEvent(10 << 20));
        assert_eq!(reply.outcome, Outcome::Complete, "{id}: {:?}", reply.error);
        assert_eq!(reply.answer.len(), 10 << 20, "{id}");
        assert_fails(id, Fault::HugeEvent(65 << 20), Failure::TooLarge, "64 MiB");
    }
}

#[test]
fn control_characters_are_kept_as_they_came() {
    let hostile = "a\0b\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}\r\n\u{9b}c";
    for id in CLIENTS {
        let bench = Bench::new(id, move |_| Script {
            tokens: Arc::from([hostile.to_owned()]),
            ..Script::default()
        });
        assert_eq!(bench.ask().answer, hostile, "{id}");
    }
}

fn ask_at(id: &str, url: &str) -> Reply {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let client = connect(&spec(id, url), clock).unwrap();
    runtime().block_on(send(client.as_ref(), Ask::default()))
}

/// An address without a listener.
fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn a_service_that_is_not_there_says_so() {
    for id in CLIENTS {
        let url = format!("http://{}", nowhere());
        let reply = ask_at(id, &url);
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Connect), "{id}");
        assert!(reply.error.unwrap().contains("cannot connect"), "{id}");
        assert_eq!(reply.timing.sent, None, "{id}");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let client = connect(&spec(id, &url), clock).unwrap();
        let error = runtime().block_on(client.health()).unwrap_err();
        assert!(error.cause.contains("cannot connect"), "{error:?}");
        assert!(error.help.unwrap().contains("`client_base_url`"));
    }
}

#[test]
fn a_name_without_an_address_says_so() {
    for id in CLIENTS {
        // RFC 2606: this domain never exists.
        let url = "http://nowhere.invalid:8080";
        if ipw_clients::proxy(url).is_some() {
            // Behind a proxy, the proxy reports that the name has no address.
            return;
        }
        let reply = ask_at(id, url);
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Dns), "{id}");
        assert!(reply.error.unwrap().contains("`nowhere.invalid`"), "{id}");
    }
}

#[test]
fn plain_text_where_tls_is_expected_says_so() {
    for id in CLIENTS {
        let bench = Bench::new(id, |_| Script::default());
        let url = bench.service.url().replace("http://", "https://");
        let reply = ask_at(id, &url);
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Tls), "{id}");
        assert!(reply.error.unwrap().contains("no TLS"), "{id}");
    }
}

#[test]
fn a_service_that_has_only_ipv6_is_reached() {
    let address = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    if TcpListener::bind(address).is_err() {
        // A machine without IPv6.
        return;
    }
    for id in CLIENTS {
        let options = Options {
            address,
            ..Options::default()
        };
        let bench = Bench::with(id, options, |_| Script::words(3));
        assert!(bench.client.base_url().contains("[::1]"));
        let reply = bench.ask();
        assert_eq!(reply.outcome, Outcome::Complete, "{id}: {:?}", reply.error);
    }
}
