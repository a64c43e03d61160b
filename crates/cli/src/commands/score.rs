//! `ipw score RUN`: the answers of its rows graded, once more or for the first time.

mod judging;
mod ledger;
mod sets;

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use ipw_analysis::metric::Values;
use ipw_core::text::printable;
use ipw_core::time::Clock as _;
use ipw_core::verdict::{Grade, Verdict};
use ipw_runner::SystemClock;
use ipw_scoring::judge;
use ipw_store::StoreError;
use ipw_store::overview::Verdicts;
use ipw_store::verdicts::{self, Answer, Scored};
use serde_json::{Map, Value, json};

use crate::args::ScoreArgs;
use crate::derived::Refreshed;
use crate::error::{CliError, Exit};
use crate::summary::renew;
use crate::{derived, grading, screen};

use judging::{Judge, Judging};
use ledger::Ledger;

pub(crate) fn run(args: &ScoreArgs) -> Result<Exit, CliError> {
    if args.list {
        return sets::list(args);
    }
    if let Some(id) = args.use_set {
        return sets::switch(args, id);
    }
    grading::check(args.scorer.as_deref())?;
    let clock = SystemClock::start();
    let run = super::open(&args.run, None)?;
    let asking = Asking {
        scorer: args.scorer.as_deref(),
        again: args.again,
    };
    let (judged, judging) = match Judge::of(args)? {
        Some(judge) => {
            let mut ledger = Ledger::open(run.directory(), &judge.model, asking.again)
                .context("opening the judge's verdicts")?;
            let judging = judge.ask(&run, &asking, &mut ledger)?;
            (ledger.grades(), Some(judging))
        }
        None => (judging::Grades::new(), None),
    };
    let open = Open::default();
    let mut values = Values::default();
    let grade = |answer: &Answer<'_>| open.settle(answer, asking.grade(answer, &judged)?);
    let done = verdicts::score(&args.run, grade, |summary, done, run| {
        values = renew(summary, &done.overview, run);
        // Without a new grade, those that are there are as old as they were.
        if done.graded == 0 {
            return;
        }
        let at = clock.anchor().unix_seconds(clock.now());
        summary["scoring"] = told(&asking, done, &open, judging.as_ref(), at);
    });
    let done = done.map_err(refusal)?;
    let refreshed = derived::refresh(&args.run, &done.overview, derived::Page::IfThere);
    refreshed.tell(false);
    if args.json {
        let shown = json!({
            "directory": args.run,
            "rows": done.overview.rows,
            "graded": done.graded,
            "changed": done.changed,
            "kept": open.kept.get(),
            "waiting_for_a_judge": open.waiting.get(),
            "earlier_set": done.earlier,
            "before": done.before,
            "after": done.overview.verdicts,
            "judge": judging,
            "files": refreshed,
        });
        screen::print(&screen::json(&shown));
    } else {
        let mut text = text(&done, &open, judging.as_ref());
        close(&mut text, &done, &values, &refreshed, &args.run);
        screen::print(&text);
    }
    Ok(Exit::Done)
}

/// Answers that got no verdict.
#[derive(Default)]
struct Open {
    /// For want of a judge.
    waiting: Cell<u64>,
    /// They keep the verdict that they had.
    kept: Cell<u64>,
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

/// What is to be graded, and how.
struct Asking<'a> {
    scorer: Option<&'a str>,
    again: bool,
}

impl Asking<'_> {
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

fn refusal(error: StoreError) -> CliError {
    match &error {
        StoreError::Busy { .. } => {
            CliError::new(Exit::Exists, error).help("wait until it has finished")
        }
        _ => CliError::from(
            anyhow::Error::from(error)
                .context("putting the verdicts into the run; it is as it was"),
        ),
    }
}

/// What `summary.json` says of it.
fn told(
    asking: &Asking<'_>,
    done: &Scored,
    open: &Open,
    judging: Option<&Judging>,
    at: f64,
) -> Value {
    json!({
        "ipw": env!("CARGO_PKG_VERSION"),
        "at": at,
        "scorer": asking.scorer,
        "again": asking.again,
        "graded": done.graded,
        "changed": done.changed,
        "kept": open.kept.get(),
        "judge": judging,
    })
}

fn text(done: &Scored, open: &Open, judging: Option<&Judging>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line(
        "rows",
        &format!(
            "{}, {} graded now, {} with another verdict than before",
            done.overview.rows, done.graded, done.changed
        ),
    );
    line("before", &counted(done.before));
    line("now", &counted(done.overview.verdicts));
    if let Some(judging) = judging {
        line("judge", &judging.to_string());
    }
    let (waiting, kept) = (open.waiting.get(), open.kept.get());
    if waiting > 0 {
        line(
            "waiting",
            &format!("{waiting} for a judge: `--judge-model NAME --judge-base-url URL`"),
        );
    }
    if kept > 0 {
        line(
            "kept",
            &format!("{kept} answers got no verdict and keep the one they had"),
        );
    }
    if let Some(id) = done.earlier.filter(|_| done.changed > 0) {
        line(
            "earlier",
            &format!("the verdicts before are set {id}: `--use {id}` switches back to them"),
        );
    }
    text
}

/// The last lines: accuracy, files that were written again, and where the run lies.
fn close(text: &mut String, done: &Scored, values: &Values, refreshed: &Refreshed, run: &Path) {
    for told in screen::answers(&done.overview, values) {
        let _ = writeln!(text, "{told}");
    }
    if let Some(files) = refreshed.line() {
        let _ = writeln!(text, "{:<9} {files}", "rewritten");
    }
    let _ = writeln!(text, "\n{}", printable(&run.display().to_string()));
}

fn counted(verdicts: Verdicts) -> String {
    let Verdicts {
        correct,
        wrong,
        unscored,
    } = verdicts;
    format!("{correct} right, {wrong} wrong, {unscored} not graded")
}
