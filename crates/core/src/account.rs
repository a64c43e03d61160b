//! Running totals of one source since its session began. Self-tests, warnings and the summary are
//! made from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::{Joules, Watts};

/// Running totals of one source.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// Energy of an energy source, without gaps.
    pub energy: Joules,
    /// Time that the energy covers.
    pub covered: Duration,
    /// How often the counter reset or returned an invalid value.
    pub resets: u64,
    /// How often it advanced by more than its device can have used.
    pub implausible: u64,
    /// How often readings were missing for longer than allowed.
    pub gaps: u64,
    /// Readings kept.
    pub readings: u64,
    /// Range and mean of its values.
    pub values: Option<Values>,
    /// The smallest step of a counter that moved, or the smallest change of a gauge.
    pub resolution: Option<f64>,
    /// Typical time between two changes, as seen by polling.
    pub change_interval: Option<Duration>,
    /// Time since its last change, as seen by polling.
    pub still: Option<Duration>,
}

/// The values of a source over a session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The first value.
    pub first: f64,
    /// The latest value.
    pub last: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The mean of all readings.
    pub mean: f64,
    /// Number of values.
    #[serde(skip)]
    count: f64,
}

impl Account {
    /// Mean power over the covered time; `None` if no time is covered.
    pub fn power(&self) -> Option<Watts> {
        let power = self.energy / self.covered;
        (!self.covered.is_zero() && power.is_finite()).then_some(power)
    }

    /// Adds a value.
    pub fn saw(&mut self, value: f64) {
        self.readings += 1;
        if !value.is_finite() {
            return;
        }
        let values = self.values.get_or_insert(Values {
            first: value,
            last: value,
            min: value,
            max: value,
            mean: 0.0,
            count: 0.0,
        });
        let change = (value - values.last).abs();
        if change > 0.0 {
            let smallest = self.resolution.map_or(change, |known| known.min(change));
            self.resolution = Some(smallest);
        }
        values.last = value;
        values.min = values.min.min(value);
        values.max = values.max.max(value);
        values.count += 1.0;
        values.mean += (value - values.mean) / values.count;
    }
}
