//! Attribution: the energy of each step, shared among the queries in flight (docs/method.md §6.3).
//!
//! Live and stored runs use the same rule. [`Steps`] turns readings into steps between edges;
//! [`Flights`] knows the queries in flight at each instant. [`share`] is the energy of one query
//! while the run goes on; [`Ledger`] attributes all queries in one pass afterwards. Pure: readings
//! and windows in, joules out.

use crate::energy::{Kind, Meter, WindowEnergy};
use crate::reading::{Reading, Window};

mod balance;
mod doubt;
mod flights;
mod idle;
mod ledger;
mod steps;
mod tally;
mod tokens;

pub use balance::{Balance, Totals};
pub use flights::{FlightId, Flights};
pub use idle::{Idle, IdleSteps};
pub use ledger::{Ledger, QueryAttribution, equal};
pub use steps::{Step, Steps, edge_instant, steps};
pub use tokens::{TokenTimes, Weights};

use tally::{Tally, View};

impl Meter {
    /// Averaging time of a reading beyond its step. Zero for a counter, whose edges are dated
    /// (docs/method.md §6.5).
    pub(crate) fn blur(&self) -> std::time::Duration {
        match self.kind {
            Kind::Counter(_) => std::time::Duration::ZERO,
            Kind::Power(averaging) => averaging.max(self.period.unwrap_or_default()),
        }
    }

    /// Whether a counter is polled only a few times per period. Polls and updates then stay in
    /// phase for a while and jump, so the errors of two edges are correlated (docs/method.md §6.5).
    pub(crate) fn is_seldom_polled(&self, width: std::time::Duration) -> bool {
        self.period
            .is_some_and(|period| period < width * 5 && width < period)
    }

    /// The energy of `window` as if no other query had been in flight, with idle power unknown.
    /// `readings` are those of one source in order: from the last one before the window to the
    /// first one after it, both later by [`Meter::lag`].
    pub fn energy(&self, readings: &[Reading], window: Window) -> WindowEnergy {
        share(self, readings, window, &Flights::alone(window), None)
    }
}

/// One source's energy for one query: its share of every step that it overlaps. `flights` holds all
/// queries in flight meanwhile, including this one with exactly `window`. `readings` are as for
/// [`Meter::energy`], with one more in front to date the first edge. The uncertainty of `idle` is
/// that of [`Totals::doubt`].
pub fn share(
    meter: &Meter,
    readings: &[Reading],
    window: Window,
    flights: &Flights,
    idle: Option<Idle>,
) -> WindowEnergy {
    let mut tally = Tally::new(window, idle);
    let mut cursor = flights.cursor();
    for step in steps(meter, readings) {
        if step.start >= window.end() {
            break;
        }
        let view = View::of(&step, &mut cursor);
        tally.add(&view, view.part(window), flights);
    }
    tally.finish(meter)
}

#[cfg(test)]
mod tests;
