//! The state of the service's machines over a window.

use ipw_core::energy::{QueryEnergy, Spread, gauge_spread};
use ipw_core::reading::Window;
use ipw_core::source::{Gauge, Quantity, Role};

use super::Session;
use super::boards::Boards;
use super::state::Evidence;

impl Session {
    /// Adds the values of the gauges over `window`.
    pub(super) fn gauge(&self, evidence: &Evidence, window: Window, energy: &mut QueryEnergy) {
        let mut boards = Boards::default();
        for (kept, trace) in self.kept.iter().zip(&evidence.traces) {
            let Quantity::Gauge { gauge } = kept.about.quantity else {
                continue;
            };
            if kept.role == Role::Client {
                continue;
            }
            let spread = gauge_spread(trace, window, kept.meter.longest_silence);
            match gauge {
                // For several machines: the sum of their memory, and the highest temperature.
                Gauge::MemoryUsed => energy.memory = either(energy.memory, spread, Spread::plus),
                Gauge::CpuTemperature => {
                    energy.temperature = either(energy.temperature, spread, hotter);
                }
                _ => boards.take(gauge, spread),
            }
        }
        energy.gpu = boards.state();
    }
}

/// Combines two spreads, or returns the only one.
fn either(
    before: Option<Spread>,
    other: Option<Spread>,
    both: impl Fn(Spread, Spread) -> Spread,
) -> Option<Spread> {
    match (before, other) {
        (Some(before), Some(other)) => Some(both(before, other)),
        (before, other) => before.or(other),
    }
}

/// The spread with the higher mean.
fn hotter(left: Spread, right: Spread) -> Spread {
    if right.mean > left.mean { right } else { left }
}
