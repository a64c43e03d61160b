//! Measurement windows of a run, and the time of its queries in them (docs/method.md §7.3).

use std::collections::BTreeMap;

use ipw_core::row;

use crate::interval::{known, real};
use crate::occupancy::Occupancy;
use crate::steady::{self, Flights, Load, Window};

/// The windows of a run, and the time of its queries in them.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    occupancy: Occupancy,
    /// Windows of the mean power over busy time.
    power: BTreeMap<u32, Window>,
    /// Windows of the mean throughput.
    served: BTreeMap<u32, Window>,
    /// Time without a query in flight, divided evenly among the queries of a window.
    idle_each: BTreeMap<u32, f64>,
}

/// The part of one query in the windows of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowShare {
    /// Its share of the busy time in the power window, in seconds.
    pub busy_seconds: f64,
    /// Its energy in that window, in joules; `None` without energy.
    pub busy_joules: Option<f64>,
    /// Its share of the time in the throughput window, in seconds.
    pub served_seconds: f64,
    /// Its output tokens in that window; `None` if it is unanswered or its tokens are unknown.
    pub served_tokens: Option<f64>,
    /// Whether it was answered in that window with an unknown number of tokens.
    pub has_unknown_tokens: bool,
    /// Whether it ended in that window with an answer.
    pub is_completed: bool,
}

impl Frame {
    /// The windows of these queries. Without a steady window, the whole run counts.
    ///
    /// Sequential queries are full load whenever a query is in flight. Power then covers the whole
    /// run, whatever the pauses between queries.
    pub fn of(flights: &Flights, load: Option<Load>) -> Self {
        let windows = load.map(|load| flights.windows(load)).unwrap_or_default();
        let steady: BTreeMap<u32, Window> = windows
            .into_iter()
            .filter_map(|(part, window)| Some((part, window.ok()?)))
            .collect();
        let is_sequential = matches!(load, Some(Load::Closed { concurrency: 1, .. }));
        let whole = flights.extents();
        let power = if steady.is_empty() || is_sequential {
            whole.clone()
        } else {
            steady.clone()
        };
        let served = if steady.is_empty() { whole } else { steady };
        let occupancy = Occupancy::of(flights);
        let idle_each = served.iter().map(|(part, window)| {
            let is_inside = |(start, end): &(f64, f64)| *start < window.until && *end > window.from;
            let inside = flights.spans(*part).filter(is_inside).count();
            let idle = occupancy.idle_inside(*part, window);
            (*part, idle / real(inside.max(1) as u64))
        });
        Self {
            idle_each: idle_each.collect(),
            occupancy,
            power,
            served,
        }
    }

    /// The part of this query in the windows.
    pub fn place(&self, row: &row::Row<'_>, joules: Option<f64>) -> WindowShare {
        let mut placed = WindowShare::default();
        let (Some(start), Some(end)) = (row.start, row.end) else {
            return placed;
        };
        if let Some(window) = self.power.get(&row.part) {
            let whole = self.occupancy.share(row.part, start, end);
            let inside = self.occupancy.share_inside(row.part, start, end, window);
            placed.busy_seconds = inside;
            placed.busy_joules = joules
                .filter(|_| whole > 0.0)
                .and_then(|joules| known(joules * (inside / whole)));
        }
        let Some(window) = self.served.get(&row.part) else {
            return placed;
        };
        placed.is_completed = row.is_answered && window.holds(end);
        if start < window.until && end > window.from {
            let idle = self.idle_each.get(&row.part).copied().unwrap_or(0.0);
            let busy = self.occupancy.share_inside(row.part, start, end, window);
            placed.served_seconds = busy + idle;
            let tokens = row.output_tokens.filter(|_| row.is_answered);
            placed.served_tokens =
                tokens.map(|tokens| real(tokens) * steady::share_inside(row, end, window));
            placed.has_unknown_tokens = row.is_answered && tokens.is_none();
        }
        placed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::{Metric, Row, Tally};

    /// Queries with these spans under constant power, shared equally among those in flight.
    fn values(spans: &[(f64, f64)], load: Option<Load>, watts: f64) -> crate::metric::Values {
        let rows: Vec<row::Row<'_>> = spans
            .iter()
            .map(|(start, end)| row::Row {
                start: Some(*start),
                end: Some(*end),
                output_tokens: Some(10),
                is_answered: true,
                ..row::Row::default()
            })
            .collect();
        let mut flights = Flights::default();
        for row in &rows {
            flights.push(row);
        }
        let frame = Frame::of(&flights, load);
        let occupancy = Occupancy::of(&flights);
        let mut tally = Tally::default();
        for (number, row) in rows.iter().enumerate() {
            let (start, end) = spans[number];
            let joules = Some(watts * occupancy.share(0, start, end));
            tally.push(&Row {
                joules,
                is_correct: Some(number % 4 != 0),
                is_answered: true,
                placed: frame.place(row, joules),
                ..Row::default()
            });
        }
        tally.finish()
    }

    const fn closed(concurrency: u64) -> Load {
        Load::Closed {
            concurrency,
            tolerance: 0.05,
        }
    }

    #[test]
    fn one_after_the_other_power_is_energy_over_time_whatever_the_pauses() {
        let spans = [(0.0, 1.0), (1.0, 2.0), (9.0, 10.0)];
        let found = values(&spans, Some(closed(1)), 40.0);
        assert!((found.get(Metric::Watts).unwrap() - 40.0).abs() < 1e-9);
        // Throughput counts in the longest interval of full load.
        assert!((found.get(Metric::RequestsPerSecond).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn pauses_count_for_throughput_and_not_for_power() {
        let spans = [(0.0, 1.0), (3.0, 4.0)];
        let found = values(&spans, None, 40.0);
        assert!((found.get(Metric::Watts).unwrap() - 40.0).abs() < 1e-9);
        assert!((found.get(Metric::RequestsPerSecond).unwrap() - 0.5).abs() < 1e-9);
        assert!((found.get(Metric::TokensPerSecond).unwrap() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_row_without_energy_does_not_bend_the_power() {
        let mut flights = Flights::default();
        let row = row::Row {
            start: Some(0.0),
            end: Some(2.0),
            is_answered: true,
            ..row::Row::default()
        };
        flights.push(&row);
        flights.push(&row);
        let frame = Frame::of(&flights, None);
        let mut tally = Tally::default();
        for joules in [Some(30.0), None] {
            tally.push(&Row {
                joules,
                placed: frame.place(&row, joules),
                ..Row::default()
            });
        }
        assert!((tally.finish().get(Metric::Watts).unwrap() - 30.0).abs() < 1e-9);
    }

    proptest! {
        /// With equal power and answers, IPW does not depend on the overlap of queries.
        #[test]
        fn overlap_does_not_change_ipw(
            spans in prop::collection::vec((0.0_f64..50.0, 0.01_f64..20.0), 4..40),
            concurrency in 1_u64..6,
            watts in 1.0_f64..900.0,
        ) {
            let apart: Vec<(f64, f64)> = (0..spans.len())
                .map(|number| (real(number as u64), real(number as u64) + 1.0))
                .collect();
            let alone = values(&apart, Some(closed(1)), watts);
            let spans: Vec<(f64, f64)> =
                spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            for load in [Some(closed(concurrency)), None, Some(Load::Open { ramp: 0.0 })] {
                let found = values(&spans, load, watts);
                let ratio = found.get(Metric::Ipw).unwrap() / alone.get(Metric::Ipw).unwrap();
                prop_assert!((ratio - 1.0).abs() < 1e-6, "{load:?}: {ratio}");
            }
        }
    }
}
