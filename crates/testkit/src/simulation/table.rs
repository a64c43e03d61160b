//! The table of docs/method.md §6.6, and where it stands in the text.

use std::fmt::Write as _;

use super::score::{Method, Score, score};
use super::sensors::Sensor;
use super::world::{Arrivals, Nature, Workload};

/// Whether the rule's assumptions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// They do.
    Yes,
    /// They do not, and sigma says so.
    Told,
    /// They do not, and no sigma can say so.
    Untold,
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The workload in words.
    pub name: &'static str,
    /// The sensor in words.
    pub seen_by: &'static str,
    /// The workload.
    pub workload: Workload,
    /// The sensor.
    pub sensor: Sensor,
    /// Whether the rule's assumptions hold.
    pub holds: Holds,
}

/// A workload in words, when its queries come, and how long they take.
type Shape = (&'static str, Arrivals, f64);

const SHORT: [Shape; 3] = [
    ("150 ms, gaps of 1 ms", Arrivals::Sequential(0.001), 0.15),
    ("150 ms, gaps of 30 ms", Arrivals::Sequential(0.03), 0.15),
    ("150 ms, gaps of 300 ms", Arrivals::Sequential(0.3), 0.15),
];
const CLOSE: Shape = ("500 ms, back to back", Arrivals::Sequential(0.0), 0.5);
const USUAL: [Shape; 3] = [
    ("500 ms, gaps of 1 ms", Arrivals::Sequential(0.001), 0.5),
    ("500 ms, gaps of 30 ms", Arrivals::Sequential(0.03), 0.5),
    ("500 ms, gaps of 300 ms", Arrivals::Sequential(0.3), 0.5),
];
const LONG: [Shape; 3] = [
    ("2 s, gaps of 1 ms", Arrivals::Sequential(0.001), 2.0),
    ("2 s, gaps of 30 ms", Arrivals::Sequential(0.03), 2.0),
    ("2 s, gaps of 300 ms", Arrivals::Sequential(0.3), 2.0),
];
const RANDOM: Shape = ("500 ms, three at random", Arrivals::Poisson(6.0), 0.5);
const CROWD: Shape = ("2 s, 32 in flight", Arrivals::Together(32), 2.0);

/// A sensor in words, and as it is.
type Seen = (&'static str, Sensor);

const STEPS: Seen = (
    "counter, 100 ms, polled every 10 ms",
    Sensor::Counter {
        period: 0.1,
        poll: 0.01,
    },
);
const SELDOM: Seen = (
    "counter, 100 ms, polled every 50 ms",
    Sensor::Counter {
        period: 0.1,
        poll: 0.05,
    },
);
const FAST: Seen = (
    "counter, 1 ms, polled every 10 ms",
    Sensor::Counter {
        period: 0.001,
        poll: 0.01,
    },
);
const SAMPLED: Seen = (
    "counter, 100 ms, sees 25 ms of them",
    Sensor::Sampled {
        sees: 0.025,
        period: 0.1,
        poll: 0.01,
    },
);
const AVERAGED: Seen = (
    "power, mean of 1 s",
    Sensor::Gauge {
        averaging: 1.0,
        period: 0.1,
        poll: 0.05,
    },
);
const BLIND: Seen = (
    "power, sees 25 ms of 100",
    Sensor::Gauge {
        averaging: 0.025,
        period: 0.1,
        poll: 0.05,
    },
);

/// The table, in groups.
const GROUPS: &[(Seen, Nature, Holds, &[Shape])] = {
    use Holds::{Told, Untold, Yes};
    use Nature::{AsAssumed, FallingIdle, Phases, Sublinear, Tail};
    &[
        (STEPS, AsAssumed, Yes, &SHORT),
        (STEPS, AsAssumed, Yes, &[CLOSE]),
        (STEPS, AsAssumed, Yes, &USUAL),
        (STEPS, AsAssumed, Yes, &LONG),
        (STEPS, AsAssumed, Yes, &[RANDOM, CROWD]),
        (FAST, AsAssumed, Yes, &SHORT),
        (FAST, AsAssumed, Yes, &[RANDOM]),
        (SELDOM, AsAssumed, Told, &SHORT),
        (SELDOM, AsAssumed, Told, &USUAL),
        (STEPS, Phases, Told, &[USUAL[0], RANDOM]),
        (STEPS, Sublinear, Told, &[RANDOM, CROWD]),
        (STEPS, FallingIdle, Untold, &[USUAL[1]]),
        (STEPS, FallingIdle, Told, &[USUAL[2]]),
        (STEPS, Tail, Untold, &[USUAL[1], USUAL[2]]),
        (SAMPLED, AsAssumed, Untold, &[USUAL[2], LONG[2]]),
        (AVERAGED, AsAssumed, Told, &[USUAL[2], LONG[2], RANDOM]),
        (BLIND, AsAssumed, Told, &[USUAL[2], LONG[2]]),
    ]
};

/// The lines of the table.
pub fn cases() -> Vec<Case> {
    let lines = GROUPS.iter().flat_map(|(seen, nature, holds, shapes)| {
        shapes.iter().map(|(name, arrivals, length)| Case {
            name,
            seen_by: seen.0,
            workload: Workload {
                arrivals: *arrivals,
                length: *length,
                count: 300,
                nature: *nature,
            },
            sensor: seen.1,
            holds: *holds,
        })
    });
    lines.collect()
}

/// Seeds of the table and the tests. Sigma was settled on others.
pub const SEEDS: std::ops::Range<u64> = 1000..1004;

/// A line of the table with what came out.
#[derive(Debug, Clone, Copy)]
pub struct Scored {
    /// The line.
    pub case: Case,
    scores: [Score; 5],
}

impl Scored {
    /// How a method does here.
    pub fn of(&self, method: Method) -> Score {
        let place = Method::ALL.iter().position(|known| *known == method);
        self.scores[place.expect("all of them are there")]
    }
}

/// Scores the lines of the table.
pub fn scored() -> Vec<Scored> {
    let scored = cases().into_iter().map(|case| Scored {
        case,
        scores: score(&case.workload, &case.sensor, SEEDS),
    });
    scored.collect()
}

/// The table as the documentation has it.
pub fn table(lines: &[Scored]) -> String {
    let mut text = String::from(
        "| workload | world | sensor | naive | interpolated | outer edges | rule | by tokens | within 2 σ |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for scored in lines {
        let case = scored.case;
        let percent = |method| {
            let Score { bias, spread, .. } = scored.of(method);
            format!("{} ± {:.1}", signed(bias * 100.0), spread * 100.0)
        };
        let within = scored.of(Method::Rule).within.unwrap_or(0.0) * 100.0;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | **{}** | {} | {within:.0} % |",
            case.name,
            case.workload.nature.label(),
            case.seen_by,
            percent(Method::Naive),
            percent(Method::Interpolated),
            percent(Method::OuterEdges),
            percent(Method::Rule),
            percent(Method::Tokens),
        );
    }
    text
}

/// With its sign, but for zero, which has none.
fn signed(percent: f64) -> String {
    if percent.abs() < 0.05 {
        "0.0".to_owned()
    } else {
        format!("{percent:+.1}").replace('-', "−")
    }
}

const BEGIN: &str = "<!-- table: made by cargo xtask method, do not edit -->";
const END: &str = "<!-- end of table -->";

/// The place of the table in a text: what is before it, the table, and what is behind.
pub fn between_markers(text: &str) -> Option<(&str, &str, &str)> {
    let from = text.find(BEGIN)? + BEGIN.len();
    let to = from + text[from..].find(END)?;
    Some((&text[..from], &text[from..to], &text[to..]))
}
