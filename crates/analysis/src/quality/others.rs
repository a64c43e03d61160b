//! Doubts about what others did on the machine: their joules are in the run's.

use ipw_core::telemetry::{CpuTime, OtherRuns};

use super::{Doubt, Note, counted};

/// Share of the machine's busy CPU time that others may use.
const OTHERS: f64 = 0.1;

/// Share of all CPU time that they may use, busy or not: on a machine that waits for its GPU, the
/// system's own chores are most of what is busy.
const OF_CAPACITY: f64 = 0.02;

/// CPU seconds of others below which ticks of 10 ms and chores say too little.
const LEAST: f64 = 0.5;

/// What other programs used, if that is worth a word.
pub(super) fn load(cpu: &CpuTime) -> Option<Note> {
    let (service, all) = (cpu.service_seconds?, cpu.machine_seconds?);
    let others = all - service - cpu.own_seconds.unwrap_or(0.0);
    let is_much = |capacity: f64| others > OF_CAPACITY * capacity && others > LEAST;
    let is_load = others > OTHERS * all && cpu.capacity_seconds.is_none_or(is_much);
    is_load.then(|| Note {
        id: Doubt::OtherLoad,
        source: None,
        finding: format!(
            "{:.0} % of the machine's CPU time was other programs'",
            others / all * 100.0
        ),
        advice: "their joules are in these, and they made replies slower: stop them".to_owned(),
    })
}

/// That there were other runs.
pub(super) fn runs(runs: OtherRuns) -> Option<Note> {
    (runs.most > 0).then(|| Note {
        id: Doubt::OtherRuns,
        source: None,
        finding: format!(
            "{} of `ipw` measured this machine at the same time, for {:.1} s",
            counted(runs.most, "other run", "other runs"),
            runs.seconds
        ),
        advice: "each counts the joules of the others: measure one after the other".to_owned(),
    })
}
