//! The metrics of runs (docs/metrics.md).
//!
//! Every named number comes from here. Each metric has one definition (`dictionary.rs`), and
//! terminal, files, pages, comparisons and gates refer to its id. All metrics but the percentiles
//! are ratios of sums over rows, so value, bootstrap and variance use the same columns. The
//! sampling unit is the query: rows of one query are correlated, so queries are resampled and
//! paired, not rows.

mod dictionary;
mod frame;
mod row;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sample::Sample;

pub use self::dictionary::{Better, Definition, Metric, Phase, TimeOrigin};
pub use self::frame::{Frame, WindowShare};
pub use self::row::Row;
pub use ipw_core::quantity::Unit;

pub(crate) use self::dictionary::Kind;
use self::row::Time;
pub(crate) use self::row::{OneQuery, Recipe, Sums, by_query, total};

/// Running sums of [`Values`].
#[derive(Debug, Clone, Default)]
pub struct Tally {
    sums: Sums,
    times: [Sample; Time::ALL.len()],
    /// Whether this is the second pass over the rows.
    is_again: bool,
}

impl Tally {
    /// Adds one row.
    pub fn push(&mut self, row: &Row<'_>) {
        if !self.is_again {
            self.sums.add(&row.sums());
        }
        for (time, values) in Time::ALL.into_iter().zip(&mut self.times) {
            values.extend(row.time(time));
        }
    }

    /// Ends a pass over the rows; returns whether a second pass is needed.
    pub fn wants_more(&mut self) -> bool {
        self.is_again = Sample::any_wants_more(&mut self.times);
        self.is_again
    }

    /// Every metric over the added rows.
    pub fn finish(self) -> Values {
        let times = self.times.map(Sample::finish);
        let value = |metric: Metric| match metric.kind() {
            Kind::Ratio(recipe) | Kind::Share(recipe) => recipe.value(&self.sums),
            Kind::Percentile(time, fraction) => {
                let time = times[time as usize].as_ref()?;
                time.percentile(fraction)?.value()
            }
        };
        Values(Metric::ALL.map(value))
    }
}

/// The value of every metric of a run; `None` where it is unknown, or where the sample is too small
/// for a percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Values([Option<f64>; Metric::ALL.len()]);

impl Values {
    /// The metrics over these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row<'a>>) -> Self {
        let rows: Vec<&Row<'_>> = rows.into_iter().collect();
        let mut tally = Tally::default();
        loop {
            for row in &rows {
                tally.push(row);
            }
            if !tally.wants_more() {
                return tally.finish();
            }
        }
    }

    /// The value of one metric.
    pub const fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    /// All metrics with their values, in the order of the dictionary.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, Option<f64>)> + '_ {
        Metric::ALL.into_iter().zip(self.0)
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(metric, value)| (metric.name(), value)))
    }
}

impl<'de> Deserialize<'de> for Values {
    /// Skips ids of other versions.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = BTreeMap::<String, Option<f64>>::deserialize(deserializer)?;
        let value = |metric: Metric| named.get(metric.name()).copied().flatten();
        Ok(Self(Metric::ALL.map(value)))
    }
}

#[cfg(test)]
mod tests;
