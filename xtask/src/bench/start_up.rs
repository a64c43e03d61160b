//! From the start of the process to the arrival of its first chat request.
//!
//! By then the binary has read its dataset once, asked the service whether it is there, and made a
//! run directory. A process that does nothing stands beside it.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use ipw_core::time::Clock;
use ipw_runner::SystemClock;

use super::Effort;
use super::ipw::profile;
use super::spread::{Spread, micros};
use super::table::Table;

/// Measures with the starter dataset; `with_rows` is what runs over larger ones saw.
pub(crate) fn table(
    effort: Effort,
    ipw: &Path,
    with_rows: impl IntoIterator<Item = (u64, Spread)>,
) -> anyhow::Result<Table> {
    let mut nothing = Vec::new();
    let mut starts = Vec::new();
    for _ in 0..effort.choose(3, 15) {
        nothing.push(run_nothing()?);
        let profiled = profile(ipw, "starter", 1)?;
        let first = profiled.log.first().context("no request")?;
        starts.push(micros(first.arrived.since(profiled.spawned)) / 1e3);
    }
    let ratio = Spread::of(
        starts
            .iter()
            .zip(&nothing)
            .map(|(start, nothing)| start / nothing),
    );
    let mut table = Table::new(
        "Start-up, ms from process start",
        ["what", "ms", "ratio to `/bin/true`"],
    );
    let nothing = Spread::of(nothing);
    table.row([
        "`/bin/true`, start to end".to_owned(),
        format!("{nothing:.1}"),
        "1".to_owned(),
    ]);
    table.row([
        "`ipw profile`, starter dataset, to the first chat request".to_owned(),
        format!("{:.1}", Spread::of(starts)),
        format!("{ratio:.1}"),
    ]);
    for (rows, spread) in with_rows {
        table.row([
            format!("the same with {rows} rows"),
            format!("{spread:.1}"),
            String::new(),
        ]);
    }
    Ok(table)
}

/// Milliseconds that a process takes that does nothing.
fn run_nothing() -> anyhow::Result<f64> {
    let clock = SystemClock::start();
    let begun = clock.now();
    Command::new("/bin/true")
        .status()
        .context("starting `/bin/true`")?;
    Ok(micros(clock.now().since(begun)) / 1e3)
}
