//! The readings of a session as a page for Prometheus.
//!
//! Serves `GET /metrics` only, over HTTP/1.1, with one connection per page. Beyond loopback a token
//! is required: fine-grained power readings reveal what a machine is doing.

mod page;
mod request;

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ipw_core::setting::Setting;
use ipw_core::time::Clock;
use ipw_telemetry::Session;

use self::page::{Format, History};
use self::request::{Request, RequestError};
use crate::Token;

/// Maximum number of concurrent connections; more are refused.
const MOST_CONNECTIONS: usize = 32;
/// Time limit for a request to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after an error of the listener, such as a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Why the exporter cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// The address is reachable from other machines, and there is no token.
    #[error(
        "`{0}` is reachable from other machines, and there is no token (help: `{token_file}`, or \
         a loopback address and `ssh -L`)",
        token_file = Setting::TokenFile.to("PATH")
    )]
    Open(SocketAddr),
    /// The address is not available.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// A running exporter; dropping it stops it.
pub struct Exporter {
    address: SocketAddr,
    is_closing: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

/// State that all connections share.
struct SharedState {
    session: Arc<Session>,
    clock: Arc<dyn Clock>,
    token: Option<Token>,
    history: Mutex<History>,
    open: AtomicUsize,
}

impl Exporter {
    /// Serves the page of `session` at `address`; port 0 picks a free one.
    pub fn start(
        session: Arc<Session>,
        clock: Arc<dyn Clock>,
        address: SocketAddr,
        token: Option<Token>,
    ) -> Result<Self, ExporterError> {
        if !address.ip().to_canonical().is_loopback() && token.is_none() {
            return Err(ExporterError::Open(address));
        }
        let failed = |source| ExporterError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let is_closing = Arc::new(AtomicBool::new(false));
        let closing = Arc::clone(&is_closing);
        let history = Mutex::new(History::new(clock.now(), &session.accounts()));
        let served = Arc::new(SharedState {
            session,
            clock,
            token,
            history,
            open: AtomicUsize::new(0),
        });
        let serving = thread::Builder::new()
            .name("exporter".to_owned())
            .spawn(move || accept(&listener, &served, &closing))
            .map_err(failed)?;
        Ok(Self {
            address,
            is_closing,
            serving: Some(serving),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for a connection.
        let own = SocketAddr::new(reachable(self.address.ip()), self.address.port());
        let is_woken = TcpStream::connect_timeout(&own, PATIENCE).is_ok();
        if let Some(serving) = self.serving.take().filter(|_| is_woken) {
            let _ = serving.join();
        }
    }
}

/// A local address that reaches a listener on `address`.
fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

fn accept(listener: &TcpListener, served: &Arc<SharedState>, is_closing: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if is_closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            thread::sleep(PAUSE);
            continue;
        };
        let place = Place::take(served);
        let Some(place) = place else {
            turn_away(&stream);
            continue;
        };
        // If the client has already left, the reply has no receiver.
        let _ = thread::Builder::new()
            .name("scrape".to_owned())
            .spawn(move || place.0.answer(stream));
    }
}

/// A slot for one connection.
struct Place(Arc<SharedState>);

impl Place {
    /// Takes a slot, if one is free. Only the accepting thread takes slots.
    fn take(served: &Arc<SharedState>) -> Option<Self> {
        if served.open.load(Ordering::SeqCst) >= MOST_CONNECTIONS {
            return None;
        }
        served.open.fetch_add(1, Ordering::SeqCst);
        Some(Self(Arc::clone(served)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Replies that all slots are taken, without waiting.
fn turn_away(mut stream: &TcpStream) {
    let said = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                Connection: close\r\n\r\n";
    let _ = stream
        .set_nonblocking(true)
        .and_then(|()| stream.write_all(said.as_bytes()));
}

impl SharedState {
    fn answer(&self, mut stream: TcpStream) {
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let asked = Request::read(&mut stream, &*self.clock, PATIENCE);
        let reply = match asked {
            Ok(request) => self.reply(&request),
            Err(RequestError::Silent) => return,
            Err(RequestError::Wrong(status)) => plain(status, ""),
        };
        if stream.write_all(reply.as_bytes()).is_ok() {
            let _ = stream.shutdown(Shutdown::Write);
            // Unread input would reset the connection, and the page with it.
            request::drain(&mut stream, &*self.clock);
        }
    }

    fn reply(&self, request: &Request) -> String {
        match &self.token {
            Some(token)
                if !token.allows(
                    request
                        .authorization
                        .as_deref()
                        .unwrap_or_default()
                        .as_bytes(),
                ) =>
            {
                return plain("401 Unauthorized", "WWW-Authenticate: Bearer\r\n");
            }
            // DNS rebinding: a web page in a local browser may let its own name resolve to this
            // machine.
            None if !request.is_for_loopback() => return plain("403 Forbidden", ""),
            _ => {}
        }
        if request.path != "/metrics" {
            return plain("404 Not Found", "");
        }
        if request.method != "GET" {
            return plain("405 Method Not Allowed", "Allow: GET\r\n");
        }
        let format = if request.accepts_openmetrics() {
            Format::OpenMetrics
        } else {
            Format::Text
        };
        let page = self.page(format);
        let kind = format.content_type();
        let length = page.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}"
        )
    }

    fn page(&self, format: Format) -> String {
        let now = self.clock.now();
        let accounts = self.session.accounts();
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let watts = history.watts(now, &accounts);
        drop(history);
        page::page(&self.session, now, &accounts, &watts, format)
    }
}

/// A reply with a status only.
fn plain(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
}
