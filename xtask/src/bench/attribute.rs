//! What it takes to compute the energy of a run's rows again.
//!
//! Each run is made and attributed in a process of its own, so that its peak memory is its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use ipw_core::attribution::{Idle, Weights};
use ipw_core::counter::Rollover;
use ipw_core::energy::{Meter, MeteredSource};
use ipw_core::reading::Reading;
use ipw_core::record::Record;
use ipw_core::shape::Shape;
use ipw_core::sink::{ReadingSink as _, Sink as _};
use ipw_core::source::{Domain, Method, Quantity, Role, Source, SourceIndex};
use ipw_core::time::{Clock as _, Timestamp};
use ipw_core::units::Watts;
use ipw_runner::SystemClock;
use ipw_store::attribute::{Asking, attribute};
use ipw_store::{CommitPolicy, ReadingWriter, RunWriter, Status};
use serde_json::{Value, json};

use super::spread::{Spread, number};
use super::store::in_own_process;
use super::store::once::{Phase, copy_data, create, numbered, record, summary};
use super::table::Table;
use super::{Effort, say_round};

/// A query begins every so often, and takes this long: two are in flight half of the time.
const EVERY: u64 = 100;
const LONG: u64 = 150;
/// A reading of each source every so often: ten for each row, over all sources.
const POLL: u64 = 40;
const SOURCES: u16 = 4;
/// Readings are committed as often.
const COMMIT: u64 = 400;
const MS: u64 = 1_000_000;
/// What the run found before its queries.
const IDLE: Idle = Idle {
    power: Watts::from_watts(10.0),
    sigma: Watts::from_watts(0.1),
};

/// What a process does with a run, in its order.
const PHASES: [(&str, &str); 3] = [
    ("copy", "yardstick: a plain copy of rows and readings"),
    ("equal", "attribute"),
    ("tokens", "attribute, by tokens"),
];

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let sizes = effort.choose([1000, 5000, 10_000], [10_000, 100_000, 1_000_000]);
    let rounds = effort.choose(1, 3);
    let mut measured = sizes.map(|rows| (rows, Vec::new()));
    for round in 0..rounds {
        say_round("attribute", round, rounds);
        for (rows, reports) in &mut measured {
            reports.push(in_own_process("attribute-once", *rows)?);
        }
    }
    Ok(table(&measured).to_string())
}

fn table(sizes: &[(u64, Vec<Value>)]) -> Table {
    let mut table = Table::new(
        "Energy once more: 4 sources, 10 readings per row",
        [
            "what",
            "rows",
            "readings",
            "seconds",
            "µs per row",
            "ratio to the fewest",
            "peak memory, MB",
        ],
    );
    for (phase, what) in PHASES {
        let per_row = |rows: u64, report: &Value| {
            let seconds = report[phase]["wall_seconds"].as_f64().unwrap_or(f64::NAN);
            seconds * 1e6 / number(rows)
        };
        for (rows, reports) in sizes {
            let seconds = |report: &Value| per_row(*rows, report) * number(*rows) / 1e6;
            let peak = |report: &Value| report[phase]["peak_bytes"].as_f64().unwrap_or(f64::NAN);
            let ratios = reports
                .iter()
                .zip(&sizes[0].1)
                .map(|(report, fewest)| per_row(*rows, report) / per_row(sizes[0].0, fewest));
            table.row([
                what.to_owned(),
                rows.to_string(),
                (rows * EVERY * u64::from(SOURCES) / POLL).to_string(),
                format!("{:.2}", Spread::over(reports, seconds)),
                format!(
                    "{:.1}",
                    Spread::over(reports, |report| per_row(*rows, report))
                ),
                format!("{:.2}", Spread::of(ratios)),
                format!("{:.0}", Spread::over(reports, |report| peak(report) / 1e6)),
            ]);
        }
    }
    table
}

/// Makes a run of `rows` rows and computes its energy; what comes back is a report in JSON.
pub(crate) fn once(rows: u64) -> anyhow::Result<String> {
    let clock = SystemClock::start();
    let parent = tempfile::tempdir()?;
    let directory = parent.path().join("run");
    make(&directory, rows, clock, |_| {})?;

    let phase = Phase::begin(clock)?;
    copy_data(&directory, &parent.path().join("rows"))?;
    copy_data(&directory.join("readings"), &parent.path().join("readings"))?;
    let copy = phase.end(clock.now())?;
    for copy in ["rows", "readings"] {
        std::fs::remove_file(parent.path().join(copy))?;
    }

    let again = |weights: Weights| -> anyhow::Result<Value> {
        let asking = Asking {
            weights,
            ..Asking::default()
        };
        let phase = Phase::begin(clock)?;
        let done = attribute(&directory, &asking, |_, _, _| {})?;
        let took = phase.end(clock.now())?;
        let with_energy = done.overview.energy.rows;
        ensure!(
            with_energy == rows,
            "{with_energy} of {rows} rows have energy"
        );
        Ok(took)
    };
    let equal = again(Weights::Equal)?;
    let tokens = again(Weights::Tokens)?;
    Ok(json!({ "copy": copy, "equal": equal, "tokens": tokens }).to_string())
}

/// A run with the readings of its time. `vary` changes a row before it is written.
pub(crate) fn make(
    directory: &Path,
    rows: u64,
    clock: SystemClock,
    vary: impl Fn(&mut Record),
) -> anyhow::Result<()> {
    let shape = Shape::of(&json!({"row": 1})).settled();
    let run = create(directory, &shape, &clock)?;
    let about = summary(directory, &clock);
    let sources = sources();
    let meters: Vec<Meter> = sources
        .iter()
        .map(|source| Meter::of(source, Duration::from_millis(POLL)))
        .collect();
    let metered = sources
        .iter()
        .zip(&meters)
        .map(|(about, meter)| MeteredSource {
            about,
            meter,
            role: Role::Service,
        });
    let mut readings = ReadingWriter::create(directory, metered, 0, false)?;
    readings.note_idle(&[Some(IDLE); SOURCES as usize])?;
    let mut writer = RunWriter::start(run, about, CommitPolicy::every(1000), Arc::new(clock))?;
    let template = record();
    for index in 0..rows {
        let mut record = shifted(&template, index);
        vary(&mut record);
        writer.append(record)?;
    }
    writer.finish(Status::Complete, |_, _, _| {})?;
    let end = rows * EVERY + LONG + 1000;
    for from in (0..end).step_by(usize::try_from(COMMIT)?) {
        readings.append(&committed(from))?;
    }
    Ok(())
}

/// What is taken to disk at a time.
fn committed(from: u64) -> Vec<Reading> {
    let polls = (from..from + COMMIT).step_by(usize::try_from(POLL).unwrap_or(1));
    let reading = |now: u64, source: u16| Reading {
        source: SourceIndex(source),
        at: Timestamp::from_nanos(now * MS),
        previous: now
            .checked_sub(POLL)
            .map(|last| Timestamp::from_nanos(last * MS)),
        value: number(now) * 0.05 * f64::from(source + 1),
    };
    polls
        .flat_map(|now| (0..SOURCES).map(move |source| reading(now, source)))
        .collect()
}

/// Four counters that all are in the headline.
fn sources() -> Vec<Source> {
    (0..SOURCES)
        .map(|number| Source {
            name: format!("bench/{number}"),
            collector: "bench".into(),
            host: None,
            device: None,
            quantity: Quantity::Energy {
                domain: if number % 2 == 0 {
                    Domain::CpuPackage
                } else {
                    Domain::Dram
                },
                rollover: Rollover::Resets,
            },
            method: Method::Counter,
            period: Some(Duration::from_millis(1)),
            privilege: "none".into(),
            relative_sigma: None,
        })
        .collect()
}

/// The row with its own time.
fn shifted(template: &Record, index: u64) -> Record {
    let start = 500 + index * EVERY;
    let at = |milliseconds: u64| Timestamp::from_nanos((start + milliseconds) * MS);
    let mut record = numbered(template, index);
    let timing = &mut record.reply.timing;
    let chunks = 30..30 + timing.chunks.len() as u64;
    timing.chunks = chunks.map(at).collect();
    timing.start = at(0);
    timing.sent = Some(at(1));
    timing.first_byte = Some(at(29));
    timing.first_token = Some(at(30));
    timing.first_answer_token = Some(at(30));
    timing.end = at(LONG);
    record.due = at(0);
    record
}
