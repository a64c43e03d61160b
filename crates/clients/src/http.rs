//! The timed HTTP path: HTTP/1.1 with timestamps, and HTTP/2 (`http2`) if requested.
//!
//! Only proxies named by the environment. No redirects, no decompression and no retries, with one
//! exception. If a *reused* connection fails before the first byte of a reply, the request is sent
//! once more on a new connection. The exchange records this.

mod connect;
mod connection;
mod framing;
mod head;
mod http2;
mod proxy;
mod race;
pub(crate) mod shown;
mod socket;
mod stamps;
pub(crate) mod tls;
mod turn;
mod url;

pub(crate) use connect::Connector;
pub(crate) use connection::Connection;
pub(crate) use head::{Head, Status};
pub(crate) use proxy::Proxy;
use stamps::Stamper;
pub use url::BaseUrl;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipw_core::client::NotReady;
use ipw_core::reply::{Exchange, Failure, Stamp, Timing};
use ipw_core::time::Clock;
use ipw_core::witness::{ExchangeEvent, Witness};

/// A failure of the transport.
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

/// The connections to one service.
pub(crate) struct Pool {
    connector: Connector,
    stamper: Arc<Stamper>,
    kept: Connections,
}

/// Connections kept for later queries.
enum Connections {
    /// HTTP/1.1: idle connections; each carries one exchange at a time.
    Idle(Mutex<Vec<Connection>>),
    /// HTTP/2: connections that carry concurrent exchanges.
    Shared(http2::SharedConnections),
}

/// A reply whose head has arrived, with its body still to be read.
pub(crate) struct HttpReply {
    pub(crate) head: Head,
    pub(crate) body: Body,
}

/// The body of a reply.
pub(crate) enum Body {
    /// On an exclusive connection.
    Own(connection::Body),
    /// On a shared connection.
    Shared(http2::Body),
}

impl Body {
    /// The next piece with its receive time; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(&[u8], Stamp)>, HttpError> {
        match self {
            Self::Own(body) => body.next().await,
            Self::Shared(body) => body.next().await,
        }
    }

    /// Whether the whole body has arrived.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Own(body) => body.is_over(),
            Self::Shared(body) => body.is_over(),
        }
    }

    /// The headers with secrets hidden. Valid only until the first piece is taken.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        match self {
            Self::Own(body) => shown::headers(body.head()),
            Self::Shared(body) => body.headers(),
        }
    }

    /// Reads up to `most` bytes of the body.
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
            Connections::Shared(http2::SharedConnections::default())
        } else {
            Connections::Idle(Mutex::default())
        };
        Self {
            connector,
            stamper: Arc::new(Stamper::new(clock)),
            kept,
        }
    }

    /// Sends `request`, in HTTP/1.1 form, and waits for the head of the reply. `timing` and
    /// `exchange` are updated at each step, so they stay correct if this future is dropped.
    pub(crate) async fn send(
        &self,
        request: &[u8],
        timing: &mut Timing,
        exchange: &mut Exchange,
        witness: Option<&dyn Witness>,
    ) -> Result<HttpReply, HttpError> {
        let idle = match &self.kept {
            Connections::Idle(idle) => idle,
            Connections::Shared(sharing) => {
                let way = http2::Way {
                    connector: &self.connector,
                    stamper: &self.stamper,
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
        let connection = self
            .connector
            .connect(&self.stamper, timing, witness)
            .await?;
        timing.connected = Some(self.stamper.now());
        exchange.connection_reused = Some(false);
        on(connection, request, timing, exchange, witness).await
    }

    /// Opens connections until `queries` can be sent at once. Stops at the first failure to
    /// connect.
    pub(crate) async fn warm(&self, queries: usize) -> Result<(), NotReady> {
        // Connecting ahead of time must not count for any query.
        let mut own = Timing::begun(self.stamper.now());
        match &self.kept {
            Connections::Shared(sharing) => {
                sharing.warm(&self.connector, &self.stamper, queries).await
            }
            Connections::Idle(idle) => {
                while lock(idle).len() < queries {
                    match self.connector.connect(&self.stamper, &mut own, None).await {
                        Ok(connection) => lock(idle).push(connection),
                        Err(_) => break,
                    }
                }
                Ok(())
            }
        }
    }

    /// The proxy that forwards plain requests, if any.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        self.connector.forwarder()
    }

    /// Keeps a connection for the next query, if it can carry one.
    pub(crate) fn give_back(&self, body: Body) {
        if let (Connections::Idle(idle), Body::Own(body)) = (&self.kept, body)
            && let Some(connection) = body.into_idle()
        {
            lock(idle).push(connection);
        }
    }

    /// Drops all idle connections.
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
    // One turn of the reactor, to notice connections that were closed meanwhile.
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

async fn on(
    mut connection: Connection,
    request: &[u8],
    timing: &mut Timing,
    exchange: &mut Exchange,
    witness: Option<&dyn Witness>,
) -> Result<HttpReply, HttpError> {
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
    Ok(HttpReply { head, body })
}
