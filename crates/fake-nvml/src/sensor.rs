//! Computes a board's sensor values at an instant of its trace.

use crate::script::Board;

impl Board {
    /// Joules of the trace from 0 to `seconds`.
    fn energy(&self, seconds: f64) -> f64 {
        let round: f64 = self.steps.iter().map(|(length, _)| length).sum();
        if round <= 0.0 || seconds <= 0.0 {
            return 0.0;
        }
        crate::trace::energy(&self.steps, seconds)
    }

    /// The last update of its sensors.
    fn updated(&self, seconds: f64) -> f64 {
        if self.period > 0.0 {
            (seconds / self.period).floor() * self.period
        } else {
            seconds
        }
    }

    /// The counter, in millijoules.
    pub(crate) fn millijoules(&self, seconds: f64) -> u64 {
        if let Some(value) = within(&self.energy_values, seconds) {
            return value;
        }
        let updated = self.updated(seconds);
        let resets = self.resets.iter().filter(|reset| **reset <= updated);
        let reset = resets.copied().reduce(f64::max);
        let offset = if reset.is_some() { 0.0 } else { self.offset };
        let joules = self.energy(updated) - self.energy(reset.unwrap_or(0.0)) + offset;
        whole(joules * 1000.0)
    }

    /// Power as a mean over `window` before the last update, in milliwatts.
    pub(crate) fn milliwatts(&self, seconds: f64, window: f64) -> u64 {
        if let Some(value) = within(&self.power_values, seconds) {
            return value;
        }
        let updated = self.updated(seconds).max(self.period);
        let from = (updated - window).max(0.0);
        let length = updated - from;
        if length <= 0.0 {
            return 0;
        }
        whole((self.energy(updated) - self.energy(from)) / length * 1000.0)
    }

    /// Whether it is lost now.
    pub(crate) fn is_lost(&self, seconds: f64) -> bool {
        self.lost
            .iter()
            .any(|(from, to)| (*from..*to).contains(&seconds))
    }

    /// How often it has been lost so far: handles from before hold no longer.
    pub(crate) fn losses(&self, seconds: f64) -> usize {
        self.lost
            .iter()
            .filter(|(from, _)| *from <= seconds)
            .count()
    }
}

fn within(stretches: &[(f64, f64, u64)], seconds: f64) -> Option<u64> {
    stretches
        .iter()
        .find(|(from, to, _)| (*from..*to).contains(&seconds))
        .map(|(_, _, value)| *value)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sensors count whole numbers from zero"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use crate::script::Script;

    #[test]
    fn the_counter_is_a_staircase_that_resets_and_power_is_its_slope() {
        let script = Script::parse(
            "board\nstep 1 100\nstep 1 300\nperiod 0.1\nwindow 0.1\noffset 50\nreset 4\n\
             energy_value 6 7 18446744073709551615\n",
        )
        .unwrap();
        let board = &script.boards[0];
        assert_eq!(board.millijoules(1.05), 150_000);
        assert_eq!(board.millijoules(1.05), board.millijoules(1.09));
        assert_eq!(board.millijoules(4.55), 50_000);
        assert_eq!(board.millijoules(6.5), u64::MAX);
        assert_eq!(board.milliwatts(1.55, 0.1), 300_000);
        assert_eq!(board.milliwatts(2.05, 1.0), 300_000);
        assert_eq!(board.milliwatts(0.0, 0.1), 100_000);
    }
}
