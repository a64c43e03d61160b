//! Connects to the first address that answers. Each gets a head start, so that an unresponsive
//! address does not delay the others (RFC 8305, but in the order of the system's resolver).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Delay before the next address is tried.
const HEAD_START: Duration = Duration::from_millis(250);

/// A socket to the first of `addresses` that answers, else the last error.
pub(super) async fn first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    if let [only] = addresses.as_slice() {
        return TcpStream::connect(only).await;
    }
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        } else if attempts.is_empty() {
            return Err(last);
        }
        let ended = match waiting.len() {
            0 => attempts.join_next().await,
            _ => match timeout(HEAD_START, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            },
        };
        match ended {
            Some(Ok(Ok(socket))) => return Ok(socket),
            Some(Ok(Err(error))) => last = error,
            Some(Err(error)) => last = io::Error::other(error),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    /// An address whose accept queue is full: connecting to it hangs.
    async fn dead() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(Ok(stream)) =
            timeout(Duration::from_millis(200), TcpStream::connect(address)).await
        {
            queue.push(stream);
            assert!(queue.len() < 64, "the queue never fills");
        }
        (address, listener, queue)
    }

    async fn refusing() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    #[test]
    fn an_address_that_hangs_or_refuses_does_not_hide_one_that_answers() {
        runtime().block_on(async {
            let live = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let good = live.local_addr().unwrap();
            let (dead, _listener, _queue) = dead().await;
            let refused = refusing().await;
            for addresses in [
                vec![good],
                vec![dead, good],
                vec![refused, good],
                vec![dead, refused, good],
                vec![refused, dead, good],
                vec![good, dead],
            ] {
                let limit = Duration::from_secs(30);
                let socket = timeout(limit, first(addresses.clone())).await;
                let socket = socket.expect("not in time").unwrap();
                assert_eq!(socket.peer_addr().unwrap(), good, "{addresses:?}");
            }
        });
    }

    #[test]
    fn without_an_answer_the_last_error_is_returned() {
        runtime().block_on(async {
            let refused = vec![refusing().await, refusing().await];
            let error = first(refused).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
            assert!(first(Vec::new()).await.is_err());
        });
    }
}
