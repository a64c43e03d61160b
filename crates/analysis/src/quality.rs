//! Doubts about a run's numbers: each a finding, and what to do about it.

use std::collections::BTreeMap;

use ipw_core::setting::Setting;
use ipw_core::source::{Gauge, Quantity};
use ipw_core::telemetry::{SourceReport, Telemetry};
use serde::{Deserialize, Serialize};

mod others;
mod rows;

/// Share of its time for which a row should have readings.
pub const WELL_COVERED: f64 = 0.95;
/// °C by which a device may warm up before it is worth a word.
const WARMING: f64 = 15.0;
/// Share by which two figures of the same thing may differ: a counter and the power beside it, idle
/// before and after.
const DISAGREEMENT: f64 = 0.1;
/// Share of a usual query by which another machine's clock may be off before it is worth a word.
const WIDE_CLOCK: f64 = 0.05;
/// Seconds for which a counter may stand still at the end of a run, and how many of its usual
/// intervals that must be.
const STILL: f64 = 2.0;
const STILL_INTERVALS: f64 = 20.0;
/// Watts by which a limit may seem to change.
const LIMIT: f64 = 0.5;

/// What a person should know before quoting a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What kind of doubt.
    pub id: Doubt,
    /// The source that it is about; `None` when it is about the run.
    pub source: Option<String>,
    /// What was found.
    pub finding: String,
    /// What to do about it, or what it means.
    pub advice: String,
}

/// Kinds of doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The energy is a model's and not a meter's.
    Estimated,
    /// Rows whose readings cover too little of their time.
    Coverage,
    /// Queries too short for the source to tell them apart from idle.
    ShortWindows,
    /// A source that was silent.
    Gaps,
    /// A counter that started anew.
    Resets,
    /// A counter that advanced by more than its device can have used.
    Implausible,
    /// A counter that never moved.
    NeverMoved,
    /// A counter that stopped moving before the end.
    StoodStill,
    /// Rows without energy beside rows with it.
    RowsWithoutEnergy,
    /// Rows whose energy is made from other sources than the headline's.
    MixedBases,
    /// A reading that failed.
    Fault,
    /// Idle that was not the same before and after.
    IdleDrift,
    /// A device that warmed up.
    Temperature,
    /// A device that was held back.
    Throttled,
    /// A limit that changed.
    PowerLimit,
    /// Others used the device.
    OtherLoad,
    /// Another run of `ipw` measured the same machine at the same time.
    OtherRuns,
    /// A counter and its own power that say different things.
    CounterAgainstPower,
    /// Another machine's clock, which is not known well enough for queries so short.
    WideClock,
    /// Another machine's clock that was set.
    ClockSet,
    /// Token counts of the service that cannot be.
    TokenClaims,
    /// A time in which this process did not run.
    Paused,
    /// Too few queries for a percentile that people ask for.
    FewSamples,
    /// Our own thread was not there in time to take stamps.
    OwnDelay,
    /// The run was written by the original, which tells less.
    Original,
}

impl std::fmt::Display for Note {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.finding, self.advice)
    }
}

/// What the notes are made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts<'a> {
    /// Rows with energy of which some source covers less than [`WELL_COVERED`] of the window.
    pub rows_thinly_covered: u64,
    /// Rows without energy because their time was too short for the source.
    pub rows_too_short: u64,
    /// Rows with energy.
    pub rows_with_energy: u64,
    /// Rows without energy by reason, as columns spell it.
    pub rows_without_energy: BTreeMap<String, u64>,
    /// What energy is made from, the headline's first.
    pub bases: Vec<Part>,
    /// Rows during which our own thread was not there for a good part of their time.
    pub rows_delayed: u64,
    /// Whether the energy is estimated.
    pub is_estimated: bool,
    /// Rows whose service claims more tokens than there can be.
    pub rows_with_impossible_claims: u64,
    /// How many queries the 99th percentile of latency would need, where there were too few.
    pub p99_needs: Option<u64>,
    /// How many queries were answered.
    pub answered: u64,
    /// How long a usual query took.
    pub median_query_seconds: Option<f64>,
    /// What the sources reported; `None` while the run goes on.
    pub telemetry: Option<&'a Telemetry>,
}

/// Rows whose energy is made from the same sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// What it is called: `cpu`, `cpu_estimated`.
    pub basis: String,
    /// The sources.
    pub sources: Vec<String>,
    /// How many rows.
    pub rows: u64,
    /// Their energy.
    pub joules: f64,
}

/// How many, in the number that the words take.
fn counted(count: u64, one: &str, many: &str) -> String {
    let words = if count == 1 { one } else { many };
    format!("{count} {words}")
}

/// All that there is to say, the gravest first.
pub fn notes(facts: &Facts<'_>) -> Vec<Note> {
    let run = |id: Doubt, finding: String, advice: &str| Note {
        id,
        source: None,
        finding,
        advice: advice.to_owned(),
    };
    let mut notes = Vec::new();
    if facts.is_estimated {
        notes.push(run(
            Doubt::Estimated,
            "energy is estimated from CPU time, not measured".to_owned(),
            "compare runs of this machine with each other, and with nothing else; `ipw doctor` says what would measure it",
        ));
    }
    if facts.rows_thinly_covered > 0 {
        notes.push(run(
            Doubt::Coverage,
            format!(
                "{} readings for less than {:.0} % of their time",
                counted(facts.rows_thinly_covered, "row has", "rows have"),
                WELL_COVERED * 100.0
            ),
            "their joules are too low; look at `energy.shares`",
        ));
    }
    if facts.rows_too_short > 0 {
        notes.push(run(
            Doubt::ShortWindows,
            format!(
                "{} too short for the source to tell them from idle",
                counted(facts.rows_too_short, "query is", "queries are")
            ),
            &format!(
                "they have no joules; let idle be measured (`{}`), or ask for longer replies",
                Setting::Idle.to("3s")
            ),
        ));
    }
    notes.extend(rows::mixed(&facts.bases));
    notes.extend(rows::without(facts));
    notes.extend(rows::claims(facts.rows_with_impossible_claims));
    let telemetry = facts.telemetry;
    notes.extend(telemetry.and_then(|told| rows::paused(&told.pauses)));
    if facts.rows_delayed > 0 {
        notes.push(run(
            Doubt::OwnDelay,
            format!(
                "`ipw` itself was stopped or kept busy while {} on its way",
                counted(facts.rows_delayed, "query was", "queries were")
            ),
            "their latencies are partly ours (`timing.own_delay_seconds`); leave it a core, or send less",
        ));
    }
    if let Some(telemetry) = telemetry {
        notes.extend(of_sources(telemetry, facts.median_query_seconds));
    }
    if let Some(needs) = facts.p99_needs.filter(|_| facts.answered > 0) {
        notes.push(run(
            Doubt::FewSamples,
            format!(
                "{} answered queries say nothing of the 99th percentile",
                facts.answered
            ),
            &format!(
                "it takes {needs} (`{}`, or a larger dataset)",
                Setting::Repeat
            ),
        ));
    }
    notes
}

/// What is to be said of the sources and of what went on beside them.
fn of_sources(telemetry: &Telemetry, median_query_seconds: Option<f64>) -> Vec<Note> {
    let mut notes: Vec<Note> = telemetry.sources.iter().flat_map(of_source).collect();
    notes.extend(clocks(&telemetry.sources, median_query_seconds));
    notes.extend(telemetry.cpu.as_ref().and_then(others::load));
    notes.extend(telemetry.other_runs.and_then(others::runs));
    notes.extend(telemetry.faults.iter().map(|fault| Note {
        id: Doubt::Fault,
        source: None,
        finding: format!("a reading failed: {fault}"),
        advice: "the rows that it hit say so".to_owned(),
    }));
    notes
}

/// What is to be said of the clocks of other machines, once for each machine.
fn clocks(sources: &[SourceReport], usual: Option<f64>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for told in sources {
        let Some(clock) = told.clock.filter(|_| told.about.domain().is_some()) else {
            continue;
        };
        let bound = clock.bound.as_secs_f64();
        let host = told.about.host.as_ref().unwrap_or(&told.about.name);
        let mut say = |id: Doubt, finding: String, advice: &str| {
            let is_new = |note: &Note| note.id != id || note.source.as_ref() != Some(host);
            if notes.iter().all(is_new) {
                notes.push(Note {
                    id,
                    source: Some(host.clone()),
                    finding,
                    advice: advice.to_owned(),
                });
            }
        };
        if let Some(usual) = usual.filter(|usual| bound > WIDE_CLOCK * usual) {
            say(
                Doubt::WideClock,
                format!(
                    "the clock of `{host}` is known to within {:.1} ms, and a usual query takes {:.0} ms",
                    bound * 1e3,
                    usual * 1e3
                ),
                "joules of single queries are as uncertain as that, totals are not; measure from nearer by, or ask for longer replies",
            );
        }
        if clock.steps > 0 {
            say(
                Doubt::ClockSet,
                format!("the clock of `{host}` was set {} times", clock.steps),
                "readings around those moments may be dated wrongly",
            );
        }
    }
    notes
}

/// What is to be said of one source.
fn of_source(told: &SourceReport) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut say = |id: Doubt, finding: String, advice: &str| {
        notes.push(Note {
            id,
            source: Some(told.about.name.clone()),
            finding,
            advice: advice.to_owned(),
        });
    };
    let name = &told.about.name;
    if let Some(gaps) = told.gaps.filter(|gaps| *gaps > 0) {
        say(
            Doubt::Gaps,
            format!("`{name}` was silent {gaps} times for longer than it may"),
            "a busy machine, a lost device, or sleep",
        );
    }
    if let Some(resets) = told.resets.filter(|resets| *resets > 0) {
        say(
            Doubt::Resets,
            format!("`{name}` started anew {resets} times"),
            "the queries that it hit have no energy",
        );
    }
    if let Some(steps) = told.implausible.filter(|steps| *steps > 0) {
        say(
            Doubt::Implausible,
            format!(
                "`{name}` advanced {} by more than its device can use",
                counted(steps, "time", "times")
            ),
            "these steps are gaps and their joules are not counted; do not trust this counter before you know why",
        );
    }
    if let Some(seconds) = stood_still(told) {
        say(
            Doubt::StoodStill,
            format!("`{name}` did not move for the last {seconds:.1} s"),
            "queries in that time have no energy from it; see `ipw doctor`",
        );
    }
    if matches!(told.about.quantity, Quantity::Energy { .. }) && told.joules.is_none() {
        say(
            Doubt::NeverMoved,
            format!("`{name}` never moved and counts as absent"),
            "see `ipw doctor`",
        );
    }
    if let Some((id, finding, advice)) = state(told) {
        say(id, finding, advice);
    }
    if let Some(ratio) = against_power(told) {
        say(
            Doubt::CounterAgainstPower,
            format!(
                "`{name}` counted {:.0} % of what its own power readings say",
                ratio * 100.0
            ),
            "one of the two is wrong; see `ipw doctor`",
        );
    }
    if let Some((before, after)) = drift(told) {
        say(
            Doubt::IdleDrift,
            format!("`{name}` drew {before:.1} W idle before the queries and {after:.1} W after"),
            "joules above idle are as uncertain as that",
        );
    }
    notes
}

/// What a gauge tells about the conditions of the run.
fn state(told: &SourceReport) -> Option<(Doubt, String, &'static str)> {
    let name = &told.about.name;
    let (first, last, max) = told.values.map(|of| (of.first, of.last, of.max))?;
    let Quantity::Gauge { gauge } = told.about.quantity else {
        return None;
    };
    match gauge {
        Gauge::Throttle if max > 0.0 => Some((
            Doubt::Throttled,
            format!("`{name}`: the board was held back by heat or power"),
            "its speed is not its own; cool it, or lower the load",
        )),
        Gauge::PowerLimit if (first - last).abs() > LIMIT => Some((
            Doubt::PowerLimit,
            format!("`{name}` changed from {first:.0} W to {last:.0} W during the run"),
            "parts of it are not comparable",
        )),
        Gauge::GpuTemperature | Gauge::CpuTemperature if max - first > WARMING => Some((
            Doubt::Temperature,
            format!("`{name}` rose from {first:.0} °C to {max:.0} °C"),
            "a hotter chip takes more power; warm up longer for steady figures",
        )),
        Gauge::Processes if max > 1.0 => Some((
            Doubt::OtherLoad,
            format!("`{name}`: up to {max:.0} processes used the board"),
            "their energy is in these joules",
        )),
        _ => None,
    }
}

/// How long a counter that did move stood still at the end, in seconds.
fn stood_still(told: &SourceReport) -> Option<f64> {
    let usual = told.change_interval_seconds?;
    let still = told.still_seconds.filter(|_| told.joules.is_some())?;
    (still > STILL.max(STILL_INTERVALS * usual)).then_some(still)
}

fn drift(told: &SourceReport) -> Option<(f64, f64)> {
    let idle = told.idle;
    let (before, after) = (idle.before?.power.watts(), idle.after?.power.watts());
    ((after - before).abs() > DISAGREEMENT * before).then_some((before, after))
}

fn against_power(told: &SourceReport) -> Option<f64> {
    let ratio = told.self_test.end?.against_power?;
    ((ratio - 1.0).abs() > DISAGREEMENT).then_some(ratio)
}

#[cfg(test)]
mod tests;
