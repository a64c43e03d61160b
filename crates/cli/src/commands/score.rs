//! `ipw score RUN`: grades the answers of a run.

mod sets;

use std::fmt::Write as _;
use std::path::Path;

use ipw::derived::DerivedFiles;
use ipw::grading;
use ipw::score::{self, Grading, GradingResult, JudgeSpec, Judging, OpenAnswers, ScoringResult};
use ipw_analysis::metric::Values;
use ipw_core::text::printable;
use ipw_store::overview::Verdicts;
use serde_json::json;

use crate::args::ScoreArgs;
use crate::error::{CliError, Exit};
use crate::observe::Transfer;
use crate::{screen, settings};

pub(crate) fn run(args: &ScoreArgs) -> Result<Exit, CliError> {
    if args.list {
        return sets::list(args);
    }
    if let Some(id) = args.use_set {
        return sets::switch(args, id);
    }
    grading::check(args.scorer.as_deref())?;
    let judge = judge(args)?;
    let grading = Grading {
        scorer: args.scorer.as_deref(),
        again: args.again,
    };
    let graded = Transfer::during(args.json, |progress| {
        score::score(&args.run, &grading, judge, progress)
    });
    let graded = graded.map_err(|error| match error.exit {
        Exit::Usage if error.help.is_none() && args.judge_model.is_none() => {
            error.help("name a run directory that `ipw profile` created")
        }
        _ => error,
    })?;
    screen::refreshed(&graded.files, false);
    if args.json {
        let GradingResult {
            done, open, files, ..
        } = &graded;
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
            "judge": graded.judging,
            "files": files,
        });
        screen::print(&screen::json(&shown));
    } else {
        let mut text = text(&graded.done, &graded.open, graded.judging.as_ref());
        close(
            &mut text,
            &graded.done,
            &graded.metrics,
            &graded.files,
            &args.run,
        );
        screen::print(&text);
    }
    Ok(Exit::Done)
}

/// The judge from the command line; `None` without one.
fn judge(args: &ScoreArgs) -> Result<Option<JudgeSpec>, CliError> {
    let Some(model) = args.judge_model.clone() else {
        if args.judge_base_url.is_some() || args.judge_client.is_some() {
            return Err(
                CliError::usage("the judge has no model").help("name it with `--judge-model NAME`")
            );
        }
        return Ok(None);
    };
    Ok(Some(JudgeSpec {
        parameters: settings::judge_parameters(args)?,
        client: settings::judge(args)?,
        model,
        concurrency: args.judge_concurrency,
        retries: args.judge_retries,
    }))
}

fn text(done: &ScoringResult, open: &OpenAnswers, judging: Option<&Judging>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    line(
        "rows",
        &format!(
            "{}, {} graded now, {} verdicts changed",
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
            &format!("{kept} answers got no new verdict and keep the old one"),
        );
    }
    if let Some(id) = done.earlier.filter(|_| done.changed > 0) {
        line(
            "earlier",
            &format!("the earlier verdicts are set {id}: `--use {id}` switches back"),
        );
    }
    text
}

/// The last lines: accuracy, rewritten files and the run directory.
fn close(
    text: &mut String,
    done: &ScoringResult,
    values: &Values,
    refreshed: &DerivedFiles,
    run: &Path,
) {
    for line in screen::answers(&done.overview, values) {
        let _ = writeln!(text, "{line}");
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
