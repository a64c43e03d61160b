//! Warnings about rows.

use ipw_core::setting::Setting;
use ipw_core::telemetry::Pause;
use ipw_core::warning::{RunKind, Warning};

use super::{Facts, Part, counted};

/// Reasons with warnings of their own.
const EXPLAINED: [&str; 2] = ["other_basis", "too_short"];

/// Some rows have no energy.
pub(super) fn without(facts: &Facts<'_>) -> Option<Warning> {
    let reasons = facts.rows_without_energy.iter();
    let reasons: Vec<(&String, &u64)> = reasons
        .filter(|(reason, _)| !EXPLAINED.contains(&reason.as_str()))
        .collect();
    let without: u64 = reasons.iter().map(|(_, rows)| *rows).sum();
    let all = facts.rows_with_energy + facts.rows_without_energy.values().sum::<u64>();
    if without == 0 || facts.rows_with_energy == 0 {
        return None;
    }
    let why: Vec<String> = reasons
        .iter()
        .map(|(reason, rows)| format!("{reason}: {rows}"))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    let share = without as f64 / all as f64 * 100.0;
    let text = format!(
        "{without} of {all} rows have no energy ({share:.0} %; {})",
        why.join(", ")
    );
    Some(
        Warning::new(RunKind::RowsWithoutEnergy, text)
            .advise("totals and means cover the other rows only"),
    )
}

/// Some rows have another basis than the headline, which is the first.
pub(super) fn mixed(bases: &[Part]) -> Option<Warning> {
    let [first, others @ ..] = bases else {
        return None;
    };
    let words = |part: &Part| {
        let sources = part.sources.join(", ");
        format!(
            "{} with `{}` ({sources}): {:.1} J",
            counted(part.rows, "row", "rows"),
            part.basis,
            part.joules
        )
    };
    let others: Vec<String> = others.iter().map(words).collect();
    (!others.is_empty()).then(|| {
        let text = format!(
            "energy of this run has {} bases, which are not added: the headline is {}; the others are {}",
            bases.len(),
            words(first),
            others.join(", ")
        );
        Warning::new(RunKind::MixedBases, text)
            .advise("resume on the same machine with the same sensors")
    })
}

/// Some rows claim an impossible number of tokens.
pub(super) fn claims(rows: u64) -> Option<Warning> {
    (rows > 0).then(|| {
        let text = format!(
            "the service claims an impossible number of tokens in {}",
            counted(rows, "row", "rows")
        );
        Warning::new(RunKind::TokenClaims, text).advise(format!(
            "figures leave these counts out; see `token_details`, or count with `{}`",
            Setting::Tokenizer
        ))
    })
}

/// This process was suspended.
pub(super) fn paused(pauses: &[Pause]) -> Option<Warning> {
    let seconds: f64 = pauses.iter().map(|pause| pause.seconds).sum();
    let queries: u64 = pauses.iter().map(|pause| pause.queries).sum();
    (!pauses.is_empty()).then(|| {
        let text = format!(
            "this process was suspended for {seconds:.1} s ({}) with {} in flight",
            counted(pauses.len() as u64, "pause", "pauses"),
            counted(queries, "query", "queries")
        );
        Warning::new(RunKind::Paused, text)
            .advise("latencies of these queries include the pause: the process was stopped, or the machine was too busy; measure again")
    })
}
