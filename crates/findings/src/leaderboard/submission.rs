//! Exports runs in the format of the original's leaderboard: one object per run, with means for
//! each category.
//!
//! The original's categories are those of its own dataset; here they are the dataset's subjects.
//! The submitter fills in the fields about the submitter. Unmeasured values are null.

use ipw_analysis::metric::Row;
use ipw_core::setting::Setting;
use serde_json::{Map, Value, json};

use super::Board;
use crate::comparison::RunRows;

/// The category of rows without a subject.
const NO_SUBJECT: &str = "uncategorized";
/// The original takes no longer notes.
const LONGEST_NOTES: usize = 500;

/// One run: the object itself; several: a list of them.
pub fn of(board: &Board) -> Result<Value, String> {
    let runs = board.sections.iter().flat_map(|section| &section.runs);
    let mut submissions: Vec<Value> = runs.map(|run| run.submission.clone()).collect();
    match submissions.len() {
        0 => Err(format!(
            "no finished run to submit\nhelp: `{}` exports ranked runs only",
            Setting::Submission
        )),
        1 => Ok(submissions.remove(0)),
        _ => Ok(Value::Array(submissions)),
    }
}

/// One run.
pub fn one(run: &RunRows) -> Value {
    let facts = &run.facts;
    let categories: Map<String, Value> = run
        .by_subject()
        .iter()
        .map(|(subject, rows)| (subject.unwrap_or(NO_SUBJECT).to_owned(), means(rows)))
        .collect();
    let energy = match facts.basis_label() {
        Some(basis) => format!("{} ({basis})", facts.energy.words()),
        None => "unknown".to_owned(),
    };
    let notes = format!(
        "Measured by ipw {}; dataset {}; load: {}; energy {energy}.",
        facts.ipw.as_deref().unwrap_or("of an unknown version"),
        facts.dataset_label(),
        facts.load.as_deref().unwrap_or("unknown"),
    );
    json!({
        "organization": null,
        "contact_email": null,
        "model_name": facts.model,
        "hardware_type": facts.hardware,
        "task_type": null,
        "categoryMetrics": categories,
        "notes": notes.chars().take(LONGEST_NOTES).collect::<String>(),
        "energy_basis": facts.basis_label(),
        "energy_is_estimated": facts.basis_label().map(|_| facts.energy.is_estimated()),
    })
}

fn means(rows: &[Row<'_>]) -> Value {
    let mean = |value: &dyn Fn(&Row<'_>) -> Option<f64>| {
        let values: Vec<f64> = rows.iter().filter_map(value).collect();
        ipw_core::stats::mean(&values)
    };
    let answered = |row: &Row<'_>, value: Option<f64>| value.filter(|_| row.is_answered);
    let milli = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e3);
    json!({
        "accuracy": mean(&|row| row.is_correct.map(|right| if right { 100.0 } else { 0.0 })),
        "avg_energy": mean(&|row| row.joules),
        "avg_compute": null,
        "avg_latency": milli(mean(&|row| answered(row, row.latency))),
        "avg_ttft": milli(mean(&|row| answered(row, row.first_token))),
        "avg_power": mean(&|row| {
            let seconds = row.seconds.filter(|seconds| *seconds > 0.0)?;
            Some(row.joules? / seconds)
        }),
        "avg_memory_bandwidth": null,
        "avg_memory_bandwidth_peak": null,
        "avg_input_tokens": mean(&|row| row.input_tokens.map(real)),
        "avg_output_tokens": mean(&|row| row.output_tokens.map(real)),
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a reply has fewer than 2^52 tokens"
)]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::board_fixture::{board, entry};
    use super::*;

    #[test]
    fn one_run_is_an_object_several_are_a_list_and_none_is_an_error() {
        let of_runs = |count: usize| {
            let runs = (0..count).map(|_| entry("m", Some(1.0))).collect();
            of(&board(runs))
        };
        assert!(of_runs(0).is_err());
        assert_eq!(of_runs(1), Ok(Value::Null));
        assert_eq!(of_runs(2).unwrap().as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn means_are_in_the_originals_units_and_unknown_is_null() {
        let row = |joules: Option<f64>, is_correct: Option<bool>, input_tokens| Row {
            joules,
            input_tokens,
            seconds: Some(2.0),
            latency: Some(0.5),
            first_token: Some(0.1),
            output_tokens: Some(8),
            is_answered: true,
            is_correct,
            ..Row::default()
        };
        let found = means(&[
            row(Some(4.0), Some(true), Some(10)),
            row(Some(8.0), Some(false), Some(20)),
            row(None, None, None),
        ]);
        for (key, wanted) in [
            ("accuracy", 50.0),
            ("avg_energy", 6.0),
            ("avg_latency", 500.0),
            ("avg_ttft", 100.0),
            ("avg_power", 3.0),
            ("avg_input_tokens", 15.0),
            ("avg_output_tokens", 8.0),
        ] {
            let value = found[key].as_f64().unwrap();
            assert!((value - wanted).abs() < 1e-9, "{key}: {value}");
        }
        assert!(found["avg_compute"].is_null());
        assert!(means(&[row(None, None, None)])["avg_energy"].is_null());
    }
}
