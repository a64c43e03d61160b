//! The monitor: one session, read by many over gRPC.
//!
//! One task asks the session what is new and makes one message of it, encoded once; subscribers
//! take it from a bounded ring. Whoever is too slow loses its place and is told so, and holds
//! nobody up. While nobody listens, nothing is polled. How the messages look to the original's
//! readers is in `fields`, what the monitor says of itself in `about`, who may connect in
//! `listen`.

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
/// Calls that a connection may have open.
const MOST_CALLS: u32 = 16;
/// A call's headers are a path and a token.
const LARGEST_HEADERS: u32 = 16 * 1024;
/// How long calls may take to end when the monitor does.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// What the session does not know of its machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// What it is.
    pub system: SystemInfo,
    /// Collectors that are not there.
    pub absent: Vec<Absent>,
    /// What an estimate is based on, where there is one.
    pub estimate: Option<String>,
}

/// A monitor, ready to serve.
pub struct Monitor {
    hub: Arc<Hub>,
    service: Service,
}

impl Monitor {
    /// A monitor of this session, which sends every `interval`. The session rests until somebody
    /// listens.
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

    /// Polls whether somebody listens or not: somebody else looks at the session, too.
    pub fn keep_awake(&self) {
        self.hub.keep_awake();
    }

    /// Serves until `stop`; calls that are open then are ended.
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
            // It goes on after any fault of a connection.
            _ = &mut serving => return,
            () = self.hub.run() => {}
            () = stop => {}
        }
        self.hub.close();
        let _ = over.send(());
        let _ = tokio::time::timeout(LAST_CALLS, serving).await;
    }
}
