//! Idle power of a source (docs/method.md §6.5).

use serde::{Deserialize, Serialize};

use super::tally::View;
use super::{Flights, Step, steps};
use crate::energy::Meter;
use crate::reading::{Reading, Window};
use crate::units::Watts;

/// Idle power of a source: the model is loaded and no query is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    /// Mean power.
    #[serde(rename = "watts")]
    pub power: Watts,
    /// One standard deviation of that mean.
    #[serde(rename = "sigma_watts")]
    pub sigma: Watts,
}

impl Idle {
    /// The mean power over the steps inside `window` without a query in flight; `None` with fewer
    /// than two. Its uncertainty is the spread of the steps' power, less the part that the dating
    /// of their edges explains (docs/method.md §6.5).
    pub fn over(
        meter: &Meter,
        readings: &[Reading],
        window: Window,
        flights: &Flights,
    ) -> Option<Self> {
        let mut cursor = flights.cursor();
        let mut quiet = IdleSteps::default();
        for step in steps(meter, readings) {
            let is_inside = step.start >= window.start() && step.end <= window.end();
            if is_inside && View::of(&step, &mut cursor).is_empty() {
                quiet.take(&step);
            }
        }
        quiet.idle(meter)
    }
}

/// Steps without a query in flight, added one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdleSteps {
    count: f64,
    seconds: f64,
    /// Time-weighted mean power, and the sum of squared deviations times time.
    power: f64,
    squares: f64,
    /// Part of the squares that edge dating explains, for a power of 1.
    dating: f64,
    /// Widths of the first and the last edge, in seconds.
    edges: Option<(f64, f64)>,
}

impl IdleSteps {
    /// Adds a step without a query in flight; implausible steps are ignored.
    pub fn take(&mut self, step: &Step) {
        let seconds = step.seconds();
        let Some(energy) = step.believed().filter(|_| seconds > 0.0) else {
            return;
        };
        self.count += 1.0;
        self.seconds += seconds;
        let power = energy.joules() / seconds;
        let off = power - self.power;
        self.power += off * seconds / self.seconds;
        self.squares += off * (power - self.power) * seconds;
        self.dating += step.dating_variance(1.0) * seconds;
        let first = self
            .edges
            .map_or(step.start_width.as_secs_f64(), |edges| edges.0);
        self.edges = Some((first, step.end_width.as_secs_f64()));
    }

    /// Their mean power; `None` with fewer than two steps.
    pub fn idle(&self, meter: &Meter) -> Option<Idle> {
        let Self {
            count,
            seconds: time,
            power,
            ..
        } = *self;
        let (first, last) = self.edges?;
        if count < 2.0 || !power.is_finite() {
            return None;
        }
        let squares = self.squares - self.dating * power * power;
        let variance = (squares / time).max(0.0) * count / (count - 1.0);
        // Readings averaged over a long time are correlated.
        let independent = (time / meter.blur().as_secs_f64().max(time / count)).max(1.0);
        let edges = |width: f64| (power * width / time).powi(2) / 12.0;
        let dating = edges(first) + edges(last);
        Some(Idle {
            power: Watts::from_watts(power),
            sigma: Watts::from_watts((variance / independent + dating).sqrt()),
        })
    }
}
