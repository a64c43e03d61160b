//! Whether a source behaves: does it move, does it only grow, how often does it change.

use std::time::Duration;

use ipw_core::reading::Reading;
use ipw_core::source::Source;
use ipw_core::units::{Joules, Watts};
use serde::Serialize;

use crate::Account;

/// What a short look at a source showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SelfTest {
    /// Readings in that time.
    pub readings: u64,
    /// Whether its value changed at all: a counter that never moves is absent.
    pub moves: bool,
    /// Whether it never went back, but for wraps; `None` for gauges.
    pub monotone: Option<bool>,
    /// The usual time between two changes, as polled; `None` with fewer than two.
    pub change_interval_seconds: Option<f64>,
    /// Mean power, for energy sources that moved.
    pub watts: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
}

/// Looks at the readings of one source.
pub fn self_test(source: &Source, account: Account, readings: &[Reading]) -> SelfTest {
    let moves = readings
        .windows(2)
        .any(|pair| pair[0].value.to_bits() != pair[1].value.to_bits());
    let is_energy = source.domain().is_some();
    let mut intervals: Vec<Duration> = readings
        .windows(2)
        .map(|pair| pair[1].at.since(pair[0].at))
        .collect();
    intervals.sort();
    let middle = intervals.get(intervals.len() / 2);
    let power = mean_power(account).filter(|_| is_energy && moves);
    SelfTest {
        readings: readings.len() as u64,
        moves,
        monotone: is_energy.then_some(account.resets == 0),
        change_interval_seconds: middle.map(Duration::as_secs_f64),
        watts: power.map(Watts::watts),
        last: readings.last().map(|reading| reading.value),
    }
}

fn mean_power(account: Account) -> Option<Watts> {
    let power = account.energy / account.covered;
    (account.energy > Joules::ZERO && power.is_finite()).then_some(power)
}
