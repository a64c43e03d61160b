//! A witness sees every step in order and does not change the reply.

use std::sync::Mutex;
use std::time::Duration;

use ipw_clients::{Canceller, ExchangeEvent, Request, Witness};
use ipw_core::query::Query;
use ipw_core::reply::{Outcome, Reply};
use ipw_reference::{Fault, RoleChunk, Script, words};
use serde_json::Map;

use crate::bench::{Bench, CLIENTS};

/// What was seen, one word for each sight.
#[derive(Default)]
struct Words(Mutex<Vec<String>>);

impl Witness for Words {
    fn saw(&self, sight: ExchangeEvent<'_>) {
        let word = match sight {
            ExchangeEvent::Resolved { .. } => "resolved".to_owned(),
            ExchangeEvent::Connected { peer, .. } => {
                format!("connected {}", peer.contains("127.0.0.1"))
            }
            ExchangeEvent::Tunnelled { .. } => "tunnelled".to_owned(),
            ExchangeEvent::Secured { .. } => "secured".to_owned(),
            ExchangeEvent::Carried { by, is_new, .. } => format!("by {by}, {is_new}"),
            ExchangeEvent::Asked { head, body } => {
                let is_whole = head.starts_with("POST ") && body.starts_with(b"{");
                format!("asked {is_whole}")
            }
            ExchangeEvent::Answered { status, .. } => format!("answered {status}"),
            ExchangeEvent::Read { .. } => return,
            ExchangeEvent::Event { meaning, .. } => {
                let mut said = vec!["event"];
                said.extend(meaning.reasoning.map(|_| "reasoning"));
                said.extend(meaning.answer.map(|_| "text"));
                said.extend(meaning.finish);
                said.extend(meaning.tokens.map(|(_, source)| source.label()));
                said.extend(meaning.timings.map(|_| "timings"));
                said.extend(meaning.is_last.then_some("last"));
                said.extend(meaning.is_fault.then_some("fault"));
                said.join(" ")
            }
        };
        self.0.lock().unwrap().push(word);
    }
}

fn ask(bench: &Bench, witness: &dyn Witness) -> Reply {
    let (_canceller, cancel) = Canceller::new();
    let query = Query::asking("three little words".to_owned());
    bench.runtime.block_on(bench.client.send(Request {
        query: &query,
        model: "reference",
        system: None,
        parameters: &Map::new(),
        timeout: Duration::from_mins(1),
        first_token_timeout: None,
        idle_timeout: None,
        max_reply: ipw_clients::MAX_REPLY,
        cancel,
        witness: Some(witness),
    }))
}

fn seen(bench: &Bench) -> (Reply, Vec<String>) {
    let words = Words::default();
    let reply = ask(bench, &words);
    (reply, words.0.into_inner().unwrap())
}

#[test]
fn an_exchange_is_seen_in_order_and_by_meaning() {
    let script = || Script {
        role_chunk: RoleChunk::RoleOnly,
        reasoning: words(1),
        ..Script::words(2)
    };
    let bench = Bench::openai(move |_| script());
    let (reply, first) = seen(&bench);
    assert_eq!(reply.outcome, Outcome::Complete);
    let expected = [
        "connected true",
        "by HTTP/1.1, true",
        "asked true",
        "answered 200 OK",
        "event",
        "event reasoning",
        "event text",
        "event text",
        "event stop",
        "event usage",
        "event last",
    ];
    assert_eq!(first, expected);
    // The second query uses the same connection.
    let (_, second) = seen(&bench);
    assert_eq!(second[0], "by HTTP/1.1, false");
    assert_eq!(second[1..], expected[2..]);
}

#[test]
fn the_last_line_of_ollama_says_several_things_at_once() {
    let bench = Bench::ollama(|_| Script::words(1));
    let (_, seen) = seen(&bench);
    assert_eq!(seen[4..], ["event text", "event stop usage timings last"]);
}

#[test]
fn a_reply_is_the_same_with_and_without_a_witness() {
    for id in CLIENTS {
        for fault in [None, Some(Fault::Garbage), Some(Fault::CloseAfter(2))] {
            let script = move |_| Script {
                fault: fault.clone(),
                ..Script::words(5)
            };
            let bench = Bench::new(id, script);
            let (watched, plain) = (seen(&bench).0, bench.ask());
            assert_eq!(watched.outcome, plain.outcome, "{id}");
            assert_eq!(watched.answer, plain.answer, "{id}");
            assert_eq!(watched.tokens, plain.tokens, "{id}");
            assert_eq!(watched.timing.chunks.len(), plain.timing.chunks.len());
        }
    }
}

#[test]
fn what_breaks_a_reply_is_seen_as_a_fault() {
    let bench = Bench::openai(|_| Script {
        fault: Some(Fault::ErrorEventAfter(1, "out of memory".to_owned())),
        ..Script::words(5)
    });
    let (reply, seen) = seen(&bench);
    assert!(!reply.outcome.is_answered());
    assert_eq!(seen.last().unwrap(), "event fault");
}
