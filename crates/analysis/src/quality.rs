//! Warnings about a run's numbers, each with advice.

use std::collections::BTreeMap;

use ipw_core::setting::Setting;
use ipw_core::source::{Gauge, Quantity};
use ipw_core::telemetry::{SourceReport, Telemetry};
use ipw_core::warning::{RunKind, Warning};

mod others;
mod rows;

/// Smallest share of its time that the readings of a row should cover.
pub const WELL_COVERED: f64 = 0.95;
/// Temperature rise of a device that causes a warning, in °C.
const WARMING: f64 = 15.0;
/// Largest relative difference of two values of one quantity: a counter and its power, or idle
/// power before and after.
const DISAGREEMENT: f64 = 0.1;
/// Largest clock bound relative to the median query.
const WIDE_CLOCK: f64 = 0.05;
/// Longest time without a counter change at the end of a run, in seconds and in its typical
/// intervals.
const STILL: f64 = 2.0;
const STILL_INTERVALS: f64 = 20.0;
/// Smallest change of a power limit that counts, in watts.
const LIMIT: f64 = 0.5;

/// Input of the warnings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts<'a> {
    /// Rows with energy in which a source covers less than [`WELL_COVERED`] of the window.
    pub rows_thinly_covered: u64,
    /// Rows without energy because their window was too short for the source.
    pub rows_too_short: u64,
    /// Rows with energy.
    pub rows_with_energy: u64,
    /// Rows without energy by reason, as in columns.
    pub rows_without_energy: BTreeMap<String, u64>,
    /// Bases of the energy, the headline's first.
    pub bases: Vec<Part>,
    /// Rows with a long delay of the thread that takes timestamps.
    pub rows_delayed: u64,
    /// Whether the energy is estimated.
    pub is_estimated: bool,
    /// Rows whose service claims an impossible number of tokens.
    pub rows_with_impossible_claims: u64,
    /// Number of queries that the 99th percentile of latency needs, if there are too few.
    pub p99_needs: Option<u64>,
    /// Number of answered queries.
    pub answered: u64,
    /// Median duration of a query.
    pub median_query_seconds: Option<f64>,
    /// Reports of the sources; `None` while the run goes on.
    pub telemetry: Option<&'a Telemetry>,
}

/// Rows whose energy has the same basis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its name: `cpu`, `cpu_estimated`.
    pub basis: String,
    /// The sources.
    pub sources: Vec<String>,
    /// Number of rows.
    pub rows: u64,
    /// Their energy.
    pub joules: f64,
}

/// A count with its noun in singular or plural.
fn counted(count: u64, one: &str, many: &str) -> String {
    let words = if count == 1 { one } else { many };
    format!("{count} {words}")
}

/// All warnings, the most severe first.
pub fn warnings(facts: &Facts<'_>) -> Vec<Warning> {
    let run = |kind: RunKind, text: String, advice: &str| Warning::new(kind, text).advise(advice);
    let mut warnings = Vec::new();
    if facts.is_estimated {
        warnings.push(run(
            RunKind::Estimated,
            "energy is estimated from CPU time, not measured".to_owned(),
            "compare only with runs of this machine; `ipw doctor` lists the sources that measure energy",
        ));
    }
    if facts.rows_thinly_covered > 0 {
        warnings.push(run(
            RunKind::Coverage,
            format!(
                "{} readings for less than {:.0} % of their time",
                counted(facts.rows_thinly_covered, "row has", "rows have"),
                WELL_COVERED * 100.0
            ),
            "their joules are too low; see `energy.shares`",
        ));
    }
    if facts.rows_too_short > 0 {
        warnings.push(run(
            RunKind::ShortWindows,
            format!(
                "{} too short for the source to separate from idle",
                counted(facts.rows_too_short, "query is", "queries are")
            ),
            &format!(
                "they have no joules; measure idle power (`{}`) or request longer replies",
                Setting::Idle.to("3s")
            ),
        ));
    }
    warnings.extend(rows::mixed(&facts.bases));
    warnings.extend(rows::without(facts));
    warnings.extend(rows::claims(facts.rows_with_impossible_claims));
    let telemetry = facts.telemetry;
    warnings.extend(telemetry.and_then(|report| rows::paused(&report.pauses)));
    if facts.rows_delayed > 0 {
        warnings.push(run(
            RunKind::OwnDelay,
            format!(
                "`ipw` itself was suspended or delayed while {} in flight",
                counted(facts.rows_delayed, "query was", "queries were")
            ),
            "their latencies include delays of `ipw` (`timing.own_delay_seconds`); keep a core free, or lower the load",
        ));
    }
    if let Some(telemetry) = telemetry {
        warnings.extend(of_sources(telemetry, facts.median_query_seconds));
    }
    if let Some(needs) = facts.p99_needs.filter(|_| facts.answered > 0) {
        warnings.push(run(
            RunKind::FewSamples,
            format!(
                "{} answered queries are too few for the 99th percentile",
                facts.answered
            ),
            &format!(
                "{needs} are needed (`{}`, or a larger dataset)",
                Setting::Repeat
            ),
        ));
    }
    warnings
}

/// Warnings about sources and about other load on the machine.
fn of_sources(telemetry: &Telemetry, median_query_seconds: Option<f64>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = telemetry.sources.iter().flat_map(of_source).collect();
    warnings.extend(clocks(&telemetry.sources, median_query_seconds));
    warnings.extend(telemetry.cpu.as_ref().and_then(others::load));
    warnings.extend(telemetry.other_runs.and_then(others::runs));
    warnings.extend(telemetry.faults.iter().map(|fault| {
        Warning::new(RunKind::Fault, format!("a reading failed: {fault}"))
            .advise("affected rows carry the reason")
    }));
    warnings
}

/// Warnings about clocks of other machines, once per machine.
fn clocks(sources: &[SourceReport], usual: Option<f64>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for report in sources {
        let Some(clock) = report.clock.filter(|_| report.about.domain().is_some()) else {
            continue;
        };
        let bound = clock.bound.as_secs_f64();
        let host = report.about.host.as_ref().unwrap_or(&report.about.name);
        let mut say = |kind: RunKind, text: String, advice: &str| {
            let new = Warning::new(kind, text).advise(advice).of_source(host);
            let is_said = |old: &Warning| old.kind == new.kind && old.source == new.source;
            if !warnings.iter().any(is_said) {
                warnings.push(new);
            }
        };
        if let Some(usual) = usual.filter(|usual| bound > WIDE_CLOCK * usual) {
            say(
                RunKind::WideClock,
                format!(
                    "the clock offset of `{host}` is uncertain by {:.1} ms, and the median query takes {:.0} ms",
                    bound * 1e3,
                    usual * 1e3
                ),
                "joules of single queries are as uncertain, totals are not; shorten the network path, or request longer replies",
            );
        }
        if clock.steps > 0 {
            say(
                RunKind::ClockSet,
                format!("the clock of `{host}` was set {} times", clock.steps),
                "readings near these times may have wrong timestamps",
            );
        }
    }
    warnings
}

/// Warnings about one source.
fn of_source(report: &SourceReport) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let name = &report.about.name;
    let mut say = |kind: RunKind, text: String, advice: &str| {
        warnings.push(Warning::new(kind, text).advise(advice).of_source(name));
    };
    if let Some(gaps) = report.gaps.filter(|gaps| *gaps > 0) {
        say(
            RunKind::Gaps,
            format!(
                "`{name}` has {} in its readings",
                counted(gaps, "gap", "gaps")
            ),
            "possible causes: a busy machine, a lost device, or suspend",
        );
    }
    if let Some(resets) = report.resets.filter(|resets| *resets > 0) {
        say(
            RunKind::Resets,
            format!("`{name}` reset {}", counted(resets, "time", "times")),
            "affected queries have no energy",
        );
    }
    if let Some(steps) = report.implausible.filter(|steps| *steps > 0) {
        say(
            RunKind::Implausible,
            format!(
                "`{name}` advanced {} by more than its device can use",
                counted(steps, "time", "times")
            ),
            "these steps count as gaps, without energy; find the cause before you trust this counter",
        );
    }
    if let Some(seconds) = stood_still(report) {
        say(
            RunKind::StoodStill,
            format!("`{name}` did not change in the last {seconds:.1} s"),
            "queries in that time have no energy from it; see `ipw doctor`",
        );
    }
    if matches!(report.about.quantity, Quantity::Energy { .. }) && report.joules.is_none() {
        say(
            RunKind::NeverMoved,
            format!("`{name}` never moved and counts as absent"),
            "see `ipw doctor`",
        );
    }
    if let Some((kind, text, advice)) = state(report) {
        say(kind, text, advice);
    }
    if let Some(ratio) = against_power(report) {
        say(
            RunKind::CounterAgainstPower,
            format!(
                "`{name}` counted {:.0} % of the energy that its own power readings give",
                ratio * 100.0
            ),
            "one of the two is wrong; see `ipw doctor`",
        );
    }
    if let Some((before, after)) = drift(report) {
        say(
            RunKind::IdleDrift,
            format!("`{name}` drew {before:.1} W idle before the queries and {after:.1} W after"),
            "joules above idle are as uncertain as this difference",
        );
    }
    warnings
}

/// Warnings about a gauge.
fn state(report: &SourceReport) -> Option<(RunKind, String, &'static str)> {
    let name = &report.about.name;
    let (first, last, max) = report.values.map(|of| (of.first, of.last, of.max))?;
    let Quantity::Gauge { gauge } = report.about.quantity else {
        return None;
    };
    match gauge {
        Gauge::Throttle if max > 0.0 => Some((
            RunKind::Throttled,
            format!("`{name}`: the board was throttled by heat or power"),
            "it ran below its normal speed; improve its cooling, or lower the load",
        )),
        Gauge::PowerLimit if (first - last).abs() > LIMIT => Some((
            RunKind::PowerLimit,
            format!("`{name}` changed from {first:.0} W to {last:.0} W during the run"),
            "figures before and after the change are not comparable",
        )),
        Gauge::GpuTemperature | Gauge::CpuTemperature if max - first > WARMING => Some((
            RunKind::Temperature,
            format!("`{name}` rose from {first:.0} °C to {max:.0} °C"),
            "a hotter chip draws more power; use a longer warm-up for steady figures",
        )),
        Gauge::Processes if max > 1.0 => Some((
            RunKind::OtherLoad,
            format!("`{name}`: up to {max:.0} processes used the board"),
            "these joules include their energy",
        )),
        _ => None,
    }
}

/// Time without a change at the end of a counter that did move, in seconds.
fn stood_still(report: &SourceReport) -> Option<f64> {
    let usual = report.change_interval_seconds?;
    let still = report.still_seconds.filter(|_| report.joules.is_some())?;
    (still > STILL.max(STILL_INTERVALS * usual)).then_some(still)
}

fn drift(report: &SourceReport) -> Option<(f64, f64)> {
    let idle = report.idle;
    let (before, after) = (idle.before?.power.watts(), idle.after?.power.watts());
    ((after - before).abs() > DISAGREEMENT * before).then_some((before, after))
}

fn against_power(report: &SourceReport) -> Option<f64> {
    let ratio = report.self_test.end?.against_power?;
    ((ratio - 1.0).abs() > DISAGREEMENT).then_some(ratio)
}

#[cfg(test)]
mod tests;
