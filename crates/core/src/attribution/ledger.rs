//! All queries of a run against all steps of a source, in one pass (docs/method.md §6.3).

use std::collections::VecDeque;

use super::tally::{Tally, View, overlap_nanos};
use super::{Balance, Flights, Idle, Step, Totals};
use crate::energy::{Meter, WindowEnergy};
use crate::reading::Window;
use crate::units::Joules;

/// The weight of time alone: all queries in flight draw the same power.
#[expect(
    clippy::cast_precision_loss,
    reason = "times in a step are far below 2^52 ns"
)]
pub fn equal<Q>(_: &Q, window: Window, step: &Step) -> f64 {
    overlap_nanos(window, step) as f64
}

/// Shares the steps of one source among queries. It holds the queries in flight, and ended ones
/// that began after one still in flight.
pub struct Ledger<'a, Q, W> {
    meter: &'a Meter,
    idle: Option<Idle>,
    weigh: W,
    flights: Flights,
    active: Vec<Active<Q>>,
    /// Results that wait for queries that began earlier.
    held: VecDeque<Option<QueryAttribution<Q>>>,
    /// Number of queries yielded.
    yielded: usize,
    /// Weights of the queries in the current step.
    weights: Vec<f64>,
    totals: Totals,
    withheld: f64,
}

/// One source's energy for one query.
#[derive(Debug)]
pub struct QueryAttribution<Q> {
    /// The query.
    pub query: Q,
    /// Energy of its whole window.
    pub energy: WindowEnergy,
    /// Energy of the requested windows inside it, without power.
    pub inside: [Option<WindowEnergy>; 2],
}

struct Active<Q> {
    number: usize,
    query: Q,
    tally: Tally,
    inside: [Option<Tally>; 2],
}

impl<'a, Q, W: Fn(&Q, Window, &Step) -> f64> Ledger<'a, Q, W> {
    /// A ledger with these weights: [`equal`], or a query's tokens ([`super::TokenTimes`]). `weigh`
    /// gives the weight of a query in a step during a window, which is its own or lies inside. A
    /// step in which all weights are zero is shared by time.
    pub fn new(meter: &'a Meter, idle: Option<Idle>, weigh: W) -> Self {
        Self {
            meter,
            idle,
            weigh,
            flights: Flights::default(),
            active: Vec::new(),
            held: VecDeque::new(),
            yielded: 0,
            weights: Vec::new(),
            totals: Totals::default(),
            withheld: 0.0,
        }
    }

    /// Shares `steps`, in order, among `queries`, in order of their start. Results come in the same
    /// order.
    pub fn settle(
        &mut self,
        steps: impl IntoIterator<Item = Step>,
        queries: impl IntoIterator<Item = (Q, Window)>,
        mut yields: impl FnMut(Q, WindowEnergy),
    ) -> Balance {
        let mut queries = queries.into_iter().peekable();
        let mut yields = |settled: QueryAttribution<Q>| yields(settled.query, settled.energy);
        for step in steps {
            while let Some((query, window)) =
                queries.next_if(|(_, window)| window.start() < step.end)
            {
                self.begin(query, window, [None; 2]);
            }
            self.take(&step, &mut yields);
        }
        for (query, window) in queries {
            self.begin(query, window, [None; 2]);
        }
        self.finish(&mut yields)
    }

    /// Adds a query. Queries come in order of their start, before the first step that ends after
    /// it. `inside` are windows within its own that get their own results.
    pub fn begin(&mut self, query: Q, window: Window, inside: [Option<Window>; 2]) {
        self.flights.add(window);
        let idle = self.idle.map(|idle| self.totals.doubt(idle));
        let [first, second] = inside;
        self.active.push(Active {
            number: self.yielded + self.held.len(),
            query,
            tally: Tally::new(window, idle),
            // One by one: `map` would move them several times.
            inside: [
                first.map(|window| Tally::inside(window, idle)),
                second.map(|window| Tally::inside(window, idle)),
            ],
        });
        self.held.push_back(None);
    }

    /// Shares the next step. Yields the queries that it completes, in order of their start.
    pub fn take(&mut self, step: &Step, mut yields: impl FnMut(QueryAttribution<Q>)) {
        self.share(step);
        self.flights.forget_before(step.start);
        self.yield_ready(&mut yields);
    }

    /// Ends the steps. All remaining queries are yielded with the steps so far.
    pub fn finish(&mut self, mut yields: impl FnMut(QueryAttribution<Q>)) -> Balance {
        for active in std::mem::take(&mut self.active) {
            self.close(active);
        }
        self.yield_ready(&mut yields);
        self.totals.balance(self.idle)
    }

    /// Energy of queries whose result was withheld: part of the balance's `queries`.
    pub fn withheld(&self) -> Joules {
        Joules::from_joules(self.withheld)
    }

    fn share(&mut self, step: &Step) {
        let view = View::of(step, &mut self.flights.cursor());
        self.totals.take(&view);
        if self.active.is_empty() {
            return;
        }
        let weigh = |query: &Q, window: Window| {
            let is_there = overlap_nanos(window, step) > 0;
            is_there.then(|| (self.weigh)(query, window, step))
        };
        let weights = self.active.iter();
        let weights = weights.map(|active| weigh(&active.query, active.tally.window()));
        self.weights.clear();
        self.weights
            .extend(weights.map(|weight| weight.unwrap_or(0.0)));
        let all: f64 = self.weights.iter().sum();
        for (active, weight) in self.active.iter_mut().zip(&self.weights) {
            let part = |weight: f64, window: Window| {
                if all > 0.0 {
                    weight / all
                } else {
                    view.part(window)
                }
            };
            let own = part(*weight, active.tally.window());
            active.tally.add(&view, own, &self.flights);
            for tally in active.inside.iter_mut().flatten() {
                if let Some(weight) = weigh(&active.query, tally.window()) {
                    let own = part(weight, tally.window());
                    tally.add(&view, own, &self.flights);
                }
            }
        }
        let over = self
            .active
            .extract_if(.., |active| active.tally.window().end() <= step.end);
        for active in over.collect::<Vec<_>>() {
            self.close(active);
        }
    }

    fn close(&mut self, active: Active<Q>) {
        let total = active.tally.total();
        let energy = active.tally.finish(self.meter);
        if energy.energy.is_none() {
            self.withheld += total;
        }
        let [first, second] = active.inside;
        let inside = [
            first.map(|tally| tally.finish(self.meter)),
            second.map(|tally| tally.finish(self.meter)),
        ];
        self.held[active.number - self.yielded] = Some(QueryAttribution {
            query: active.query,
            energy,
            inside,
        });
    }

    fn yield_ready(&mut self, yields: &mut impl FnMut(QueryAttribution<Q>)) {
        while let Some(settled) = self.held.front_mut().and_then(Option::take) {
            self.held.pop_front();
            self.yielded += 1;
            yields(settled);
        }
    }
}
