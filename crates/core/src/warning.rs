//! Warnings: what to know before quoting a run, comparing two, or reading a page.
//!
//! One type for all of them. Each document writes the keys that its format has (`summary.json`,
//! `ipw compare --json`, the report's JSON); those views are next to the documents.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something to know about numbers, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub kind: Kind,
    /// How grave it is.
    pub severity: Severity,
    /// The source that it is about; `None` when it is about a whole run.
    pub source: Option<String>,
    /// What was found.
    pub text: String,
    /// What to do about it, or what it means.
    pub advice: Option<String>,
}

/// How grave a warning is, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The comparison would say nothing: it is made on request only.
    Refusal,
    /// Figures are wrong or missing.
    Problem,
    /// Figures are less certain than they look.
    Caution,
    /// Good to know.
    Hint,
}

/// Kinds of warnings, by what they are about. Serialized as the id of the kind alone: groups may
/// use the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum Kind {
    /// The numbers of one run.
    Run(RunKind),
    /// Two runs that are compared.
    Pair(PairKind),
    /// What screens and the report say in addition.
    Page(PageKind),
}

/// Warnings about the numbers of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
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

/// Warnings about a comparison of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairKind {
    /// The same run twice.
    SameRun,
    /// No question in common.
    OtherQuestions,
    /// Datasets of other names that share questions.
    OtherDataset,
    /// Ids in both that stand for other prompts.
    OtherPrompts,
    /// Questions that only one of them asked.
    OtherQueries,
    /// An estimate against a measurement.
    EstimatedAgainstMeasured,
    /// Estimates of different machines.
    EstimatesOfOtherHardware,
    /// Both are estimates of one machine.
    Estimated,
    /// Joules made from other parts of the machine.
    OtherBasis,
    /// Counters against integrated power.
    OtherMethod,
    /// Queries in flight share energy by other weights.
    OtherWeights,
    /// Attribution used another idle power.
    OtherIdle,
    /// Answers were graded by another scorer or judge.
    OtherScorer,
    /// Queries were sent otherwise.
    OtherLoad,
    /// Other generation parameters, or another system text.
    OtherParameters,
    /// Tokens were counted otherwise.
    OtherTokenCounts,
    /// More than one thing differs.
    SeveralDifferences,
    /// Another version of ipw.
    OtherVersion,
    /// One machine kept the bounds of `ipw calibrate` and the other did not.
    OtherCalibration,
    /// A run that did not finish.
    Unfinished,
    /// A warning about one run's own numbers.
    Quality,
}

/// Warnings that screens and the report add to those about a run's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// The run goes on, or its process was killed.
    Running,
    /// The run was told to stop.
    Interrupted,
    /// The run failed.
    Failed,
    /// The run has no summary.
    NoSummary,
    /// A key of the summary that is not understood.
    Unread,
    /// Queries without an answer, of one outcome.
    Unanswered,
    /// No row has energy.
    EnergyUnknown,
    /// Too few queries for narrow intervals.
    FewQueries,
    /// Replies that ended at a length limit.
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
    /// A warning of this kind without advice, as grave as its kind.
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

    /// The same with advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same, about one source.
    #[must_use]
    pub fn of_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The advice, or no text.
    pub fn advice(&self) -> &str {
        self.advice.as_deref().unwrap_or_default()
    }

    /// The same with its text and advice changed by `change`.
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
    /// As it stands before a warning on a page.
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
    /// How grave warnings of this kind are.
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

    /// Whether a warning about a pair concerns only metrics with energy in them; else it concerns
    /// the whole comparison.
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
    use serde_json::{Value, json};

    use super::*;

    /// The ids of `summary.json`, in the order of the kinds.
    const RUN: [&str; 25] = [
        "estimated",
        "coverage",
        "short_windows",
        "gaps",
        "resets",
        "implausible",
        "never_moved",
        "stood_still",
        "rows_without_energy",
        "mixed_bases",
        "fault",
        "idle_drift",
        "temperature",
        "throttled",
        "power_limit",
        "other_load",
        "other_runs",
        "counter_against_power",
        "wide_clock",
        "clock_set",
        "token_claims",
        "paused",
        "few_samples",
        "own_delay",
        "original",
    ];

    /// The ids of `ipw compare --json`, whether each refuses, and whether it is about energy.
    const PAIR: [(PairKind, &str, bool, bool); 21] = [
        (PairKind::SameRun, "same_run", false, false),
        (PairKind::OtherQuestions, "other_questions", true, false),
        (PairKind::OtherDataset, "other_dataset", false, false),
        (PairKind::OtherPrompts, "other_prompts", false, false),
        (PairKind::OtherQueries, "other_queries", false, false),
        (
            PairKind::EstimatedAgainstMeasured,
            "estimated_against_measured",
            true,
            true,
        ),
        (
            PairKind::EstimatesOfOtherHardware,
            "estimates_of_other_hardware",
            true,
            true,
        ),
        (PairKind::Estimated, "estimated", false, true),
        (PairKind::OtherBasis, "other_basis", false, true),
        (PairKind::OtherMethod, "other_method", false, true),
        (PairKind::OtherWeights, "other_weights", false, true),
        (PairKind::OtherIdle, "other_idle", false, true),
        (PairKind::OtherScorer, "other_scorer", false, false),
        (PairKind::OtherLoad, "other_load", false, false),
        (PairKind::OtherParameters, "other_parameters", false, false),
        (
            PairKind::OtherTokenCounts,
            "other_token_counts",
            false,
            false,
        ),
        (
            PairKind::SeveralDifferences,
            "several_differences",
            false,
            false,
        ),
        (PairKind::OtherVersion, "other_version", false, false),
        (
            PairKind::OtherCalibration,
            "other_calibration",
            false,
            false,
        ),
        (PairKind::Unfinished, "unfinished", false, false),
        (PairKind::Quality, "quality", false, false),
    ];

    #[test]
    fn ids_about_a_run_come_back_and_are_documented() {
        let document = include_str!("../../../docs/format.md");
        let line = document
            .lines()
            .find(|line| line.starts_with("| `quality[]`"))
            .unwrap();
        for (place, id) in RUN.into_iter().enumerate() {
            let kind: RunKind = serde_json::from_value(json!(id)).unwrap();
            assert_eq!(kind as usize, place, "{id}");
            assert_eq!(json!(Kind::Run(kind)), json!(id));
            assert!(line.contains(&format!("`{id}`")), "{id} is in no document");
        }
        // The error lists every id: none is missing above.
        let error = serde_json::from_value::<RunKind>(json!("nothing")).unwrap_err();
        assert_eq!(error.to_string().matches('`').count(), 2 * (RUN.len() + 1));
    }

    #[test]
    fn ids_about_a_pair_are_fixed_and_say_what_is_refused() {
        for (place, (kind, id, refuses, is_energy)) in PAIR.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{id}");
            let kind = Kind::from(kind);
            assert_eq!(json!(kind), Value::from(id));
            assert_eq!(kind.severity() == Severity::Refusal, refuses, "{id}");
            assert_eq!(kind.is_about_energy(), is_energy, "{id}");
        }
    }

    #[test]
    fn the_same_id_in_two_groups_is_two_kinds() {
        for (run, pair) in [
            (RunKind::Estimated, PairKind::Estimated),
            (RunKind::OtherLoad, PairKind::OtherLoad),
        ] {
            assert_eq!(json!(run), json!(pair));
            assert_ne!(Kind::Run(run), Kind::Pair(pair));
        }
    }

    #[test]
    fn a_warning_reads_as_one_sentence_with_or_without_advice() {
        let warning = Warning::new(RunKind::Gaps, "`nvml/0` was silent");
        assert_eq!(warning.to_string(), "`nvml/0` was silent");
        let warning = warning.advise("look").of_source("nvml/0");
        assert_eq!(warning.to_string(), "`nvml/0` was silent: look");
        assert_eq!(warning.severity, Severity::Caution);
    }

    #[test]
    fn the_gravest_comes_first() {
        let mut all = [
            Kind::Page(PageKind::Sampled),
            Kind::Pair(PairKind::OtherQuestions),
            Kind::Run(RunKind::Gaps),
            Kind::Page(PageKind::Failed),
            Kind::Run(RunKind::FewSamples),
        ]
        .map(Kind::severity);
        all.sort();
        let labels = all.map(Severity::label);
        assert_eq!(labels, ["Refused", "Problem", "Caution", "Note", "Note"]);
    }
}
