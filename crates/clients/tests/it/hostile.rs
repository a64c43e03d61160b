//! Services that waste time or memory: each reply ends at a limit.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ipw_clients::{Client, ClientSpec, Network, connect};
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_runner::SystemClock;
use ipw_testkit::peer::{Peer, STREAM, chunk, within, without_end};

use crate::bench::{Ask, runtime, send, spec};
use crate::served::{Act, Options, Served, chat};

const SHORT: Duration = Duration::from_millis(400);
/// Stops tests that would never end; not a measure of speed.
const NEVER: Duration = Duration::from_secs(30);

fn client(spec: &ClientSpec) -> Box<dyn Client> {
    connect(spec, Arc::new(SystemClock::start())).unwrap()
}

/// Asks the service at `url` once.
fn ask(url: &str, ask: Ask) -> Reply {
    asks(&spec("openai", url), vec![ask]).remove(0)
}

/// Asks it many times at once, on one thread.
fn asks(spec: &ClientSpec, asks: Vec<Ask>) -> Vec<Reply> {
    let spec = spec.clone();
    within(NEVER, move || {
        let client = client(&spec);
        let asks = asks.into_iter().map(|ask| send(client.as_ref(), ask));
        runtime().block_on(futures_util::future::join_all(asks))
    })
}

fn flooding(first: Vec<u8>, flood: &'static [u8]) -> Peer {
    Peer::start(move |_, stream| {
        stream.write_all(STREAM)?;
        stream.write_all(&first)?;
        without_end(stream, flood)
    })
    .unwrap()
}

/// Limits and cancelling, each with its error text.
fn limits() -> [(Ask, Outcome, &'static str); 4] {
    let ask = || Ask {
        max_reply: u64::MAX,
        ..Ask::default()
    };
    [
        (
            Ask {
                timeout: SHORT,
                ..ask()
            },
            Outcome::TimedOut,
            "not finish within",
        ),
        (
            Ask {
                first_token_timeout: Some(SHORT),
                ..ask()
            },
            Outcome::TimedOut,
            "no token came",
        ),
        (
            Ask {
                idle_timeout: Some(SHORT),
                ..ask()
            },
            Outcome::TimedOut,
            "in the middle of the reply",
        ),
        (
            Ask {
                cancel_after: Some(SHORT),
                ..ask()
            },
            Outcome::Cancelled,
            "cancelled",
        ),
    ]
}

#[test]
fn a_flood_that_says_nothing_stops_no_limit_and_no_cancelling() {
    for (limit, outcome, says) in limits() {
        let first = match limit.idle_timeout {
            Some(_) => chunk("hello"),
            None => Vec::new(),
        };
        let kept = if first.is_empty() { "" } else { "hello" };
        let peer = flooding(first, b"\n");
        let reply = ask(peer.url(), limit);
        assert_eq!(reply.outcome, outcome, "{says}: {:?}", reply.error);
        assert!(reply.error.unwrap().contains(says));
        assert_eq!(reply.answer, kept, "{says}");
    }
}

#[test]
fn a_flood_in_http_2_stops_no_limit_and_no_cancelling() {
    for (limit, outcome, says) in limits() {
        let first = limit.idle_timeout.map(|_| chat(&["hello"]).remove(0));
        let served = Served::start(
            Options::default(),
            Arc::new(SystemClock::start()),
            move |_| Act::Floods(first.clone(), Bytes::from(vec![b'\n'; 16 << 10])),
        );
        let reply = asks(&over_http2(&served.url()), vec![limit]).remove(0);
        assert_eq!(reply.outcome, outcome, "{says}: {:?}", reply.error);
        assert!(reply.error.unwrap().contains(says));
    }
}

fn over_http2(url: &str) -> ClientSpec {
    ClientSpec {
        network: Network {
            http2: true,
            ..Network::default()
        },
        ..spec("openai", url)
    }
}

/// Leading zeros of a chunk's size could be sent without end.
#[test]
fn a_chunk_whose_size_never_ends_stops_no_limit() {
    let peer = Peer::start(|_, stream| {
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        without_end(stream, b"0")
    })
    .unwrap();
    let limit = Ask {
        timeout: SHORT,
        ..Ask::default()
    };
    assert_eq!(ask(peer.url(), limit).outcome, Outcome::TimedOut);
}

#[test]
fn queries_beside_a_flood_are_answered_before_it_ends() {
    let peer = Peer::start(|number, stream| {
        stream.write_all(STREAM)?;
        if number < 4 {
            return without_end(stream, b"\n");
        }
        for _ in 0..10 {
            stream.write_all(&chunk("word "))?;
            std::thread::sleep(Duration::from_millis(5));
        }
        done(stream)
    })
    .unwrap();
    let url = peer.url().to_owned();
    let (floods, good) = within(NEVER, move || {
        let client = client(&spec("openai", &url));
        runtime().block_on(async {
            let floods = (0..4).map(|_| {
                let ask = Ask {
                    timeout: 10 * SHORT,
                    max_reply: u64::MAX,
                    ..Ask::default()
                };
                send(client.as_ref(), ask)
            });
            let good = async {
                tokio::time::sleep(SHORT).await;
                send(client.as_ref(), Ask::default()).await
            };
            tokio::join!(futures_util::future::join_all(floods), good)
        })
    });
    assert_eq!(good.outcome, Outcome::Complete, "{:?}", good.error);
    for flood in floods {
        assert_eq!(flood.outcome, Outcome::TimedOut, "{:?}", flood.error);
        assert!(good.timing.end < flood.timing.end);
        let took = flood.timing.end.since(flood.timing.start);
        assert!(took < 30 * SHORT, "the limit is {:?}: {took:?}", 10 * SHORT);
    }
}

fn done(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    )
}

#[test]
fn what_comes_after_the_last_event_changes_nothing() {
    // Occasional bytes, and as many as the socket takes.
    for pause in [Duration::from_millis(20), Duration::ZERO] {
        let peer = Peer::start(move |_, stream| {
            stream.write_all(STREAM)?;
            stream.write_all(&chunk("hello"))?;
            done(stream)?;
            if pause.is_zero() {
                return without_end(stream, b"\n");
            }
            loop {
                stream.write_all(b"\n")?;
                std::thread::sleep(pause);
            }
        })
        .unwrap();
        let reply = ask(
            peer.url(),
            Ask {
                timeout: 2 * SHORT,
                ..Ask::default()
            },
        );
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.answer, "hello");
        let took = reply.timing.end.since(reply.timing.start);
        assert!(took < 2 * SHORT, "the end is that of the reply: {took:?}");
    }
}

#[test]
fn interim_heads_without_end_are_no_reply() {
    let peer = Peer::start(|_, stream| {
        without_end(stream, b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
    })
    .unwrap();
    let served = Served::start(Options::default(), Arc::new(SystemClock::start()), |_| {
        Act::Hints
    });
    for spec in [spec("openai", peer.url()), over_http2(&served.url())] {
        let reply = asks(&spec, vec![Ask::default()]).remove(0);
        let failed = Outcome::Failed(Failure::NotAStream);
        assert_eq!(reply.outcome, failed, "{:?}", reply.error);
        assert!(reply.error.unwrap().contains("interim heads"));
        assert!(reply.timing.first_byte.is_some());
    }
}

#[test]
fn a_few_interim_heads_are_passed_over() {
    let peer = Peer::start(|_, stream| {
        for _ in 0..60 {
            stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")?;
        }
        stream.write_all(STREAM)?;
        stream.write_all(&chunk("hello"))?;
        done(stream)
    })
    .unwrap();
    let reply = ask(peer.url(), Ask::default());
    assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
}

#[test]
fn a_reply_beyond_its_size_fails_and_keeps_what_came() {
    let flood = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    let peer = flooding(Vec::new(), flood);
    let served = Served::start(Options::default(), Arc::new(SystemClock::start()), |_| {
        Act::Floods(None, Bytes::from(flood.repeat(100)))
    });
    for spec in [spec("openai", peer.url()), over_http2(&served.url())] {
        let limit = Ask {
            max_reply: 1 << 20,
            ..Ask::default()
        };
        let reply = asks(&spec, vec![limit]).remove(0);
        let failed = Outcome::Failed(Failure::TooLarge);
        assert_eq!(reply.outcome, failed, "{:?}", reply.error);
        assert_eq!(reply.error.unwrap(), "the reply is larger than 1 MiB");
        let events = (1 << 20) / flood.len();
        assert!(reply.answer.len() > events - 10, "{}", reply.answer.len());
        assert!(reply.answer.len() < 2 * events, "{}", reply.answer.len());
    }
}

/// Settings for one stream, then the end.
#[test]
fn connections_that_end_as_soon_as_they_are_there_end_the_warm_up() {
    let peer = Peer::listen(|mut stream| {
        stream.read_exact(&mut [0; 24])?;
        stream.write_all(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1])?;
        stream.shutdown(Shutdown::Write)?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    })
    .unwrap();
    let spec = over_http2(peer.url());
    let warmed = within(NEVER, move || {
        let client = client(&spec);
        runtime().block_on(client.warm(8))
    });
    let error = warmed.unwrap_err();
    assert!(error.cause.contains("right after they opened"), "{error}");
    assert!(error.help.unwrap().contains("`http2`"));
}

/// Parsed as text, it would look like an empty reply.
#[test]
fn a_body_that_is_compressed_unasked_is_named() {
    for (status, header, coding, outcome) in [
        (
            "200 OK",
            "content-encoding: gzip",
            "gzip",
            Failure::NotAStream,
        ),
        ("200 OK", "content-encoding: br", "br", Failure::NotAStream),
        (
            "200 OK",
            "transfer-encoding: deflate",
            "deflate",
            Failure::NotAStream,
        ),
        (
            "503 Busy",
            "content-encoding: zstd",
            "zstd",
            Failure::Http(503),
        ),
    ] {
        let peer = Peer::start(move |_, stream| {
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\n{header}\r\nconnection: close\r\n\r\n"
            )?;
            stream.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 4, 0])
        })
        .unwrap();
        let reply = ask(peer.url(), Ask::default());
        assert_eq!(reply.outcome, Outcome::Failed(outcome), "{:?}", reply.error);
        let error = reply.error.unwrap();
        assert!(
            error.contains(&format!("compressed (`{coding}`)")),
            "{error}"
        );
        assert!(error.contains("turn compression off"), "{error}");
        assert!(error.contains(status), "{error}");
    }
}
