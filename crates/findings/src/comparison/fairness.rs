//! Decides whether two runs can be compared, and lists the reservations.

use std::path::Path;

use ipw_core::quantity::Unit;
use ipw_core::setting::Setting;
use ipw_core::warning::{Kind, PairKind, RunKind, Warning};
use serde_json::Value;

use super::facts::Idle;
use super::{Facts, How, Overlap, RunRows};

/// A run with its letter in a comparison.
#[derive(Clone, Copy)]
pub struct NamedRun<'a> {
    /// Its letter.
    pub name: &'a str,
    /// Its rows.
    pub run: &'a RunRows,
}

/// Warnings of a run that affect a comparison. Others are shown elsewhere.
const GRAVE: [RunKind; 14] = [
    RunKind::Coverage,
    RunKind::Gaps,
    RunKind::Resets,
    RunKind::Implausible,
    RunKind::MixedBases,
    RunKind::Paused,
    RunKind::Fault,
    RunKind::IdleDrift,
    RunKind::Temperature,
    RunKind::Throttled,
    RunKind::PowerLimit,
    RunKind::OtherLoad,
    RunKind::OtherRuns,
    RunKind::CounterAgainstPower,
];

/// All warnings about comparing `b` with `a`, the most severe first.
pub fn unfair(a: NamedRun<'_>, b: NamedRun<'_>) -> (Overlap, Vec<Warning>) {
    let overlap = a.run.overlap(b.run);
    let pair = Pair {
        names: [a.name, b.name],
        facts: [&a.run.facts, &b.run.facts],
    };
    let mut warnings = pair.questions(overlap);
    warnings.extend(pair.energy());
    warnings.extend(pair.scorers(a.run.graded_otherwise(b.run)));
    warnings.extend(pair.conditions());
    warnings.extend(pair.each_run());
    warnings.sort_by_key(|warning| warning.severity);
    (overlap, warnings)
}

struct Pair<'a> {
    names: [&'a str; 2],
    facts: [&'a Facts; 2],
}

fn warn(kind: PairKind, text: String, advice: &str) -> Warning {
    Warning::new(kind, text).advise(advice)
}

impl Pair<'_> {
    fn both(&self, what: impl Fn(&Facts) -> Option<String>) -> Option<[String; 2]> {
        Some([what(self.facts[0])?, what(self.facts[1])?])
    }

    /// A fact that both runs have and that differs.
    fn differ(&self, what: impl Fn(&Facts) -> Option<String>) -> Option<[String; 2]> {
        self.both(what).filter(|[a, b]| a != b)
    }

    fn questions(&self, overlap: Overlap) -> Vec<Warning> {
        let [a, b] = self.names;
        let [of_a, of_b] = self.facts;
        if Path::new(&of_a.directory) == Path::new(&of_b.directory) {
            let text = format!("{a} and {b} are the same run");
            return vec![warn(PairKind::SameRun, text, "name two different runs")];
        }
        let dataset = self.differ(|facts| {
            Some(format!(
                "{:?} {}",
                facts.dataset.as_ref()?,
                facts.dataset_label()
            ))
        });
        let common = overlap.common;
        let clash = overlap.same_id_other_prompt;
        let is_empty = overlap.a == 0 || overlap.b == 0;
        if common == 0 && !is_empty && (dataset.is_some() || clash > 0) {
            let text = format!(
                "{a} and {b} have no question in common (`{}`, `{}`)",
                of_a.dataset_label(),
                of_b.dataset_label()
            );
            return vec![warn(
                PairKind::OtherQuestions,
                text,
                "run both on the same dataset",
            )];
        }
        let mut warnings = Vec::new();
        if dataset.is_some() {
            let text = format!(
                "{a} asked `{}` and {b} asked `{}`",
                of_a.dataset_label(),
                of_b.dataset_label()
            );
            let advice = format!("only the {common} questions in both runs are paired");
            warnings.push(warn(PairKind::OtherDataset, text, &advice));
        }
        if clash > 0 {
            let text = format!("{clash} queries have the same id but different prompts");
            let advice = "they are not paired; check whether the dataset changed between the runs";
            warnings.push(warn(PairKind::OtherPrompts, text, advice));
        }
        warnings.extend(self.overlap(overlap));
        warnings
    }

    fn overlap(&self, overlap: Overlap) -> Option<Warning> {
        let [a, b] = self.names;
        let Overlap {
            a: of_a,
            b: of_b,
            common,
            ..
        } = overlap;
        let most = of_a.max(of_b);
        if common == most {
            return None;
        }
        let text = format!("{a} asked {of_a} queries and {b} {of_b}; {common} are in both");
        let advice = if 2 * common >= most {
            "only these are compared"
        } else {
            "too few to pair, so all queries are compared unpaired, which shows only large differences; run both on the same queries"
        };
        Some(warn(PairKind::OtherQueries, text, advice))
    }

    fn energy(&self) -> Vec<Warning> {
        let [a, b] = self.names;
        let how = self.facts.map(|facts| facts.energy);
        if how.contains(&How::Unknown) {
            return Vec::new();
        }
        let other_hardware = self.differ(|facts| facts.hardware.clone());
        let mut warnings = Vec::new();
        if how[0] != how[1] {
            let text = format!(
                "{a}'s energy is {} and {b}'s is {}",
                how[0].words(),
                how[1].words()
            );
            let advice = "an estimate may be off by half; measure both (see `ipw doctor`)";
            warnings.push(warn(PairKind::EstimatedAgainstMeasured, text, advice));
        } else if how[0].is_estimated() {
            warnings.push(match other_hardware {
                Some([of_a, of_b]) => warn(
                    PairKind::EstimatesOfOtherHardware,
                    format!("the energies of {a} (`{of_a}`) and {b} (`{of_b}`) are estimates of different machines"),
                    "compare estimates only on one machine; measure both (see `ipw doctor`)",
                ),
                None => warn(
                    PairKind::Estimated,
                    format!("the energies of {a} and {b} are estimated from CPU time, not measured"),
                    "differences reflect CPU time; a power meter may show others",
                ),
            });
        }
        if let Some([of_a, of_b]) = self.differ(Facts::basis_label)
            && how[0] == how[1]
        {
            let text = format!("{a}'s joules are those of `{of_a}` and {b}'s of `{of_b}`");
            let advice = "they cover different parts of the machine";
            warnings.push(warn(PairKind::OtherBasis, text, advice));
        }
        let methods =
            |facts: &Facts| (!facts.methods.is_empty()).then(|| facts.methods.join(" and "));
        if let Some([of_a, of_b]) = self.differ(methods)
            && how[0] == how[1]
        {
            let text = format!("{a}'s joules are by {of_a} and {b}'s by {of_b}");
            let advice = "integrated power misses changes between two readings";
            warnings.push(warn(PairKind::OtherMethod, text, advice));
        }
        warnings.extend(self.attribution());
        warnings
    }

    /// Differences in the attribution of energy.
    fn attribution(&self) -> Vec<Warning> {
        let [a, b] = self.names;
        let mut warnings = Vec::new();
        if let Some([of_a, of_b]) = self.differ(|facts| facts.weights.clone()) {
            let text = format!(
                "queries in flight share energy by the weights `{of_a}` in {a} and `{of_b}` in {b}"
            );
            let advice = format!(
                "joules per query depend on it; use the same weights (`ipw attribute RUN {}`)",
                Setting::Weights.to("equal|tokens")
            );
            warnings.push(warn(PairKind::OtherWeights, text, &advice));
        }
        let same_hardware = self.differ(|facts| facts.hardware.clone()).is_none();
        let [of_a, of_b] = self.facts;
        let others = of_a.idle.iter().filter_map(|used| {
            let other = of_b.idle.iter().find(|other| other.source == used.source)?;
            is_other_idle(used, other, same_hardware).then(|| {
                format!(
                    "`{}`: {} in {a} and {} in {b}",
                    used.source,
                    drawn(used),
                    drawn(other)
                )
            })
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            let text = format!(
                "attribution used different idle power for {}",
                others.join("; ")
            );
            let advice = format!(
                "shares and joules above idle depend on it; set it with `ipw attribute RUN {}`",
                Setting::Idle.to("[NAME=]W")
            );
            warnings.push(warn(PairKind::OtherIdle, text, &advice));
        }
        warnings
    }

    /// Whether answers were graded by the same scorer. `both` is the number of queries graded in
    /// both runs.
    fn scorers(&self, (both, otherwise): (u64, u64)) -> Option<Warning> {
        let [a, b] = self.names;
        let [of_a, of_b] = self.facts.map(|facts| facts.scorers.join("`, `"));
        let is_graded = !of_a.is_empty() && !of_b.is_empty();
        let is_other = if both > 0 {
            otherwise > 0
        } else {
            of_a != of_b
        };
        if !is_graded || !is_other {
            return None;
        }
        let how_many = if both > 0 {
            format!("{otherwise} of {both} queries in both were graded by different scorers: ")
        } else {
            String::new()
        };
        let text = format!("{how_many}{a} was graded by `{of_a}` and {b} by `{of_b}`");
        let advice = format!(
            "accuracy, IPW and IPJ depend on it; use the same scorer (`ipw score RUN {}`)",
            Setting::Scorer.to("ID")
        );
        Some(warn(PairKind::OtherScorer, text, &advice))
    }

    fn conditions(&self) -> Vec<Warning> {
        let [a, b] = self.names;
        let mut warnings = Vec::new();
        if let Some([of_a, of_b]) = self.differ(|facts| facts.load.clone()) {
            let text = format!("{a}'s queries were sent {of_a}, {b}'s {of_b}");
            let advice = "latency and energy per query depend on it; use the same load";
            warnings.push(warn(PairKind::OtherLoad, text, advice));
        }
        if let Some([of_a, of_b]) = self.generation() {
            let text = format!("{a} asked with {of_a} and {b} with {of_b}");
            let advice = format!(
                "answers and their lengths depend on it; use the same `{}` and `{}`",
                Setting::Param,
                Setting::System
            );
            warnings.push(warn(PairKind::OtherParameters, text, &advice));
        }
        let counted = |facts: &Facts| {
            let by_chunks = facts.rows_counted_by_chunks? > 0;
            let by_tokenizer = facts.rows_counted_by_tokenizer.is_some_and(|rows| rows > 0);
            Some(format!("{by_chunks} {by_tokenizer}"))
        };
        if self.differ(counted).is_some() {
            let text = format!(
                "tokens of {a} and {b} were counted differently, because one service reported no usage"
            );
            let advice = "metrics per token and tokens per second are not comparable";
            warnings.push(warn(PairKind::OtherTokenCounts, text, advice));
        }
        warnings.extend(self.several());
        if let Some([of_a, of_b]) = self.differ(|facts| facts.ipw.clone()) {
            let text = format!("{a} was made by ipw {of_a} and {b} by ipw {of_b}");
            warnings.push(warn(
                PairKind::OtherVersion,
                text,
                "see CHANGELOG.md for changes to the measurement",
            ));
        }
        if let Some([of_a, _]) = self.differ(|facts| Some(facts.calibration_passed?.to_string())) {
            let bad = if of_a == "true" { b } else { a };
            let text = format!("`ipw calibrate` found the machine of {bad} out of bounds");
            warnings.push(warn(
                PairKind::OtherCalibration,
                text,
                "its times are less certain; see `ipw show` for the failed checks",
            ));
        }
        warnings
    }

    /// If model and hardware both differ, a difference cannot be attributed to one of them.
    fn several(&self) -> Option<Warning> {
        let [a, b] = self.names;
        let model = self.differ(|facts| Some(facts.model.clone()));
        let hardware = self.differ(|facts| facts.hardware.clone());
        let ([of_a, of_b], [on_a, on_b]) = model.zip(hardware)?;
        let text = format!("{a} is `{of_a}` on `{on_a}` and {b} is `{of_b}` on `{on_b}`");
        let advice = "a difference cannot be attributed to the model or the hardware alone";
        Some(warn(PairKind::SeveralDifferences, text, advice))
    }

    fn generation(&self) -> Option<[String; 2]> {
        let [a, b] = self.facts.map(|facts| facts.generation.as_ref());
        let (a, b) = a.zip(b)?;
        let (a, b) = (asked(a), asked(b));
        let only = |mine: &[(String, Value)], theirs: &[(String, Value)]| {
            let differs = mine.iter().filter(|one| !theirs.contains(one));
            let texts: Vec<String> = differs
                .map(|(name, value)| match name.as_str() {
                    // A system text may be long or private.
                    "system" => "a system text".to_owned(),
                    _ => format!("`{name}={value}`"),
                })
                .collect();
            if texts.is_empty() {
                "without it".to_owned()
            } else {
                texts.join(", ")
            }
        };
        (a != b).then(|| [only(&a, &b), only(&b, &a)])
    }

    fn each_run(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (name, facts) in self.names.iter().zip(self.facts) {
            if let Some(why) = facts.unfinished() {
                let text = format!("{name} is {why}");
                let advice = format!(
                    "the missing queries may differ from the rest; resume it with `ipw profile {}`",
                    Setting::Resume
                );
                warnings.push(warn(PairKind::Unfinished, text, &advice));
            }
            let is_grave =
                |of: &&Warning| matches!(of.kind, Kind::Run(kind) if GRAVE.contains(&kind));
            for grave in facts.warnings.iter().filter(is_grave) {
                let text = format!("{name}: {}", grave.text);
                warnings.push(warn(PairKind::Quality, text, grave.advice()));
            }
        }
        warnings
    }
}

/// Relative difference that makes idle power different; the same as for drift within a run.
const OTHER_IDLE: f64 = 0.1;

/// Whether two runs used different idle power. On different hardware only power set by the user
/// counts as different.
fn is_other_idle(a: &Idle, b: &Idle, same_hardware: bool) -> bool {
    let (Some(of_a), Some(of_b)) = (a.watts, b.watts) else {
        return a.watts.is_some() != b.watts.is_some();
    };
    let apart = (of_a - of_b).abs();
    let is_far = apart > OTHER_IDLE * of_a.abs().max(of_b.abs())
        && apart > 2.0 * a.sigma_watts.hypot(b.sigma_watts);
    let is_given = [a, b]
        .iter()
        .any(|one| one.from.as_deref() == Some("given"));
    is_far && (same_hardware || is_given)
}

/// `25.0 W (recorded)`
fn drawn(idle: &Idle) -> String {
    let Some(watts) = idle.watts else {
        return "unknown".to_owned();
    };
    let from = idle.from.as_deref().unwrap_or("unknown origin");
    format!("{} ({})", Unit::Watts.show(watts), from.replace('_', " "))
}

/// Parameters and system text by name, sorted.
fn asked(generation: &Value) -> Vec<(String, Value)> {
    let mut asked: Vec<(String, Value)> = Vec::new();
    for (name, value) in generation.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(table) if name == "parameters" => {
                asked.extend(
                    table
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
            }
            _ if value.is_null() => {}
            _ => asked.push((name.clone(), value.clone())),
        }
    }
    asked.sort_by(|left, right| left.0.cmp(&right.0));
    asked
}

#[cfg(test)]
mod tests;
