//! One query's energy from one source, step by step, and when it is withheld (docs/method.md §6.3,
//! §6.7).

use std::time::Duration;

use super::doubt::{Piece, Uncertainty};
use super::flights::{Cursor, FlightSums};
use super::{Flights, Idle, Step};
use crate::energy::{Meter, Reason, Spread, WindowEnergy};
use crate::reading::Window;
use crate::time::Timestamp;
use crate::units::Joules;

/// Smallest share of the window that readings must cover for a result. With idle power unknown,
/// also the smallest share of the steps with queries in flight.
const LEAST_COVERAGE: f64 = 0.5;

/// A step and the queries in flight in it.
pub(super) struct View<'a> {
    pub(super) step: &'a Step,
    pub(super) seconds: f64,
    /// Time with a query in flight, in seconds.
    pub(super) busy: f64,
    start: FlightSums,
    end: FlightSums,
}

impl<'a> View<'a> {
    pub(super) fn of(step: &'a Step, cursor: &mut Cursor<'_>) -> Self {
        let (start, end) = (cursor.at(step.start), cursor.at(step.end));
        Self {
            step,
            seconds: step.seconds(),
            busy: seconds(end.busy_nanos.saturating_sub(start.busy_nanos)),
            start,
            end,
        }
    }

    /// Whether no query was in flight in it.
    pub(super) fn is_empty(&self) -> bool {
        self.flight_nanos() == 0
    }

    /// A query's part of it by time: its overlap ÷ the sum of all overlaps.
    #[expect(
        clippy::cast_precision_loss,
        reason = "times in a step are far below 2^52 ns"
    )]
    pub(super) fn part(&self, window: Window) -> f64 {
        let own = overlap_nanos(window, self.step);
        let all = self.flight_nanos().max(own);
        if own > 0 {
            own as f64 / all as f64
        } else {
            0.0
        }
    }

    /// Number of queries in flight at any time in it.
    pub(super) fn sharers(&self) -> u64 {
        let at_start = u64::try_from(self.start.in_flight).unwrap_or(0);
        at_start + self.end.begun.saturating_sub(self.start.begun)
    }

    /// The sum of all overlaps, in seconds.
    pub(super) fn flight_seconds(&self) -> f64 {
        seconds(self.flight_nanos())
    }

    /// Its first edge: instant, uncertainty, and number in flight.
    pub(super) fn first_edge(&self) -> (Timestamp, Duration, i64) {
        let step = self.step;
        (step.start, step.start_width, self.start.in_flight)
    }

    /// The same for its last edge.
    pub(super) fn last_edge(&self) -> (Timestamp, Duration, i64) {
        let step = self.step;
        (step.end, step.end_width, self.end.in_flight)
    }

    fn flight_nanos(&self) -> u64 {
        // A clock that went back yields no step.
        self.end
            .flight_nanos
            .saturating_sub(self.start.flight_nanos)
    }

    /// Energy shared among the queries: above idle, or of the time in which they were in flight.
    fn rest(&self, energy: f64, idle: Option<Idle>) -> f64 {
        match idle {
            Some(idle) => energy - idle.power.watts() * self.seconds,
            None => energy * self.busy / self.seconds,
        }
    }

    /// A query's own time in it divided by the number in flight, in seconds.
    fn fair_seconds(&self, window: Window, flights: &Flights) -> f64 {
        let within = |own: Timestamp, edge: &FlightSums, is_inside: bool| {
            if is_inside {
                flights.at(own).fair_seconds
            } else {
                edge.fair_seconds
            }
        };
        let (own_start, own_end) = (window.start(), window.end());
        let from = within(own_start, &self.start, own_start > self.step.start);
        let to = within(own_end, &self.end, own_end < self.step.end);
        to - from
    }
}

pub(super) fn overlap_nanos(window: Window, step: &Step) -> u64 {
    let (start, end) = (window.start().max(step.start), window.end().min(step.end));
    end.nanos().saturating_sub(start.nanos())
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// Energy of a query so far.
pub(super) struct Tally {
    window: Window,
    idle: Option<Idle>,
    /// Its share of the shared energy, in joules.
    share: f64,
    /// Its own covered time divided by the number in flight, in seconds.
    fair: f64,
    covered: Duration,
    /// `None` where they are not requested.
    powers: Option<Vec<(f64, Duration)>>,
    lost: Option<Reason>,
    doubt: Uncertainty,
}

/// A step that a query overlaps for less than this fraction of its longest one says little of its
/// power.
const MOMENT: u32 = 10;

/// The power over its steps. A step with a tiny overlap counts in the mean only, not as an extreme:
/// the length of that overlap is a matter of microseconds.
fn power(powers: Vec<(f64, Duration)>) -> Option<Spread> {
    let longest = powers.iter().map(|(_, own)| *own).max()?;
    let is_whole = |(_, own): &&(f64, Duration)| *own * MOMENT >= longest;
    let extremes = Spread::of(powers.iter().filter(is_whole).copied().collect())?;
    Some(Spread {
        min: extremes.min,
        max: extremes.max,
        ..Spread::of(powers)?
    })
}

impl Tally {
    pub(super) fn new(window: Window, idle: Option<Idle>) -> Self {
        Self {
            window,
            idle,
            share: 0.0,
            fair: 0.0,
            covered: Duration::ZERO,
            powers: Some(Vec::new()),
            lost: None,
            doubt: Uncertainty::default(),
        }
    }

    /// A tally of a window inside a query's, without power.
    pub(super) fn inside(window: Window, idle: Option<Idle>) -> Self {
        Self {
            powers: None,
            ..Self::new(window, idle)
        }
    }

    /// The window of the query.
    pub(super) const fn window(&self) -> Window {
        self.window
    }

    /// Adds a step with the query's `part` of it.
    pub(super) fn add(&mut self, view: &View<'_>, part: f64, flights: &Flights) {
        let own = Duration::from_nanos(overlap_nanos(self.window, view.step));
        if own.is_zero() {
            return;
        }
        let Some(energy) = view.step.believed().map(Joules::joules) else {
            let reason = view.step.lost.unwrap_or(Reason::Gap);
            // A reset is more specific than a gap.
            self.lost = Some(self.lost.map_or(reason, |before| before.min(reason)));
            return;
        };
        let piece = Piece {
            part,
            rest: view.rest(energy, self.idle),
            energy,
            fair: view.fair_seconds(self.window, flights),
        };
        self.share += piece.rest * part;
        self.fair += piece.fair;
        self.covered += own;
        if let Some(powers) = &mut self.powers {
            powers.push((energy / view.seconds, own));
        }
        self.doubt.add(view, &piece, self.window, self.idle);
    }

    /// The query's total so far, in joules.
    pub(super) fn total(&self) -> f64 {
        let idle = self.idle.map_or(0.0, |idle| idle.power.watts());
        self.share + idle * self.fair
    }

    /// The source's energy for the query.
    pub(super) fn finish(self, meter: &Meter) -> WindowEnergy {
        let length = self.window.length();
        if self.covered.is_zero() || length.is_zero() {
            return WindowEnergy::unknown(self.lost.unwrap_or(Reason::NoReading));
        }
        let coverage = (self.covered.as_secs_f64() / length.as_secs_f64()).min(1.0);
        let is_whole = length.saturating_sub(self.covered) < Duration::from_micros(1);
        let reason = match self.lost {
            None if is_whole => None,
            lost => Some(lost.unwrap_or(Reason::Partial)),
        };
        let is_mostly_idle = self.doubt.is_busy_for_less_than(LEAST_COVERAGE);
        let refused = match reason {
            Some(Reason::CounterReset) => reason,
            _ if coverage < LEAST_COVERAGE => reason.or(Some(Reason::Partial)),
            _ if self.idle.is_none() && is_mostly_idle => Some(Reason::TooShort),
            _ => None,
        };
        if let Some(reason) = refused {
            return WindowEnergy {
                coverage,
                ..WindowEnergy::unknown(reason)
            };
        }
        WindowEnergy {
            energy: Some(Joules::from_joules(self.total())),
            above_idle: self.idle.map(|_| Joules::from_joules(self.share)),
            sigma: Some(self.sigma(meter)),
            power: self.powers.and_then(power),
            coverage,
            reason,
        }
    }

    /// One standard deviation of the total.
    fn sigma(&self, meter: &Meter) -> Joules {
        let power = self.share / self.covered.as_secs_f64();
        let doubt = self.doubt.variance(meter, self.window, self.idle, power);
        let scale = meter.relative_sigma.unwrap_or(0.0) * self.total();
        Joules::from_joules((doubt + scale * scale).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_was_seen_for_a_moment_is_no_extreme() {
        let ms = Duration::from_millis;
        let steps = vec![
            (0.4, Duration::from_micros(20)),
            (22.0, ms(10)),
            (25.0, ms(10)),
            (900.0, Duration::from_micros(20)),
        ];
        let spread = power(steps).unwrap();
        assert!(spread.min > 21.9 && spread.max < 25.1, "{spread:?}");
        assert!(spread.mean > 23.5 && spread.mean < 26.0, "{spread:?}");
        // All steps of a short query are tiny overlaps.
        let short = power(vec![(3.0, Duration::from_micros(5))]).unwrap();
        assert!(short.min > 2.9 && short.max < 3.1, "{short:?}");
        assert_eq!(power(Vec::new()), None);
    }
}
