//! A server on a thread of its own, a clock that can hold the engine, and a client that sees bytes.

use std::io::{BufRead as _, BufReader, Cursor, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_engine::gguf::Gguf;
use ipw_engine::server::Server;
use ipw_engine::{Engine, Options};
use ipw_testkit::tiny_model::TinyModel;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// For a broken test, not a measurement.
const PATIENCE: Duration = Duration::from_mins(2);
pub(crate) const MODEL: &str = "tiny";

/// The engine looks at the clock once for each token: this one counts that, and can make it wait.
#[derive(Debug)]
pub(crate) struct GateClock {
    state: Mutex<(u64, u64)>,
    moved: Condvar,
}

impl GateClock {
    fn new() -> Self {
        Self {
            state: Mutex::new((0, u64::MAX)),
            moved: Condvar::new(),
        }
    }

    /// Lets the engine generate `tokens` more tokens, and then holds it.
    pub(crate) fn permit(&self, tokens: u64) {
        let mut state = self.state.lock().unwrap();
        state.1 = state.0.saturating_add(tokens);
        self.moved.notify_all();
    }

    /// How often the engine has looked.
    pub(crate) fn looks(&self) -> u64 {
        self.state.lock().unwrap().0
    }
}

impl Clock for GateClock {
    fn now(&self) -> Timestamp {
        let mut state = self.state.lock().unwrap();
        // The server looks, too, and must not be held.
        let is_engine = std::thread::current()
            .name()
            .is_some_and(|name| name.starts_with("ipw-engine"));
        if is_engine {
            let is_held = |state: &mut (u64, u64)| state.0 >= state.1;
            state = self.moved.wait_while(state, is_held).unwrap();
            state.0 += 1;
        }
        Timestamp::from_nanos(state.0)
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 1_700_000_000_000_000_000,
            monotonic_nanos: 0,
        }
    }
}

/// A server that runs.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<GateClock>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::with(&TinyModel::default(), |server| server)
    }

    pub(crate) fn with(model: &TinyModel, configure: impl FnOnce(Server) -> Server) -> Self {
        Self::of(&model.bytes(), configure)
    }

    /// Of a model file's content.
    pub(crate) fn of(model: &[u8], configure: impl FnOnce(Server) -> Server) -> Self {
        let clock = Arc::new(GateClock::new());
        let options = Options {
            threads: 1,
            context: None,
        };
        let mut file = Gguf::read(Cursor::new(model)).unwrap();
        let engine = Engine::start(&mut file, options, clock.clone()).unwrap();
        let server = configure(Server::new(engine, MODEL, clock.clone()));
        let (stop, stopped) = oneshot::channel::<()>();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let told = async {
                    let _ = stopped.await;
                };
                Arc::new(server).run(listener, told).await;
            });
        });
        Self {
            address,
            clock,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection {
            stream: BufReader::new(stream),
            host: self.address.to_string(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.connect().ask("GET", path, "", "")
    }

    /// A chat request with these fields beside model and messages.
    pub(crate) fn chat(&self, more: &Value) -> Answer {
        let body = chat(more).to_string();
        self.connect()
            .ask("POST", "/v1/chat/completions", "", &body)
    }

    /// Tells it to stop.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    /// Waits until it has stopped.
    pub(crate) fn join(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A chat request's body.
pub(crate) fn chat(more: &Value) -> Value {
    let mut body = json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": "What is two and two?" }],
        "temperature": 0,
    });
    let fields = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

/// A connection that shows what arrives, piece by piece.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// The same for a client that may have disconnected.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Sends a request; `headers` are whole lines with their ends.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let host = if headers.to_lowercase().starts_with("host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.host)
        };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.write(request.as_bytes());
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.send(method, path, headers, body);
        self.answer(method)
    }

    /// Status and headers, in lower case.
    pub(crate) fn head(&mut self) -> (u16, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).unwrap();
            assert_ne!(read, 0, "the connection ended in a head: {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase())
    }

    pub(crate) fn answer(&mut self, method: &str) -> Answer {
        let (status, head) = self.head();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = Vec::new();
        match length.map(|length| length.parse::<usize>().unwrap()) {
            Some(_) if method == "HEAD" => {}
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body).unwrap();
            }
            None => std::iter::from_fn(|| self.chunk()).for_each(|chunk| body.extend(chunk)),
        }
        let body = String::from_utf8(body).unwrap();
        Answer { status, head, body }
    }

    /// The next piece of a body in pieces; `None` at its end.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut length = String::new();
        self.stream.read_line(&mut length).unwrap();
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Everything until the other side closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset is an end, too.
        let _ = self.stream.read_to_end(&mut rest);
        String::from_utf8(rest).unwrap()
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The events of a stream, `[DONE]` as a text.
    pub(crate) fn events(&self) -> Vec<Value> {
        events(&self.body)
    }
}

pub(crate) fn events(body: &str) -> Vec<Value> {
    let events = body.split_terminator("\n\n");
    let data = events.map(|event| event.strip_prefix("data: ").unwrap());
    data.map(|data| match data {
        "[DONE]" => json!(data),
        chunk => serde_json::from_str(chunk).unwrap(),
    })
    .collect()
}
