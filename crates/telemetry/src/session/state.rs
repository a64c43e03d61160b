//! What a session holds under its lock: readings, who is in flight, and what may be forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::alignment::Aligned;
use ipw_core::attribution::{FlightId, Flights, Idle};
use ipw_core::reading::{Reading, Window};
use ipw_core::rollup::Use;
use ipw_core::time::Timestamp;

use super::{Ticket, TrackedSource, Uses};
use crate::series::Series;

/// Who was in flight is remembered for this long where a counter stands still: a longer step is
/// shared among those who were there at its end.
const LONGEST_STEP: Duration = Duration::from_mins(1);

/// With so few readings, working a query's energy out takes less time than copying who was in
/// flight.
const FEW_READINGS: usize = 200;

/// Everything that the samplers and the queries share.
pub(super) struct State {
    pub(super) series: Vec<Series>,
    /// Readings that are not on disk yet.
    pub(super) unsaved: Vec<Reading>,
    /// Everything up to here is on disk.
    pub(super) saved: Timestamp,
    pub(super) open: BTreeMap<Ticket, Open>,
    pub(super) flights: Flights,
    /// What each source draws with nobody in flight, where that was measured.
    pub(super) idle: Vec<Option<Idle>>,
    /// The same, if it is not on disk yet.
    pub(super) unsaved_idle: Option<Vec<Option<Idle>>>,
    pub(super) next_ticket: u64,
    pub(super) faults: Vec<String>,
    /// How the clock of each source lies against ours.
    pub(super) aligned: Vec<Option<Aligned>>,
    /// Whether that is not on disk yet.
    pub(super) unsaved_alignment: bool,
    pub(super) uses: Uses,
}

/// A query, or whoever else needs readings.
pub(super) struct Open {
    pub(super) start: Timestamp,
    /// `None` for one that only keeps readings.
    pub(super) flight: Option<FlightId>,
}

/// All that the energy of one window is made from, but who was in flight.
pub(super) struct Evidence {
    pub(super) traces: Vec<Vec<Reading>>,
    pub(super) idle: Vec<Option<Idle>>,
    pub(super) uses: Arc<[Use]>,
    /// By how much the clock of each source may be off.
    pub(super) bounds: Vec<Duration>,
}

impl State {
    pub(super) fn new(series: Vec<Series>, uses: Uses) -> Self {
        let aligned = vec![None; series.len()];
        Self {
            aligned,
            unsaved_alignment: false,
            series,
            unsaved: Vec::new(),
            saved: Timestamp::ZERO,
            open: BTreeMap::new(),
            flights: Flights::default(),
            idle: Vec::new(),
            unsaved_idle: None,
            next_ticket: 0,
            faults: Vec::new(),
            uses,
        }
    }

    pub(super) fn traces(&self, window: Window) -> Vec<Vec<Reading>> {
        let traces = self.series.iter().map(|series| series.window(window));
        traces.collect()
    }

    /// What each source goes into, worked out again only when a counter turned out to stand still
    /// or began to move.
    pub(super) fn uses(&mut self, kept: &[TrackedSource]) -> Arc<[Use]> {
        let is_known = self.series.iter().map(Series::is_stuck);
        if !is_known.eq(self.uses.stuck.iter().copied()) {
            let stuck = self.series.iter().map(Series::is_stuck).collect();
            self.uses = Uses::of(kept, stuck, self.uses.basis);
        }
        Arc::clone(&self.uses.by_source)
    }

    pub(super) fn admit(&mut self, open: Open) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.open.insert(ticket, open);
        ticket
    }

    /// Who had this ticket needs nothing any more.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.open.remove(&ticket);
        self.forget();
    }

    /// What the energy of `window` is made from.
    pub(super) fn evidence(&mut self, window: Window, kept: &[TrackedSource]) -> Evidence {
        let idle = self.series.iter().enumerate().map(|(place, series)| {
            let idle = self.idle_of(place)?;
            Some(series.doubt(idle))
        });
        let idle = idle.collect();
        let traces = self.traces(window);
        let uses = self.uses(kept);
        let bounds = self.aligned.iter().zip(kept).map(|(aligned, kept)| {
            let own = aligned.map_or(Duration::ZERO, |aligned| aligned.bound);
            own.max(kept.meter.clock_bound)
        });
        let bounds = bounds.collect();
        Evidence {
            traces,
            idle,
            uses,
            bounds,
        }
    }

    /// Takes note of how a clock lies against ours; on disk it goes when its bound has widened.
    pub(super) fn align(&mut self, first: usize, count: usize, aligned: Aligned) {
        for known in self.aligned.iter_mut().skip(first).take(count) {
            let bound = known.map(|known| known.bound);
            self.unsaved_alignment |= bound.is_none_or(|bound| aligned.bound > bound);
            *known = Some(aligned);
        }
    }

    pub(super) fn idle_of(&self, place: usize) -> Option<Idle> {
        self.idle.get(place).copied().flatten()
    }

    /// Who was in flight in the steps that hold `window`, to be looked at without the lock; `None`
    /// if that is more to copy than to look at. Both say the same.
    pub(super) fn flights_apart(&self, traces: &[Vec<Reading>], window: Window) -> Option<Flights> {
        let (mut from, mut to) = (window.start(), window.end());
        for (series, trace) in self.series.iter().zip(traces) {
            if let ([first, .., last], true) = (&trace[..], series.is_energy()) {
                from = from.min(series.tells_from(first));
                to = to.max(last.at);
            }
        }
        let earliest = window.start().before(LONGEST_STEP);
        let readings: usize = traces.iter().map(Vec::len).sum();
        if readings <= FEW_READINGS && from >= earliest {
            return None;
        }
        Some(self.flights.excerpt(from.max(earliest), to))
    }

    /// The first instant that a reading in memory tells of.
    fn reaches_back(&self) -> Option<Timestamp> {
        let energies = self.series.iter().filter(|series| series.is_energy());
        energies.filter_map(Series::reaches_back).min()
    }

    /// Forgets what is on disk and what no open query can need.
    pub(super) fn forget(&mut self) {
        let oldest = self.open.values().map(|open| open.start).min();
        let needed = oldest.map_or(self.saved, |oldest| oldest.min(self.saved));
        for series in &mut self.series {
            series.settle(needed, &self.flights);
            series.forget_before(needed);
        }
        let reached = self.reaches_back().unwrap_or(needed);
        self.flights
            .forget_before(reached.max(needed.before(LONGEST_STEP)).min(needed));
    }
}
