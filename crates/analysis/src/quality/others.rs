//! Doubts about what others did on the machine: their joules are in the run's.

use serde::Deserialize;

use super::{Doubt, Note, counted};

/// Share of the machine's busy CPU time that others may use.
const OTHERS: f64 = 0.1;

/// Share of all CPU time that they may use, busy or not: on a machine that waits for its GPU, the
/// system's own chores are most of what is busy.
const OF_CAPACITY: f64 = 0.02;

/// CPU seconds of others below which ticks of 10 ms and chores say too little.
const LEAST: f64 = 0.5;

/// CPU time over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Of the service's processes; `None` when they are not known.
    pub service_seconds: Option<f64>,
    /// Of this process, where the service is another one.
    pub own_seconds: Option<f64>,
    /// Of the whole machine.
    pub machine_seconds: Option<f64>,
    /// What all its CPUs had to give; `None` in runs of earlier versions.
    pub capacity_seconds: Option<f64>,
}

/// Other runs on the machine at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OtherRuns {
    /// The most at once.
    pub most: u64,
    /// For how long there was at least one.
    pub seconds: f64,
}

impl Cpu {
    /// What other programs used, if that is worth a word.
    pub(super) fn note(self) -> Option<Note> {
        let (service, all) = (self.service_seconds?, self.machine_seconds?);
        let others = all - service - self.own_seconds.unwrap_or(0.0);
        let is_much = |capacity: f64| others > OF_CAPACITY * capacity && others > LEAST;
        let is_load = others > OTHERS * all && self.capacity_seconds.is_none_or(is_much);
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
}

impl OtherRuns {
    /// That there were some.
    pub(super) fn note(self) -> Option<Note> {
        (self.most > 0).then(|| Note {
            id: Doubt::OtherRuns,
            source: None,
            finding: format!(
                "{} of `ipw` measured this machine at the same time, for {:.1} s",
                counted(self.most, "other run", "other runs"),
                self.seconds
            ),
            advice: "each counts the joules of the others: measure one after the other".to_owned(),
        })
    }
}
