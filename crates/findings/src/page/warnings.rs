//! What to know before quoting the run, as far as rows and summary tell.

use ipw_analysis::saturation::TrendVerdict;
use ipw_store::Status;

use super::Inputs;
use super::headline::no_energy;
use super::lines::MOST;
use crate::written::counted;
use ipw_core::quantity::grouped;
use ipw_core::setting::Setting;
use ipw_core::warning::{PageKind, RunKind, Warning};

/// Rows below which intervals are wide.
const FEW: u64 = 30;
/// Share of rows that were cut from which on it is worth a word.
const CUT: f64 = 0.1;

pub(super) fn of(known: &Inputs<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(status(known));
    warnings.extend(unread(known));
    warnings.extend(energy(known));
    warnings.extend(few(known));
    warnings.extend(cut(known));
    warnings.extend(ungraded(known));
    warnings.extend(queue(known));
    warnings.extend(calibration(known));
    warnings.extend(sampled(known));
    warnings
}

fn status(known: &Inputs<'_>) -> Option<Warning> {
    let reason = known.summary().reason.as_ref();
    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
    let resume = format!(
        "`ipw profile {}` goes on with it",
        Setting::Resume.to("RUN")
    );
    let (kind, text) = match known.summary().status {
        Some(Status::Running) => (
            PageKind::Running,
            "This run is not finished: it still goes on, or its process was killed. These are the rows so far".to_owned(),
        ),
        Some(Status::Interrupted) => (
            PageKind::Interrupted,
            format!("This run was interrupted{reason}"),
        ),
        Some(Status::Failed) => (PageKind::Failed, format!("This run failed{reason}")),
        // A run of the original is said to be one.
        None if !known.run.is_original() => {
            let text = "This run has no summary: only its rows can be told";
            return Some(Warning::new(PageKind::NoSummary, text));
        }
        Some(Status::Complete) | None => return None,
    };
    Some(Warning::new(kind, text).advise(resume))
}

/// Keys of the summary that are not understood.
fn unread(known: &Inputs<'_>) -> impl Iterator<Item = Warning> {
    known.run.unread().iter().map(|unread| {
        Warning::new(PageKind::Unread, unread.to_string())
            .advise("that part is left out; another version wrote it, or it is damaged")
    })
}

fn energy(known: &Inputs<'_>) -> Option<Warning> {
    let energy = &known.overview.energy;
    if known.overview.rows == 0 {
        return None;
    }
    if energy.joules.is_none() {
        let text = format!("Energy is unknown: {}", no_energy(known));
        return Some(Warning::new(PageKind::EnergyUnknown, text).advise(
            "`ipw doctor` says what measures energy on this machine and how to enable it",
        ));
    }
    if known.is_estimated() {
        let telemetry = known.summary().telemetry.as_ref();
        let basis = telemetry.and_then(|telemetry| telemetry.estimate.as_ref());
        let basis = basis.map_or(String::new(), |basis| format!(" {basis}."));
        let text =
            format!("Energy is estimated from CPU use, not measured; so are IPW and IPJ.{basis}");
        let advice = "compare such runs only with runs on this same machine; `ipw doctor` says what would measure";
        return Some(Warning::new(RunKind::Estimated, text).advise(advice));
    }
    let without: u64 = energy.reasons.values().sum();
    (without > 0).then(|| {
        let queries = counted(without, "query is", "queries are");
        let text = format!("{queries} without energy: {}", no_energy(known));
        Warning::new(RunKind::RowsWithoutEnergy, text).advise("their rows say why")
    })
}

fn few(known: &Inputs<'_>) -> Option<Warning> {
    let rows = known.overview.rows;
    (1..FEW).contains(&rows).then(|| {
        let queries = counted(rows, "query", "queries");
        let text = format!("With {queries} every interval is wide");
        Warning::new(PageKind::FewQueries, text).advise(format!(
            "more queries (`{}`, `{}`) make it narrower",
            Setting::MaxQueries,
            Setting::Repeat
        ))
    })
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
fn cut(known: &Inputs<'_>) -> Option<Warning> {
    let cut = known.overview.outcomes.get("truncated").copied()?;
    (cut as f64 > CUT * known.overview.rows as f64).then(|| {
        let text = format!(
            "{} of {} replies were cut at a length limit: longer ones would take more time and energy, and may be right more often",
            grouped(cut),
            grouped(known.overview.rows)
        );
        let limit = Setting::Param.to("max_tokens=N");
        Warning::new(PageKind::CutReplies, text).advise(format!("`{limit}` moves the limit"))
    })
}

fn ungraded(known: &Inputs<'_>) -> Option<Warning> {
    let verdicts = known.overview.verdicts;
    let is_ungraded = verdicts.correct + verdicts.wrong == 0;
    let text = "No answer was graded, so there is no accuracy, IPW or IPJ";
    (is_ungraded && known.overview.rows > 0).then(|| {
        Warning::new(PageKind::Ungraded, text)
            .advise("give the dataset's rows an `answer` and a `scorer` (exact, numeric or choice)")
    })
}

fn queue(known: &Inputs<'_>) -> Option<Warning> {
    let verdict = known.summary().load.as_ref()?.queue?.verdict;
    let text = "The queue grew: the service does not keep up with this rate, so latencies depend on how long the run was";
    (verdict == TrendVerdict::Growing).then(|| {
        Warning::new(PageKind::GrowingQueue, text).advise(format!(
            "lower `{}`, or look for the knee with `{}`",
            Setting::Rate,
            Setting::FindSaturation
        ))
    })
}

fn calibration(known: &Inputs<'_>) -> Option<Warning> {
    let checks = known.summary().calibration.as_ref()?.checks.iter();
    let failed = checks.filter(|check| !check.passed).count() as u64;
    let bounds = counted(failed, "bound", "bounds");
    let text = format!("This machine missed {bounds} when it was calibrated");
    let advice = "the section on this tool's own error says which; `ipw calibrate` on an idle machine tries again";
    (failed > 0).then(|| Warning::new(PageKind::Calibration, text).advise(advice))
}

fn sampled(known: &Inputs<'_>) -> Option<Warning> {
    let rows = known.overview.rows;
    (rows > MOST).then(|| {
        let text = format!(
            "Figures count all {} queries; the list and the timeline show an even sample, with failures, the slowest and the costliest",
            grouped(rows)
        );
        Warning::new(PageKind::Sampled, text).advise("all rows are in the run's directory")
    })
}
