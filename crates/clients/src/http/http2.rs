//! HTTP/2, if requested: one connection carries many queries, each on its own stream.
//!
//! Each connection is driven by its own task on the same runtime, one read at a time
//! (docs/decisions/0010). Another connection is opened when the existing ones accept no more
//! streams. Reuse and replacement follow the rules of HTTP/1.1.

mod body;
mod connection;
mod message;
mod wire;

pub(crate) use body::Body;
pub(super) use connection::Connection;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ipw_core::client::NotReady;
use ipw_core::reply::{Exchange, Timing};
use ipw_core::setting::Setting;
use ipw_core::witness::{ExchangeEvent, Witness};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::stamps::Stamper;
use super::{Connector, HttpError, HttpReply, lock};
use connection::Slot;

/// Warm-up fails after this many consecutive connections that add no stream.
const MOST_IN_VAIN: u32 = 5;
/// The delay after such a connection; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What is needed to reach the service.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) connector: &'a Connector,
    pub(super) stamper: &'a Arc<Stamper>,
    pub(super) witness: Option<&'a dyn Witness>,
}

/// Connections shared by concurrent queries.
#[derive(Default)]
pub(super) struct SharedConnections {
    /// Numbered; the oldest comes first and is filled first.
    connections: Mutex<Vec<(u64, Connection)>>,
    /// The number of the last connection attempt, from 1.
    begun: AtomicU64,
    /// The number of the last connection that was established.
    opened: AtomicU64,
    /// Serializes connection attempts: a waiting query may find a free stream on the new
    /// connection.
    opening: tokio::sync::Mutex<()>,
    /// The last failed attempt.
    failed: Mutex<Option<(u64, HttpError)>>,
}

impl SharedConnections {
    /// Sends `request` on its own stream and waits for the head of the reply.
    pub(super) async fn send(
        &self,
        way: Way<'_>,
        request: &[u8],
        timing: &mut Timing,
        exchange: &mut Exchange,
    ) -> Result<HttpReply, HttpError> {
        exchange.connections_replaced = Some(0);
        let mut newer_than = 0;
        loop {
            exchange.connection_reused = None;
            let (line, is_new) = self.line(way, newer_than, timing).await?;
            exchange.connection_reused = Some(!is_new);
            if let Some(witness) = way.witness {
                witness.saw(ExchangeEvent::Carried {
                    by: "HTTP/2",
                    is_new,
                    streams: line.limit(),
                });
            }
            let is_encrypted = way.connector.url().is_encrypted();
            let message = message::Message::of(request, is_encrypted)?;
            message.show(request, way.witness);
            match line.ask(message, timing).await {
                Ok(answered) => {
                    exchange.status = Some(answered.head.status.code);
                    return Ok(answered);
                }
                // Retry once, on a connection established after the fault.
                Err(lost) if lost.may_be_replaced && !is_new && newer_than == 0 => {
                    exchange.connections_replaced = Some(1);
                    timing.sent = None;
                    newer_than = self.opened.load(Ordering::Relaxed);
                }
                Err(lost) => return Err(lost.error),
            }
        }
    }

    /// A stream on a connection numbered above `newer_than`, and whether it was opened for this.
    async fn line(
        &self,
        way: Way<'_>,
        newer_than: u64,
        timing: &mut Timing,
    ) -> Result<(Slot, bool), HttpError> {
        if self.is_quiet() {
            // One turn of the reactor and one of the tasks, to notice connections that were closed
            // meanwhile.
            yield_now().await;
            yield_now().await;
        }
        if let Some(line) = self.free(newer_than) {
            return Ok((line, false));
        }
        let _turn = if let Ok(turn) = self.opening.try_lock() {
            turn
        } else {
            let under_way = self.begun.load(Ordering::Relaxed);
            let turn = self.opening.lock().await;
            if let Some(line) = self.free(newer_than) {
                return Ok((line, false));
            }
            // The attempt that this query waited for failed: fail with it.
            if let Some((number, error)) = &*lock(&self.failed)
                && *number >= under_way
            {
                return Err(error.clone());
            }
            turn
        };
        let line = self.open(way, timing).await?;
        timing.connected = Some(way.stamper.now());
        Ok((line, true))
    }

    /// Opens a connection and reserves a stream on it.
    async fn open(&self, way: Way<'_>, timing: &mut Timing) -> Result<Slot, HttpError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let Way {
            connector,
            stamper,
            witness,
        } = way;
        let opened = connector.connect_http2(stamper, timing, witness).await;
        let connection = opened.inspect_err(|error| {
            *lock(&self.failed) = Some((number, error.clone()));
        })?;
        let line = connection.line();
        lock(&self.connections).push((number, connection));
        self.opened.fetch_max(number, Ordering::Relaxed);
        Ok(line)
    }

    /// Reserves a stream on an existing connection numbered above `newer_than`.
    fn free(&self, newer_than: u64) -> Option<Slot> {
        let mut connections = lock(&self.connections);
        connections.retain_mut(|(_, connection)| connection.is_alive());
        connections
            .iter()
            .find(|(number, connection)| *number > newer_than && connection.places() > 0)
            .map(|(_, connection)| connection.line())
    }

    /// Whether connections exist and all are idle. Their state may then be out of date.
    fn is_quiet(&self) -> bool {
        let connections = lock(&self.connections);
        let mut all = connections.iter().map(|(_, connection)| connection);
        !connections.is_empty() && all.all(Connection::is_idle)
    }

    /// Opens connections until `queries` streams are available. Fails if the service keeps closing
    /// new connections.
    pub(super) async fn warm(
        &self,
        connector: &Connector,
        stamper: &Arc<Stamper>,
        queries: usize,
    ) -> Result<(), NotReady> {
        let way = Way {
            connector,
            stamper,
            witness: None,
        };
        let (mut most, mut in_vain) = (self.places(), 0);
        while self.places() < queries {
            let mut own = Timing::begun(stamper.now());
            if self.open(way, &mut own).await.is_err() {
                return Ok(());
            }
            let places = self.places();
            if places > most {
                (most, in_vain) = (places, 0);
                continue;
            }
            in_vain += 1;
            if in_vain == MOST_IN_VAIN {
                return Err(NotReady {
                    cause: format!(
                        "the service closed {in_vain} HTTP/2 connections in a row right after they opened"
                    ),
                    help: Some(format!(
                        "remove `{}`, or check the service's log",
                        Setting::Http2
                    )),
                });
            }
            sleep(FIRST_PAUSE * (1 << in_vain)).await;
        }
        Ok(())
    }

    fn places(&self) -> usize {
        let mut connections = lock(&self.connections);
        connections.retain_mut(|(_, connection)| connection.is_alive());
        let places = connections
            .iter()
            .map(|(_, connection)| connection.places());
        places.fold(0, usize::saturating_add)
    }

    /// Drops all connections; exchanges in flight still finish.
    pub(super) fn clear(&self) {
        lock(&self.connections).clear();
    }
}

#[cfg(test)]
mod tests;
