//! What rows cost: time, bytes, memory, and the way back in.
//!
//! Each run is written and read in a process of its own, so that its peak memory is its own.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::spread::{Spread, number};
use super::table::Table;
use super::{Effort, say_round};

pub(crate) mod once;

pub(crate) use once::once;

/// What a process does with a run, in its order.
pub(crate) const PHASES: [(&str, &str); 5] = [
    ("append", "append"),
    ("copy", "yardstick: a plain copy of the data"),
    ("finish", "finish (compact, overview)"),
    ("count", "open and count"),
    ("overview", "open and overview"),
];

/// The reports of one size, one per round.
struct Size {
    rows: u64,
    reports: Vec<Value>,
}

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    // The first row is committed alone and the others by the hundred: one more than a round number
    // leaves no rest that would wait for the interval.
    let sizes = effort.choose([1001, 10_001, 20_001], [10_001, 100_001, 1_000_001]);
    let rounds = effort.choose(1, 3);
    let mut measured = sizes.map(|rows| Size {
        rows,
        reports: Vec::new(),
    });
    for round in 0..rounds {
        say_round("store", round, rounds);
        for size in &mut measured {
            size.reports.push(measure(size.rows)?);
        }
    }
    let times = times(&measured);
    let sizes = bytes(&measured);
    let memory = memory(&measured);
    Ok(format!("{times}\n{sizes}\n{memory}"))
}

/// One run in a process of its own.
fn measure(rows: u64) -> anyhow::Result<Value> {
    in_own_process("store-once", rows)
}

/// A bench of `rows` rows in its own process, so that its memory is measured alone.
pub(crate) fn in_own_process(what: &str, rows: u64) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", what, "--rows", &rows.to_string()])
        .output()
        .context("starting a process for one run")?;
    ensure!(
        output.status.success(),
        "the process for one run failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn times(sizes: &[Size]) -> Table {
    let mut table = Table::new(
        "Time, µs per row",
        [
            "what",
            "rows",
            "wall",
            "processor",
            "wall: ratio to the fewest",
            "processor: ratio to the fewest",
        ],
    );
    let per_row = |phase: &str, what: &str| {
        let path = format!("/{phase}/{what}");
        move |size: &Size, report: &Value| value(report, &path) * 1e6 / number(size.rows)
    };
    for (phase, name) in PHASES {
        let wall = per_row(phase, "wall_seconds");
        let processor = per_row(phase, "processor_seconds");
        for size in sizes {
            table.row([
                name.to_owned(),
                size.rows.to_string(),
                format!("{:.1}", spread(size, &wall)),
                format!("{:.1}", spread(size, &processor)),
                format!("{:.2}", ratio(size, &sizes[0], &wall)),
                format!("{:.2}", ratio(size, &sizes[0], &processor)),
            ]);
        }
    }
    table
}

fn bytes(sizes: &[Size]) -> Table {
    let mut table = Table::new(
        "Size on disk, bytes per row",
        ["rows", "as committed", "compacted"],
    );
    for size in sizes {
        let per_row = |path: &'static str| {
            let per_row = |size: &Size, report: &Value| value(report, path) / number(size.rows);
            format!("{:.0}", spread(size, per_row))
        };
        table.row([
            size.rows.to_string(),
            per_row("/committed_bytes"),
            per_row("/compacted_bytes"),
        ]);
    }
    table
}

fn memory(sizes: &[Size]) -> Table {
    let mut table = Table::new(
        "Peak resident memory, MiB",
        ["what", "rows", "MiB", "ratio to the fewest"],
    );
    for (phase, name) in PHASES {
        let path = format!("/{phase}/peak_bytes");
        let peak = |_: &Size, report: &Value| value(report, &path) / f64::from(1 << 20);
        for size in sizes {
            table.row([
                name.to_owned(),
                size.rows.to_string(),
                format!("{:.1}", spread(size, peak)),
                format!("{:.2}", ratio(size, &sizes[0], peak)),
            ]);
        }
    }
    table
}

fn spread(size: &Size, of: impl Fn(&Size, &Value) -> f64) -> Spread {
    Spread::over(&size.reports, |report| of(size, report))
}

/// Round by round, so that a slow spell of the machine touches both.
fn ratio(size: &Size, fewest: &Size, of: impl Fn(&Size, &Value) -> f64) -> Spread {
    let pairs = size.reports.iter().zip(&fewest.reports);
    Spread::of(pairs.map(|(report, first)| of(size, report) / of(fewest, first)))
}

fn value(report: &Value, path: &str) -> f64 {
    report
        .pointer(path)
        .and_then(Value::as_f64)
        .expect("our own report has every figure")
}
