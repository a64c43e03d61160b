//! Warnings about what others did on the machine: their joules are in the run's.

use ipw_core::telemetry::{CpuTime, OtherRuns};
use ipw_core::warning::{RunKind, Warning};

use super::counted;

/// Share of the machine's busy CPU time that others may use.
const OTHERS: f64 = 0.1;

/// Share of all CPU time that they may use, busy or not: on a machine that waits for its GPU, the
/// system's own chores are most of what is busy.
const OF_CAPACITY: f64 = 0.02;

/// CPU seconds of others below which ticks of 10 ms and chores say too little.
const LEAST: f64 = 0.5;

/// What other programs used, if that is worth a word.
pub(super) fn load(cpu: &CpuTime) -> Option<Warning> {
    let (service, all) = (cpu.service_seconds?, cpu.machine_seconds?);
    let others = all - service - cpu.own_seconds.unwrap_or(0.0);
    let is_much = |capacity: f64| others > OF_CAPACITY * capacity && others > LEAST;
    let is_load = others > OTHERS * all && cpu.capacity_seconds.is_none_or(is_much);
    is_load.then(|| {
        let share = others / all * 100.0;
        let text = format!("{share:.0} % of the machine's CPU time was used by other programs");
        Warning::new(RunKind::OtherLoad, text)
            .advise("these joules include theirs, and replies are slower; stop these programs")
    })
}

/// That there were other runs.
pub(super) fn runs(runs: OtherRuns) -> Option<Warning> {
    (runs.most > 0).then(|| {
        let text = format!(
            "{} of `ipw` measured this machine at the same time, for {:.1} s",
            counted(runs.most, "other run", "other runs"),
            runs.seconds
        );
        Warning::new(RunKind::OtherRuns, text)
            .advise("each includes the energy of the others; run them one after the other")
    })
}
