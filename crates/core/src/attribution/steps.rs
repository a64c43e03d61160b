//! Steps: the energy of a source between two of its edges (docs/method.md §6.1, §6.2).

use std::time::Duration;

use crate::counter::{self, Counter};
use crate::energy::{Kind, Meter, Reason};
use crate::reading::Reading;
use crate::time::Timestamp;
use crate::units::{Joules, Watts};

/// The time between two edges of a source, and the energy counted in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Its first edge.
    pub start: Timestamp,
    /// Its last edge.
    pub end: Timestamp,
    /// Counted energy; `None` when it is unknown.
    pub energy: Option<Joules>,
    /// Why the energy is implausible or unknown.
    pub lost: Option<Reason>,
    /// Uncertainty of the first edge: the length of the interval in which it lies.
    pub start_width: Duration,
    /// The same for the last edge.
    pub end_width: Duration,
}

impl Step {
    /// The counted energy, if it is plausible.
    pub fn believed(&self) -> Option<Joules> {
        self.energy.filter(|_| self.lost.is_none())
    }

    /// Its length.
    pub const fn length(&self) -> Duration {
        self.end.since(self.start)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.length().as_secs_f64()
    }

    /// Variance of the step's power from the dating of its two edges, at `power`.
    pub(super) fn dating_variance(&self, power: f64) -> f64 {
        let squares = self.start_width.as_secs_f64().powi(2) + self.end_width.as_secs_f64().powi(2);
        power * power * squares / 12.0 / self.seconds().powi(2)
    }
}

/// Turns the readings of one source into steps, reading by reading.
#[derive(Debug, Clone)]
pub struct Steps {
    kind: Kind,
    period: Option<Duration>,
    longest_silence: Duration,
    lag: Duration,
    largest: Watts,
    counter: Option<Counter>,
    edge: Option<Edge>,
}

/// The latest edge.
#[derive(Debug, Clone, Copy)]
struct Edge {
    at: Timestamp,
    /// When the value was read.
    read: Timestamp,
    value: f64,
    width: Duration,
}

impl Steps {
    /// Steps of a source without readings.
    pub fn new(meter: &Meter) -> Self {
        let counter = match meter.kind {
            Kind::Counter(rollover) => Some(Counter::new(rollover, meter.plausible())),
            Kind::Power(_) => None,
        };
        Self {
            kind: meter.kind,
            period: meter.period,
            longest_silence: meter.longest_silence,
            lag: meter.lag(),
            largest: meter.largest,
            counter,
            edge: None,
        }
    }

    /// Adds the next reading and returns the step that it ends.
    pub fn take(&mut self, reading: &Reading) -> Option<Step> {
        let last = self.edge;
        let edge = self.edge_of(reading, last.map(|last| last.read));
        let since = last.map_or(Duration::ZERO, |last| reading.at.since(last.read));
        let (energy, lost) = match &mut self.counter {
            Some(counter) => {
                if reading.previous.is_none() {
                    // Unconnected with earlier readings: the machine slept.
                    counter.forget();
                }
                match counter.update(Joules::from_joules(reading.value), since) {
                    counter::Step::Advanced(energy) | counter::Step::Wrapped(energy) => {
                        (Some(energy), None)
                    }
                    counter::Step::First | counter::Step::Reset => {
                        (None, Some(Reason::CounterReset))
                    }
                    counter::Step::Implausible => (None, Some(Reason::Implausible)),
                }
            }
            None => held(last, edge.at, self.largest),
        };
        self.edge = Some(edge);
        let last = last?;
        let silence = reading.previous.map(|before| reading.at.since(before));
        let is_silent = silence.is_none_or(|silence| silence > self.longest_silence);
        // A reset is more specific than a gap, except for a sleep, which looks like a reset.
        let lost = match lost {
            _ if silence.is_none() => Some(Reason::Gap),
            None if is_silent => Some(Reason::Gap),
            lost => lost,
        };
        // Power during a gap is unknown.
        let energy = energy.filter(|_| lost.is_none() || self.counter.is_some());
        Some(Step {
            start: last.at,
            end: edge.at,
            energy,
            lost,
            start_width: last.width,
            end_width: edge.width,
        })
    }

    fn edge_of(&self, reading: &Reading, last_change: Option<Timestamp>) -> Edge {
        let (at, width) = match self.kind {
            Kind::Counter(_) => edge_instant(reading, last_change, self.period),
            Kind::Power(_) => (reading.at.before(self.lag), Duration::ZERO),
        };
        Edge {
            at,
            read: reading.at,
            value: reading.value,
            width,
        }
    }
}

/// Energy of a power that holds until the next reading.
fn held(last: Option<Edge>, until: Timestamp, largest: Watts) -> (Option<Joules>, Option<Reason>) {
    let power = last.map(|last| (Watts::from_watts(last.value), until.since(last.at)));
    match power {
        Some((watts, length)) if (Watts::ZERO..=largest).contains(&watts) => {
            (Some(watts * length), None)
        }
        Some((watts, _)) if watts > largest && watts.is_finite() => {
            (None, Some(Reason::Implausible))
        }
        _ => (None, Some(Reason::CounterReset)),
    }
}

/// The steps of the readings of one source, in order.
pub fn steps<'a>(meter: &Meter, readings: &'a [Reading]) -> impl Iterator<Item = Step> + 'a {
    let mut steps = Steps::new(meter);
    readings
        .iter()
        .filter_map(move |reading| steps.take(reading))
}

/// When the counter changed, and the length of the interval in which that lies.
///
/// There are two cases. A slow counter changed between the last two polls, and the middle is the
/// date. This holds if it had not changed at the poll before, or if its period exceeds the polling
/// interval. A fast counter changed last within a period before the poll, and the poll is the date.
/// That bias is the same at every edge and cancels.
pub fn edge_instant(
    reading: &Reading,
    last_change: Option<Timestamp>,
    period: Option<Duration>,
) -> (Timestamp, Duration) {
    let Some(previous) = reading.previous else {
        return (reading.at, Duration::ZERO);
    };
    let polled = reading.at.since(previous);
    let is_between = period.is_some_and(|period| period > polled)
        || last_change.is_some_and(|changed| changed < previous);
    if is_between {
        (reading.at.before(polled / 2), polled)
    } else {
        (reading.at, period.unwrap_or(polled).min(polled))
    }
}
