//! Doubts about the energy of rows.

use super::{Doubt, Facts, Note, Part, counted};

/// Reasons that another note explains.
const EXPLAINED: [&str; 2] = ["other_basis", "too_short"];

/// Rows without energy beside rows with it.
pub(super) fn without(facts: &Facts) -> Option<Note> {
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
    Some(Note {
        id: Doubt::RowsWithoutEnergy,
        source: None,
        finding: format!(
            "{without} of {all} rows have no energy ({share:.0} %; {})",
            why.join(", ")
        ),
        advice: "totals and means stand for the other rows alone".to_owned(),
    })
}

/// Rows whose energy is made from other sources than the headline's, which is the first.
pub(super) fn mixed(bases: &[Part]) -> Option<Note> {
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
    (!others.is_empty()).then(|| Note {
        id: Doubt::MixedBases,
        source: None,
        finding: format!(
            "energy of this run has {} bases, which are not added: the headline is {}; apart from it {}",
            bases.len(),
            words(first),
            others.join(", ")
        ),
        advice: "resume on the machine and with the sensors that the run began with".to_owned(),
    })
}
