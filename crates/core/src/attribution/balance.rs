//! Energy balance of a source over many steps: measured = queries + no query in flight + lost in
//! gaps (docs/method.md §6.3).

use serde::{Deserialize, Serialize};

use super::tally::View;
use super::{Idle, Step};
use crate::units::{Joules, Watts};

/// Sums over steps. The balance follows from them for any idle power.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    energy: f64,
    seconds: f64,
    /// Steps with a query in flight at any time.
    shared_energy: f64,
    shared_seconds: f64,
    /// Energy of the time with a query in flight, in proportion to time.
    busy_energy: f64,
    busy_seconds: f64,
    lost: f64,
    /// Whether a query was in flight in the latest step.
    is_busy: bool,
    calm: Option<QuietMean>,
}

/// The first steps after work without a query in flight: exponentially weighted means.
#[derive(Debug, Clone, Copy, PartialEq)]
struct QuietMean {
    power: f64,
    square: f64,
    /// Relative variance from the dating of edges.
    dating: f64,
}

/// Weight of the latest quiet step.
const LATEST: f64 = 0.25;

impl QuietMean {
    fn of(step: &Step, energy: f64) -> Self {
        let power = energy / step.seconds();
        Self {
            power,
            square: power * power,
            dating: step.dating_variance(1.0),
        }
    }

    fn then(self, latest: Self) -> Self {
        let mean = |before: f64, now: f64| before + LATEST * (now - before);
        Self {
            power: mean(self.power, latest.power),
            square: mean(self.square, latest.square),
            dating: mean(self.dating, latest.dating),
        }
    }

    /// Excess of quiet steps over idle power, beyond what the dating of their edges explains.
    fn excess(self, idle: f64) -> f64 {
        let off = self.square - 2.0 * self.power * idle + idle * idle;
        (off - self.dating * idle * idle).max(0.0)
    }
}

/// Energy balance of a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// All energy that was counted, including that across gaps.
    #[serde(rename = "measured_joules")]
    pub measured: Joules,
    /// Energy attributed to queries: the sum of their totals.
    #[serde(rename = "queries_joules")]
    pub queries: Joules,
    /// Energy while no query was in flight.
    #[serde(rename = "nobody_joules")]
    pub no_query: Joules,
    /// Energy counted across gaps; it is attributed to no query.
    #[serde(rename = "lost_joules")]
    pub gaps: Joules,
    /// Energy of queries above idle; `None` when idle power is unknown.
    #[serde(rename = "above_idle_joules")]
    pub above_idle: Option<Joules>,
    /// Idle power times the time that steps cover; `None` when idle power is unknown.
    #[serde(rename = "idle_joules")]
    pub idle: Option<Joules>,
    /// Energy above idle in steps without a query; `None` when idle power is unknown.
    #[serde(rename = "unassigned_joules")]
    pub unassigned: Option<Joules>,
}

impl Totals {
    /// Adds a step.
    pub fn add(&mut self, step: &Step, flights: &super::Flights) {
        let view = View::of(step, &mut flights.cursor_from(step.start));
        self.take(&view);
    }

    pub(super) fn take(&mut self, view: &View<'_>) {
        let Some(energy) = view.step.believed() else {
            self.lost += view.step.energy.map_or(0.0, Joules::joules);
            return;
        };
        let (energy, seconds) = (energy.joules(), view.seconds);
        self.energy += energy;
        self.seconds += seconds;
        let was_busy = std::mem::replace(&mut self.is_busy, !view.is_empty());
        if view.is_empty() {
            if was_busy && seconds > 0.0 {
                let latest = QuietMean::of(view.step, energy);
                self.calm = Some(self.calm.map_or(latest, |calm| calm.then(latest)));
            }
            return;
        }
        self.shared_energy += energy;
        self.shared_seconds += seconds;
        self.busy_energy += energy * view.busy / seconds;
        self.busy_seconds += view.busy;
    }

    /// Idle power with its uncertainty widened by the first quiet steps after work: clocks and fans
    /// take time to settle (docs/method.md §6.5).
    #[must_use]
    pub fn doubt(&self, idle: Idle) -> Idle {
        let excess = self
            .calm
            .map_or(0.0, |calm| calm.excess(idle.power.watts()));
        let sigma = idle.sigma.watts();
        Idle {
            sigma: Watts::from_watts((sigma * sigma + excess).sqrt()),
            ..idle
        }
    }

    /// The balance for this idle power.
    pub fn balance(&self, idle: Option<Idle>) -> Balance {
        let joules = Joules::from_joules;
        let measured = joules(self.energy + self.lost);
        let gaps = joules(self.lost);
        let Some(idle) = idle.map(|idle| Watts::watts(idle.power)) else {
            return Balance {
                measured,
                queries: joules(self.busy_energy),
                above_idle: None,
                idle: None,
                no_query: joules(self.energy - self.busy_energy),
                unassigned: None,
                gaps,
            };
        };
        let above = self.shared_energy - idle * self.shared_seconds;
        let unassigned =
            self.energy - self.shared_energy - idle * (self.seconds - self.shared_seconds);
        Balance {
            measured,
            queries: joules(above + idle * self.busy_seconds),
            above_idle: Some(joules(above)),
            idle: Some(joules(idle * self.seconds)),
            no_query: joules(unassigned + idle * (self.seconds - self.busy_seconds)),
            unassigned: Some(joules(unassigned)),
            gaps,
        }
    }
}
