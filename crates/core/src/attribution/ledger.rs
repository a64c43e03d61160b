//! All queries of a run against all steps of a source, in one pass (docs/method.md §6.3).

use std::collections::VecDeque;

use super::tally::{Tally, View, overlap_nanos};
use super::{Balance, Flights, Idle, Step, Totals};
use crate::energy::{Meter, WindowEnergy};
use crate::reading::Window;
use crate::units::Joules;

/// The weight of time alone: every query in flight draws the same.
#[expect(
    clippy::cast_precision_loss,
    reason = "times in a step are far below 2^52 ns"
)]
pub fn equal<Q>(_: &Q, window: Window, step: &Step) -> f64 {
    overlap_nanos(window, step) as f64
}

/// Shares the steps of one source among queries. What it holds at any time are the queries in
/// flight, and those that are over but began after one that is not.
pub struct Ledger<'a, Q, W> {
    meter: &'a Meter,
    idle: Option<Idle>,
    weigh: W,
    flights: Flights,
    active: Vec<Active<Q>>,
    /// Results that wait for those of queries that began earlier.
    held: VecDeque<Option<(Q, WindowEnergy)>>,
    /// Queries that were yielded.
    yielded: usize,
    /// The queries' parts of the step at hand.
    parts: Vec<f64>,
    totals: Totals,
    withheld: f64,
}

struct Active<Q> {
    number: usize,
    query: Q,
    window: Window,
    tally: Tally,
}

impl<'a, Q, W: Fn(&Q, Window, &Step) -> f64> Ledger<'a, Q, W> {
    /// A ledger in which `weigh` says how much a query weighs in a step: [`equal`], or its tokens
    /// ([`super::TokenTimes`]). Where nothing in a step has weight, time decides.
    pub fn new(meter: &'a Meter, idle: Option<Idle>, weigh: W) -> Self {
        Self {
            meter,
            idle,
            weigh,
            flights: Flights::default(),
            active: Vec::new(),
            held: VecDeque::new(),
            yielded: 0,
            parts: Vec::new(),
            totals: Totals::default(),
            withheld: 0.0,
        }
    }

    /// Shares `steps`, in order, among `queries`, in the order of their beginnings; they come out
    /// in that order.
    pub fn settle(
        &mut self,
        steps: impl IntoIterator<Item = Step>,
        queries: impl IntoIterator<Item = (Q, Window)>,
        mut yields: impl FnMut(Q, WindowEnergy),
    ) -> Balance {
        let mut queries = queries.into_iter().peekable();
        for step in steps {
            while let Some((query, window)) =
                queries.next_if(|(_, window)| window.start() < step.end)
            {
                self.begin(query, window);
            }
            self.share(&step);
            self.flights.forget_before(step.start);
            self.yield_ready(&mut yields);
        }
        for (query, window) in queries {
            self.begin(query, window);
        }
        for active in std::mem::take(&mut self.active) {
            self.finish(active);
        }
        self.yield_ready(&mut yields);
        self.totals.balance(self.idle)
    }

    /// What queries would have got whose energy was refused: part of the balance's `queries`.
    pub fn withheld(&self) -> Joules {
        Joules::from_joules(self.withheld)
    }

    fn begin(&mut self, query: Q, window: Window) {
        self.flights.add(window);
        let idle = self.idle.map(|idle| self.totals.doubt(idle));
        self.active.push(Active {
            number: self.yielded + self.held.len(),
            query,
            window,
            tally: Tally::new(window, idle),
        });
        self.held.push_back(None);
    }

    fn share(&mut self, step: &Step) {
        let view = View::of(step, &mut self.flights.cursor());
        self.totals.take(&view);
        if self.active.is_empty() {
            return;
        }
        self.parts.clear();
        self.parts.extend(self.active.iter().map(|active| {
            let is_there = overlap_nanos(active.window, step) > 0;
            let weight = is_there.then(|| (self.weigh)(&active.query, active.window, step));
            weight.unwrap_or(0.0)
        }));
        let all: f64 = self.parts.iter().sum();
        for (active, weight) in self.active.iter_mut().zip(&self.parts) {
            let part = if all > 0.0 {
                weight / all
            } else {
                view.part(active.window)
            };
            active.tally.add(&view, part, &self.flights);
        }
        let over = self
            .active
            .extract_if(.., |active| active.window.end() <= step.end);
        for active in over.collect::<Vec<_>>() {
            self.finish(active);
        }
    }

    fn finish(&mut self, active: Active<Q>) {
        let total = active.tally.total();
        let energy = active.tally.finish(self.meter);
        if energy.energy.is_none() {
            self.withheld += total;
        }
        self.held[active.number - self.yielded] = Some((active.query, energy));
    }

    fn yield_ready(&mut self, yields: &mut impl FnMut(Q, WindowEnergy)) {
        while let Some((query, energy)) = self.held.front_mut().and_then(Option::take) {
            self.held.pop_front();
            self.yielded += 1;
            yields(query, energy);
        }
    }
}
