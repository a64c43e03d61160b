//! Uncertainty of a query's share (docs/method.md §6.5).

use std::time::Duration;

use super::Idle;
use super::tally::View;
use crate::energy::{Kind, Meter};
use crate::reading::Window;
use crate::time::Timestamp;

/// Spread of power above idle among queries in one step: one standard deviation, relative to their
/// mean. No counter can tell; docs/method.md §6.5 has the source.
const UNLIKENESS: f64 = 0.3;

/// Parts of two adjacent steps that differ by less count as equal when their edge moves.
const LEAST_DIFFERENCE: f64 = 0.01;

/// Uncertainty of a query's share over the steps so far.
#[derive(Default)]
pub(super) struct Uncertainty {
    /// Length of all steps that it overlaps, and the time in them with a query in flight.
    stretch: f64,
    busy: f64,
    steps: u32,
    /// Idle time that its share of the steps contains in excess, in seconds.
    slack: f64,
    /// Joules that depend on how much this query differs from the others.
    mixed: f64,
    /// Spread of the others: the current group of concurrent queries, and the squares of earlier
    /// groups.
    company: Companions,
    others: f64,
    /// Variance from the dating of its first edge, of inner edges, and from its ends inside steps
    /// with idle time.
    first_edge: f64,
    edges: f64,
    latest: Option<(Edge, f64)>,
}

/// Consecutive steps that a query shares with others.
#[derive(Default)]
struct Companions {
    mixed: f64,
    /// The same for each of the others.
    each: f64,
}

impl Companions {
    /// Square of the joules that depend on how the others differ. It falls with their number, as
    /// their mean approaches the usual one.
    fn square(&self) -> f64 {
        self.mixed * self.each
    }
}

/// A query's part of one step.
pub(super) struct Piece {
    /// Its part of the shared energy, 0 to 1.
    pub(super) part: f64,
    /// Shared energy, in joules.
    pub(super) rest: f64,
    /// Counted energy, in joules.
    pub(super) energy: f64,
    /// Its own time in the step divided by the number in flight, in seconds.
    pub(super) fair: f64,
}

/// An edge of a step and the power around it.
struct Edge {
    at: Timestamp,
    width: Duration,
    in_flight: i64,
    /// Shared energy of the step in joules, and the flight time that it covers in seconds.
    rest: f64,
    flight: f64,
}

impl Uncertainty {
    /// Adds a step that the query is in.
    pub(super) fn add(
        &mut self,
        view: &View<'_>,
        piece: &Piece,
        window: Window,
        idle: Option<Idle>,
    ) {
        self.stretch += view.seconds;
        self.busy += view.busy;
        self.steps += 1;
        self.slack += piece.part * view.seconds - piece.fair;
        self.mix(piece, view.sharers());
        if idle.is_none() {
            self.edges += ends(view, piece, window);
        }
        // An edge dated wrongly moves energy from one step to the next. That matters as far as the
        // query's parts of the two steps differ.
        let first = |part: f64| Edge::of(view.first_edge(), view, piece).moves(part, window, idle);
        match &self.latest {
            None => self.first_edge = first(piece.part),
            Some((last, part)) if last.at == view.step.start => {
                let differs = piece.part - part;
                if differs.abs() > LEAST_DIFFERENCE {
                    self.edges += first(differs);
                }
            }
            Some((last, part)) => {
                self.edges += last.moves(*part, window, idle) + first(piece.part);
            }
        }
        self.latest = Some((Edge::of(view.last_edge(), view, piece), piece.part));
    }

    /// Adds the part of a step that is mixed with other queries. The power of a query deviates
    /// alike in all of its steps, and so does that of its concurrent queries. A query alone in a
    /// step starts a new group.
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer than 2^52 queries are in flight"
    )]
    fn mix(&mut self, piece: &Piece, sharers: u64) {
        if piece.part < 1.0 {
            let mixed = piece.rest.abs() * piece.part * (1.0 - piece.part);
            self.mixed += mixed;
            self.company.mixed += mixed;
            self.company.each += mixed / sharers.saturating_sub(1).max(1) as f64;
        } else if self.company.mixed > 0.0 {
            self.others += std::mem::take(&mut self.company).square();
        }
    }

    /// Whether queries were in flight for less than this share of the steps.
    pub(super) fn is_busy_for_less_than(&self, share: f64) -> bool {
        self.busy < share * self.stretch
    }

    /// Variance of the query's total, without the scale error of the source. `power` is the query's
    /// part of the shared power.
    pub(super) fn variance(
        &self,
        meter: &Meter,
        window: Window,
        idle: Option<Idle>,
        power: f64,
    ) -> f64 {
        let last = self.latest.as_ref();
        let is_seldom = last.is_some_and(|(edge, _)| meter.is_seldom_polled(edge.width));
        let last = last.map_or(0.0, |(edge, part)| edge.moves(*part, window, idle));
        let mut edges = self.edges + self.first_edge + last;
        if is_seldom {
            edges += 2.0 * (self.first_edge * last).sqrt();
        }
        let idle = idle.map_or(0.0, |idle| (idle.sigma.watts() * self.slack).powi(2));
        let others = self.others + self.company.square();
        let mixed = UNLIKENESS.powi(2) * (self.mixed.powi(2) + others);
        let bound = meter.clock_bound.as_secs_f64();
        // A clock error moves both ends of the query alike. Gain at one end and loss at the other
        // depend on the neighbouring queries, which are independent.
        let clock = 2.0 * bound * bound / 3.0;
        edges + idle + mixed + (self.blur(meter) + clock) * power * power
    }

    /// Squared uncertainty of a query's ends in seconds. A power is averaged over time, is up to a
    /// period old when read, and holds until the next reading.
    fn blur(&self, meter: &Meter) -> f64 {
        let Kind::Power(averaging) = meter.kind else {
            return 0.0;
        };
        let step = self.stretch / f64::from(self.steps.max(1));
        let period = meter.period.unwrap_or_default().as_secs_f64();
        let mean = averaging.as_secs_f64();
        2.0 * (mean * mean / 12.0 + (period * period + step * step) / 3.0)
    }
}

/// Without idle power, the time of the energy within a step that holds idle time is unknown. It is
/// uniform for each end of the query inside the step.
fn ends(view: &View<'_>, piece: &Piece, window: Window) -> f64 {
    if view.seconds - view.busy < 1e-9 {
        return 0.0;
    }
    let inside = |end: Timestamp| f64::from(view.step.start < end && end < view.step.end);
    let energy = piece.energy * piece.part;
    (inside(window.start()) + inside(window.end())) * energy * energy / 12.0
}

impl Edge {
    fn of(
        (at, width, in_flight): (Timestamp, Duration, i64),
        view: &View<'_>,
        piece: &Piece,
    ) -> Self {
        Self {
            at,
            width,
            in_flight,
            rest: piece.rest,
            flight: view.flight_seconds(),
        }
    }

    /// Variance of the joules that the edge moves, given the query's part: uniform over its width,
    /// times the power there. An edge in idle time close to an end of the query may lie inside it.
    fn moves(&self, part: f64, window: Window, idle: Option<Idle>) -> f64 {
        part * part * self.variance(window, idle)
    }

    fn variance(&self, window: Window, idle: Option<Idle>) -> f64 {
        let half = self.width.as_secs_f64() / 2.0;
        let in_flight = self.in_flight.max(i64::from(idle.is_none()));
        let in_flight = f64::from(i32::try_from(in_flight).unwrap_or(i32::MAX));
        let idle = idle.map_or(0.0, |idle| idle.power.watts());
        // Power above idle per query in flight.
        let density = self.rest / self.flight.max(1e-12);
        let power = idle + density * in_flight;
        let variance = power * power * half * half / 3.0;
        let apart = |own: Timestamp| own.since(self.at).max(self.at.since(own)).as_secs_f64();
        let apart = apart(window.start()).min(apart(window.end()));
        if in_flight >= 1.0 || apart >= half {
            return variance;
        }
        // With u uniform from −half to half: the means of (u − apart)² and of u (u − apart), over u
        // > apart.
        let square = (half - apart).powi(3) / (6.0 * half);
        let cross =
            (half.powi(3) - apart.powi(3)) / 3.0 - apart * (half * half - apart * apart) / 2.0;
        let cross = cross / (2.0 * half);
        variance + density * density * square + 2.0 * idle * density.max(0.0) * cross
    }
}
