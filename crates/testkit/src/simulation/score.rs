//! How far each way of giving joules to queries is from the truth.

use std::ops::Range;

use ipw_core::attribution::{Flights, Idle, Ledger, Step, equal, steps};
use ipw_core::energy::{Kind, Meter, WindowEnergy};
use ipw_core::reading::{Reading, Window};
use ipw_core::units::Joules;

use super::sensors::Sensor;
use super::world::{Simulated, Workload, World};

/// A way of giving joules to queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The last value before the end, less the last value before the start.
    Naive,
    /// Between two edges power is constant.
    Interpolated,
    /// From the last edge before the start to the first after the end.
    OuterEdges,
    /// The rule, with idle as measured before the first query.
    Rule,
    /// The rule, with tokens as weights.
    Tokens,
}

/// How far a method is from the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Queries with a number, as a share.
    pub answered: f64,
    /// Mean error, relative to the mean truth.
    pub bias: f64,
    /// Standard deviation of the error, likewise.
    pub spread: f64,
    /// Share of the queries whose truth lies within two sigma; `None` where there is no sigma.
    pub within: Option<f64>,
    /// By how much the run's balance is off, relative to what was measured.
    pub unbalanced: f64,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Naive,
        Self::Interpolated,
        Self::OuterEdges,
        Self::Rule,
        Self::Tokens,
    ];
}

/// Scores all methods, in their order, on the worlds of these seeds.
pub fn score(workload: &Workload, sensor: &Sensor, seeds: Range<u64>) -> [Score; 5] {
    let meter = sensor.meter();
    let mut tallies = Method::ALL.map(|method| (method, Tally::default()));
    for seed in seeds {
        let world = World::new(workload, seed);
        let readings = sensor.readings(&world.trace, seed);
        for (method, tally) in &mut tallies {
            tally.take(*method, &meter, &world, &readings);
        }
    }
    tallies.map(|(_, tally)| tally.score())
}

#[derive(Default)]
struct Tally {
    queries: f64,
    answered: f64,
    errors: f64,
    squares: f64,
    within: f64,
    has_sigma: bool,
    truth: f64,
    unbalanced: f64,
}

impl Tally {
    fn take(&mut self, method: Method, meter: &Meter, world: &World, readings: &[Reading]) {
        let simple = |joules: f64| WindowEnergy {
            energy: Some(Joules::from_joules(joules)),
            above_idle: None,
            sigma: None,
            power: None,
            coverage: 1.0,
            reason: None,
        };
        let all: Vec<Step> = steps(meter, readings).collect();
        match method {
            Method::Naive => {
                for query in &world.queries {
                    self.compare(query, &simple(naive(meter, readings, query.window)));
                }
            }
            Method::OuterEdges => {
                for query in &world.queries {
                    self.compare(query, &simple(outer_edges(&all, query.window)));
                }
            }
            Method::Interpolated => {
                for query in &world.queries {
                    self.compare(query, &simple(interpolated(&all, query.window)));
                }
            }
            Method::Rule => self.settle(meter, world, readings, all, equal),
            Method::Tokens => {
                let weigh = |query: &&Simulated, _: Window, step: &Step| query.tokens.within(step);
                self.settle(meter, world, readings, all, weigh);
            }
        }
    }

    fn settle<'a>(
        &mut self,
        meter: &Meter,
        world: &'a World,
        readings: &[Reading],
        all: Vec<Step>,
        weigh: impl Fn(&&'a Simulated, Window, &Step) -> f64,
    ) {
        let idle = Idle::over(meter, readings, world.quiet, &Flights::default());
        let queries = world.queries.iter().map(|query| (query, query.window));
        let mut ledger = Ledger::new(meter, idle, weigh);
        let mut given = 0.0;
        let balance = ledger.settle(all, queries, |query, energy| {
            given += energy.energy.map_or(0.0, Joules::joules);
            self.compare(query, &energy);
        });
        let somebodys = given + ledger.withheld().joules();
        let sum = somebodys + balance.no_query.joules() + balance.gaps.joules();
        let off = (sum / balance.measured.joules() - 1.0).abs();
        self.unbalanced = self.unbalanced.max(off);
    }

    fn compare(&mut self, query: &Simulated, energy: &WindowEnergy) {
        self.queries += 1.0;
        let Some(joules) = energy.energy.map(Joules::joules) else {
            return;
        };
        let error = joules - query.truth;
        self.answered += 1.0;
        self.errors += error;
        self.squares += error * error;
        self.truth += query.truth;
        if let Some(sigma) = energy.sigma {
            self.has_sigma = true;
            let is_within = (joules - query.truth).abs() <= 2.0 * sigma.joules();
            self.within += f64::from(is_within);
        }
    }

    fn score(&self) -> Score {
        let (mean, truth) = (self.errors / self.answered, self.truth / self.answered);
        let variance = (self.squares / self.answered - mean * mean).max(0.0);
        Score {
            answered: self.answered / self.queries,
            bias: mean / truth,
            spread: variance.sqrt() / truth,
            within: self.has_sigma.then_some(self.within / self.answered),
            unbalanced: self.unbalanced,
        }
    }
}

/// What tools do that read the counter, or hold the power, at both ends of a window.
fn naive(meter: &Meter, readings: &[Reading], window: Window) -> f64 {
    let last = |instant| {
        let after = readings.partition_point(|reading| reading.at <= instant);
        after.checked_sub(1)
    };
    let (Some(first), Some(end)) = (last(window.start()), last(window.end())) else {
        return 0.0;
    };
    match meter.kind {
        Kind::Counter(_) => readings[end].value - readings[first].value,
        Kind::Power(_) => {
            let held = (first..=end).map(|place| {
                let from = readings[place].at;
                let to = readings.get(place + 1).map_or(window.end(), |next| next.at);
                readings[place].value * window.overlap(from, to).as_secs_f64()
            });
            held.sum()
        }
    }
}

fn overlapping(all: &[Step], window: Window) -> &[Step] {
    let first = all.partition_point(|step| step.end <= window.start());
    let last = all.partition_point(|step| step.start < window.end());
    &all[first..last.max(first)]
}

fn outer_edges(all: &[Step], window: Window) -> f64 {
    let energies = overlapping(all, window).iter().filter_map(Step::believed);
    energies.map(Joules::joules).sum()
}

fn interpolated(all: &[Step], window: Window) -> f64 {
    let parts = overlapping(all, window).iter().filter_map(|step| {
        let overlap = window.overlap(step.start, step.end);
        Some(step.believed()?.joules() * overlap.as_secs_f64() / step.length().as_secs_f64())
    });
    parts.sum()
}
