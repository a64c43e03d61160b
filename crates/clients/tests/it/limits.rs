//! Time limits of one query: the whole, the first token, and silence between events.

use std::time::Duration;

use ipw_core::reply::Outcome;
use ipw_reference::{Fault, Script};

use crate::bench::{Ask, Bench, CLIENTS, text};

const SHORT: Duration = Duration::from_millis(200);

fn hanging(id: &str, fault: Fault) -> Bench {
    Bench::new(id, move |number| Script {
        fault: (number == 0).then(|| fault.clone()),
        ..Script::words(6)
    })
}

#[test]
fn each_limit_ends_what_hangs_and_keeps_what_came() {
    let whole = || Ask {
        timeout: SHORT,
        ..Ask::default()
    };
    let first_token = || Ask {
        first_token_timeout: Some(SHORT),
        ..Ask::default()
    };
    let idle = || Ask {
        idle_timeout: Some(SHORT),
        ..Ask::default()
    };
    for id in CLIENTS {
        for (fault, ask, answer, says) in [
            (Fault::HangBeforeHead, whole(), 0, "not finish within"),
            (Fault::HangAfter(2), whole(), 2, "not finish within"),
            (Fault::HangBeforeHead, first_token(), 0, "no token came"),
            (Fault::HangAfter(0), first_token(), 0, "no token came"),
            (Fault::HangAfter(2), idle(), 2, "in the middle of the reply"),
        ] {
            let shown = format!("{id}, {fault:?}, {says}");
            let bench = hanging(id, fault);
            let reply = bench.ask_so(ask);
            assert_eq!(reply.outcome, Outcome::TimedOut, "{shown}");
            assert_eq!(reply.answer, text(answer), "{shown}");
            let error = reply.error.unwrap();
            assert!(error.contains(says) && error.contains("200ms"), "{error}");
            let took = reply.timing.end.since(reply.timing.start);
            assert!(took >= SHORT, "{shown}: {took:?}");
            assert!(reply.timing.sent.is_some(), "{shown}");
            assert_eq!(bench.ask().outcome, Outcome::Complete, "after {shown}");
        }
    }
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let ample = Some(Duration::from_secs(30));
    for id in CLIENTS {
        let bench = Bench::new(id, |_| Script {
            fault: Some(Fault::Trickle(Duration::from_micros(50))),
            ..Script::words(4)
        });
        let reply = bench.ask_so(Ask {
            first_token_timeout: ample,
            idle_timeout: ample,
            ..Ask::default()
        });
        assert_eq!(reply.outcome, Outcome::Complete, "{id}: {:?}", reply.error);
        assert_eq!(reply.answer, text(4), "{id}");
        assert_eq!(reply.timing.chunks.len(), 4, "{id}");
    }
}

/// The idle limit applies between events: a long reply may take longer than the limit.
#[test]
fn a_reply_that_flows_may_take_longer_than_the_silence_allowed() {
    let limit = Duration::from_millis(600);
    for id in CLIENTS {
        let bench = Bench::new(id, |_| Script {
            gap: Duration::from_millis(60),
            ..Script::words(15)
        });
        let reply = bench.ask_so(Ask {
            first_token_timeout: Some(limit),
            idle_timeout: Some(limit),
            ..Ask::default()
        });
        assert_eq!(reply.outcome, Outcome::Complete, "{id}: {:?}", reply.error);
        let took = reply.timing.end.since(reply.timing.start);
        assert!(took > limit, "{id}: {took:?}");
    }
}
