//! A connection against services that write given bytes.

use ipw_runner::SystemClock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::*;

fn stamper() -> Arc<Stamper> {
    Arc::new(Stamper::new(Arc::new(SystemClock::start())))
}

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi";

/// The result of one exchange.
#[derive(Debug)]
struct Came {
    status: u16,
    body: Vec<u8>,
    /// Whether the connection is reusable.
    is_reusable: bool,
    timing: Timing,
}

async fn ask(ours: DuplexStream, request: &[u8]) -> Result<Came, HttpError> {
    let mut connection = Connection::new(Box::new(ours), stamper());
    let mut timing = Timing::begun(connection.stamper.now());
    let mut head = connection.exchange(request, &mut timing).await?;
    let mut body = Body::new(&mut head, connection);
    let mut collected = Vec::new();
    while let Some((bytes, _)) = body.next().await? {
        collected.extend_from_slice(bytes);
    }
    Ok(Came {
        status: head.status.code,
        body: collected,
        is_reusable: body.into_idle().is_some(),
        timing,
    })
}

/// Asks a service that reads the request, writes `pieces`, and then closes or waits.
fn exchange(pieces: &[&[u8]], closes: bool) -> Result<Came, HttpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = duplex(1 << 16);
        let serve = async {
            theirs.read_exact(&mut [0; REQUEST.len()]).await.unwrap();
            for piece in pieces {
                if theirs.write_all(piece).await.is_err() {
                    // The peer has closed its end.
                    return None;
                }
                tokio::task::yield_now().await;
            }
            if closes {
                drop(theirs);
                return None;
            }
            Some(theirs)
        };
        let (came, _still_open) = tokio::join!(ask(ours, REQUEST), serve);
        came
    })
}

#[test]
fn a_reply_is_the_same_however_it_is_framed_and_cut() {
    for (reply, closes, is_reusable) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            false,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            false,
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nhello", true, false),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello",
            true,
            false,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
            false,
            true,
        ),
    ] {
        let bytes: Vec<&[u8]> = reply.as_bytes().chunks(1).collect();
        for pieces in [vec![reply.as_bytes()], bytes] {
            let came = exchange(&pieces, closes).unwrap();
            assert_eq!(
                (came.status, came.body.as_slice()),
                (200, b"hello".as_slice()),
                "{reply}"
            );
            assert_eq!(came.is_reusable, is_reusable, "{reply}");
            assert!(came.timing.sent.unwrap() <= came.timing.first_byte.unwrap());
        }
    }
}

#[test]
fn what_comes_behind_a_reply_costs_the_connection_and_not_the_reply() {
    let came = exchange(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi!"], false).unwrap();
    assert_eq!(
        (came.body.as_slice(), came.is_reusable),
        (b"hi".as_slice(), false)
    );
}

#[test]
fn a_connection_that_breaks_says_how_far_it_was() {
    for (pieces, failure, says) in [
        (vec![], Failure::Reset, "before a reply"),
        (
            vec!["HTTP/1.1 200 OK\r\n"],
            Failure::Closed,
            "connection lost: ",
        ),
        (
            vec!["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"],
            Failure::Closed,
            "mid-reply",
        ),
        (
            vec!["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"],
            Failure::Closed,
            "mid-reply",
        ),
        (
            vec!["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n"],
            Failure::Closed,
            "mid-reply: a chunk",
        ),
        (
            vec!["220 mail.example.com ESMTP\r\n"],
            Failure::NotAStream,
            "not HTTP",
        ),
    ] {
        let pieces: Vec<&[u8]> = pieces.into_iter().map(str::as_bytes).collect();
        let error = exchange(&pieces, true).unwrap_err();
        assert_eq!(error.failure, failure, "{error}");
        assert!(error.text.contains(says), "{error}");
    }
}

#[test]
fn a_head_without_end_is_refused_and_takes_no_more_memory() {
    let line = [b"a: ".as_slice(), &vec![b'x'; 1 << 15], b"\r\n"].concat();
    let mut pieces: Vec<&[u8]> = vec![b"HTTP/1.1 200 OK\r\n"];
    pieces.extend(std::iter::repeat_n(line.as_slice(), 9));
    let error = exchange(&pieces, false).unwrap_err();
    assert_eq!(error.failure, Failure::NotAStream, "{error}");
}

#[test]
fn a_refusal_before_the_request_was_read_is_heard() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let came = runtime.block_on(async {
        let (ours, mut theirs) = duplex(64);
        let request = [REQUEST, &[b'x'; 10_000]].concat();
        let serve = async {
            theirs.read_exact(&mut [0; 16]).await.unwrap();
            let reply = b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
            theirs.write_all(reply).await.unwrap();
            theirs
        };
        tokio::join!(ask(ours, &request), serve).0.unwrap()
    });
    assert_eq!((came.status, came.is_reusable), (413, false));
}

#[test]
fn a_piece_has_the_stamp_of_its_own_read() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = duplex(1 << 16);
        let clock = stamper();
        let mut connection = Connection::new(Box::new(ours), Arc::clone(&clock));
        let mut timing = Timing::begun(clock.now());
        let chunks = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n";
        theirs.write_all(chunks).await.unwrap();
        let mut head = connection.exchange(REQUEST, &mut timing).await.unwrap();
        let mut body = Body::new(&mut head, connection);
        let (piece, first) = body.next().await.unwrap().unwrap();
        assert_eq!(piece, b"ab", "what one read brings is one piece");
        assert_eq!(Some(first.at), timing.first_byte);
        let between = clock.now();
        theirs.write_all(b"1\r\nc\r\n0\r\n\r\n").await.unwrap();
        let (piece, second) = body.next().await.unwrap().unwrap();
        assert_eq!(piece, b"c");
        assert!(second.at >= between);
        assert!(body.is_over(), "the end came in the same read");
    });
}
