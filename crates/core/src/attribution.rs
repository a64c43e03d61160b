//! Whose joules they are: the energy of each step, shared among the queries in flight
//! (docs/method.md §6.3).
//!
//! One rule for live and later use. [`Steps`] turns readings into steps between edges, [`Flights`]
//! knows who was in flight when, [`share`] is the energy of one query while the run goes on, and
//! [`Ledger`] that of all queries in one pass afterwards. Pure: readings and windows in, joules out.

use crate::energy::{Kind, Meter, WindowEnergy};
use crate::reading::{Reading, Window};
use crate::units::Watts;

mod balance;
mod doubt;
mod flights;
mod ledger;
mod steps;
mod tally;
mod tokens;

pub use balance::{Balance, Totals};
pub use flights::{FlightId, Flights};
pub use ledger::{Ledger, equal};
pub use steps::{Step, Steps, edge_instant, steps};
pub use tokens::TokenTimes;

use tally::{Tally, View};

/// What a source draws with the model loaded and nobody in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// Mean power.
    pub power: Watts,
    /// One standard deviation of that mean.
    pub sigma: Watts,
}

impl Idle {
    /// The mean power over the steps inside `window` in which nobody was in flight; `None` with
    /// fewer than two of them. The spread of the steps' power, less what the dating of their edges
    /// alone makes of it, says how sure the mean is (docs/method.md §6.5).
    pub fn over(
        meter: &Meter,
        readings: &[Reading],
        window: Window,
        flights: &Flights,
    ) -> Option<Self> {
        let mut cursor = flights.cursor();
        let quiet: Vec<(Step, f64)> = steps(meter, readings)
            .filter(|step| {
                let is_inside = step.start >= window.start() && step.end <= window.end();
                is_inside && !step.length().is_zero()
            })
            .filter_map(|step| {
                let view = View::of(&step, &mut cursor);
                let energy = step.believed()?;
                view.is_empty().then_some((step, energy.joules()))
            })
            .collect();
        let (first, last) = (quiet.first()?.0, quiet.last()?.0);
        let time: f64 = quiet.iter().map(|(step, _)| step.seconds()).sum();
        let power = quiet.iter().map(|(_, energy)| energy).sum::<f64>() / time;
        let count = f64::from(u32::try_from(quiet.len()).unwrap_or(u32::MAX));
        if count < 2.0 || !power.is_finite() {
            return None;
        }
        let squares = quiet.iter().map(|(step, energy)| {
            let off = energy / step.seconds() - power;
            (off * off - step.dating_variance(power)) * step.seconds()
        });
        let variance = (squares.sum::<f64>() / time).max(0.0) * count / (count - 1.0);
        // Readings that average over a long time repeat each other.
        let independent = (time / meter.blur().as_secs_f64().max(time / count)).max(1.0);
        let edges = |width: f64| (power * width / time).powi(2) / 12.0;
        let dating = edges(first.start_width.as_secs_f64()) + edges(last.end_width.as_secs_f64());
        Some(Self {
            power: Watts::from_watts(power),
            sigma: Watts::from_watts((variance / independent + dating).sqrt()),
        })
    }
}

impl Meter {
    /// The time over which a reading is blurred, beyond the step that it stands for: none for a
    /// counter, whose edges are seen (docs/method.md §6.5).
    pub(crate) fn blur(&self) -> std::time::Duration {
        match self.kind {
            Kind::Counter(_) => std::time::Duration::ZERO,
            Kind::Power(averaging) => averaging.max(self.period.unwrap_or_default()),
        }
    }

    /// Whether a counter is polled only a few times in a period. Polls and updates then keep their
    /// distance for a while and jump, so that the errors of two edges are no strangers to each
    /// other (docs/method.md §6.5).
    pub(crate) fn is_seldom_polled(&self, width: std::time::Duration) -> bool {
        self.period
            .is_some_and(|period| period < width * 5 && width < period)
    }

    /// The energy of `window` as if nobody else had been in flight, idle unknown. `readings` are
    /// those of one source in order, from the last one before the window to the first one after
    /// it, both later by [`Meter::lag`].
    pub fn energy(&self, readings: &[Reading], window: Window) -> WindowEnergy {
        share(self, readings, window, &Flights::alone(window), None)
    }
}

/// What one source says of one query: its share of every step that it overlaps. `flights` holds all
/// queries that were in flight meanwhile, this one included, exactly as `window` has it. The same
/// `readings` as for [`Meter::energy`]; one more in front dates the first edge. `idle` is as sure as
/// [`Totals::doubt`] leaves it.
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
