//! What a session holds under its lock: readings, queries in flight, and what may be dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipw_core::alignment::ClockOffset;
use ipw_core::attribution::{FlightId, Flights, Idle};
use ipw_core::reading::{Reading, Window};
use ipw_core::rollup::Use;
use ipw_core::time::Timestamp;

use super::{Ticket, TrackedSource, Uses};
use crate::series::Series;

/// Flights are remembered for this long while a counter stands still. A longer step is shared among
/// the queries in flight at its end.
const LONGEST_STEP: Duration = Duration::from_mins(1);

/// Up to this many readings, computing a query's energy under the lock is faster than copying the
/// flights.
const FEW_READINGS: usize = 200;

/// State shared by the samplers and the queries.
pub(super) struct State {
    pub(super) series: Vec<Series>,
    /// Readings that are not on disk yet.
    pub(super) unsaved: Vec<Reading>,
    /// All readings up to here are on disk.
    pub(super) saved: Timestamp,
    pub(super) open: BTreeMap<Ticket, Claim>,
    pub(super) flights: Flights,
    /// The idle power of each source, where it was measured.
    pub(super) idle: Vec<Option<Idle>>,
    /// Idle power that is not on disk yet.
    pub(super) unsaved_idle: Option<Vec<Option<Idle>>>,
    pub(super) next_ticket: u64,
    pub(super) faults: Vec<String>,
    /// The clock offset of each source against ours.
    pub(super) aligned: Vec<Option<ClockOffset>>,
    /// Whether the clock offsets still have to go to disk.
    pub(super) unsaved_alignment: bool,
    pub(super) uses: Uses,
}

/// A claim on readings, by a query or an idle measurement.
pub(super) struct Claim {
    pub(super) start: Timestamp,
    /// `None` for a claim that only keeps readings.
    pub(super) flight: Option<FlightId>,
}

/// Everything that the energy of one window is computed from, except the flights.
pub(super) struct Evidence {
    pub(super) traces: Vec<Vec<Reading>>,
    pub(super) idle: Vec<Option<Idle>>,
    pub(super) uses: Arc<[Use]>,
    /// The clock error bound of each source.
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

    /// The role of each source in the results. Computed again only when a counter turns out to
    /// stand still or starts to move.
    pub(super) fn uses(&mut self, kept: &[TrackedSource]) -> Arc<[Use]> {
        let is_known = self.series.iter().map(Series::is_stuck);
        if !is_known.eq(self.uses.stuck.iter().copied()) {
            let stuck = self.series.iter().map(Series::is_stuck).collect();
            self.uses = Uses::of(kept, stuck, self.uses.basis);
        }
        Arc::clone(&self.uses.by_source)
    }

    pub(super) fn admit(&mut self, open: Claim) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.open.insert(ticket, open);
        ticket
    }

    /// Drops the claim of this ticket.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.open.remove(&ticket);
        self.forget();
    }

    /// Collects what the energy of `window` is computed from.
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

    /// Notes a clock offset. It goes to disk when its bound has widened.
    pub(super) fn align(&mut self, first: usize, count: usize, aligned: ClockOffset) {
        for known in self.aligned.iter_mut().skip(first).take(count) {
            let bound = known.map(|known| known.bound);
            self.unsaved_alignment |= bound.is_none_or(|bound| aligned.bound > bound);
            *known = Some(aligned);
        }
    }

    pub(super) fn idle_of(&self, place: usize) -> Option<Idle> {
        self.idle.get(place).copied().flatten()
    }

    /// A copy of the flights in the steps that contain `window`, for use without the lock. `None`
    /// if copying costs more than computing under the lock; the result is the same.
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

    /// The earliest instant that a reading in memory covers.
    fn reaches_back(&self) -> Option<Timestamp> {
        let energies = self.series.iter().filter(|series| series.is_energy());
        energies.filter_map(Series::reaches_back).min()
    }

    /// Drops readings that are on disk and that no open query can need.
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
