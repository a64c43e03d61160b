//! Queries in flight over time: prefix sums, from which the part of any query in any step follows
//! directly (docs/method.md §6.3).

use std::collections::{BTreeMap, VecDeque};

use crate::reading::Window;
use crate::time::Timestamp;

/// Identifies one query in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightId(u64);

/// Queries in flight over time. With n the number in flight, it stores three sums at every begin
/// and end: F = ∫ n dt, G = ∫ dt ÷ n, and the time with n > 0. Between two events n is constant.
#[derive(Debug, Clone)]
pub struct Flights {
    events: VecDeque<Event>,
    /// The sums at the end of the forgotten events.
    base: FlightSums,
    /// Begin and end of flights whose dates may still change.
    known: BTreeMap<FlightId, (Timestamp, Option<Timestamp>)>,
    next: u64,
}

/// The begin or end of a query.
#[derive(Debug, Clone, Copy)]
struct Event {
    id: FlightId,
    begins: bool,
    /// The sums up to here, and the number in flight from here on.
    sums: FlightSums,
}

/// The sums at an instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlightSums {
    pub(super) at: Timestamp,
    /// Number in flight from here on.
    pub(super) in_flight: i64,
    /// F, in nanoseconds.
    pub(super) flight_nanos: u64,
    /// Time with a query in flight, in nanoseconds.
    pub(super) busy_nanos: u64,
    /// G, in seconds.
    pub(super) fair_seconds: f64,
    /// Number of queries that have begun.
    pub(super) begun: u64,
}

impl FlightSums {
    const NOTHING: Self = Self {
        at: Timestamp::ZERO,
        in_flight: 0,
        flight_nanos: 0,
        busy_nanos: 0,
        fair_seconds: 0.0,
        begun: 0,
    };

    /// The sums at a later instant, before the next event.
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer than 2^52 queries are in flight"
    )]
    fn later(self, at: Timestamp) -> Self {
        let nanos = at.nanos().saturating_sub(self.at.nanos());
        let Ok(in_flight @ 1..) = u64::try_from(self.in_flight) else {
            return Self {
                at: at.max(self.at),
                ..self
            };
        };
        Self {
            at: at.max(self.at),
            flight_nanos: self
                .flight_nanos
                .saturating_add(in_flight.saturating_mul(nanos)),
            busy_nanos: self.busy_nanos + nanos,
            fair_seconds: self.fair_seconds
                + std::time::Duration::from_nanos(nanos).as_secs_f64() / in_flight as f64,
            ..self
        }
    }

    fn passing(self, begins: bool) -> Self {
        Self {
            in_flight: self.in_flight + if begins { 1 } else { -1 },
            begun: self.begun + u64::from(begins),
            ..self
        }
    }
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            base: FlightSums::NOTHING,
            known: BTreeMap::new(),
            next: 0,
        }
    }
}

impl Flights {
    /// One query without any other.
    pub fn alone(window: Window) -> Self {
        let mut flights = Self::default();
        flights.add(window);
        flights
    }

    /// Begins a query.
    pub fn begin(&mut self, at: Timestamp) -> FlightId {
        let id = FlightId(self.next);
        self.next += 1;
        self.known.insert(id, (at, None));
        self.insert(id, true, at);
        id
    }

    /// Ends a query.
    pub fn end(&mut self, id: FlightId, at: Timestamp) {
        if let Some((start, end @ None)) = self.known.get_mut(&id) {
            let at = at.max(*start);
            *end = Some(at);
            self.insert(id, false, at);
        }
    }

    /// Sets the final begin and end of a query.
    pub fn settle(&mut self, id: FlightId, window: Window) {
        let Some((start, end)) = self.known.remove(&id) else {
            return;
        };
        let begin = self.date((id, true), Some(start), window.start());
        let end = self.date((id, false), end, window.end());
        if let Some(first) = begin.into_iter().chain(end).min() {
            self.sum_up_from(first);
        }
    }

    /// Adds a query with final times.
    pub fn add(&mut self, window: Window) {
        let id = FlightId(self.next);
        self.next += 1;
        self.insert(id, true, window.start());
        self.insert(id, false, window.end());
    }

    /// Forgets events before `needed`, as if no query had been in flight then.
    pub fn forget_before(&mut self, needed: Timestamp) {
        while let Some(event) = self.events.front().filter(|event| event.sums.at < needed) {
            self.base = event.sums;
            self.events.pop_front();
        }
    }

    /// The events for times from `from` to `to` only.
    #[must_use]
    pub fn excerpt(&self, from: Timestamp, to: Timestamp) -> Self {
        let first = self.events.partition_point(|event| event.sums.at < from);
        let last = self.events.partition_point(|event| event.sums.at < to);
        let mut events = VecDeque::with_capacity(last.saturating_sub(first));
        // Slices are copied as a whole, a ring element by element; there may be thousands.
        let (front, back) = self.events.as_slices();
        let split = front.len();
        events.extend(&front[first.min(split)..last.max(first).min(split)]);
        events.extend(&back[first.max(split) - split..last.max(first).max(split) - split]);
        Self {
            events,
            base: self.before(first),
            known: BTreeMap::new(),
            next: self.next,
        }
    }

    /// Whether at most one query was in flight throughout `window`.
    pub fn had_one_at_most(&self, window: Window) -> bool {
        let (from, to) = (self.at(window.start()), self.at(window.end()));
        to.flight_nanos - from.flight_nanos <= to.busy_nanos - from.busy_nanos
    }

    /// Number of begins and ends that are stored.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event is stored.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The sums just before an instant; no query is in flight before the first stored event.
    pub(super) fn at(&self, at: Timestamp) -> FlightSums {
        let after = self.events.partition_point(|event| event.sums.at < at);
        self.before(after).later(at)
    }

    /// Looks up instants in order.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor {
            flights: self,
            after: 0,
            latest: None,
        }
    }

    /// Looks up instants in order, from `at` on.
    pub(super) fn cursor_from(&self, at: Timestamp) -> Cursor<'_> {
        Cursor {
            flights: self,
            after: self.events.partition_point(|event| event.sums.at < at),
            latest: None,
        }
    }

    /// Number of events before `at`, of which `known` are given. Usually it is one of the next few:
    /// the search starts there, with doubling strides.
    fn passed(&self, known: usize, at: Timestamp) -> usize {
        let is_before = |place: usize| {
            let event = self.events.get(place);
            event.is_some_and(|event| event.sums.at < at)
        };
        let (mut from, mut stride) = (known, 1);
        while is_before(from + stride - 1) {
            from += stride;
            stride *= 2;
        }
        let mut to = from + stride - 1;
        while from < to {
            let middle = usize::midpoint(from, to);
            if is_before(middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The sums at the event before this place.
    fn before(&self, place: usize) -> FlightSums {
        place
            .checked_sub(1)
            .map_or(self.base, |last| self.events[last].sums)
    }

    fn insert(&mut self, id: FlightId, begins: bool, at: Timestamp) {
        if let Some(place) = self.date((id, begins), None, at) {
            self.sum_up_from(place);
        }
    }

    /// Dates an event, again if it had a date. Returns the place from which on sums have changed.
    fn date(
        &mut self,
        (id, begins): (FlightId, bool),
        old: Option<Timestamp>,
        at: Timestamp,
    ) -> Option<usize> {
        if old == Some(at) {
            return None;
        }
        let taken = old.map(|old| self.take_out((id, begins), old));
        // A forgotten past cannot change any more.
        let at = at.max(self.base.at);
        let place = self.events.partition_point(|event| event.sums.at <= at);
        let sums = FlightSums {
            at,
            ..FlightSums::NOTHING
        };
        self.events.insert(place, Event { id, begins, sums });
        Some(taken.map_or(place, |taken| taken.min(place)))
    }

    /// Removes an event and returns its place.
    fn take_out(&mut self, (id, begins): (FlightId, bool), at: Timestamp) -> usize {
        let at = at.max(self.base.at);
        let first = self.events.partition_point(|event| event.sums.at < at);
        let mut same = self.events.range(first..);
        let Some(offset) = same.position(|event| event.id == id && event.begins == begins) else {
            // It was forgotten: only the number in flight changes.
            self.base.in_flight += if begins { -1 } else { 1 };
            return 0;
        };
        self.events.remove(first + offset);
        first + offset
    }

    fn sum_up_from(&mut self, place: usize) {
        let mut sums = self.before(place);
        for event in self.events.range_mut(place..) {
            sums = sums.later(event.sums.at).passing(event.begins);
            event.sums = sums;
        }
    }
}

/// Looks up instants in order, without a search for each.
pub(super) struct Cursor<'a> {
    flights: &'a Flights,
    after: usize,
    /// The latest answer: a step ends where the next begins.
    latest: Option<FlightSums>,
}

impl Cursor<'_> {
    /// The sums just before an instant; instants must not decrease.
    pub(super) fn at(&mut self, at: Timestamp) -> FlightSums {
        if let Some(latest) = self.latest.filter(|latest| latest.at == at) {
            return latest;
        }
        self.after = self.flights.passed(self.after, at);
        let sums = self.flights.before(self.after).later(at);
        self.latest = Some(sums);
        sums
    }
}
