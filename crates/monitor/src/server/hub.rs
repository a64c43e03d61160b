//! Polls the session once for all subscribers.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::reading::Reading;
use ipw_core::source::Source;
use ipw_core::time::{Clock, Timestamp};
use ipw_telemetry::Session;
use prost::Message as _;
use prost::bytes::{Bytes, BytesMut};
use tokio::sync::{Notify, broadcast};
use tokio::time::MissedTickBehavior;
use tokio_stream::Stream;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tonic::Status;

use super::about::Portrait;
use super::fields::Fields;
use crate::pb;

/// Maximum number of messages that a slow subscriber may lag behind: some 13 s at 50 ms.
const RING: usize = 256;
/// The same for messages with all readings: some 6 s.
const WHOLE_RING: usize = 64;
/// Maximum number of subscribers over all connections.
const MOST_SUBSCRIBERS: usize = 256;
/// Maximum number of readings in a message; more are split.
const MOST_READINGS: usize = 4096;
/// Subscribers to all readings get them in batches of this length. That halves the number of
/// messages at the usual interval, and each message costs a system call per subscriber.
const TOGETHER: Duration = Duration::from_millis(100);

/// Sends a message, encoded once, to all subscribers.
type Broadcast = broadcast::Sender<Bytes>;

/// The session and its subscribers.
pub(super) struct Hub {
    session: Arc<Session>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    instance: u64,
    /// The encoded start of every message.
    head: Bytes,
    state: Mutex<State>,
    /// Signals a new subscriber.
    bell: Notify,
}

struct State {
    /// `None` once the monitor stops.
    rings: Option<Rings>,
    listeners: usize,
    is_kept_awake: bool,
    fields: Fields,
    /// The last reading of each source.
    latest: Vec<Option<Reading>>,
    /// Number of faults already sent.
    faults: usize,
    /// Readings since the last message with readings.
    fresh: Vec<Reading>,
    /// Intervals until the next such message.
    left: u32,
}

/// The channels of the two kinds of message.
struct Rings {
    /// Messages for the original's clients, every interval.
    plain: Broadcast,
    /// The same with all readings, less often.
    whole: Broadcast,
}

impl Hub {
    /// A paused session, until the first subscriber.
    pub(super) fn new(
        session: Arc<Session>,
        clock: Arc<dyn Clock>,
        portrait: &Portrait,
        interval: Duration,
    ) -> Self {
        session.pause();
        let rings = Rings {
            plain: broadcast::channel(RING).0,
            whole: broadcast::channel(WHOLE_RING).0,
        };
        let state = State {
            rings: Some(rings),
            fresh: Vec::new(),
            left: 0,
            listeners: 0,
            is_kept_awake: false,
            fields: Fields::new(&session),
            latest: vec![None; session.sources().count()],
            faults: 0,
        };
        Self {
            session,
            clock,
            interval,
            instance: portrait.instance,
            head: portrait.head.clone().into(),
            state: Mutex::new(state),
            bell: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn instance(&self) -> u64 {
        self.instance
    }

    /// Polls even without subscribers.
    pub(super) fn keep_awake(&self) {
        self.lock().is_kept_awake = true;
        self.session.resume();
        self.bell.notify_one();
    }

    /// Ends all subscriptions.
    pub(super) fn close(&self) {
        self.lock().rings = None;
    }

    /// Reads the session every interval while there are subscribers; never returns.
    pub(super) async fn run(&self) {
        loop {
            self.bell.notified().await;
            let mut ticks = tokio::time::interval(self.interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            // The first tick is immediate, before anything was polled.
            ticks.tick().await;
            while self.lock().is_wanted() {
                ticks.tick().await;
                self.tick();
            }
        }
    }

    /// Sends what is new to all subscribers.
    fn tick(&self) {
        let mut state = self.lock();
        let mut readings = self.session.take_unsaved();
        let now = self.clock.now();
        self.session.saved(now);
        readings.sort_by_key(|reading| reading.at);
        for reading in &readings {
            state.latest[usize::from(reading.source.0)] = Some(*reading);
        }
        state.fresh.append(&mut readings);
        state.left = state.left.saturating_sub(1);
        let polled = self.session.polled();
        let fields = self.fields(&mut state.fields, &polled, now);
        let head = self.encode(&fields);
        if state.left == 0 {
            state.left = self.intervals_together();
            self.tell_whole(&mut state, &head, &polled);
        }
        if let Some(rings) = &state.rings {
            // An error only means that there is no subscriber.
            let _ = rings.plain.send(head.freeze());
        }
    }

    /// Number of intervals in one message with all readings.
    fn intervals_together(&self) -> u32 {
        let count = TOGETHER.as_nanos() / self.interval.as_nanos().max(1);
        u32::try_from(count).unwrap_or(u32::MAX).max(1)
    }

    /// Sends the readings since the last time to the subscribers of readings.
    fn tell_whole(&self, state: &mut State, head: &BytesMut, polled: &[Option<Timestamp>]) {
        let faults = self.session.faults();
        let told = faults.get(state.faults..).unwrap_or_default();
        let mut rest = std::mem::take(&mut state.fresh);
        let mut batch = self.batch(&[], polled, told);
        state.faults = faults.len();
        let Some(rings) = &state.rings else { return };
        loop {
            let left = rest.split_off(rest.len().min(MOST_READINGS));
            batch.readings = rest.iter().map(|reading| self.reading(reading)).collect();
            let _ = rings.whole.send(with(head.clone(), batch));
            if left.is_empty() {
                return;
            }
            rest = left;
            batch = self.batch(&[], polled, &[]);
        }
    }

    /// The message for the original's clients.
    fn fields(
        &self,
        fields: &mut Fields,
        polled: &[Option<Timestamp>],
        now: Timestamp,
    ) -> pb::TelemetryReading {
        let accounts = self.session.accounts();
        pb::TelemetryReading {
            timestamp_nanos: self.unix(taken(&accounts, polled, now), now),
            ..fields.message(&accounts, polled, now)
        }
    }

    /// The common part of messages, encoded once. Protobuf fields may be in any order and in
    /// pieces, so the static part, the original's fields and our additions are concatenated.
    fn encode(&self, fields: &pb::TelemetryReading) -> BytesMut {
        let mut message = BytesMut::from(&self.head[..]);
        // Writing to memory does not fail.
        let _ = fields.encode(&mut message);
        message
    }

    fn batch(
        &self,
        readings: &[Reading],
        polled: &[Option<Timestamp>],
        faults: &[String],
    ) -> pb::Batch {
        pb::Batch {
            readings: readings
                .iter()
                .map(|reading| self.reading(reading))
                .collect(),
            polled_nanos: polled
                .iter()
                .map(|polled| polled.map_or(0, |polled| self.monotonic(polled)))
                .collect(),
            skipped: 0,
            faults: faults.to_vec(),
            instance: self.instance,
        }
    }

    fn reading(&self, reading: &Reading) -> pb::Reading {
        pb::Reading {
            source: u32::from(reading.source.0),
            nanos: self.monotonic(reading.at),
            previous_nanos: reading.previous.map(|previous| self.monotonic(previous)),
            value: reading.value,
        }
    }

    /// Converts an instant to the machine's monotonic clock.
    fn monotonic(&self, at: Timestamp) -> i64 {
        monotonic(&*self.clock, at)
    }

    /// Converts an instant to the wall clock as it is now.
    fn unix(&self, at: Timestamp, now: Timestamp) -> i64 {
        let ago = u64::try_from(now.since(at).as_nanos()).unwrap_or(u64::MAX);
        i64::try_from(self.clock.unix_nanos().saturating_sub(ago)).unwrap_or(i64::MAX)
    }

    /// The first message for a new subscriber: the last reading of every active source, and all
    /// faults so far.
    fn greeting(&self, state: &mut State) -> Bytes {
        let polled = self.session.polled();
        let now = self.clock.now();
        let recent = self
            .session
            .meters()
            .zip(&polled)
            .zip(&state.latest)
            .filter_map(|((metered, polled), latest)| {
                let silence = now.since((*polled)?);
                latest.filter(|_| silence <= metered.meter.longest_silence)
            });
        let mut recent: Vec<Reading> = recent.collect();
        recent.sort_by_key(|reading| reading.at);
        let faults = self.session.faults();
        let batch = self.batch(&recent, &polled, &faults[..state.faults.min(faults.len())]);
        let fields = self.fields(&mut state.fields, &polled, now);
        with(self.encode(&fields), batch)
    }

    /// Adds a subscriber; the first one resumes the session.
    pub(super) fn subscribe(self: &Arc<Self>, with_readings: bool) -> Result<Subscription, Status> {
        let mut state = self.lock();
        if state.rings.is_none() {
            return Err(stopping());
        }
        if state.listeners >= MOST_SUBSCRIBERS {
            let words = format!("{MOST_SUBSCRIBERS} listen already: end one of them, or try later");
            return Err(Status::resource_exhausted(words));
        }
        let first = with_readings.then(|| {
            // Pending readings are part of the greeting, so send them to the other subscribers now.
            let polled = self.session.polled();
            let now = self.clock.now();
            let fields = self.fields(&mut state.fields, &polled, now);
            self.tell_whole(&mut state, &self.encode(&fields), &polled);
            self.greeting(&mut state)
        });
        let Some(rings) = &state.rings else {
            return Err(stopping());
        };
        let ring = if with_readings {
            &rings.whole
        } else {
            &rings.plain
        };
        let ticks = BroadcastStream::new(ring.subscribe());
        state.listeners += 1;
        if state.listeners == 1 && !state.is_kept_awake {
            self.session.resume();
        }
        self.bell.notify_one();
        drop(state);
        Ok(Subscription {
            hub: Arc::clone(self),
            ticks,
            with_readings,
            first,
            skipped: 0,
            is_over: false,
        })
    }

    /// Removes a subscriber; the last one pauses the session.
    fn leave(&self) {
        let mut state = self.lock();
        state.listeners = state.listeners.saturating_sub(1);
        if !state.is_wanted() {
            self.session.pause();
        }
    }
}

impl State {
    fn is_wanted(&self) -> bool {
        self.listeners > 0 || self.is_kept_awake
    }
}

/// The encoded messages for one subscriber; dropping it unsubscribes.
pub(super) struct Subscription {
    hub: Arc<Hub>,
    ticks: BroadcastStream<Bytes>,
    with_readings: bool,
    first: Option<Bytes>,
    /// Number of messages that it was too slow for since the last one it received.
    skipped: u64,
    is_over: bool,
}

impl Subscription {
    fn message(&mut self, told: Bytes) -> Bytes {
        let skipped = std::mem::take(&mut self.skipped);
        if !self.with_readings || skipped == 0 {
            return told;
        }
        // A nested message may come in pieces, too.
        let more = pb::Batch {
            skipped,
            ..pb::Batch::default()
        };
        with(BytesMut::from(&told[..]), more)
    }
}

impl Stream for Subscription {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        loop {
            match ready!(Pin::new(&mut self.ticks).poll_next(context)) {
                Some(Ok(told)) => return Poll::Ready(Some(Ok(self.message(told)))),
                Some(Err(BroadcastStreamRecvError::Lagged(count))) => self.skipped += count,
                None if self.is_over => return Poll::Ready(None),
                None => {
                    self.is_over = true;
                    return Poll::Ready(Some(Err(stopping())));
                }
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.leave();
    }
}

/// Appends fields to a message.
fn with(mut message: BytesMut, batch: pb::Batch) -> Bytes {
    let more = pb::TelemetryReading {
        batch: Some(batch),
        ..pb::TelemetryReading::default()
    };
    // Writing to memory does not fail.
    let _ = more.encode(&mut message);
    message.freeze()
}

/// When the newest energy value was taken, or the newest other value if there is no energy.
fn taken(
    accounts: &[(Source, Account)],
    polled: &[Option<Timestamp>],
    now: Timestamp,
) -> Timestamp {
    let each = || accounts.iter().zip(polled);
    let energy = each().filter(|((source, _), _)| source.domain().is_some());
    let newest = energy.filter_map(|(_, polled)| *polled).max();
    newest
        .or_else(|| each().filter_map(|(_, polled)| *polled).max())
        .unwrap_or(now)
}

/// An instant on the machine's monotonic clock, in nanoseconds.
pub(super) fn monotonic(clock: &dyn Clock, at: Timestamp) -> i64 {
    let nanos = clock.anchor().monotonic_nanos.saturating_add(at.nanos());
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn stopping() -> Status {
    Status::unavailable("the monitor is stopping")
}
