//! What to know before quoting the run, as far as rows and summary tell.

use ipw_analysis::saturation::TrendVerdict;
use ipw_store::Status;

use super::Inputs;
use super::headline::no_energy;
use super::lines::MOST;
use crate::page::{Level, Note};
use crate::words::counted;
use ipw_core::quantity::grouped;
use ipw_core::setting::Setting;

/// Rows below which intervals are wide.
const FEW: u64 = 30;
/// Share of rows that were cut from which on it is worth a word.
const CUT: f64 = 0.1;

pub(crate) fn of(known: &Inputs<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(status(known));
    notes.extend(unread(known));
    notes.extend(energy(known));
    notes.extend(few(known));
    notes.extend(cut(known));
    notes.extend(ungraded(known));
    notes.extend(queue(known));
    notes.extend(calibration(known));
    notes.extend(sampled(known));
    notes
}

fn status(known: &Inputs<'_>) -> Option<Note> {
    let reason = known.summary().reason.as_ref();
    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
    let resume = format!(
        "`ipw profile {}` goes on with it",
        Setting::Resume.to("RUN")
    );
    match known.summary().status {
        Some(Status::Complete) => None,
        Some(Status::Running) => Some(
            Note::new(
                Level::Caution,
                "This run is not finished: it still goes on, or its process was killed. These are the rows so far",
            )
            .advise(resume),
        ),
        Some(Status::Interrupted) => Some(
            Note::new(Level::Caution, format!("This run was interrupted{reason}")).advise(resume),
        ),
        Some(Status::Failed) => {
            Some(Note::new(Level::Problem, format!("This run failed{reason}")).advise(resume))
        }
        // A run of the original is said to be one.
        None if known.run.is_original() => None,
        None => Some(Note::new(
            Level::Caution,
            "This run has no summary: only its rows can be told",
        )),
    }
}

/// Keys of the summary that are not understood.
fn unread(known: &Inputs<'_>) -> impl Iterator<Item = Note> {
    known.run.unread().iter().map(|unread| {
        Note::new(Level::Caution, unread.to_string())
            .advise("that part is left out; another version wrote it, or it is damaged")
    })
}

fn energy(known: &Inputs<'_>) -> Option<Note> {
    let energy = &known.overview.energy;
    if known.overview.rows == 0 {
        return None;
    }
    if energy.joules.is_none() {
        let advice = "`ipw doctor` says what measures energy on this machine and how to enable it";
        return Some(
            Note::new(
                Level::Caution,
                format!("Energy is unknown: {}", no_energy(known)),
            )
            .advise(advice),
        );
    }
    if known.is_estimated() {
        let telemetry = known.summary().telemetry.as_ref();
        let basis = telemetry.and_then(|telemetry| telemetry.estimate.as_ref());
        let basis = basis.map_or(String::new(), |basis| format!(" {basis}."));
        return Some(
            Note::new(
                Level::Caution,
                format!(
                    "Energy is estimated from CPU use, not measured; so are IPW and IPJ.{basis}"
                ),
            )
            .advise("compare such runs only with runs on this same machine; `ipw doctor` says what would measure"),
        );
    }
    let without: u64 = energy.reasons.values().sum();
    (without > 0).then(|| {
        Note::new(
            Level::Caution,
            format!(
                "{} without energy: {}",
                counted(without, "query is", "queries are"),
                no_energy(known)
            ),
        )
        .advise("their rows say why")
    })
}

fn few(known: &Inputs<'_>) -> Option<Note> {
    let rows = known.overview.rows;
    (1..FEW).contains(&rows).then(|| {
        Note::new(
            Level::Hint,
            format!(
                "With {} every interval is wide",
                counted(rows, "query", "queries")
            ),
        )
        .advise(format!(
            "more queries (`{}`, `{}`) make it narrower",
            Setting::MaxQueries,
            Setting::Repeat
        ))
    })
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
fn cut(known: &Inputs<'_>) -> Option<Note> {
    let cut = known.overview.outcomes.get("truncated").copied()?;
    (cut as f64 > CUT * known.overview.rows as f64).then(|| {
        Note::new(
            Level::Hint,
            format!(
                "{} of {} replies were cut at a length limit: longer ones would take more time and energy, and may be right more often",
                grouped(cut),
                grouped(known.overview.rows)
            ),
        )
        .advise(format!(
            "`{}` moves the limit",
            Setting::Param.to("max_tokens=N")
        ))
    })
}

fn ungraded(known: &Inputs<'_>) -> Option<Note> {
    let verdicts = known.overview.verdicts;
    let is_ungraded = verdicts.correct + verdicts.wrong == 0;
    (is_ungraded && known.overview.rows > 0).then(|| {
        Note::new(
            Level::Hint,
            "No answer was graded, so there is no accuracy, IPW or IPJ",
        )
        .advise("give the dataset's rows an `answer` and a `scorer` (exact, numeric or choice)")
    })
}

fn queue(known: &Inputs<'_>) -> Option<Note> {
    let verdict = known.summary().load.as_ref()?.queue?.verdict;
    (verdict == TrendVerdict::Growing).then(|| {
        Note::new(
            Level::Problem,
            "The queue grew: the service does not keep up with this rate, so latencies depend on how long the run was",
        )
        .advise(format!(
            "lower `{}`, or look for the knee with `{}`",
            Setting::Rate,
            Setting::FindSaturation
        ))
    })
}

fn calibration(known: &Inputs<'_>) -> Option<Note> {
    let checks = known.summary().calibration.as_ref()?.checks.iter();
    let failed = checks.filter(|check| !check.passed).count() as u64;
    (failed > 0).then(|| {
        Note::new(
            Level::Hint,
            format!(
                "This machine missed {} when it was calibrated",
                counted(failed, "bound", "bounds")
            ),
        )
        .advise("the section on this tool's own error says which; `ipw calibrate` on an idle machine tries again")
    })
}

fn sampled(known: &Inputs<'_>) -> Option<Note> {
    let rows = known.overview.rows;
    (rows > MOST).then(|| {
        Note::new(
            Level::Hint,
            format!(
                "Figures count all {} queries; the list and the timeline show an even sample, with failures, the slowest and the costliest",
                grouped(rows)
            ),
        )
        .advise("all rows are in the run's directory")
    })
}
