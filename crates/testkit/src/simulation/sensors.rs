//! What sensors show of a power that is known.

use std::time::Duration;

use ipw_core::counter::{LARGEST_POWER, Rollover};
use ipw_core::energy::{Kind, Meter};
use ipw_core::reading::Reading;
use ipw_core::source::SourceIndex;

use super::uniform;
use super::world::instant;
use crate::fuzz::Random;

/// Power over time, in pieces, with its energy.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// From when, joules until then, and watts from then on.
    pieces: Vec<(f64, f64, f64)>,
    end: f64,
    energy: f64,
}

impl Trace {
    pub(super) fn push(&mut self, from: f64, to: f64, watts: f64) {
        self.pieces.push((from, self.energy, watts));
        self.energy += watts * (to - from);
        self.end = to;
    }

    /// Joules from the beginning to `seconds`.
    pub fn energy(&self, seconds: f64) -> f64 {
        let after = self.pieces.partition_point(|(from, _, _)| *from <= seconds);
        let piece = after.checked_sub(1).map(|last| self.pieces[last]);
        piece.map_or(0.0, |(from, joules, watts)| {
            joules + watts * (seconds - from)
        })
    }
}

/// A sensor, with its times in seconds.
#[derive(Debug, Clone, Copy)]
pub enum Sensor {
    /// Counts joules.
    Counter {
        /// Between two updates.
        period: f64,
        /// Between two polls.
        poll: f64,
    },
    /// Counts joules, as many as its power would make that it looks at for so long only, before
    /// each update.
    Sampled {
        /// For how long it looks.
        sees: f64,
        /// Between two updates.
        period: f64,
        /// Between two polls.
        poll: f64,
    },
    /// Shows watts.
    Gauge {
        /// Over how long before an update it averages.
        averaging: f64,
        /// Between two updates.
        period: f64,
        /// Between two polls.
        poll: f64,
    },
}

/// The smallest step of a counter: a millijoule, as NVML has it.
const QUANTUM: f64 = 1e-3;

impl Sensor {
    /// How its readings are to be taken.
    pub fn meter(&self) -> Meter {
        let (kind, period, poll) = match *self {
            Self::Counter { period, poll } | Self::Sampled { period, poll, .. } => {
                (Kind::Counter(Rollover::Resets), period, poll)
            }
            Self::Gauge {
                averaging,
                period,
                poll,
            } => (
                Kind::Power(Duration::from_secs_f64(averaging)),
                period,
                poll,
            ),
        };
        Meter {
            kind,
            period: Some(Duration::from_secs_f64(period)),
            relative_sigma: None,
            longest_silence: Duration::from_secs_f64(period.max(poll) * 10.0),
            clock_bound: Duration::ZERO,
            largest: LARGEST_POWER,
            dated_within: None,
        }
    }

    /// What polls bring: of a counter only changes, as the sampler keeps them. Polls are up to half
    /// a millisecond late; updates come a little irregularly, and a hundredth later than they should.
    pub fn readings(&self, trace: &Trace, seed: u64) -> Vec<Reading> {
        let mut random = Random::new(seed ^ 0x9e37_79b9);
        let (period, poll) = match *self {
            Self::Counter { period, poll }
            | Self::Sampled { period, poll, .. }
            | Self::Gauge { period, poll, .. } => (period, poll),
        };
        let is_gauge = matches!(self, Self::Gauge { .. });
        let mut kept: Vec<Reading> = Vec::new();
        let mut previous = None;
        let (mut planned, mut updated, mut value) = (0.0, 0.0, 0.0);
        let mut next = period * uniform(&mut random);
        while planned < trace.end {
            let read = planned + 0.0005 * uniform(&mut random);
            while next <= read {
                value = self.value(trace, (updated, next), value);
                updated = next;
                next += period * (1.003 + 0.02 * uniform(&mut random));
            }
            let is_same = kept
                .last()
                .is_some_and(|last| last.value.to_bits() == value.to_bits());
            if is_gauge || !is_same {
                kept.push(Reading {
                    source: SourceIndex(0),
                    at: instant(read),
                    previous,
                    value,
                });
            }
            previous = Some(instant(read));
            planned += poll;
        }
        kept
    }

    /// What it shows after an update, which came so long after the last, and after this value.
    fn value(&self, trace: &Trace, (last, now): (f64, f64), before: f64) -> f64 {
        let mean = |over: f64| {
            let from = (now - over).max(0.0);
            (trace.energy(now) - trace.energy(from)) / (now - from).max(1e-9)
        };
        match *self {
            Self::Counter { .. } => (trace.energy(now) / QUANTUM).floor() * QUANTUM,
            Self::Sampled { sees, .. } => before + mean(sees) * (now - last),
            Self::Gauge { averaging, .. } => mean(averaging),
        }
    }
}
