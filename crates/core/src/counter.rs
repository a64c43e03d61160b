//! Energy counters: a value that only grows, wraps where its collector says so, and resets without
//! asking (design D7).

use std::time::Duration;

use crate::units::{Joules, Watts};

/// What a decrease of a counter can mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rollover {
    /// It starts again at zero after this much.
    Wraps(Joules),
    /// It never wraps in practice: a decrease is a reset.
    Resets,
}

/// What happened between two values of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// There was none before.
    First,
    /// It advanced by this much, possibly nothing.
    Advanced(Joules),
    /// It wrapped, and advanced by this much.
    Wrapped(Joules),
    /// It started anew, or said nonsense: what was used in between is not known.
    Reset,
}

/// More than any one domain draws: a wrap that implies more was a reset. The largest machines draw
/// some kilowatts per socket or board.
pub const LARGEST_POWER: Watts = Watts::from_watts(20_000.0);

/// A counter that has not moved for this long from its first reading on does not move.
pub const STUCK: Duration = Duration::from_secs(2);

/// A counter being followed.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    rollover: Rollover,
    last: Option<Joules>,
}

impl Counter {
    /// A counter of which nothing has been read.
    pub const fn new(rollover: Rollover) -> Self {
        Self {
            rollover,
            last: None,
        }
    }

    /// Takes the next value, read `since` after the last one.
    pub fn update(&mut self, value: Joules, since: Duration) -> Step {
        if !value.is_finite() || value < Joules::ZERO {
            self.last = None;
            return Step::Reset;
        }
        let Some(last) = self.last.replace(value) else {
            return Step::First;
        };
        if value >= last {
            let energy = value - last;
            return if plausible(energy, since) {
                Step::Advanced(energy)
            } else {
                Step::Reset
            };
        }
        match self.rollover {
            Rollover::Wraps(range) if last <= range => {
                let energy = range - last + value;
                if plausible(energy, since) {
                    Step::Wrapped(energy)
                } else {
                    Step::Reset
                }
            }
            _ => Step::Reset,
        }
    }

    /// Forgets the last value: the next one is the first again.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// Whether a domain can have used this much in that time. The floor keeps coarse counters, whose
/// steps are large for the time between two polls, from being taken for nonsense.
fn plausible(energy: Joules, since: Duration) -> bool {
    energy <= LARGEST_POWER * since.max(Duration::from_millis(200))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    fn joules(value: f64) -> Joules {
        Joules::from_joules(value)
    }

    fn steps(rollover: Rollover, values: &[f64]) -> Vec<Step> {
        let mut counter = Counter::new(rollover);
        values
            .iter()
            .map(|value| counter.update(joules(*value), TICK))
            .collect()
    }

    #[test]
    fn a_counter_advances_wraps_and_resets() {
        let wraps = Rollover::Wraps(joules(100.0));
        assert_eq!(
            steps(wraps, &[95.0, 98.0, 98.0, 3.0]),
            [
                Step::First,
                Step::Advanced(joules(3.0)),
                Step::Advanced(joules(0.0)),
                Step::Wrapped(joules(5.0)),
            ]
        );
        assert_eq!(
            steps(Rollover::Resets, &[95.0, 3.0, 4.0])[1..],
            [Step::Reset, Step::Advanced(joules(1.0))]
        );
    }

    #[test]
    fn a_reset_is_not_taken_for_a_wrap() {
        let wraps = Rollover::Wraps(joules(262_143.0));
        assert_eq!(steps(wraps, &[100_000.0, 1.0])[1], Step::Reset);
    }

    #[test]
    fn nonsense_is_a_gap_and_the_next_value_is_right_again() {
        for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
            let steps = steps(Rollover::Resets, &[1.0, nonsense, 5.0, 6.0]);
            assert_eq!(
                steps[1..],
                [Step::Reset, Step::First, Step::Advanced(joules(1.0))]
            );
        }
        let leap = steps(Rollover::Resets, &[1.0, 1.8e13, 2.0, 3.0]);
        assert_eq!(
            leap[1..],
            [Step::Reset, Step::Reset, Step::Advanced(joules(1.0))]
        );
    }
}
