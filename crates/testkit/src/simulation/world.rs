//! Queries, the power that each draws, and the joules that are truly its own.

use std::time::Duration;

use ipw_core::attribution::TokenTimes;
use ipw_core::reading::Window;
use ipw_core::time::Timestamp;

use super::sensors::Trace;
use super::{around, uniform};
use crate::fuzz::Random;

/// Idle power of the machine, and the mean power that a query adds.
pub const IDLE_WATTS: f64 = 50.0;
const QUERY_WATTS: f64 = 150.0;
/// How much queries differ in power: relative, one standard deviation.
const UNLIKE: f64 = 0.25;
/// Quiet time before the first query.
const LEAD: f64 = 5.0;

/// When queries come.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// One after the other, with a pause in seconds.
    Sequential(f64),
    /// At random, with a rate per second.
    Poisson(f64),
    /// A constant number in flight: when one ends, the next begins.
    Together(usize),
}

/// What the world is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// As the rule assumes: steady idle, and every query adds its own steady power.
    AsAssumed,
    /// Two kinds of queries that draw more while they read and less while they write: one reads
    /// for most of its time, one writes.
    Phases,
    /// Power grows more slowly than the number in flight.
    Sublinear,
    /// After each query power falls back only gradually.
    Tail,
    /// Idle is higher for half a second after work than when it was measured.
    FallingIdle,
}

impl Nature {
    /// The nature in words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AsAssumed => "as assumed",
            Self::Phases => "reading draws twice as much as writing",
            Self::Sublinear => "power sublinear in the number",
            Self::Tail => "a tail after each query",
            Self::FallingIdle => "idle falls half a second late",
        }
    }
}

/// A workload.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// When queries come.
    pub arrivals: Arrivals,
    /// How long one takes, in seconds.
    pub length: f64,
    /// How many there are.
    pub count: usize,
    /// What the world is like.
    pub nature: Nature,
}

/// A query that was simulated.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// When it was in flight.
    pub window: Window,
    /// When its tokens were processed.
    pub tokens: TokenTimes,
    /// Its own joules, with its part of idle.
    pub truth: f64,
    start: f64,
    end: f64,
    /// Until when it draws how much, in order.
    phases: Vec<(f64, f64)>,
}

impl Simulated {
    fn watts(&self, at: f64) -> f64 {
        let phase = self.phases.iter().find(|(until, _)| at < *until);
        phase.map_or(0.0, |(_, watts)| *watts)
    }
}

/// What happened, and what was used.
#[derive(Debug, Clone)]
pub struct World {
    /// In the order of their beginnings.
    pub queries: Vec<Simulated>,
    /// Power over time.
    pub trace: Trace,
    /// The quiet time before the first query.
    pub quiet: Window,
}

pub(super) fn instant(seconds: f64) -> Timestamp {
    Timestamp::ZERO.after(Duration::from_secs_f64(seconds.max(0.0)))
}

fn window(start: f64, end: f64) -> Window {
    Window::new(instant(start), instant(end.max(start))).expect("it ends later")
}

impl World {
    /// The world of this seed.
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let mut queries = plan(workload, &mut random);
        let trace = live(workload.nature, &mut queries);
        Self {
            queries,
            trace,
            quiet: window(0.5, LEAD),
        }
    }
}

fn plan(workload: &Workload, random: &mut Random) -> Vec<Simulated> {
    let mut slots = match workload.arrivals {
        Arrivals::Together(slots) => vec![0.0; slots],
        _ => vec![0.0],
    };
    for slot in &mut slots {
        *slot = LEAD + workload.length * uniform(random);
    }
    let mut queries: Vec<Simulated> = (0..workload.count)
        .map(|number| {
            let free = slots
                .iter_mut()
                .min_by(|left, right| left.total_cmp(right))
                .expect("there is a slot");
            let start = *free;
            let end = start + workload.length * (0.8 + 0.4 * uniform(random));
            *free = match workload.arrivals {
                Arrivals::Sequential(gap) => end + gap * (0.8 + 0.4 * uniform(random)),
                Arrivals::Poisson(rate) => start - (1.0 - uniform(random)).ln() / rate,
                Arrivals::Together(_) => end + 0.001,
            };
            query(workload.nature, number, (start, end), random)
        })
        .collect();
    queries.sort_by(|left, right| left.start.total_cmp(&right.start));
    queries
}

fn query(
    nature: Nature,
    number: usize,
    (start, end): (f64, f64),
    random: &mut Random,
) -> Simulated {
    // Share of the time that goes into the prompt, its tokens, the reply's, and power while
    // reading and while writing against the usual.
    let (reads, input, output, reading, writing) = match nature {
        Nature::Phases if number.is_multiple_of(2) => (0.7, 4000.0, 20.0, 1.6, 0.8),
        Nature::Phases => (0.1, 200.0, 100.0, 1.6, 0.8),
        _ => (0.2, 200.0, 50.0, 1.0, 1.0),
    };
    let watts = around(random, QUERY_WATTS, UNLIKE);
    let first = start + (end - start) * reads;
    let chunks = (1..=20).map(|chunk| instant(first + (end - first) * f64::from(chunk) / 20.0));
    Simulated {
        window: window(start, end),
        tokens: TokenTimes {
            input: Some((input, window(start, first))),
            output,
            chunks: chunks.collect(),
        },
        truth: 0.0,
        start,
        end,
        phases: vec![(first, watts * reading), (end, watts * writing)],
    }
}

/// Lets the queries draw their power, notes what is truly theirs, and gives the power of it all.
fn live(nature: Nature, queries: &mut [Simulated]) -> Trace {
    let moments = moments(nature, queries);
    let mut trace = Trace::default();
    let mut next = 0;
    let mut active: Vec<usize> = Vec::new();
    let mut ended: Vec<usize> = Vec::new();
    for pair in moments.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let middle = f64::midpoint(from, to);
        while next < queries.len() && queries[next].start <= from {
            active.push(next);
            next += 1;
        }
        ended.extend(active.extract_if(.., |place| queries[*place].end <= from));
        ended.retain(|place| from - queries[*place].end < 1.0);
        let idle = idle_watts(
            nature,
            !active.is_empty() || is_recent(queries, &ended, from),
        );
        let number = active.iter().fold(0.0, |number, _| number + 1.0);
        let crowd = if nature == Nature::Sublinear && number > 1.0 {
            f64::powf(number, -0.4)
        } else {
            1.0
        };
        let mut watts = idle;
        for place in &active {
            let own = queries[*place].watts(middle) * crowd;
            queries[*place].truth += (own + idle / number) * (to - from);
            watts += own;
        }
        if nature == Nature::Tail {
            watts += ended
                .iter()
                .map(|place| tail(&queries[*place], middle))
                .sum::<f64>();
        }
        trace.push(from, to, watts);
    }
    trace
}

/// Whether a query was in flight half a second before.
fn is_recent(queries: &[Simulated], ended: &[usize], at: f64) -> bool {
    ended.iter().any(|place| at - queries[*place].end < 0.5)
}

fn idle_watts(nature: Nature, is_awake: bool) -> f64 {
    if nature == Nature::FallingIdle && is_awake {
        IDLE_WATTS * 1.4
    } else {
        IDLE_WATTS
    }
}

/// Power that a query still draws after its end and that belongs to no query: two fifths of its
/// power at first, and half of that every 40 ms.
fn tail(query: &Simulated, at: f64) -> f64 {
    let (_, watts) = query.phases[query.phases.len() - 1];
    0.4 * watts * f64::powf(0.5, (at - query.end) / 0.04)
}

/// All moments at which power changes.
fn moments(nature: Nature, queries: &[Simulated]) -> Vec<f64> {
    let last = queries.iter().map(|query| query.end).fold(0.0, f64::max);
    let mut moments = vec![0.0, last + 5.0];
    for query in queries {
        moments.push(query.start);
        moments.extend(query.phases.iter().map(|(until, _)| *until));
        match nature {
            Nature::Tail => {
                moments.extend((1..=32).map(|step| query.end + f64::from(step) * 0.01));
            }
            Nature::FallingIdle => moments.push(query.end + 0.5),
            _ => {}
        }
    }
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    moments
}
