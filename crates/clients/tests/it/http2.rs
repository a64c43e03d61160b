//! The clients over HTTP/2, against `h2`'s own server and against given frames.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use ipw_clients::{Client, ClientSpec, Network, connect};
use ipw_core::reply::{Failure, Outcome, Reply};
use ipw_core::time::Clock;
use ipw_reference::{Options as Manners, Script};
use ipw_runner::SystemClock;

use crate::bench::{Ask, runtime, send, spec};
use crate::served::{Act, Asked, Options, Served, chat};

/// An HTTP/2 client and its service.
struct Pair {
    served: Served,
    client: Box<dyn Client>,
    runtime: tokio::runtime::Runtime,
    clock: Arc<dyn Clock>,
}

impl Pair {
    fn new(manner: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        Self::with(Options::default(), manner)
    }

    fn with(options: Options, manner: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let served = Served::start(options, Arc::clone(&clock), manner);
        let client = connect(&over_http2(&served.url()), Arc::clone(&clock)).unwrap();
        Self {
            served,
            client,
            runtime: runtime(),
            clock,
        }
    }

    fn ask(&self) -> Reply {
        self.ask_so(Ask::default())
    }

    fn ask_so(&self, ask: Ask) -> Reply {
        self.runtime.block_on(send(self.client.as_ref(), ask))
    }

    /// Sends this many queries at once.
    fn ask_all(&self, count: usize) -> Vec<Reply> {
        self.runtime.block_on(async {
            let asks = (0..count).map(|_| send(self.client.as_ref(), Ask::default()));
            futures_util::future::join_all(asks).await
        })
    }
}

fn over_http2(url: &str) -> ClientSpec {
    let network = Network {
        http2: true,
        ..Network::default()
    };
    ClientSpec {
        network,
        ..spec("openai", url)
    }
}

fn says(words: &[&str]) -> Act {
    Act::Says(chat(words))
}

fn replaced(reply: &Reply) -> (Option<bool>, Option<u32>) {
    let exchange = &reply.exchange;
    (exchange.connection_reused, exchange.connections_replaced)
}

#[test]
fn many_queries_share_one_connection_and_only_the_first_opens_it() {
    let pair = Pair::new(|_| Act::Together(8, chat(&["one", " two"])));
    let replies = pair.ask_all(8);
    for reply in &replies {
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.answer, "one two");
        assert_eq!(reply.timing.chunks.len(), 2);
    }
    assert_eq!(pair.served.connections(), 1);
    let new: Vec<_> = replies
        .iter()
        .filter(|reply| reply.exchange.connection_reused == Some(false))
        .collect();
    assert_eq!(new.len(), 1);
    let timing = &new[0].timing;
    let phases = [
        Some(timing.start),
        timing.tcp,
        timing.connected,
        timing.sent,
        timing.first_byte,
        timing.first_token,
        Some(timing.end),
    ];
    assert!(
        phases.iter().all(Option::is_some) && phases.is_sorted(),
        "{phases:?}"
    );
    let reply = pair.ask();
    let timing = &reply.timing;
    assert_eq!(replaced(&reply), (Some(true), Some(0)));
    assert_eq!(
        (timing.dns, timing.tcp, timing.connected),
        (None, None, None)
    );
    assert!(timing.sent.is_some() && timing.sent <= timing.first_byte);
}

#[test]
fn a_service_that_takes_two_streams_gets_as_many_connections_as_it_takes() {
    let options = Options {
        streams: Some(2),
        ..Options::default()
    };
    let pair = Pair::with(options, |_| Act::Together(8, chat(&["a"])));
    for reply in pair.ask_all(8) {
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.exchange.connections_replaced, Some(0));
    }
    assert_eq!(pair.served.connections(), 4);
    let asked = pair.served.asked();
    for connection in 0..4 {
        let on = asked.iter().filter(|one| one.connection == connection);
        assert_eq!(on.count(), 2);
    }
    // The connections are kept, so warming again opens none.
    pair.runtime.block_on(pair.client.warm(8)).unwrap();
    assert_eq!(pair.ask().outcome, Outcome::Complete);
    assert_eq!(pair.served.connections(), 4);
}

#[test]
fn warming_opens_a_connection_for_as_many_queries_as_it_carries() {
    for (streams, connections) in [(None, 1), (Some(3), 3)] {
        let options = Options {
            streams,
            ..Options::default()
        };
        let pair = Pair::with(options, |_| says(&["a"]));
        pair.runtime.block_on(pair.client.warm(8)).unwrap();
        let replies = pair.ask_all(8);
        assert_eq!(pair.served.connections(), connections);
        let is_reused = |reply: &Reply| reply.exchange.connection_reused == Some(true);
        assert!(replies.iter().all(is_reused));
    }
}

#[test]
fn a_refused_stream_is_sent_again_once_on_a_fresh_connection() {
    let pair = Pair::new(|asked| match asked.number {
        1 => Act::Resets(Reason::REFUSED_STREAM),
        _ => says(&["a"]),
    });
    assert_eq!(replaced(&pair.ask()), (Some(false), Some(0)));
    let reply = pair.ask();
    assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
    assert_eq!(replaced(&reply), (Some(false), Some(1)));
    assert!(reply.timing.connected > Some(reply.timing.start));
    assert!(reply.timing.sent >= reply.timing.connected);
    assert_eq!(pair.served.connections(), 2);
    assert_eq!(pair.served.asked().len(), 3);
}

#[test]
fn a_refusal_on_a_fresh_connection_and_a_second_one_are_rows() {
    let pair = Pair::new(|_| Act::Resets(Reason::REFUSED_STREAM));
    for (asked, expected) in [(1, (Some(false), Some(0))), (3, (Some(false), Some(1)))] {
        let reply = pair.ask();
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Reset));
        assert!(reply.error.as_ref().unwrap().contains("REFUSED_STREAM"));
        assert_eq!(replaced(&reply), expected);
        assert_eq!(pair.served.asked().len(), asked);
    }
}

#[test]
fn a_stream_that_is_reset_for_another_reason_is_not_sent_again() {
    let pair = Pair::new(|asked| match asked.number {
        1 => Act::Resets(Reason::INTERNAL_ERROR),
        _ => says(&["a"]),
    });
    pair.ask();
    let reply = pair.ask();
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Reset));
    let error = reply.error.unwrap();
    assert!(
        error.contains("reset the stream (INTERNAL_ERROR)"),
        "{error}"
    );
    assert_eq!(pair.ask().outcome, Outcome::Complete);
    assert_eq!(pair.served.connections(), 1);
}

#[test]
fn a_connection_that_dies_under_many_queries_is_replaced_by_one_for_all() {
    let pair = Pair::new(|asked| match (asked.connection, asked.number) {
        (0, 0) => says(&["a"]),
        (0, 8) => Act::Closes,
        (0, _) => Act::Together(1000, Vec::new()),
        _ => says(&["b"]),
    });
    pair.ask();
    let replies = pair.ask_all(8);
    for reply in &replies {
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.exchange.connections_replaced, Some(1));
    }
    assert_eq!(pair.served.connections(), 2);
    let new = |reply: &&Reply| reply.exchange.connection_reused == Some(false);
    assert_eq!(replies.iter().filter(new).count(), 1);
}

#[test]
fn a_service_that_says_goodbye_finishes_what_it_has_and_gets_a_new_connection() {
    let pair = Pair::new(|asked| match asked.number {
        2 => Act::SaysGoodbye(chat(&["a"])),
        _ => says(&["a"]),
    });
    for _ in 0..6 {
        let reply = pair.ask();
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.exchange.connections_replaced, Some(0));
    }
    assert_eq!(pair.served.connections(), 2);
}

#[test]
fn a_connection_that_closes_while_it_idles_is_seen_before_it_is_used() {
    let pair = Pair::new(|asked| match asked.number {
        0 => Act::SaysGoodbye(chat(&["a"])),
        _ => says(&["a"]),
    });
    pair.ask();
    // The connection is not driven meanwhile.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(replaced(&pair.ask()), (Some(false), Some(0)));
}

#[test]
fn a_reset_in_the_middle_of_a_reply_is_a_row_that_says_so() {
    let pair = Pair::new(|asked| match asked.number {
        0 => Act::ResetsAfter(chat(&["a", "b"])[..2].to_vec(), Reason::INTERNAL_ERROR),
        _ => says(&["a"]),
    });
    let reply = pair.ask();
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Closed));
    let error = reply.error.unwrap();
    assert!(
        error.contains("mid-reply") && error.contains("reset the stream (INTERNAL_ERROR)"),
        "{error}"
    );
    assert_eq!(
        (reply.answer.as_str(), reply.timing.chunks.len()),
        ("ab", 2)
    );
    // Other streams of the connection are unaffected.
    assert_eq!(replaced(&pair.ask()), (Some(true), Some(0)));
    assert_eq!(pair.served.connections(), 1);
}

#[test]
fn a_reset_without_a_fault_is_the_end_and_no_more() {
    let whole = Pair::new(|_| Act::ResetsAfter(chat(&["a"]), Reason::NO_ERROR));
    assert_eq!(whole.ask().outcome, Outcome::Complete);
    let half = Pair::new(|_| Act::ResetsAfter(chat(&["a"])[..1].to_vec(), Reason::NO_ERROR));
    let reply = half.ask();
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Closed));
    assert!(reply.error.unwrap().contains("in the middle of the reply"));
}

#[test]
fn a_head_beyond_our_bounds_is_refused_and_the_connection_goes_on() {
    for (count, size) in [(4, 100_000), (101, 8)] {
        let pair = Pair::new(move |asked| match asked.number {
            0 => Act::Heads(count, size),
            _ => says(&["a"]),
        });
        let reply = pair.ask();
        assert_eq!(reply.outcome, Outcome::Failed(Failure::NotAStream));
        assert!(reply.error.unwrap().contains("not HTTP/2"));
        assert_eq!(pair.ask().outcome, Outcome::Complete);
    }
}

#[test]
fn golden_streams_say_the_same_byte_by_byte_and_with_trailers() {
    for (golden, answer, output) in [
        (
            include_str!("../golden/openai/chat.sse"),
            "Grüße 😀",
            Some(10),
        ),
        (
            include_str!("../golden/llamacpp/chat.sse"),
            "One naïve answer.",
            Some(57),
        ),
    ] {
        let whole = vec![Bytes::from_static(golden.as_bytes())];
        let bytes: Vec<_> = golden.bytes().map(|byte| Bytes::from(vec![byte])).collect();
        for act in [
            Act::Says(whole.clone()),
            Act::Says(bytes.clone()),
            Act::Trails(whole),
            Act::Trails(bytes),
        ] {
            let pair = Pair::new(move |_| act.clone());
            for _ in 0..2 {
                let reply = pair.ask();
                assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
                assert_eq!(reply.answer, answer);
                assert_eq!(reply.tokens.output, output);
                assert!(reply.timing.chunks.is_sorted());
            }
            assert_eq!(pair.served.connections(), 1);
        }
    }
}

#[test]
fn ten_megabytes_are_not_held_up_by_our_windows() {
    let word = "w".repeat(10 << 20);
    let event = serde_json::json!({"choices": [{"index": 0, "delta": {"content": word}}]});
    let event = format!("data: {event}\n\n").into_bytes();
    let mut frames: Vec<_> = event.chunks(1 << 14).map(Bytes::copy_from_slice).collect();
    frames.extend(chat(&[]));
    let pair = Pair::new(move |_| Act::Says(frames.clone()));
    for reply in pair.ask_all(2) {
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(reply.answer.len(), 10 << 20);
    }
}

#[test]
fn errors_of_the_service_are_read_with_what_they_ask_for() {
    let pair = Pair::new(|_| Act::Status(429, r#"{"error": {"message": "slow down"}}"#));
    let reply = pair.ask();
    assert_eq!(reply.outcome, Outcome::Failed(Failure::Http(429)));
    assert_eq!(reply.error.unwrap(), "429: slow down");
    assert_eq!(reply.exchange.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(reply.exchange.status, Some(429));
}

#[test]
fn an_interim_head_is_the_first_byte_and_not_the_reply() {
    let pause = Duration::from_millis(80);
    let pair = Pair::new(move |_| Act::Interim(chat(&["a"]), pause));
    let reply = pair.ask();
    assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
    let (first, token) = (reply.timing.first_byte, reply.timing.first_token);
    assert!(token.unwrap().since(first.unwrap()) >= pause / 2);
}

#[test]
fn a_cancelled_query_reaches_the_service_and_the_connection_stays() {
    let pair = Pair::new(|asked| match asked.number {
        0 => Act::Hangs,
        _ => says(&["a"]),
    });
    let reply = pair.ask_so(Ask {
        cancel_after: Some(Duration::from_millis(50)),
        ..Ask::default()
    });
    assert_eq!(reply.outcome, Outcome::Cancelled);
    assert!(reply.timing.sent.is_some() && reply.timing.first_byte.is_some());
    assert_eq!(replaced(&pair.ask()), (Some(true), Some(0)));
    assert_eq!(pair.served.cancelled(), [(0, Reason::CANCEL)]);
}

#[test]
fn a_stamp_lies_between_what_was_sent_and_what_was_done_with_it() {
    let words = ["a", "b", "c", "d", "e"];
    let pair = Pair::new(move |_| Act::Paced(chat(&words), Duration::from_millis(10)));
    let replies = pair.ask_all(8);
    let now = pair.clock.now();
    let sent = pair.served.sent();
    let of = |number: usize| {
        let own = sent.iter().filter(move |(request, _)| *request == number);
        own.map(|(_, at)| *at).take(words.len()).collect::<Vec<_>>()
    };
    assert_eq!(pair.served.connections(), 1);
    for reply in &replies {
        assert_eq!(reply.timing.chunks.len(), words.len());
        assert!(reply.timing.chunks.is_sorted() && reply.timing.end <= now);
    }
    // In order of time, every stamp follows a send, on any stream.
    let mut stamps: Vec<_> = replies
        .iter()
        .flat_map(|reply| &reply.timing.chunks)
        .collect();
    let mut sends: Vec<_> = (0..8).flat_map(of).collect();
    stamps.sort_unstable();
    sends.sort_unstable();
    for (stamp, send) in stamps.into_iter().zip(&sends) {
        assert!(stamp >= send, "{stamp:?} before {send:?}");
    }
}

#[test]
fn what_goes_out_is_what_http_1_would_say_and_no_more() {
    let pair = Pair::new(|_| says(&["a"]));
    pair.ask();
    let asked = &pair.served.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    let mut names: Vec<_> = asked.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["accept", "content-length", "content-type", "user-agent"]
    );
}

/// A service with HTTP/1.1, and services that send other bytes.
#[test]
fn who_does_not_speak_it_is_told_and_so_is_what_to_do() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let start = |_: &ipw_reference::Received| Script::words(3);
    let http1 = ipw_reference::Service::start_with(Manners::default(), Arc::clone(&clock), start);
    let http1 = http1.unwrap();
    let hangs_up = written(Vec::new());
    let speaks_ssh = written(b"SSH-2.0-OpenSSH_9.2\r\n".repeat(10));
    for (url, says) in [
        (http1.url(), "HTTP/1.1"),
        (hangs_up, "does not speak HTTP/2"),
        (speaks_ssh, "does not speak HTTP/2"),
    ] {
        let client = connect(&over_http2(&url), Arc::clone(&clock)).unwrap();
        let runtime = runtime();
        let reply = runtime.block_on(send(client.as_ref(), Ask::default()));
        let error = reply.error.unwrap();
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Protocol), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(reply.timing.tcp.is_some() && reply.timing.connected.is_none());
        assert_eq!(reply.timing.sent, None);
        let error = runtime.block_on(client.health()).unwrap_err();
        assert!(error.cause.contains(says), "{error:?}");
        assert_eq!(error.help.as_deref(), Some("remove `http2`"));
        let error = runtime.block_on(client.models()).unwrap_err();
        assert_eq!(error.help.as_deref(), Some("remove `http2`"));
    }
}

#[test]
fn a_service_that_is_silent_is_no_connection() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut spec = over_http2(&url);
    spec.connect_timeout = Duration::from_millis(200);
    let client = connect(&spec, Arc::new(SystemClock::start())).unwrap();
    // Queries waiting for the same connection get the same error and do not wait again.
    let replies = runtime().block_on(async {
        let asks = (0..40).map(|_| send(client.as_ref(), Ask::default()));
        futures_util::future::join_all(asks).await
    });
    for reply in &replies {
        assert_eq!(reply.outcome, Outcome::Failed(Failure::Connect));
        let error = reply.error.as_ref().unwrap();
        assert!(error.contains("no HTTP/2 connection") && error.contains("200ms"));
    }
    drop(silent);
}

/// Every connection gets these bytes and is closed.
fn written(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(&bytes);
        }
    });
    url
}

/// A frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// Flag of DATA and HEADERS.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Flag of SETTINGS.
const ACK: u8 = 1;

/// A service that answers the first request of its first connection and rejects the second with
/// GOAWAY. On other connections it answers every request.
fn saying_farewell() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            std::thread::spawn(move || {
                stream.read_exact(&mut [0; 24])?;
                stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
                loop {
                    let mut head = [0; 9];
                    stream.read_exact(&mut head)?;
                    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                    let mut payload = vec![0; usize::try_from(length).unwrap()];
                    stream.read_exact(&mut payload)?;
                    match (head[3], head[4] & END_STREAM) {
                        (SETTINGS, 0) => stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
                        (HEADERS | DATA, END_STREAM) if number == 0 && id > 1 => {
                            let last = [0, 0, 0, 1, 0, 0, 0, 0];
                            stream.write_all(&frame(GOAWAY, 0, 0, &last))?;
                        }
                        (HEADERS | DATA, END_STREAM) => {
                            // `:status: 200`, from the static table.
                            let mut reply = frame(HEADERS, END_HEADERS, id, &[0x88]);
                            let body = chat(&["a"]).concat();
                            reply.extend(frame(DATA, END_STREAM, id, &body));
                            stream.write_all(&reply)?;
                        }
                        _ => {}
                    }
                }
                #[expect(unreachable_code, reason = "it says what `?` gives")]
                std::io::Result::Ok(())
            });
        }
    });
    url
}

#[test]
fn what_a_goodbye_leaves_out_is_sent_again_once() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let client = connect(&over_http2(&saying_farewell()), clock).unwrap();
    let runtime = runtime();
    let ask = || runtime.block_on(send(client.as_ref(), Ask::default()));
    for expected in [
        (Some(false), Some(0)),
        (Some(false), Some(1)),
        (Some(true), Some(0)),
    ] {
        let reply = ask();
        assert_eq!(reply.outcome, Outcome::Complete, "{:?}", reply.error);
        assert_eq!(replaced(&reply), expected);
    }
}
