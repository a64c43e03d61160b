//! HTTP/2, where it is asked for: one connection carries many queries, each on a stream of its own.
//!
//! A connection is driven by a task of its own on the same runtime, one read at a time
//! (docs/decisions/0010). A further one is opened when the service takes no more streams on those
//! there are. What HTTP/1.1 says of reuse and replacing holds here, too.

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
use ipw_core::time::Clock;
use ipw_core::witness::{ExchangeEvent, Witness};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::{Answered, Connector, HttpError, lock};
use connection::Slot;

/// Connections in a row that bring no further stream, after which warm-up ends.
const MOST_IN_VAIN: u32 = 5;
/// The pause behind such a connection, doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// How a service is reached, and who looks on.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) connector: &'a Connector,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) witness: Option<&'a dyn Witness>,
}

/// Connections that many queries share.
#[derive(Default)]
pub(super) struct Sharing {
    /// With the number of each; the oldest, which is filled first, comes first.
    connections: Mutex<Vec<(u64, Connection)>>,
    /// The number of the last connection that was begun, from 1.
    begun: AtomicU64,
    /// The number of the last that came to be.
    opened: AtomicU64,
    /// One is opened at a time: whoever waits may find a place on it.
    opening: tokio::sync::Mutex<()>,
    /// The last that could not be opened.
    failed: Mutex<Option<(u64, HttpError)>>,
}

impl Sharing {
    /// Sends `request` on a stream of its own and waits for the head of the reply.
    pub(super) async fn send(
        &self,
        way: Way<'_>,
        request: &[u8],
        timing: &mut Timing,
        exchange: &mut Exchange,
    ) -> Result<Answered, HttpError> {
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
                // Once, by one that is there only after the fault.
                Err(lost) if lost.may_be_replaced && !is_new && newer_than == 0 => {
                    exchange.connections_replaced = Some(1);
                    timing.sent = None;
                    newer_than = self.opened.load(Ordering::Relaxed);
                }
                Err(lost) => return Err(lost.error),
            }
        }
    }

    /// A place on a connection newer than that, and whether it was opened for it.
    async fn line(
        &self,
        way: Way<'_>,
        newer_than: u64,
        timing: &mut Timing,
    ) -> Result<(Slot, bool), HttpError> {
        if self.is_quiet() {
            // A turn of the reactor and one of the tasks, so that a close that has already arrived
            // is seen.
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
            // What we waited for could not be had: neither can we have it.
            if let Some((number, error)) = &*lock(&self.failed)
                && *number >= under_way
            {
                return Err(error.clone());
            }
            turn
        };
        let line = self.open(way, timing).await?;
        timing.connected = Some(way.clock.now());
        Ok((line, true))
    }

    /// Opens a connection and takes a place on it.
    async fn open(&self, way: Way<'_>, timing: &mut Timing) -> Result<Slot, HttpError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let Way {
            connector,
            clock,
            witness,
        } = way;
        let opened = connector.connect_http2(clock, timing, witness).await;
        let connection = opened.inspect_err(|error| {
            *lock(&self.failed) = Some((number, error.clone()));
        })?;
        let line = connection.line();
        lock(&self.connections).push((number, connection));
        self.opened.fetch_max(number, Ordering::Relaxed);
        Ok(line)
    }

    /// A place on a connection that is there, newer than that.
    fn free(&self, newer_than: u64) -> Option<Slot> {
        let mut connections = lock(&self.connections);
        connections.retain_mut(|(_, connection)| connection.is_alive());
        connections
            .iter()
            .find(|(number, connection)| *number > newer_than && connection.places() > 0)
            .map(|(_, connection)| connection.line())
    }

    /// Whether there are connections and none of them carries anything, so that nobody may have
    /// looked at them for long.
    fn is_quiet(&self) -> bool {
        let connections = lock(&self.connections);
        let mut all = connections.iter().map(|(_, connection)| connection);
        !connections.is_empty() && all.all(Connection::is_idle)
    }

    /// Opens connections until that many queries have a stream. Connections that end as soon as they
    /// are there are an error after a few of them.
    pub(super) async fn warm(
        &self,
        connector: &Connector,
        clock: &Arc<dyn Clock>,
        queries: usize,
    ) -> Result<(), NotReady> {
        let way = Way {
            connector,
            clock,
            witness: None,
        };
        let (mut most, mut in_vain) = (self.places(), 0);
        while self.places() < queries {
            let mut own = Timing::begun(clock.now());
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
                        "the service closes its HTTP/2 connections as soon as they are open ({in_vain} one after the other)"
                    ),
                    help: Some(format!(
                        "leave `{}` out, or look into the service's own log",
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

    /// Lets go of all; what is still carried is carried to its end.
    pub(super) fn clear(&self) {
        lock(&self.connections).clear();
    }
}

#[cfg(test)]
mod tests;
