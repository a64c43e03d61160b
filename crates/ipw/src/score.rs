//! Grades the answers of a stored run, again or for the first time.

mod judging;
mod ledger;

use std::cell::Cell;
use std::path::Path;

use anyhow::Context as _;
use ipw_analysis::metric::Values;
use ipw_core::time::Clock as _;
use ipw_core::verdict::{Grade, Verdict};
use ipw_findings::summary::renew;
use ipw_hub::Progress;
use ipw_runner::SystemClock;
use ipw_scoring::judge;
use ipw_store::StoreError;
use ipw_store::summary::{Scoring, Versions};
use ipw_store::verdicts::{self, Answer};
pub use ipw_store::verdicts::{ScoringResult, VerdictSets, sets};
use serde_json::{Map, Value};

use crate::derived::{self, DerivedFiles, Page};
use crate::error::{Error, Kind};
use crate::{grading, run};
use judging::Judge;
pub use judging::{JudgeSpec, Judging};
use ledger::Ledger;

/// What to grade, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grading<'a> {
    /// The scorer for all rows; `None` uses the scorer that each row names.
    pub scorer: Option<&'a str>,
    /// Whether to grade answers again that have a verdict by this scorer.
    pub again: bool,
}

/// Result of grading a run.
pub struct GradingResult {
    /// Number of rows graded and changed.
    pub done: ScoringResult,
    /// Answers without a new verdict.
    pub open: OpenAnswers,
    /// Calls and tokens of the judge; `None` without a judge.
    pub judging: Option<Judging>,
    /// Metrics of the run after grading.
    pub metrics: Values,
    /// Derived files that were written again or removed.
    pub files: DerivedFiles,
}

/// Grades the run in this directory. A verdict is replaced only by another verdict, never by
/// "ungraded". `progress` gets the progress of downloading the judge.
pub fn score(
    directory: &Path,
    grading: &Grading<'_>,
    judge: Option<JudgeSpec>,
    progress: &mut dyn FnMut(Progress),
) -> Result<GradingResult, Error> {
    grading::check(grading.scorer)?;
    let clock = SystemClock::start();
    let opened = run::open(directory)?;
    let (judged, judging) = match judge {
        Some(judge) => {
            let judge = Judge::new(judge, progress)?;
            let mut ledger = Ledger::open(opened.directory(), &judge.model, grading.again)
                .context("opening the judge's verdicts")?;
            let judging = judge.ask(&opened, grading, &mut ledger)?;
            (ledger.grades(), Some(judging))
        }
        None => (judging::Grades::new(), None),
    };
    let open = OpenAnswers::default();
    let mut metrics = Values::default();
    let grade = |answer: &Answer<'_>| open.settle(answer, grading.grade(answer, &judged)?);
    let done = verdicts::score(directory, grade, |summary, done, run| {
        metrics = renew(summary, &done.overview, run);
        // Without new grades the stored date of grading stays.
        if done.graded == 0 {
            return;
        }
        let at = clock.anchor().unix_seconds(clock.now());
        summary.scoring = Some(scoring_entry(grading, done, &open, judging.clone(), at));
    });
    let done = done.map_err(refusal)?;
    Ok(GradingResult {
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
        open,
        judging,
        metrics,
    })
}

/// Restores the verdicts of an earlier set.
pub fn use_set(directory: &Path, id: u64) -> Result<GradingResult, Error> {
    let clock = SystemClock::start();
    let mut metrics = Values::default();
    let done = verdicts::use_set(directory, id, |summary, done, run| {
        metrics = renew(summary, &done.overview, run);
        summary.scoring = Some(Scoring::Used {
            ipw: Versions::IPW.into(),
            at: clock.anchor().unix_seconds(clock.now()),
            used_set: id,
            graded: done.graded,
            changed: done.changed,
        });
    });
    let done = done.map_err(refusal)?;
    Ok(GradingResult {
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
        open: OpenAnswers::default(),
        judging: None,
        metrics,
    })
}

fn refusal(error: StoreError) -> Error {
    match &error {
        StoreError::Busy { .. } => {
            Error::new(Kind::Exists, error).with_help("wait until it has finished")
        }
        _ => Error::from(
            anyhow::Error::from(error).context("storing the verdicts; the run is unchanged"),
        ),
    }
}

/// Answers that got no new verdict.
#[derive(Debug, Default)]
pub struct OpenAnswers {
    /// Answers that need a judge, in a run without one.
    pub waiting: Cell<u64>,
    /// Answers that keep the verdict they had.
    pub kept: Cell<u64>,
}

impl OpenAnswers {
    /// The grade to store. A verdict is replaced only by another verdict.
    fn settle(&self, answer: &Answer<'_>, grade: Grade) -> Option<Grade> {
        let is_waiting = grade.scorer == Some(judge::ID) && grade.judge.is_none();
        let is_kept = grade.verdict == Verdict::Unscored && answer.is_correct.is_some();
        self.waiting.update(|count| count + u64::from(is_waiting));
        self.kept.update(|count| count + u64::from(is_kept));
        (!is_kept).then_some(grade)
    }
}

impl Grading<'_> {
    /// The scorer that should grade this row; `None` if the row keeps its verdict.
    fn wants<'a>(&'a self, answer: &Answer<'_>, row: &'a Map<String, Value>) -> Option<&'a str> {
        let id = grading::named(self.scorer, row)?;
        let is_there = answer.is_correct.is_some() && answer.scorer().as_deref() == Some(id);
        (self.again || !is_there).then_some(id)
    }

    /// Whether a judge should grade this answer.
    fn wants_judge(&self, answer: &Answer<'_>) -> bool {
        answer.is_answered && self.wants(answer, &answer.metadata()) == Some(judge::ID)
    }

    /// The row's new grade; `None` if it keeps the one it has.
    fn grade(&self, answer: &Answer<'_>, judged: &judging::Grades) -> Option<Grade> {
        let metadata = answer.metadata();
        let id = self.wants(answer, &metadata)?;
        if !answer.is_answered {
            return Some(Grade::unscored(None, grading::NOT_ANSWERED));
        }
        if id == judge::ID {
            if let Some(grade) = judged.get(&answer.index) {
                return Some(grade.clone());
            }
            // A judge's verdict stays until a judge gives another.
            if answer.is_correct.is_some() && answer.scorer().as_deref() == Some(id) {
                return None;
            }
        }
        let (reference, answer) = (answer.reference, answer.answer);
        Some(grading::grade(Some(id), reference, &metadata, answer))
    }
}

/// The record of this grading for the summary.
fn scoring_entry(
    asking: &Grading<'_>,
    done: &ScoringResult,
    open: &OpenAnswers,
    judge: Option<Judging>,
    at: f64,
) -> Scoring {
    Scoring::Graded {
        ipw: Versions::IPW.into(),
        at,
        scorer: asking.scorer.map(str::to_owned),
        again: asking.again,
        graded: done.graded,
        changed: done.changed,
        kept: open.kept.get(),
        judge: judge.map(Box::new),
    }
}
