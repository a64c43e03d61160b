//! The timed HTTP path (design D2): HTTP/1.1 as far as an inference service needs it, with stamps.
//!
//! No proxy but the one that the environment names; no redirect, no decompression, no retry, with
//! one exception: a *reused* connection that turns out dead before any byte of the reply came is
//! replaced by a fresh one, once, and the exchange says so.

mod connect;
mod connection;
mod framing;
mod head;
mod proxy;
mod race;
pub(crate) mod shown;
pub(crate) mod tls;
mod url;

pub(crate) use connect::Connector;
pub(crate) use connection::{Body, Connection};
pub(crate) use head::{Head, Status};
pub(crate) use proxy::Proxy;
pub use url::BaseUrl;

use std::sync::{Arc, Mutex, PoisonError};

use ipw_core::reply::{Exchange, Failure, Timing};
use ipw_core::time::Clock;

use crate::witness::{Sight, Witness};

/// What the transport says when it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct HttpError {
    pub(crate) failure: Failure,
    pub(crate) text: String,
}

impl HttpError {
    pub(crate) fn new(failure: Failure, text: impl Into<String>) -> Self {
        Self {
            failure,
            text: text.into(),
        }
    }
}

/// Connections to one service.
pub(crate) struct Pool {
    connector: Connector,
    clock: Arc<dyn Clock>,
    idle: Mutex<Vec<Connection>>,
}

/// A reply whose head has come, with the connection that its body comes on.
pub(crate) struct Answered {
    pub(crate) head: Head,
    pub(crate) body: Body,
}

impl Pool {
    pub(crate) fn new(connector: Connector, clock: Arc<dyn Clock>) -> Self {
        Self {
            connector,
            clock,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Sends `request` and waits for the head of the reply; `timing` and `exchange` are filled in
    /// as things happen, so that they are true also when this is dropped half way.
    pub(crate) async fn send(
        &self,
        request: &[u8],
        timing: &mut Timing,
        exchange: &mut Exchange,
        witness: Option<&dyn Witness>,
    ) -> Result<Answered, HttpError> {
        exchange.connections_replaced = Some(0);
        if let Some(connection) = self.reusable().await {
            exchange.connection_reused = Some(true);
            match on(connection, request, timing, exchange, witness).await {
                Err(error) if error.failure == Failure::Reset => {
                    exchange.connections_replaced = Some(1);
                    timing.sent = None;
                }
                settled => return settled,
            }
        }
        exchange.connection_reused = None;
        let connection = self.connector.connect(&self.clock, timing, witness).await?;
        timing.connected = Some(self.clock.now());
        exchange.connection_reused = Some(false);
        on(connection, request, timing, exchange, witness).await
    }

    /// Opens connections until so many are idle; gives up at the first that cannot be had.
    pub(crate) async fn warm(&self, connections: usize) {
        while self.lock().len() < connections {
            // How long these take is no query's time.
            let mut own = Timing::begun(self.clock.now());
            match self.connector.connect(&self.clock, &mut own, None).await {
                Ok(connection) => self.lock().push(connection),
                Err(_) => return,
            }
        }
    }

    /// The proxy that is asked in the service's place, if there is one.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        self.connector.forwarder()
    }

    /// Takes a connection back for the next query, if it can carry one.
    pub(crate) fn give_back(&self, body: Body) {
        if let Some(connection) = body.into_idle() {
            self.lock().push(connection);
        }
    }

    /// Lets go of all idle connections.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    async fn reusable(&self) -> Option<Connection> {
        if self.lock().is_empty() {
            return None;
        }
        // One turn of the reactor, so that a close that has already arrived is seen.
        tokio::task::yield_now().await;
        loop {
            let mut connection = self.lock().pop()?;
            if connection.is_alive().await {
                return Some(connection);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends `request` on this connection.
async fn on(
    mut connection: Connection,
    request: &[u8],
    timing: &mut Timing,
    exchange: &mut Exchange,
    witness: Option<&dyn Witness>,
) -> Result<Answered, HttpError> {
    if let Some(witness) = witness {
        let end = memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |end| end + 4);
        let (head, body) = request.split_at(end);
        let head = &shown::request(head);
        witness.saw(Sight::Asked { head, body });
    }
    let mut head = connection.exchange(request, timing).await?;
    exchange.status = Some(head.status.code);
    let body = Body::new(&mut head, connection);
    Ok(Answered { head, body })
}
