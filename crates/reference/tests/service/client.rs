//! A plain client and clock for the tests.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_reference::{Received, Script, Service};
use serde_json::{Value, json};

/// Long enough for any machine; reached only if a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// 2023-11-14T22:13:20Z
pub(crate) const UNIX_NANOS: u64 = 1_700_000_000_000_000_000;

struct TestClock(Instant);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO.after(self.0.elapsed())
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: UNIX_NANOS,
            monotonic_nanos: 0,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests own the clock that they hand to the service"
)]
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(TestClock(Instant::now()))
}

pub(crate) fn serve(script: impl Fn(&Received) -> Script + Send + Sync + 'static) -> Service {
    Service::start(clock(), script).unwrap()
}

pub(crate) fn always(script: Script) -> Service {
    serve(move |_| script.clone())
}

/// A streaming request that asks for usage, with a prompt of four words.
pub(crate) fn question() -> Value {
    json!({
        "model": "m",
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "what is all this"}],
    })
}

/// How a reply ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    Properly,
    Closed,
    Reset,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) ended: ReplyEnd,
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The data of the server-sent events.
    pub(crate) fn data(&self) -> Vec<&str> {
        let lines = self.text().lines();
        lines
            .filter_map(|line| line.strip_prefix("data: "))
            .collect()
    }

    /// The events or lines that are JSON.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let lines = self
            .text()
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line));
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The answer assembled from the deltas, or from Ollama's messages.
    pub(crate) fn answer(&self) -> String {
        let content = |object: &Value| {
            let delta = object.pointer("/choices/0/delta/content");
            let message = object.pointer("/message/content");
            delta.or(message).and_then(Value::as_str).map(str::to_owned)
        };
        self.objects().iter().filter_map(content).collect()
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(service: &Service) -> Self {
        let stream = TcpStream::connect(service.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            unread: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n");
        self.write(format!("{head}{body}").as_bytes());
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.write(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        self.reply()
    }

    pub(crate) fn ask(&mut self, body: &Value) -> Reply {
        self.post("/v1/chat/completions", body);
        self.reply()
    }

    pub(crate) fn ask_ollama(&mut self, body: &Value) -> Reply {
        self.post("/api/chat", body);
        self.reply()
    }

    /// Reads until the bytes so far contain `text`, without consuming them.
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.unread).contains(text) {
            assert_eq!(self.fill(), None, "the stream ended before `{text}`");
        }
    }

    /// How the connection ends when no more data is expected.
    pub(crate) fn end(&mut self) -> ReplyEnd {
        let ended = self.fill().expect("nothing more was expected");
        assert!(self.unread.is_empty());
        ended
    }

    /// Reads one reply by its framing; without a head all fields are defaults.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = Reply {
            status: 0,
            head: String::new(),
            body: Vec::new(),
            ended: ReplyEnd::Properly,
        };
        if let Err(ended) = self.read_reply(&mut reply) {
            reply.ended = ended;
        }
        reply
    }

    fn read_reply(&mut self, reply: &mut Reply) -> Result<(), ReplyEnd> {
        while reply.status < 200 {
            reply.head = self.take_to("\r\n\r\n")?;
            reply.status = reply.head[9..12].parse().unwrap();
        }
        let length = reply
            .head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        if let Some(length) = length {
            reply.body = self.take(length.parse().unwrap())?;
        } else if reply.head.contains("Transfer-Encoding: chunked") {
            loop {
                let size = self.take_to("\r\n")?;
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let chunk = self.take(size + 2)?;
                if size == 0 {
                    break;
                }
                reply.body.extend(&chunk[..size]);
            }
        } else {
            let ended = loop {
                if let Some(ended) = self.fill() {
                    break ended;
                }
            };
            reply.body = std::mem::take(&mut self.unread);
            return Err(ended);
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, ReplyEnd> {
        while self.unread.len() < bytes {
            self.fill().map_or(Ok(()), Err)?;
        }
        let rest = self.unread.split_off(bytes);
        Ok(std::mem::replace(&mut self.unread, rest))
    }

    fn take_to(&mut self, end: &str) -> Result<String, ReplyEnd> {
        loop {
            let found = self
                .unread
                .windows(end.len())
                .position(|window| window == end.as_bytes());
            if let Some(position) = found {
                let taken = self.take(position + end.len())?;
                return Ok(String::from_utf8(taken).unwrap());
            }
            self.fill().map_or(Ok(()), Err)?;
        }
    }

    fn fill(&mut self) -> Option<ReplyEnd> {
        let mut bytes = [0; 8192];
        match self.stream.read(&mut bytes) {
            Ok(0) => Some(ReplyEnd::Closed),
            Ok(read) => {
                self.unread.extend(&bytes[..read]);
                None
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(ReplyEnd::Reset),
            Err(error) => panic!("reading failed: {error}"),
        }
    }
}
