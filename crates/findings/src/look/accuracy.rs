//! `analysis/accuracy.json`: the original's figures under the original's keys, ours beside them.
//!
//! The original counts the energy of the GPUs (or of a whole chip) in graded rows, and its power is
//! the mean of per-query powers. Our metrics count every measured source and the power of the
//! service. Both are here; `metrics` and `metrics_basis` are ours.

use std::collections::BTreeSet;

use ipw_analysis::accuracy::repeats;
use ipw_analysis::interval::wilson;
use ipw_analysis::metric::Metric;
use ipw_core::row::{Fields, Row};
use ipw_core::stats::{mean, quantile};
use ipw_store::{Consumer, Run, StoreError};
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::analyses::{AnalysisResult, sure};
use super::{Answers, Look};

/// Smaller values are zero to the original.
const ZERO: f64 = 1e-12;
/// A row whose energy is below this share of power × time is short of it.
const SHORT: f64 = 0.9;
/// More records than this are left to `ipw export`.
const MOST_RECORDS: u64 = 100_000;

pub(super) fn of(look: &Look<'_>, seed: u64) -> Result<AnalysisResult, StoreError> {
    let nothing = Original::default();
    let original = look.original.as_ref().unwrap_or(&nothing);
    let overview = &look.overview;
    let verdicts = overview.verdicts;
    let failed = overview.unanswered();
    let unevaluated = verdicts.unscored.saturating_sub(failed);
    let accuracy = look.values.get(Metric::Accuracy);
    let efficiency = original.efficiency(accuracy);
    let summary = json!({
        "model": look.run.model(),
        "correct": verdicts.correct,
        "incorrect": verdicts.wrong,
        "unevaluated": unevaluated,
        "failed": failed,
        "total_scored": verdicts.correct + verdicts.wrong,
        "accuracy": accuracy,
        "intelligence_per_joule": efficiency["intelligence_per_joule"],
        "intelligence_per_watt": efficiency["intelligence_per_watt"],
        "avg_per_query_energy_joules": efficiency["energy"]["avg"],
        "avg_per_query_power_watts": efficiency["power"]["avg"],
        "energy_sample_count": original.energy.len(),
        "power_sample_count": original.power.len(),
        "energy_basis": original.basis(),
        "skipped_empty_responses": original.empty,
        "telemetry_coverage": original.coverage(),
        "accuracy_per_total_joule": accuracy
            .zip(overview.energy.joules)
            .map(|(accuracy, joules)| accuracy / joules),
        "metrics_basis": overview.energy.basis.join(", "),
        "metrics": look.values,
    });
    let mut warnings = warnings(look, unevaluated, failed);
    let left_out = overview.rows.saturating_sub(MOST_RECORDS);
    if left_out > 0 {
        warnings.push(format!(
            "{left_out} records are left out here: `ipw export` has them all"
        ));
    }
    let model = look.run.model();
    let by_model = |value: Value| Value::Object(Map::from_iter([(model.to_owned(), value)]));
    let wanted = [Metric::Accuracy, Metric::Ipw, Metric::Ipj];
    Ok(AnalysisResult {
        data: json!({
            "per_model": by_model(summary.clone()),
            // Written row by row: see `records`.
            "records": {},
            "efficiency": by_model(efficiency),
            "intervals": sure(look, &wanted, seed),
            "subjects": subjects(look),
            "repeats": asked_again(look)?,
        }),
        summary,
        warnings,
    })
}

fn warnings(look: &Look<'_>, unevaluated: u64, failed: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if unevaluated > 0 {
        warnings.push(format!(
            "{unevaluated} answers have no verdict: `ipw score RUN`"
        ));
    }
    if failed > 0 {
        warnings.push(format!(
            "{failed} queries were not answered; their joules count"
        ));
    }
    if look.overview.energy.joules.is_none() {
        warnings.push("no row has energy: no IPW and no IPJ".to_owned());
    }
    warnings
}

fn subjects(look: &Look<'_>) -> Map<String, Value> {
    let share = |answers: &Answers| {
        let share = wilson(answers.correct, answers.graded);
        json!({ "correct": answers.correct, "graded": answers.graded, "accuracy": share })
    };
    let subjects = look.subjects.iter();
    subjects
        .map(|(name, answers)| (name.clone(), share(answers)))
        .collect()
}

/// What became of queries that were asked several times. Most runs ask each once: then no id is
/// kept.
fn asked_again(look: &Look<'_>) -> Result<Value, StoreError> {
    let graded = look.lines.iter().filter(|line| line.is_correct.is_some());
    let mut seen: Vec<u64> = graded.map(|line| line.query).collect();
    seen.sort_unstable();
    if !seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Ok(Value::Null);
    }
    drop(seen);
    let mut graded: Vec<(String, bool)> = Vec::new();
    look.run.for_each(Fields::ID | Fields::VERDICT, |row| {
        graded.extend(
            row.is_correct
                .map(|is_correct| (row.id.to_owned(), is_correct)),
        );
    })?;
    let graded = graded
        .iter()
        .map(|(id, is_correct)| (id.as_str(), *is_correct));
    Ok(json!(repeats(graded)))
}

/// One record under the keys of the original.
#[derive(Serialize)]
struct Written<'a> {
    problem: &'a str,
    reference_answer: Option<&'a str>,
    model_answer: Option<&'a str>,
    evaluation: Verdict,
}

#[derive(Serialize)]
struct Verdict {
    is_correct: Option<bool>,
    metadata: Value,
    config: Value,
}

impl<'a> Written<'a> {
    fn of(row: &Row<'a>) -> Self {
        Self {
            problem: row.texts.problem,
            reference_answer: row.texts.expected,
            model_answer: row.texts.answer,
            evaluation: Verdict {
                is_correct: row.is_correct,
                metadata: parsed(row.evaluation.metadata),
                config: parsed(row.evaluation.config),
            },
        }
    }
}

/// The first records of a run, read while they are written.
pub(super) struct Records<'a>(pub(super) &'a Run);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        let mut left = MOST_RECORDS;
        let fields = Fields::TEXTS | Fields::VERDICT | Fields::EVALUATION;
        let read = self.0.for_each_while(fields, |row| {
            written = list.serialize_element(&Written::of(row));
            left -= 1;
            left > 0 && written.is_ok()
        });
        written?;
        read.map_err(serde::ser::Error::custom)?;
        list.end()
    }
}

/// Rows as the original counts them.
#[derive(Default)]
pub(super) struct Original {
    energy: Vec<f64>,
    power: Vec<f64>,
    zero_energy: u64,
    zero_power: u64,
    derived_power: u64,
    recorded_power: u64,
    bases: BTreeSet<&'static str>,
    empty: u64,
    checked: u64,
    short: u64,
    worst: Option<f64>,
}

impl Consumer for Original {
    fn fields(&self) -> Fields {
        Fields::TEXTS | Fields::VERDICT | Fields::LATENCY | Fields::ENERGY | Fields::ORIGINAL
    }

    fn row(&mut self, row: &Row<'_>) {
        let answer = row.texts.answer.unwrap_or_default();
        self.empty += u64::from(row.is_answered && answer.trim().is_empty());
        let own = row.original;
        let is_chip = own.soc_joules.is_some() && row.energy.basis == Some("soc");
        let (joules, watts, basis) = if is_chip {
            (own.soc_joules, own.soc_watts, "soc")
        } else {
            (own.gpu_joules, own.gpu_watts, "gpu")
        };
        if joules.is_some() {
            self.bases.insert(basis);
        }
        self.check(joules, watts, row.total);
        if row.is_correct.is_none() {
            return;
        }
        match joules {
            Some(joules) if joules > ZERO => self.energy.push(joules),
            Some(_) => self.zero_energy += 1,
            None => {}
        }
        let seconds = row.total.filter(|seconds| *seconds > ZERO);
        let derived = joules
            .zip(seconds)
            .map(|(joules, seconds)| joules / seconds);
        match derived.or(watts) {
            Some(power) if power > ZERO => {
                self.power.push(power);
                self.derived_power += u64::from(derived.is_some());
                self.recorded_power += u64::from(derived.is_none());
            }
            Some(_) => self.zero_power += 1,
            None => {}
        }
    }
}

impl Original {
    /// Energy against power × time, as the original audits it.
    fn check(&mut self, joules: Option<f64>, watts: Option<f64>, seconds: Option<f64>) {
        let (Some(joules), Some(watts), Some(seconds)) = (joules, watts, seconds) else {
            return;
        };
        let expected = watts * seconds;
        if expected <= ZERO {
            return;
        }
        let ratio = joules / expected;
        self.checked += 1;
        self.short += u64::from(ratio < SHORT);
        self.worst = Some(self.worst.map_or(ratio, |worst| worst.min(ratio)));
    }

    fn basis(&self) -> Option<&'static str> {
        match self.bases.len() {
            0 => None,
            1 => self.bases.first().copied(),
            _ => Some("mixed"),
        }
    }

    fn coverage(&self) -> Value {
        json!({
            "records_checked": self.checked,
            "records_energy_short_of_power_x_time": self.short,
            "worst_energy_to_power_x_time_ratio": self.worst,
        })
    }

    fn efficiency(&self, accuracy: Option<f64>) -> Value {
        let per = |values: &[f64]| Some(accuracy? / mean(values)?);
        let mut energy = spread(&self.energy, accuracy);
        energy["total"] = json!((!self.energy.is_empty()).then(|| self.energy.iter().sum::<f64>()));
        energy["zero_values"] = json!(self.zero_energy);
        energy["imputed_from_power"] = Value::Null;
        energy["imputed_count"] = json!(0);
        let mut power = spread(&self.power, accuracy);
        power["zero_values"] = json!(self.zero_power);
        power["derived_power_samples"] = json!(self.derived_power);
        power["power_metric_samples"] = json!(self.recorded_power);
        json!({
            "intelligence_per_joule": per(&self.energy),
            "intelligence_per_watt": per(&self.power),
            "energy": energy,
            "power": power,
        })
    }
}

fn spread(values: &[f64], accuracy: Option<f64>) -> Value {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    json!({
        "count": sorted.len(),
        "avg": mean(&sorted),
        "median": quantile(&sorted, 0.5),
        "min": sorted.first(),
        "max": sorted.last(),
        "accuracy": accuracy,
    })
}

/// JSON where it is some, else the text.
fn parsed(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    })
}
