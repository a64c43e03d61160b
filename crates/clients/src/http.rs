//! The timed HTTP path: HTTP/1.1 as far as an inference service needs it, with stamps;
//! HTTP/2 where it is asked for (`http2`).
//!
//! No proxy but the one that the environment names; no redirect, no decompression, no retry, with
//! one exception: a *reused* connection that turns out dead before any byte of the reply came is
//! replaced by a fresh one, once, and the exchange says so.

mod connect;
mod connection;
mod framing;
mod head;
mod http2;
mod proxy;
mod race;
pub(crate) mod shown;
pub(crate) mod tls;
mod turn;
mod url;

pub(crate) use connect::Connector;
pub(crate) use connection::Connection;
pub(crate) use head::{Head, Status};
pub(crate) use proxy::Proxy;
pub use url::BaseUrl;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipw_core::client::NotReady;
use ipw_core::reply::{Exchange, Failure, Timing};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::witness::{ExchangeEvent, Witness};

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
    kept: Connections,
}

/// What is kept for the next query.
enum Connections {
    /// HTTP/1.1: connections that carry one exchange at a time, while they carry none.
    Idle(Mutex<Vec<Connection>>),
    /// HTTP/2: connections that carry many.
    Shared(http2::Sharing),
}

/// A reply whose head has come, with the connection that its body comes on.
pub(crate) struct Answered {
    pub(crate) head: Head,
    pub(crate) body: Body,
}

/// The body of a reply.
pub(crate) enum Body {
    /// On a connection of its own.
    Own(connection::Body),
    /// On one that others share.
    Shared(http2::Body),
}

impl Body {
    /// The next piece, and when it came off the socket; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(&[u8], Timestamp)>, HttpError> {
        match self {
            Self::Own(body) => body.next().await,
            Self::Shared(body) => body.next().await,
        }
    }

    /// Whether the last piece has come.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Own(body) => body.is_over(),
            Self::Shared(body) => body.is_over(),
        }
    }

    /// The headers as they may be shown; only before the first piece is taken.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        match self {
            Self::Own(body) => shown::headers(body.head()),
            Self::Shared(body) => body.headers(),
        }
    }

    /// Up to `most` bytes of the body.
    pub(crate) async fn collect(&mut self, most: usize) -> Result<Vec<u8>, HttpError> {
        let mut collected = Vec::new();
        while let Some((bytes, _)) = self.next().await? {
            let room = most.saturating_sub(collected.len());
            collected.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if collected.len() >= most {
                break;
            }
        }
        Ok(collected)
    }
}

impl Pool {
    pub(crate) fn new(connector: Connector, clock: Arc<dyn Clock>) -> Self {
        let kept = if connector.speaks_http2() {
            Connections::Shared(http2::Sharing::default())
        } else {
            Connections::Idle(Mutex::default())
        };
        Self {
            connector,
            clock,
            kept,
        }
    }

    /// Sends `request`, written as HTTP/1.1 has it, and waits for the head of the reply; `timing` and
    /// `exchange` are filled in as things happen, so that they are true also when this is dropped
    /// half way.
    pub(crate) async fn send(
        &self,
        request: &[u8],
        timing: &mut Timing,
        exchange: &mut Exchange,
        witness: Option<&dyn Witness>,
    ) -> Result<Answered, HttpError> {
        let idle = match &self.kept {
            Connections::Idle(idle) => idle,
            Connections::Shared(sharing) => {
                let way = http2::Way {
                    connector: &self.connector,
                    clock: &self.clock,
                    witness,
                };
                return sharing.send(way, request, timing, exchange).await;
            }
        };
        exchange.connections_replaced = Some(0);
        if let Some(connection) = reusable(idle).await {
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

    /// Opens connections until so many queries can be sent at once; gives up at the first that
    /// cannot be had.
    pub(crate) async fn warm(&self, queries: usize) -> Result<(), NotReady> {
        // How long these take is no query's time.
        let mut own = Timing::begun(self.clock.now());
        match &self.kept {
            Connections::Shared(sharing) => {
                sharing.warm(&self.connector, &self.clock, queries).await
            }
            Connections::Idle(idle) => {
                while lock(idle).len() < queries {
                    match self.connector.connect(&self.clock, &mut own, None).await {
                        Ok(connection) => lock(idle).push(connection),
                        Err(_) => break,
                    }
                }
                Ok(())
            }
        }
    }

    /// The proxy that is asked in the service's place, if there is one.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        self.connector.forwarder()
    }

    /// Takes a connection back for the next query, if it can carry one.
    pub(crate) fn give_back(&self, body: Body) {
        if let (Connections::Idle(idle), Body::Own(body)) = (&self.kept, body)
            && let Some(connection) = body.into_idle()
        {
            lock(idle).push(connection);
        }
    }

    /// Lets go of all connections that carry nothing.
    pub(crate) fn clear(&self) {
        match &self.kept {
            Connections::Idle(idle) => lock(idle).clear(),
            Connections::Shared(sharing) => sharing.clear(),
        }
    }
}

async fn reusable(idle: &Mutex<Vec<Connection>>) -> Option<Connection> {
    if lock(idle).is_empty() {
        return None;
    }
    // One turn of the reactor, so that a close that has already arrived is seen.
    tokio::task::yield_now().await;
    loop {
        let mut connection = lock(idle).pop()?;
        if connection.is_alive().await {
            return Some(connection);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let is_new = exchange.connection_reused == Some(false);
        witness.saw(ExchangeEvent::Carried {
            by: "HTTP/1.1",
            is_new,
            streams: None,
        });
        let end = memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |end| end + 4);
        let (head, body) = request.split_at(end);
        let head = &shown::request(head);
        witness.saw(ExchangeEvent::Asked { head, body });
    }
    let mut head = connection.exchange(request, timing).await?;
    exchange.status = Some(head.status.code);
    let body = Body::Own(connection::Body::new(&mut head, connection));
    Ok(Answered { head, body })
}
