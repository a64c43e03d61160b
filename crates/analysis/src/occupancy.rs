//! Shares of the run's time among the queries in flight (docs/method.md §7.3).
//!
//! While `n` queries are in flight, each of them occupies the service for one `n`-th of the time.
//! The shares of all queries add up to the busy time of the service. Energy ÷ busy time is the mean
//! power of the service, for any overlap of queries.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::interval::real;
use crate::steady::{Flights, Window};

/// The time of each part, shared among its queries.
#[derive(Debug, Clone, Default)]
pub struct Occupancy {
    parts: BTreeMap<u32, PartOccupancy>,
}

/// The time of one part. The number in flight is constant between two edges.
#[derive(Debug, Clone, Default)]
struct PartOccupancy {
    edges: Vec<f64>,
    /// The integral of 1 ÷ (number in flight) up to each edge, in seconds.
    shared: Vec<f64>,
    /// Whether a query is in flight after each edge.
    is_busy: Vec<bool>,
    /// Index of the latest lookup: rows come nearly in the order of time.
    near: Cell<usize>,
}

impl Occupancy {
    /// Shares the time of these queries.
    pub fn of(flights: &Flights) -> Self {
        let divided = |part: u32| (part, PartOccupancy::of(flights, part));
        Self {
            parts: flights.parts().map(divided).collect(),
        }
    }

    /// The share of the busy time of a query from `start` to `end`, in seconds.
    pub fn share(&self, part: u32, start: f64, end: f64) -> f64 {
        let divided = self.parts.get(&part);
        divided.map_or(0.0, |divided| {
            (divided.at(end) - divided.at(start)).max(0.0)
        })
    }

    /// The same share inside a window.
    pub fn share_inside(&self, part: u32, start: f64, end: f64, window: &Window) -> f64 {
        let (start, end) = (start.max(window.from), end.min(window.until));
        if end > start {
            self.share(part, start, end)
        } else {
            0.0
        }
    }

    /// Time without a query in flight inside a window, in seconds.
    pub fn idle_inside(&self, part: u32, window: &Window) -> f64 {
        let busy = self.parts.get(&part).map_or(0.0, |divided| {
            divided.busy_between(window.from, window.until)
        });
        (window.seconds() - busy).max(0.0)
    }
}

impl PartOccupancy {
    fn of(flights: &Flights, part: u32) -> Self {
        let events = flights.events(part);
        let mut divided = Self {
            edges: Vec::with_capacity(events.count()),
            shared: Vec::with_capacity(events.count()),
            is_busy: Vec::with_capacity(events.count()),
            near: Cell::new(0),
        };
        let mut sum = 0.0;
        let mut until = None;
        for level in events.levels() {
            // Levels are contiguous; the first edge is the first start.
            divided.edges.push(level.from);
            divided.shared.push(sum);
            divided.is_busy.push(level.in_flight > 0);
            if level.in_flight > 0 {
                sum += (level.until - level.from) / real(level.in_flight);
            }
            until = Some(level.until);
        }
        if let Some(until) = until {
            divided.edges.push(until);
            divided.shared.push(sum);
            divided.is_busy.push(false);
        }
        divided
    }

    fn at(&self, instant: f64) -> f64 {
        let after = self.edges_until(instant);
        let (Some(before), Some(last)) = (after.checked_sub(1), self.shared.last()) else {
            return 0.0;
        };
        let Some(next) = self.edges.get(after) else {
            return *last;
        };
        let (from, shared) = (self.edges[before], self.shared[before]);
        let slope = (self.shared[after] - shared) / (next - from);
        shared + slope * (instant - from)
    }

    /// Number of edges at or before an instant, searched from the latest index with doubling
    /// strides.
    fn edges_until(&self, instant: f64) -> usize {
        let is_before = |place: usize| self.edges[place] <= instant;
        let (mut from, mut until) = (self.near.get(), self.near.get());
        let mut step = 1;
        while until < self.edges.len() && is_before(until) {
            from = until + 1;
            until = self.edges.len().min(until + step);
            step *= 2;
        }
        while from > 0 && !is_before(from - 1) {
            until = from - 1;
            from = from.saturating_sub(step);
            step *= 2;
        }
        let found = from + self.edges[from..until].partition_point(|edge| *edge <= instant);
        self.near.set(found);
        found
    }

    fn busy_between(&self, from: f64, until: f64) -> f64 {
        let stretches = self.edges.windows(2).zip(&self.is_busy);
        stretches
            .filter(|(_, is_busy)| **is_busy)
            .map(|(edge, _)| (edge[1].min(until) - edge[0].max(from)).max(0.0))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ipw_core::row::Row;

    fn flights(spans: &[(f64, f64)]) -> Flights {
        let mut flights = Flights::default();
        for (start, end) in spans {
            flights.push(&Row {
                start: Some(*start),
                end: Some(*end),
                ..Row::default()
            });
        }
        flights
    }

    fn shares(spans: &[(f64, f64)]) -> Vec<f64> {
        let occupancy = Occupancy::of(&flights(spans));
        let share = |(start, end): &(f64, f64)| occupancy.share(0, *start, *end);
        spans.iter().map(share).collect()
    }

    #[test]
    fn a_query_alone_has_all_of_its_time() {
        assert_eq!(shares(&[(1.0, 3.0), (3.5, 4.0)]), [2.0, 0.5]);
    }

    #[test]
    fn queries_in_flight_together_divide_the_time() {
        assert_eq!(shares(&[(0.0, 4.0), (2.0, 6.0)]), [3.0, 3.0]);
        assert_eq!(shares(&[(0.0, 4.0), (1.0, 3.0)]), [3.0, 1.0]);
        assert_eq!(shares(&[(0.0, 1.0), (2.0, 2.0)]), [1.0, 0.0]);
    }

    #[test]
    fn a_window_cuts_shares_and_knows_its_idle_time() {
        let occupancy = Occupancy::of(&flights(&[(0.0, 2.0), (1.0, 3.0), (5.0, 7.0)]));
        let window = Window::new(1.5, 6.0);
        let inside = |start, end| occupancy.share_inside(0, start, end, &window);
        assert!((inside(0.0, 2.0) - 0.25).abs() < 1e-12);
        assert!((inside(1.0, 3.0) - 1.25).abs() < 1e-12);
        assert!((inside(5.0, 7.0) - 1.0).abs() < 1e-12);
        assert!((occupancy.idle_inside(0, &window) - 2.0).abs() < 1e-12);
        assert!(inside(6.5, 7.0).abs() < 1e-12, "outside of the window");
        assert!(occupancy.share(1, 0.0, 1.0).abs() < 1e-12, "no such part");
    }

    proptest! {
        #[test]
        fn edges_are_found_from_anywhere_as_one_by_one(
            spans in prop::collection::vec((0.0_f64..100.0, 0.0_f64..20.0), 0..200),
            instants in prop::collection::vec(-10.0_f64..130.0, 0..50),
        ) {
            let spans: Vec<(f64, f64)> =
                spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            let divided = PartOccupancy::of(&flights(&spans), 0);
            for instant in divided.edges.iter().copied().chain(instants) {
                let counted = divided.edges.iter().filter(|edge| **edge <= instant).count();
                prop_assert_eq!(divided.edges_until(instant), counted);
            }
        }

        /// Under constant power with equal weights, a query's energy is power × its share. So the
        /// power of the service does not depend on the overlap of queries.
        #[test]
        fn shares_add_up_to_the_busy_time(
            spans in prop::collection::vec((0.0_f64..100.0, 0.0_f64..20.0), 1..60)
        ) {
            let spans: Vec<(f64, f64)> =
                spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            let mut sorted = spans.clone();
            sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
            let (mut union, mut reached) = (0.0, f64::NEG_INFINITY);
            for (start, end) in sorted {
                union += (end - start.max(reached)).max(0.0);
                reached = reached.max(end);
            }
            let sum: f64 = shares(&spans).iter().sum();
            prop_assert!((sum - union).abs() < 1e-6, "{sum} {union}");
        }
    }
}
