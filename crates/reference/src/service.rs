//! Starting, inspecting and stopping the service.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ipw_core::time::Clock;

use crate::connection::Connection;
use crate::ledger::{Exchange, Ledger, Received};
use crate::pace::wake_exactly;
use crate::script::Script;

/// A burst of connections must not wait a second for retransmitted SYNs. The kernel caps the value.
const BACKLOG: i32 = 4096;
/// Small, so that thousands of connections fit.
const STACK: usize = 256 << 10;
/// How long a drop waits for threads; a caller's script may block one forever.
const FAREWELL: Duration = Duration::from_secs(5);
/// Pause when file descriptors or threads are exhausted.
const EXHAUSTED: Duration = Duration::from_millis(10);

const NO_PANIC: &str = "no holder of this lock panics";

/// Options of a service besides its script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// The listed models; the first answers requests without a model.
    pub models: Vec<String>,
    /// Whether exchanges are logged; turned off by benchmarks to save memory.
    pub log: bool,
    /// A status for every request other than a chat, with an error body.
    pub question_status: Option<u16>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            models: vec!["reference".to_owned()],
            log: true,
            question_status: None,
        }
    }
}

type ScriptFor = dyn Fn(&Received) -> Script + Send + Sync;

/// State shared by all threads of a service.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) script: Box<ScriptFor>,
    pub(crate) options: Options,
    pub(crate) ledger: Ledger,
    pub(crate) stopped: AtomicBool,
    open: Mutex<HashMap<u64, Arc<TcpStream>>>,
    closed: Condvar,
}

/// A running reference service; dropping it closes every connection and ends its threads.
pub struct Service {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts a service on a free port of 127.0.0.1. `script` chooses the answer to each chat
    /// request; it is called on the connection's thread.
    pub fn start(
        clock: Arc<dyn Clock>,
        script: impl Fn(&Received) -> Script + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with(Options::default(), clock, script)
    }

    /// Starts a service with these options.
    pub fn start_with(
        options: Options,
        clock: Arc<dyn Clock>,
        script: impl Fn(&Received) -> Script + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            clock,
            script: Box::new(script),
            options,
            ledger: Ledger::default(),
            stopped: AtomicBool::new(false),
            open: Mutex::default(),
            closed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = thread::Builder::new()
            .name("reference".to_owned())
            .stack_size(STACK)
            .spawn(move || accept(&accepting, &listener))?;
        Ok(Self {
            shared,
            address,
            acceptor: Some(acceptor),
        })
    }

    /// The address that the service listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, such as `http://127.0.0.1:8000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The finished chat exchanges, in order of arrival. A reply that was read completely is
    /// included; a reply that was cut off may appear slightly later: see [`Service::logged`].
    pub fn log(&self) -> Vec<Exchange> {
        self.shared.ledger.log()
    }

    /// The log once `count` exchanges have finished, or as it is after `within`.
    pub fn logged(&self, count: usize, within: Duration) -> Vec<Exchange> {
        self.shared.ledger.logged(count, within)
    }

    /// Number of chat requests received.
    pub fn requests(&self) -> u64 {
        self.shared.ledger.requests()
    }

    /// Number of replies that were written completely.
    pub fn completed(&self) -> u64 {
        self.shared.ledger.completed()
    }

    /// Other requests, such as `GET /v1/models`, in order.
    pub fn others(&self) -> Vec<String> {
        self.shared.ledger.others()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Connections first: without free file descriptors the acceptor could not be woken.
        self.shared.close_all();
        let woken = TcpStream::connect_timeout(&reachable(self.address), FAREWELL).is_ok();
        if let (true, Some(acceptor)) = (woken, self.acceptor.take()) {
            // A panic of the acceptor was already reported by its thread.
            let _ = acceptor.join();
        }
        self.shared.close_all();
    }
}

/// An address that reaches a listener on all addresses.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            address.set_ip(Ipv6Addr::LOCALHOST.into());
        }
        _ => {}
    }
    address
}

impl Shared {
    fn close_all(&self) {
        let open = self.open.lock().expect(NO_PANIC);
        for stream in open.values() {
            // Fails only for a closed connection.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = self
            .closed
            .wait_timeout_while(open, FAREWELL, |open| !open.is_empty())
            .expect(NO_PANIC);
    }
}

/// Registers a connection while its thread lives, panics included.
struct Registration {
    shared: Arc<Shared>,
    number: u64,
    stream: Arc<TcpStream>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut open = self.shared.open.lock().expect(NO_PANIC);
        open.remove(&self.number);
        if open.is_empty() {
            self.shared.closed.notify_all();
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    wake_exactly();
    for number in 0.. {
        let stream = loop {
            let accepted = listener.accept();
            if shared.stopped.load(Ordering::SeqCst) {
                return;
            }
            match accepted {
                Ok((stream, _)) => break Arc::new(stream),
                Err(_) => thread::sleep(EXHAUSTED),
            }
        };
        let registered = Registration {
            shared: Arc::clone(shared),
            number,
            stream: Arc::clone(&stream),
        };
        shared.open.lock().expect(NO_PANIC).insert(number, stream);
        // Without a thread the connection is dropped, as an exhausted server would do.
        let _ = thread::Builder::new()
            .name(format!("reference-{number}"))
            .stack_size(STACK)
            .spawn(move || serve(&registered));
    }
}

fn serve(registered: &Registration) {
    wake_exactly();
    // Never fails on loopback. A delayed reply would show only in the peer's timestamps.
    let _ = registered.stream.set_nodelay(true);
    Connection {
        shared: &registered.shared,
        stream: &registered.stream,
        number: registered.number,
    }
    .serve();
}
