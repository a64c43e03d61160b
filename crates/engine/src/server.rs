//! The engine behind OpenAI's chat completions API: what `ipw serve` runs.
//!
//! HTTP/1.1 by hyper on the caller's runtime; the engine has its own threads and answers one
//! request at a time. There is no authentication: [`guard`] refuses requests that a browser sends
//! for a foreign page, and the caller chooses the address. Prompts and replies are not logged. When
//! a client disconnects, its request is cancelled.

mod body;
mod chat;
pub mod guard;
mod problem;
mod request;
mod routes;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ipw_core::time::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::engine::Engine;
use guard::{Guard, HostName};
use problem::Problem;

/// Pause after a failed accept: usually too many files are open, which passes when a client
/// disconnects.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of connections beyond the limit that get an error reply. A refusal takes a connection
/// too, so this is bounded as well.
const REFUSALS: usize = 64;

/// Limits for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent connections; more are refused with a retryable error.
    pub connections: usize,
    /// Maximum size of a request's body, in bytes.
    pub body_bytes: usize,
    /// How long a connection may be idle or take to send a request.
    pub idle: Duration,
    /// How long replies in flight may take to finish when the server stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            body_bytes: 16 << 20,
            idle: Duration::from_mins(1),
            grace: Duration::from_secs(10),
        }
    }
}

/// A server for one model.
pub struct Server {
    engine: Engine,
    model: String,
    clock: Arc<dyn Clock>,
    guard: Guard,
    limits: Limits,
    /// Number of replies so far, for their ids.
    replies: AtomicU64,
    /// Start time, in seconds since the Unix epoch.
    created: u64,
}

impl Server {
    /// A server whose model is named `model`.
    pub fn new(engine: Engine, model: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        let created = unix_seconds(&*clock);
        Self {
            engine,
            model: model.into(),
            clock,
            guard: Guard::default(),
            limits: Limits::default(),
            replies: AtomicU64::new(0),
            created,
        }
    }

    /// Also accepts requests for this host.
    #[must_use]
    pub fn allowing(mut self, host: HostName) -> Self {
        self.guard.allow(host);
        self
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves until `stop`. Then it accepts no connections, and replies in flight get the grace
    /// period.
    ///
    /// Dropping the future ends everything at once.
    pub async fn run(self: Arc<Self>, listener: TcpListener, stop: impl Future<Output = ()>) {
        let (drain, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    if let Some(service) = self.service(connections.len()) {
                        let server = Arc::clone(&self);
                        let draining = draining.clone();
                        connections.spawn(server.attend(stream, service, draining));
                    }
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        drop(listener);
        let _ = drain.send(true);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.limits.grace, ended).await;
    }

    /// What the next connection gets, given the number of open ones; `None` closes it without a
    /// reply.
    fn service(&self, open: usize) -> Option<Service> {
        let most = self.limits.connections;
        if open < most {
            Some(Service::Full)
        } else {
            (open < most.saturating_add(REFUSALS)).then_some(Service::Refusal)
        }
    }

    /// Serves one connection to its end.
    async fn attend(
        self: Arc<Self>,
        stream: TcpStream,
        service: Service,
        mut draining: watch::Receiver<bool>,
    ) {
        // Send each token immediately. If this fails, replies are only slower.
        let _ = stream.set_nodelay(true);
        let Ok(local) = stream.local_addr() else {
            return;
        };
        let has_asked = AtomicBool::new(false);
        let answer = service_fn(|request| {
            has_asked.store(true, Ordering::Relaxed);
            let server = Arc::clone(&self);
            async move {
                Ok::<_, Infallible>(match service {
                    Service::Full => server.answer(request, local.ip()).await,
                    Service::Refusal => Problem::busy().into_response(),
                })
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .keep_alive(service == Service::Full)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::pin!(connection);
        // Errors are the client's: it left, or does not speak HTTP.
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = draining.wait_for(|is_draining| *is_draining) => {}
        }
        // hyper would wait for the first request of a connection that never sent one.
        if has_asked.load(Ordering::Relaxed) {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// How a connection is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// Requests are answered.
    Full,
    /// Requests are refused: there are too many connections.
    Refusal,
}

/// The wall-clock time, derived from the clock's anchor.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds since 1970 are positive and far below 2^53"
)]
fn unix_seconds(clock: &dyn Clock) -> u64 {
    clock.anchor().unix_seconds(clock.now()) as u64
}
