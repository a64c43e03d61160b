//! Energy counters: values that only grow, wrap where their collector says so, and may reset.

use std::time::Duration;

use crate::units::{Joules, Watts};

/// Meaning of a decrease of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rollover {
    /// It wraps to zero after this much.
    Wraps(Joules),
    /// It never wraps in practice: a decrease is a reset.
    Resets,
}

/// Change between two values of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// There is no earlier value.
    First,
    /// It advanced by this much, possibly zero.
    Advanced(Joules),
    /// It wrapped, and advanced by this much.
    Wrapped(Joules),
    /// It reset or returned an invalid value: the energy in between is unknown.
    Reset,
    /// It advanced by more than its device can have used.
    Implausible,
}

/// No device with one counter draws more than this.
pub const LARGEST_POWER: Watts = Watts::from_watts(20_000.0);

/// Upper bound of a device's power, and so of its counter's advance (docs/method.md §6.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdvanceLimit {
    /// Upper bound of its power.
    pub largest: Watts,
    /// The energy between two readings may cover this much more time than lies between them: the
    /// earlier value may be a period old.
    pub slack: Duration,
}

/// Slack of a counter whose period is unknown.
const UNKNOWN_PERIOD: Duration = Duration::from_secs(1);

/// Least slack of a value whose stamp does not date its measurement, on a busy machine.
const LEAST_SLACK: Duration = Duration::from_millis(100);

impl AdvanceLimit {
    /// Bound of a counter that its device updates once in `period`. Real periods are up to twice
    /// the declared ones. `dated_within` is the largest distance of a value's stamp from its
    /// measurement, where the reader takes the time before and after.
    pub fn new(largest: Watts, period: Option<Duration>, dated_within: Option<Duration>) -> Self {
        let slack = |period: Duration| match dated_within {
            // Both readings of a step may be off, in opposite directions.
            Some(within) => period * 2 + within * 2,
            None => (period * 2).max(LEAST_SLACK),
        };
        Self {
            largest,
            slack: period.map_or(UNKNOWN_PERIOD, slack),
        }
    }

    /// Whether the device can have used this much between two readings `since` apart.
    pub fn allows(&self, energy: Joules, since: Duration) -> bool {
        energy <= self.largest * since.saturating_add(self.slack)
    }
}

/// A counter without a change for this long from its first reading on counts as stuck.
pub const STUCK: Duration = Duration::from_secs(2);

/// The state of an energy counter between readings.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    rollover: Rollover,
    plausible: AdvanceLimit,
    last: Option<Joules>,
}

impl Counter {
    /// A counter without readings.
    pub const fn new(rollover: Rollover, plausible: AdvanceLimit) -> Self {
        Self {
            rollover,
            plausible,
            last: None,
        }
    }

    /// Adds the next value, read `since` after the last one.
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
            return if self.plausible.allows(energy, since) {
                Step::Advanced(energy)
            } else {
                Step::Implausible
            };
        }
        match self.rollover {
            Rollover::Wraps(range) if last <= range => {
                let energy = range - last + value;
                if self.plausible.allows(energy, since) {
                    Step::Wrapped(energy)
                } else {
                    Step::Reset
                }
            }
            _ => Step::Reset,
        }
    }

    /// Forgets the last value: the next one is a first value again.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    fn plausible() -> AdvanceLimit {
        AdvanceLimit::new(
            Watts::from_watts(2000.0),
            Some(Duration::from_millis(1)),
            None,
        )
    }

    fn joules(value: f64) -> Joules {
        Joules::from_joules(value)
    }

    fn steps(rollover: Rollover, values: &[f64]) -> Vec<Step> {
        let mut counter = Counter::new(rollover, plausible());
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
            [Step::Implausible, Step::Reset, Step::Advanced(joules(1.0))]
        );
    }

    #[test]
    fn a_jump_is_not_believed_and_costs_one_step() {
        for jump in [500.0, 3900.0] {
            let steps = steps(Rollover::Resets, &[1.0, 2.0, 2.0 + jump, 3.0 + jump]);
            assert_eq!(
                steps[1..],
                [
                    Step::Advanced(joules(1.0)),
                    Step::Implausible,
                    Step::Advanced(joules(1.0))
                ]
            );
        }
    }

    proptest! {
        /// A device within its limit, with values up to a period old, loses no energy. This holds
        /// for irregular reads and for jumps from idle to full load.
        #[test]
        fn a_device_within_its_limit_loses_no_joule(
            polls in prop::collection::vec((1_u32..400, 0.0..=1.0_f64, 0.0..=2.0_f64), 1..200),
            period in 1_u32..500,
            largest in 1.0..20_000.0_f64,
        ) {
            let period = Duration::from_millis(period.into());
            let plausible = AdvanceLimit::new(Watts::from_watts(largest), Some(period), None);
            let mut counter = Counter::new(Rollover::Resets, plausible);
            // Energy used at all times, and the part that the counter shows.
            let mut used = vec![(0.0, 0.0)];
            let (mut now, mut shown, mut counted) = (0.0, 0.0, 0.0);
            let mut first = None;
            for (wait, load, age) in polls {
                let seconds = f64::from(wait) / 1e3;
                let (_, before) = *used.last().unwrap();
                now += seconds;
                used.push((now, before + largest * load * seconds));
                let wanted = now - age * period.as_secs_f64();
                // The value that it shows is at most `wanted` old.
                let next = used.iter().find(|(at, _)| *at >= wanted);
                shown = f64::max(shown, next.map_or(shown, |(_, energy)| *energy));
                let start = *first.get_or_insert(shown);
                match counter.update(joules(shown), Duration::from_secs_f64(seconds)) {
                    Step::First => {}
                    Step::Advanced(energy) => counted += energy.joules(),
                    step => prop_assert!(false, "{step:?}"),
                }
                prop_assert!((counted - (shown - start)).abs() < 1e-6 * (1.0 + shown));
            }
        }

        /// The same with imprecise stamps, bursts of polls, stalls of up to half a minute, and a
        /// counter that stands still meanwhile. Honest traces lose no energy.
        #[test]
        fn dated_values_of_an_honest_device_lose_no_joule(
            polls in prop::collection::vec(
                (
                    prop_oneof![9 => 0.1..20.0_f64, 1 => 20.0..30_000.0],
                    prop_oneof![3 => 0.0..=0.02_f64, 1 => Just(1.0)],
                    0.0..=2.0_f64,
                    -1.0..=1.0_f64,
                ),
                1..200,
            ),
            largest in 100.0..2_000.0_f64,
        ) {
            let (period, within) = (Duration::from_millis(1), Duration::from_millis(2));
            let plausible =
                AdvanceLimit::new(Watts::from_watts(largest), Some(period), Some(within));
            let mut counter = Counter::new(Rollover::Resets, plausible);
            let (mut now, mut used, mut shown) = (1.0, 0.0, 0.0);
            let mut stamped = None;
            for (wait, load, age, off) in polls {
                let seconds = wait / 1e3;
                let power = largest * load;
                now += seconds;
                used += power * seconds;
                // Energy used within its age is not in it yet.
                shown = f64::max(shown, used - power * seconds.min(age * period.as_secs_f64()));
                let stamp = now + off * within.as_secs_f64();
                // Stamps never go back: the same thread takes them.
                let stamp = stamped.map_or(stamp, |last| f64::max(last, stamp));
                let since = Duration::from_secs_f64(stamp - stamped.unwrap_or(stamp));
                stamped = Some(stamp);
                let step = counter.update(joules(shown), since);
                prop_assert!(matches!(step, Step::First | Step::Advanced(_)), "{step:?}");
            }
        }

        /// A jump beyond the limit is never counted, wherever it comes.
        #[test]
        fn a_jump_is_never_counted(
            before in prop::collection::vec(0.0..2.0_f64, 1..50),
            after in prop::collection::vec(0.0..2.0_f64, 1..50),
            jump in 225.0..1e9_f64,
        ) {
            let mut counter = Counter::new(Rollover::Resets, plausible());
            counter.update(joules(0.0), TICK);
            let (mut value, mut counted, mut refused) = (0.0, 0.0, 0);
            for (place, advance) in before.iter().chain(&after).enumerate() {
                value += advance + if place == before.len() { jump } else { 0.0 };
                match counter.update(joules(value), TICK) {
                    Step::Advanced(energy) => counted += energy.joules(),
                    Step::Implausible => refused += 1,
                    step => prop_assert!(false, "{step:?}"),
                }
            }
            prop_assert_eq!(refused, 1);
            prop_assert!(counted <= before.iter().chain(&after).sum::<f64>() + 1e-3 * value.max(1.0).sqrt());
        }
    }
}
