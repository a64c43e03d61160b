//! A simulated sensor with known true energy: power in steps, seen through two counters that behave
//! like real ones.
//!
//! `slow` is a staircase of 100 ms, like data-centre GPUs. `fast` changes every millisecond, like a
//! CPU package, and wraps every few seconds. Both count the same power trace. The counters are
//! exact and as late as real ones, so they say nothing about the error of real sensors.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Joules;
use ipw_telemetry::{Collector, PollError};

const ID: &str = "calibrate";
/// Names of the two sources.
pub(super) const FAST: &str = "calibrate/fast";
pub(super) const SLOW: &str = "calibrate/slow";

/// Steps of seconds and watts, repeated. Each is about as long as a query and as a step of the slow
/// counter, and a multiple of neither.
const STEPS: [(f64, f64); 3] = [(0.137, 40.0), (0.093, 95.0), (0.151, 65.0)];
/// Resolution of a counter in joules: that of RAPL.
const QUANTUM: f64 = 61e-6;
/// Joules at which the fast counter wraps.
const WRAPS_AT: f64 = 128.0;

/// Period of each counter's changes, in seconds.
const PERIODS: [f64; 2] = [0.001, 0.1];

/// Joules from the clock's reference to `seconds`.
fn energy(seconds: f64) -> f64 {
    let round: f64 = STEPS.iter().map(|(length, _)| length).sum();
    let per_round: f64 = STEPS.iter().map(|(length, watts)| length * watts).sum();
    let rounds = (seconds / round).floor();
    let mut left = seconds - rounds * round;
    let mut energy = rounds * per_round;
    for (length, watts) in STEPS {
        let taken = left.min(length);
        energy += taken * watts;
        left -= taken;
    }
    energy
}

/// True energy between two instants, in joules.
pub(super) fn between(start: f64, end: f64) -> f64 {
    energy(end) - energy(start)
}

/// First and last change of each counter, in seconds.
type ShownChanges = [Option<(f64, f64)>; 2];

/// The changes that the sensor has shown so far.
#[derive(Clone, Default)]
pub(super) struct ShownEnergy(Arc<Mutex<ShownChanges>>);

impl ShownEnergy {
    /// Joules that the counters have shown, fast and slow; `None` before the first change.
    pub(super) fn joules(&self) -> [Option<f64>; 2] {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.map(|shown| shown.map(|(first, last)| between(first, last)))
    }

    fn note(&self, place: usize, changed: f64) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown[place].get_or_insert((changed, changed)).1 = changed;
    }
}

/// The collector of the two counters.
pub(super) struct Sensor {
    sources: [Source; 2],
    shown: ShownEnergy,
}

impl Sensor {
    pub(super) fn new(shown: ShownEnergy) -> Self {
        let wraps = Rollover::Wraps(Joules::from_joules(WRAPS_AT));
        Self {
            sources: [
                source(FAST, Domain::CpuPackage, PERIODS[0], wraps),
                source(SLOW, Domain::Gpu, PERIODS[1], Rollover::Resets),
            ],
            shown,
        }
    }
}

fn source(name: &str, domain: Domain, period: f64, rollover: Rollover) -> Source {
    Source {
        name: name.to_owned(),
        collector: ID.into(),
        host: None,
        device: None,
        quantity: Quantity::Energy { domain, rollover },
        method: Method::Counter,
        period: Some(Duration::from_secs_f64(period)),
        privilege: "none".into(),
        relative_sigma: None,
    }
}

impl Collector for Sensor {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        for (place, period) in PERIODS.into_iter().enumerate() {
            let at = clock.now();
            let changed = (at.seconds() / period).floor() * period;
            self.shown.note(place, changed);
            let counted = (energy(changed) / QUANTUM).floor() * QUANTUM;
            let value = if place == 0 {
                counted % WRAPS_AT
            } else {
                counted
            };
            take(place, at, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::time::Anchor;

    use super::*;

    struct At(Timestamp);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            self.0
        }

        fn anchor(&self) -> Anchor {
            Anchor {
                unix_nanos: 0,
                monotonic_nanos: 0,
            }
        }
    }

    fn polled(sensor: &mut Sensor, seconds: f64) -> Vec<f64> {
        let at = Timestamp::ZERO.after(Duration::from_secs_f64(seconds));
        let mut values = Vec::new();
        sensor
            .poll(&At(at), &mut |_, _, value| values.push(value))
            .unwrap();
        values
    }

    #[test]
    fn the_trace_knows_its_energy() {
        assert!((energy(0.381) - (5.48 + 8.835 + 9.815)).abs() < 1e-9);
        assert!((between(0.1, 0.2) - (0.037 * 40.0 + 0.063 * 95.0)).abs() < 1e-9);
        assert!((energy(3.81) - 10.0 * energy(0.381)).abs() < 1e-9);
    }

    #[test]
    fn the_slow_counter_is_a_staircase_and_the_fast_one_wraps() {
        let shown = ShownEnergy::default();
        let mut sensor = Sensor::new(shown.clone());
        let (early, late) = (polled(&mut sensor, 1.31), polled(&mut sensor, 1.39));
        assert!((early[1] - late[1]).abs() < 1e-12 && late[0] > early[0]);
        let later = polled(&mut sensor, 2.5);
        assert!(later[0] < WRAPS_AT && later[1] > WRAPS_AT);
        let [fast, slow] = shown.joules().map(Option::unwrap);
        assert!((fast - between(1.31, 2.5)).abs() < 0.2, "{fast}");
        assert!((slow - between(1.3, 2.5)).abs() < 1e-6, "{slow}");
    }
}
