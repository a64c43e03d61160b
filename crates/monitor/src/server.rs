//! The monitor: one session, read by many clients over gRPC.
//!
//! One task reads the session and encodes one message for all; subscribers take it from a bounded
//! ring. A subscriber that is too slow skips messages, is notified, and delays no other. Without
//! subscribers, nothing is polled. `fields` has the original's fields, `about` the monitor's
//! description of itself, `listen` the limits of connections.

mod about;
mod fields;
mod hub;
mod listen;
mod service;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::hardware::SystemInfo;
use ipw_core::time::Clock;
use ipw_telemetry::{Absent, Session};
use tonic::transport::Server;

use self::about::Portrait;
use self::hub::Hub;
use self::service::Service;
use crate::Token;

pub use self::listen::{ListenError, Listener};

/// A dead peer is noticed after two of these.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Maximum number of open calls per connection.
const MOST_CALLS: u32 = 16;
/// Maximum size of a call's headers, which are a path and a token.
const LARGEST_HEADERS: u32 = 16 * 1024;
/// How long open calls may take to end when the monitor stops.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// What the monitor knows about its machine besides the session.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Description of the machine.
    pub system: SystemInfo,
    /// Collectors that cannot be used here.
    pub absent: Vec<Absent>,
    /// What an estimate is based on; `None` without one.
    pub estimate: Option<String>,
}

/// A monitor, ready to serve.
pub struct Monitor {
    hub: Arc<Hub>,
    service: Service,
}

impl Monitor {
    /// A monitor of this session that sends every `interval`. The session is paused until the first
    /// subscriber.
    pub fn new(
        session: Arc<Session>,
        clock: Arc<dyn Clock>,
        machine: &Machine,
        interval: Duration,
        token: Option<Token>,
    ) -> Self {
        let portrait = Portrait::of(&session, machine, interval);
        let hub = Arc::new(Hub::new(session, Arc::clone(&clock), &portrait, interval));
        let service = Service::new(Arc::clone(&hub), clock, portrait, token);
        Self { hub, service }
    }

    /// Polls even without subscribers, because the exporter reads the session too.
    pub fn keep_awake(&self) {
        self.hub.keep_awake();
    }

    /// Serves until `stop`; then open calls are ended.
    pub async fn run(&self, listener: Listener, stop: impl Future<Output = ()>) {
        let (over, is_over) = tokio::sync::oneshot::channel::<()>();
        let serving = Server::builder()
            .max_concurrent_streams(MOST_CALLS)
            .http2_max_header_list_size(LARGEST_HEADERS)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .serve_with_incoming_shutdown(self.service.clone(), listener.incoming(), async {
                let _ = is_over.await;
            });
        tokio::pin!(serving);
        tokio::select! {
            // The server continues after any fault of a connection.
            _ = &mut serving => return,
            () = self.hub.run() => {}
            () = stop => {}
        }
        self.hub.close();
        let _ = over.send(());
        let _ = tokio::time::timeout(LAST_CALLS, serving).await;
    }
}
