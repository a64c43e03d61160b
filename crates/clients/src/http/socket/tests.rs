//! Real sockets over loopback.

use std::sync::Arc;
use std::time::Duration;

use ipw_core::reply::{StampSource, Timing};
use ipw_core::time::{Clock, Timestamp};
use ipw_runner::SystemClock;
use nix::sys::socket::{TimestampingFlag, setsockopt, sockopt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::http::connection::{Body, Connection};
use crate::http::stamps::Stamper;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn pair() -> (TcpStream, TcpStream) {
    start_stamping();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap());
    let (ours, theirs) = tokio::join!(ours, listener.accept());
    let theirs = theirs.unwrap().0;
    theirs.set_nodelay(true).unwrap();
    (ours.unwrap(), theirs)
}

/// The reply's head, then two pieces that wait in the socket until this thread looks.
async fn exchange(
    ours: Socket,
    mut theirs: TcpStream,
    clock: &Arc<dyn Clock>,
) -> (Timing, Vec<(Timestamp, Timestamp)>) {
    let stamper = Arc::new(Stamper::new(Arc::clone(clock)));
    let mut connection = Connection::new(Box::new(ours), stamper);
    let mut timing = Timing::begun(clock.now());
    let serve = async {
        theirs.read_exact(&mut [0; 3]).await.unwrap();
        theirs.write_all(HEAD).await.unwrap();
        theirs
    };
    let (head, mut theirs) = tokio::join!(connection.exchange(b"ask", &mut timing), serve);
    let mut body = Body::new(&mut head.unwrap(), connection);
    let mut came = Vec::new();
    for piece in [b"one", b"two"] {
        let before = clock.now();
        theirs.write_all(piece).await.unwrap();
        // This thread is busy elsewhere.
        std::thread::sleep(Duration::from_millis(20));
        let (bytes, stamp) = body.next().await.unwrap().unwrap();
        assert_eq!(bytes, piece);
        timing.came(stamp);
        came.push((before, stamp.at));
    }
    (timing, came)
}

#[test]
fn bytes_that_waited_are_dated_by_their_arrival() {
    runtime().block_on(async {
        // The kernel begins to stamp a moment after the first socket asks for it.
        for attempt in 0.. {
            let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
            let (ours, theirs) = pair().await;
            let (timing, came) = exchange(Socket::new(ours), theirs, &clock).await;
            if timing.stamp_source != Some(StampSource::Kernel) && attempt < 50 {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            assert_eq!(timing.stamp_source, Some(StampSource::Kernel));
            for (written, stamped) in came {
                assert!(stamped >= written, "{stamped:?} is before {written:?}");
                let late = stamped.since(written);
                assert!(late < Duration::from_millis(20), "{late:?}");
            }
            break;
        }
    });
}

#[test]
fn without_the_control_message_the_read_counts_and_says_so() {
    runtime().block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let (ours, theirs) = pair().await;
        let socket = Socket::new(ours);
        setsockopt(
            &socket.socket,
            sockopt::Timestamping,
            &TimestampingFlag::empty(),
        )
        .unwrap();
        let (timing, came) = exchange(socket, theirs, &clock).await;
        assert_eq!(timing.stamp_source, Some(StampSource::Read));
        for (written, stamped) in came {
            let late = stamped.since(written);
            assert!(late >= Duration::from_millis(20), "{late:?}");
        }
    });
}
