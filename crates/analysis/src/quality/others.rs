//! Warnings about other programs on the machine, whose energy is included in the run's.

use ipw_core::telemetry::{CpuTime, OtherRuns};
use ipw_core::warning::{RunKind, Warning};

use super::counted;

/// Largest share of the machine's busy CPU time for other programs.
const OTHERS: f64 = 0.1;

/// Largest share of the total CPU time for other programs. On a machine that waits for its GPU,
/// system tasks are most of the busy time.
const OF_CAPACITY: f64 = 0.02;

/// Smallest CPU time of other programs that counts, in seconds: ticks are 10 ms long.
const LEAST: f64 = 0.5;

/// Warns about CPU time of other programs.
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

/// Warns about other runs.
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
