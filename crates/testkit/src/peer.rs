//! Services that do what no service should: a test writes their replies byte by byte.

use std::io::{self, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::web::Asked;

/// The head of a stream of events without a length.
pub const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A list of one model.
pub const MODELS: &str = r#"{"object":"list","data":[{"id":"reference","object":"model"}]}"#;

/// A chunk of the chat completions API that says `text`.
pub fn chunk(text: &str) -> Vec<u8> {
    let event = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    format!("data: {event}\n\n").into_bytes()
}

/// A service over HTTP/1.1: model lists are answered as they should be, queries as the test wants.
/// Its threads end with the test's process.
#[derive(Debug)]
pub struct Peer {
    url: String,
}

impl Peer {
    /// Starts a service; `reply` writes what comes back for the query of that number, from 0.
    ///
    /// # Errors
    ///
    /// Without a free port.
    pub fn start(
        reply: impl Fn(u64, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let queries = AtomicU64::new(0);
        Self::listen(move |mut stream| {
            loop {
                if Asked::read(&mut BufReader::new(&stream))?
                    .what
                    .starts_with("GET")
                {
                    let length = MODELS.len();
                    write!(
                        stream,
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{MODELS}"
                    )?;
                    continue;
                }
                return reply(queries.fetch_add(1, Ordering::SeqCst), &mut stream);
            }
        })
    }

    /// Starts a service that does `serve` with every connection.
    ///
    /// # Errors
    ///
    /// Without a free port.
    pub fn listen(
        serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serve = Arc::clone(&serve);
                // A client that goes away is what most tests are about.
                std::thread::spawn(move || drop(serve(stream)));
            }
        });
        Ok(Self { url })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Writes `bytes` again and again until the client goes away.
///
/// # Errors
///
/// When it does.
pub fn without_end(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let flood = bytes.repeat((64 << 10) / bytes.len().max(1) + 1);
    loop {
        stream.write_all(&flood)?;
    }
}

/// What `work` returns, if it comes to an end within `limit`.
///
/// # Panics
///
/// When it does not, or panics itself.
#[expect(clippy::panic, reason = "a test that hangs must fail")]
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(limit) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => panic!("it did not end within {limit:?}"),
        Err(RecvTimeoutError::Disconnected) => panic!("it broke; see above"),
    }
}
