//! What a sequential query costs beyond the service's own time.
//!
//! The real binary against the reference service, and a blocking socket that asks the same as the
//! floor. The service's own time is what its log says: request read → its last write call begins.
//! (Where that call ends says nothing: it wakes the client, which may run first, so the client's
//! own work would count as the service's.) The rest is transport, which both pay, and what the
//! client adds.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ipw_core::stats::mean;
use ipw_core::time::Clock;
use ipw_reference::{Exchange, Script, Service};
use ipw_runner::SystemClock;
use serde_json::json;

use super::ipw::{WARM_UP, build, profile};
use super::raw::RawClient;
use super::spread::{Spread, micros, number};
use super::table::Table;
use super::{Effort, say_round, start_up};

/// Queries, milliseconds per query and its service's milliseconds of the original, as published
/// for one machine like this one: context, measured elsewhere.
const ORIGINAL: [(u64, f64); 3] = [(100, 1.53), (1000, 1.89), (5000, 3.22)];
const ORIGINAL_SERVICE: f64 = 0.04;

/// Means over the queries of one repetition, in microseconds.
struct PerQuery {
    wall: f64,
    service: f64,
}

impl PerQuery {
    fn beyond(&self) -> f64 {
        self.wall - self.service
    }
}

/// One repetition: both ask the same number of queries, one after the other.
struct Round {
    ipw: PerQuery,
    floor: PerQuery,
    to_first_request: Duration,
}

impl Round {
    /// What the binary adds to service and transport.
    fn beyond_floor(&self) -> f64 {
        self.ipw.wall - self.floor.wall
    }
}

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let sizes = effort.choose([200, 2000], [2000, 20_000]);
    let rounds = effort.choose(2, 7);
    let ipw = build()?;
    let mut measured: [Vec<Round>; 2] = Default::default();
    for round in 0..rounds {
        say_round("query", round, rounds);
        for (rows, rounds) in sizes.iter().zip(&mut measured) {
            rounds.push(measure(&ipw, *rows)?);
        }
    }
    let starts = [&measured[0], &measured[1]].map(|rounds| {
        Spread::over(rounds, |round: &Round| {
            round.to_first_request.as_secs_f64() * 1e3
        })
    });
    let queries = table(&sizes, &measured);
    let original = original(&measured[1]);
    let starts = start_up::table(effort, &ipw, sizes.into_iter().zip(starts))?;
    Ok(format!("{queries}\n{original}\n{starts}"))
}

fn table(sizes: &[u64], measured: &[Vec<Round>]) -> Table {
    let mut table = Table::new(
        "Sequential queries, µs per query",
        [
            "queries",
            "who",
            "wall",
            "service's own",
            "beyond it",
            "ratio to the floor's",
            "beyond the floor",
            "ratio to the fewer queries'",
        ],
    );
    for (rows, rounds) in sizes.iter().zip(measured) {
        let ratio = |round: &Round| round.ipw.beyond() / round.floor.beyond();
        let pairs = rounds.iter().zip(&measured[0]);
        let growth = Spread::of(pairs.map(|(more, few)| more.ipw.beyond() / few.ipw.beyond()));
        table.row(cells(*rows, "floor", rounds, |round| &round.floor));
        let mut ours = cells(*rows, "`ipw`", rounds, |round| &round.ipw);
        ours[5] = format!("{:.2}", Spread::over(rounds, ratio));
        ours[6] = format!("{:.1}", Spread::over(rounds, Round::beyond_floor));
        ours[7] = format!("{growth:.2}");
        table.row(ours);
    }
    table
}

fn cells(rows: u64, who: &str, rounds: &[Round], of: impl Fn(&Round) -> &PerQuery) -> [String; 8] {
    let spread =
        |value: fn(&PerQuery) -> f64| format!("{:.1}", Spread::over(rounds, |r| value(of(r))));
    [
        rows.to_string(),
        who.to_owned(),
        spread(|per| per.wall),
        spread(|per| per.service),
        spread(PerQuery::beyond),
        "1".to_owned(),
        String::new(),
        String::new(),
    ]
}

fn original(rounds: &[Round]) -> Table {
    let mut table = Table::new(
        "Against the original's published figures (another machine's), µs per query",
        [
            "the original's queries",
            "its cost beyond the service",
            "budget: a tenth",
            "`ipw` here",
            "ratio to the original's",
            "of it the floor",
            "of it beyond the floor",
        ],
    );
    for (queries, milliseconds) in ORIGINAL {
        let theirs = (milliseconds - ORIGINAL_SERVICE) * 1e3;
        let share = |of: fn(&Round) -> f64| {
            let share = Spread::over(rounds, |round| of(round) / theirs);
            format!("{share:.3}")
        };
        let ours = Spread::over(rounds, |round| round.ipw.beyond());
        table.row([
            queries.to_string(),
            format!("{theirs:.0}"),
            format!("{:.0}", theirs / 10.0),
            format!("{ours:.1}"),
            share(|round| round.ipw.beyond()),
            share(|round| round.floor.beyond()),
            share(Round::beyond_floor),
        ]);
    }
    table
}

fn measure(ipw: &Path, rows: u64) -> anyhow::Result<Round> {
    let floor = measure_floor(rows)?;
    let directory = tempfile::tempdir()?;
    let dataset = directory.path().join("rows.jsonl");
    let lines: Vec<_> = (0..rows)
        .map(|row| json!({"problem": prompt(row)}).to_string())
        .collect();
    fs::write(&dataset, lines.join("\n"))?;
    let profiled = profile(ipw, &dataset.display().to_string(), rows)?;
    let elapsed = profiled.overview.elapsed_seconds.context("no rows")?;
    let first = profiled.log.first().context("no request")?;
    Ok(Round {
        ipw: PerQuery {
            wall: elapsed * 1e6 / number(rows),
            service: service_time(&profiled.log[WARM_UP..])?,
        },
        floor,
        to_first_request: first.arrived.since(profiled.spawned),
    })
}

fn measure_floor(rows: u64) -> anyhow::Result<PerQuery> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(Arc::clone(&clock), |_| Script::default())?;
    let mut client = RawClient::connect(service.address(), Arc::clone(&clock))?;
    for _ in 0..WARM_UP {
        client.ask("warm up")?;
    }
    let begun = clock.now();
    let mut end = begun;
    for row in 0..rows {
        end = client.ask(&prompt(row))?.end;
    }
    Ok(PerQuery {
        wall: micros(end.since(begun)) / number(rows),
        service: service_time(&service.log()[WARM_UP..])?,
    })
}

fn prompt(row: u64) -> String {
    format!("Question {row}: which of the rivers that flow into the Rhine is the longest, and why?")
}

/// The mean from request read to the last write call.
fn service_time(log: &[Exchange]) -> anyhow::Result<f64> {
    let times: Vec<f64> = log
        .iter()
        .filter_map(|exchange| {
            let last = exchange.sends.last()?;
            Some(micros(last.at.since(exchange.arrived)))
        })
        .collect();
    mean(&times).context("the service logged nothing")
}
