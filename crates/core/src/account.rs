//! What a source has said since its session began, in few numbers: what the self-tests, the quality
//! notes and the summary are made from.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::{Joules, Watts};

/// What a source has said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// Energy, for energy sources: what was seen, without gaps.
    pub energy: Joules,
    /// Time that the energy covers.
    pub covered: Duration,
    /// How often the counter started anew or said nonsense.
    pub resets: u64,
    /// How often it said more than its device can have used.
    pub implausible: u64,
    /// How often readings were missing for longer than they may.
    pub gaps: u64,
    /// Readings kept.
    pub readings: u64,
    /// Its values.
    pub values: Option<Values>,
    /// The smallest step of a counter that moved, or the smallest change of a gauge.
    pub resolution: Option<f64>,
    /// The usual time between two changes, as polled.
    pub change_interval: Option<Duration>,
    /// How long it has not changed, as polled.
    pub still: Option<Duration>,
}

/// The values of a source over a session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The first.
    pub first: f64,
    /// The latest.
    pub last: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The mean of all readings.
    pub mean: f64,
    /// How many they are.
    #[serde(skip)]
    count: f64,
}

impl Account {
    /// Mean power over what is covered; `None` if nothing is.
    pub fn power(&self) -> Option<Watts> {
        let power = self.energy / self.covered;
        (!self.covered.is_zero() && power.is_finite()).then_some(power)
    }

    /// Takes note of a value.
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
