//! Warnings about a run's numbers, a comparison, or a page.
//!
//! All warnings share this type. Each document writes the keys of its own format (`summary.json`,
//! `ipw compare --json`, the report's JSON); the conversions are next to the documents.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A warning about numbers, with advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Kind of the warning.
    pub kind: Kind,
    /// Severity of the warning.
    pub severity: Severity,
    /// The source concerned; `None` for a whole run.
    pub source: Option<String>,
    /// The finding.
    pub text: String,
    /// What to do about it, or what it implies.
    pub advice: Option<String>,
}

/// Severity of a warning, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The comparison would be meaningless; it needs an explicit request.
    Refusal,
    /// Figures are wrong or missing.
    Problem,
    /// Figures are less certain than they look.
    Caution,
    /// Useful to know.
    Hint,
}

/// Kinds of warnings. Serialized as the id of the kind alone; groups may share an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum Kind {
    /// The numbers of one run.
    Run(RunKind),
    /// Two runs that are compared.
    Pair(PairKind),
    /// Additional warnings of screens and the report.
    Page(PageKind),
}

/// Warnings about the numbers of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// The energy is estimated, not measured.
    Estimated,
    /// Rows whose readings cover too little of their window.
    Coverage,
    /// Queries too short for the source to separate from idle.
    ShortWindows,
    /// A source with gaps in its readings.
    Gaps,
    /// A counter that reset.
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
    /// A failed reading.
    Fault,
    /// Idle power that differs before and after the run.
    IdleDrift,
    /// A device that warmed up.
    Temperature,
    /// A device that was throttled.
    Throttled,
    /// A power limit that changed.
    PowerLimit,
    /// Other processes used the device.
    OtherLoad,
    /// Another run of `ipw` measured the same machine at the same time.
    OtherRuns,
    /// A counter that disagrees with the power reading of its device.
    CounterAgainstPower,
    /// Another machine's clock, whose bound is too wide for queries this short.
    WideClock,
    /// Another machine's clock that was set.
    ClockSet,
    /// Impossible token counts of the service.
    TokenClaims,
    /// A time in which this process was suspended.
    Paused,
    /// Too few queries for a common percentile.
    FewSamples,
    /// The thread that takes timestamps was delayed.
    OwnDelay,
    /// The run was written by the original, which stores less.
    Original,
}

/// Warnings about a comparison of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairKind {
    /// The same run twice.
    SameRun,
    /// No question in common.
    OtherQuestions,
    /// Datasets with different names that share questions.
    OtherDataset,
    /// Ids in both runs with different prompts.
    OtherPrompts,
    /// Questions that only one of the runs asked.
    OtherQueries,
    /// An estimate against a measurement.
    EstimatedAgainstMeasured,
    /// Estimates of different machines.
    EstimatesOfOtherHardware,
    /// Both are estimates of one machine.
    Estimated,
    /// Different bases of energy.
    OtherBasis,
    /// Counters against integrated power.
    OtherMethod,
    /// Different weights for sharing energy among queries.
    OtherWeights,
    /// Different idle power in attribution.
    OtherIdle,
    /// Different scorers or judges.
    OtherScorer,
    /// Different load.
    OtherLoad,
    /// Different generation parameters or system text.
    OtherParameters,
    /// Different origins of token counts.
    OtherTokenCounts,
    /// More than one thing differs.
    SeveralDifferences,
    /// Different versions of ipw.
    OtherVersion,
    /// Only one of the machines is within the bounds of `ipw calibrate`.
    OtherCalibration,
    /// A run that did not finish.
    Unfinished,
    /// A warning about one run's own numbers.
    Quality,
}

/// Additional warnings of screens and the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// The run is not finished, or its process was killed.
    Running,
    /// The user stopped the run.
    Interrupted,
    /// The run failed.
    Failed,
    /// The run has no summary.
    NoSummary,
    /// An unknown key in the summary.
    Unread,
    /// Unanswered queries, by outcome.
    Unanswered,
    /// No row has energy.
    EnergyUnknown,
    /// Too few queries for narrow intervals.
    FewQueries,
    /// Replies truncated at a length limit.
    CutReplies,
    /// No answer was graded.
    Ungraded,
    /// The service does not keep up with the rate.
    GrowingQueue,
    /// The machine is outside bounds of `ipw calibrate`.
    Calibration,
    /// The page lists only a part of the queries.
    Sampled,
}

impl Warning {
    /// A warning without advice, with the severity of its kind.
    pub fn new(kind: impl Into<Kind>, text: impl Into<String>) -> Self {
        let kind = kind.into();
        Self {
            kind,
            severity: kind.severity(),
            source: None,
            text: text.into(),
            advice: None,
        }
    }

    /// The warning with advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The warning about this source.
    #[must_use]
    pub fn of_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The advice, or an empty text.
    pub fn advice(&self) -> &str {
        self.advice.as_deref().unwrap_or_default()
    }

    /// The warning with `change` applied to its text and advice.
    #[must_use]
    pub fn map_texts(mut self, change: impl Fn(&str) -> String) -> Self {
        self.text = change(&self.text);
        self.advice = self.advice.as_deref().map(change);
        self
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        match &self.advice {
            Some(advice) => write!(out, ": {advice}"),
            None => Ok(()),
        }
    }
}

impl Severity {
    /// Its label before a warning on a page.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refusal => "Refused",
            Self::Problem => "Problem",
            Self::Caution => "Caution",
            Self::Hint => "Note",
        }
    }
}

impl Kind {
    /// The severity of warnings of this kind.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Pair(
                PairKind::OtherQuestions
                | PairKind::EstimatedAgainstMeasured
                | PairKind::EstimatesOfOtherHardware,
            ) => Severity::Refusal,
            Self::Page(PageKind::Failed | PageKind::Unanswered | PageKind::GrowingQueue) => {
                Severity::Problem
            }
            Self::Run(RunKind::FewSamples)
            | Self::Page(
                PageKind::FewQueries
                | PageKind::CutReplies
                | PageKind::Ungraded
                | PageKind::Calibration
                | PageKind::Sampled,
            ) => Severity::Hint,
            Self::Run(_) | Self::Pair(_) | Self::Page(_) => Severity::Caution,
        }
    }

    /// Whether a warning about a pair concerns only energy metrics; otherwise it concerns the whole
    /// comparison.
    pub const fn is_about_energy(self) -> bool {
        matches!(
            self,
            Self::Pair(
                PairKind::EstimatedAgainstMeasured
                    | PairKind::EstimatesOfOtherHardware
                    | PairKind::Estimated
                    | PairKind::OtherBasis
                    | PairKind::OtherMethod
                    | PairKind::OtherWeights
                    | PairKind::OtherIdle
            )
        )
    }
}

impl From<RunKind> for Kind {
    fn from(kind: RunKind) -> Self {
        Self::Run(kind)
    }
}

impl From<PairKind> for Kind {
    fn from(kind: PairKind) -> Self {
        Self::Pair(kind)
    }
}

impl From<PageKind> for Kind {
    fn from(kind: PageKind) -> Self {
        Self::Page(kind)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    /// The ids of each group, in the order of its kinds.
    const RUN: &str = "estimated coverage short_windows gaps resets implausible never_moved \
        stood_still rows_without_energy mixed_bases fault idle_drift temperature throttled \
        power_limit other_load other_runs counter_against_power wide_clock clock_set token_claims \
        paused few_samples own_delay original";
    const PAIR: &str = "same_run other_questions other_dataset other_prompts other_queries \
        estimated_against_measured estimates_of_other_hardware estimated other_basis other_method \
        other_weights other_idle other_scorer other_load other_parameters other_token_counts \
        several_differences other_version other_calibration unfinished quality";
    const PAGE: &str = "running interrupted failed no_summary unread unanswered energy_unknown \
        few_queries cut_replies ungraded growing_queue calibration sampled";

    /// The kinds of these ids, which are all that the group has.
    fn kinds<K: DeserializeOwned + Into<Kind>>(ids: &str) -> Vec<(&str, Kind)> {
        let ids: Vec<&str> = ids.split_whitespace().collect();
        let error = serde_json::from_value::<K>(json!("no kind")).err().unwrap();
        let known = format!("expected one of `{}`", ids.join("`, `"));
        assert!(error.to_string().ends_with(&known), "{error}");
        let read = |id| serde_json::from_value::<K>(json!(id)).unwrap().into();
        ids.into_iter().map(|id| (id, read(id))).collect()
    }

    fn all() -> Vec<(&'static str, Kind)> {
        [
            kinds::<RunKind>(RUN),
            kinds::<PairKind>(PAIR),
            kinds::<PageKind>(PAGE),
        ]
        .concat()
    }

    #[test]
    fn ids_of_each_group_come_back_and_those_of_a_run_are_documented() {
        for (id, kind) in all() {
            assert_eq!(json!(kind), json!(id));
        }
        let document = include_str!("../../../docs/format.md").lines();
        let mut entry = document.filter(|line| line.starts_with("| `quality[]`"));
        let entry = entry.next().unwrap();
        for (id, _) in kinds::<RunKind>(RUN) {
            assert!(entry.contains(&format!("`{id}`")), "{id}");
        }
    }

    #[test]
    fn the_same_id_in_two_groups_is_two_kinds() {
        for id in ["estimated", "other_load"] {
            let same: Vec<_> = all().into_iter().filter(|(one, _)| *one == id).collect();
            assert_eq!(same.len(), 2);
            assert_ne!(same[0].1, same[1].1);
        }
    }

    #[test]
    fn a_kind_says_how_grave_it_is_and_whether_it_is_about_energy() {
        let such = |is_such: fn(Kind) -> bool| -> Vec<&str> {
            let such = all().into_iter().filter(|(_, kind)| is_such(*kind));
            such.map(|(id, _)| id).collect()
        };
        let refused = such(|kind| kind.severity() == Severity::Refusal);
        assert_eq!(
            refused.join(" "),
            "other_questions estimated_against_measured estimates_of_other_hardware"
        );
        let problems = such(|kind| kind.severity() == Severity::Problem);
        assert_eq!(problems.join(" "), "failed unanswered growing_queue");
        let hints = such(|kind| kind.severity() == Severity::Hint);
        assert_eq!(
            hints.join(" "),
            "few_samples few_queries cut_replies ungraded calibration sampled"
        );
        assert_eq!(
            such(Kind::is_about_energy).join(" "),
            "estimated_against_measured estimates_of_other_hardware estimated other_basis other_method other_weights other_idle"
        );
        assert!(Severity::Refusal < Severity::Problem && Severity::Caution < Severity::Hint);
    }

    #[test]
    fn a_warning_reads_as_one_sentence_with_or_without_advice() {
        let warning = Warning::new(RunKind::Gaps, "`nvml/0` was silent");
        assert_eq!(warning.to_string(), "`nvml/0` was silent");
        let warning = warning.advise("look").of_source("nvml/0");
        assert_eq!(warning.to_string(), "`nvml/0` was silent: look");
        assert_eq!(warning.severity, Severity::Caution);
    }
}
