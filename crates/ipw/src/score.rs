//! The answers of a run's rows graded, once more or for the first time.

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
pub use ipw_store::verdicts::{Scored, VerdictSets, sets};
use serde_json::{Map, Value};

use crate::derived::{self, Page, Refreshed};
use crate::error::{Error, Kind};
use crate::{grading, run};
use judging::Judge;
pub use judging::{JudgeSpec, Judging};
use ledger::Ledger;

/// What is graded, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grading<'a> {
    /// The scorer for all rows; `None`: what each row names.
    pub scorer: Option<&'a str>,
    /// Whether answers that have a verdict of that scorer are graded again.
    pub again: bool,
}

/// What grading a run came to.
pub struct Graded {
    /// How many rows changed.
    pub done: Scored,
    /// Answers without a new verdict.
    pub open: Open,
    /// What the judge took.
    pub judging: Option<Judging>,
    /// The metrics of the run as it is now.
    pub metrics: Values,
    /// Files that were made from the rows.
    pub files: Refreshed,
}

/// Grades the run in this directory. A verdict is replaced only by a verdict. `progress` is told of a
/// judge that must be fetched.
pub fn score(
    directory: &Path,
    grading: &Grading<'_>,
    judge: Option<JudgeSpec>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Graded, Error> {
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
    let open = Open::default();
    let mut metrics = Values::default();
    let grade = |answer: &Answer<'_>| open.settle(answer, grading.grade(answer, &judged)?);
    let done = verdicts::score(directory, grade, |summary, done, run| {
        metrics = renew(summary, &done.overview, run);
        // Without a new grade, those that are there are as old as they were.
        if done.graded == 0 {
            return;
        }
        let at = clock.anchor().unix_seconds(clock.now());
        summary.scoring = Some(told(grading, done, &open, judging.clone(), at));
    });
    let done = done.map_err(refusal)?;
    Ok(Graded {
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
        open,
        judging,
        metrics,
    })
}

/// Puts the verdicts of an earlier set back into the rows.
pub fn use_set(directory: &Path, id: u64) -> Result<Graded, Error> {
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
    Ok(Graded {
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
        open: Open::default(),
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
            anyhow::Error::from(error)
                .context("putting the verdicts into the run; it is as it was"),
        ),
    }
}

/// Answers that got no verdict.
#[derive(Debug, Default)]
pub struct Open {
    /// For want of a judge.
    pub waiting: Cell<u64>,
    /// They keep the verdict that they had.
    pub kept: Cell<u64>,
}

impl Open {
    /// The grade that goes into the row. A verdict is replaced only by a verdict.
    fn settle(&self, answer: &Answer<'_>, grade: Grade) -> Option<Grade> {
        let is_waiting = grade.scorer == Some(judge::ID) && grade.judge.is_none();
        let is_kept = grade.verdict == Verdict::Unscored && answer.is_correct.is_some();
        self.waiting.update(|count| count + u64::from(is_waiting));
        self.kept.update(|count| count + u64::from(is_kept));
        (!is_kept).then_some(grade)
    }
}

impl Grading<'_> {
    /// Which scorer this row wants a verdict by; `None` where it keeps the one that it has.
    fn wants<'a>(&'a self, answer: &Answer<'_>, row: &'a Map<String, Value>) -> Option<&'a str> {
        let id = grading::named(self.scorer, row)?;
        let is_there = answer.is_correct.is_some() && answer.scorer().as_deref() == Some(id);
        (self.again || !is_there).then_some(id)
    }

    /// Whether a judge is to be asked about it.
    fn wants_judge(&self, answer: &Answer<'_>) -> bool {
        answer.is_answered && self.wants(answer, &answer.metadata()) == Some(judge::ID)
    }

    /// The row's new grade; `None` where it keeps the one that it has.
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

/// What the summary says of it.
fn told(
    asking: &Grading<'_>,
    done: &Scored,
    open: &Open,
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
