//! Compares each run with the first, paired by query where possible.

use ipw_analysis::compare::{Comparison, NotCompared, Pairing, Side, Tolerance, compare};
use ipw_analysis::gate::{ClauseResult, Criterion, Gate, Outcome, is_passed};
use ipw_analysis::metric::Metric;
use ipw_core::warning::{Severity, Warning};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Facts, NamedRun, Overlap, RunRows, unfair};
use crate::written;

/// Format version of the JSON.
const FORMAT_VERSION: u32 = 1;

/// A comparison of runs.
pub struct SideBySide {
    /// All runs. The first is the baseline.
    pub runs: Vec<Entrant>,
    /// Each other run, compared with the baseline.
    pub against: Vec<Against>,
    /// Differences up to this size count as equal.
    pub tolerance: Tolerance,
    /// Whether gates decide by the value or its interval.
    pub by: Criterion,
}

/// A run with its letter.
#[derive(Serialize)]
pub struct Entrant {
    /// Its letter.
    pub name: String,
    /// What the run's files say about it.
    #[serde(flatten)]
    pub facts: Facts,
}

/// One run compared with the baseline.
pub struct Against {
    /// Its letter.
    pub name: String,
    /// Queries shared with the baseline.
    pub overlap: Overlap,
    /// Metric by metric.
    pub comparisons: Vec<Comparison>,
    /// Metrics that are not compared, because of a warning.
    pub withheld: Vec<Metric>,
    /// Why the comparison may not be fair.
    pub warnings: Vec<Warning>,
    /// Whether a refusal was overruled.
    pub is_forced: bool,
    /// Outcome of each condition of the gate; `None` without a gate.
    pub gate: Option<Vec<ClauseResult>>,
}

/// What to compare, and how.
pub struct ComparisonRequest<'a> {
    /// Which metrics.
    pub metrics: &'a [Metric],
    /// Conditions that must hold.
    pub gate: Option<&'a Gate>,
    /// Whether conditions are decided by the value or its interval.
    pub by: Criterion,
    /// Whether to compare runs despite a refusal.
    pub is_forced: bool,
}

/// Compares each run with the first.
pub fn compare_runs(
    runs: Vec<RunRows>,
    asked: &ComparisonRequest<'_>,
) -> Result<SideBySide, NotComparable> {
    let tolerance = Tolerance::default();
    let (first, others) = runs.split_first().ok_or(NotComparable::Nothing)?;
    let rows = first.rows();
    let names: Vec<String> = (0..runs.len()).map(written::letter).collect();
    let mut against = Vec::new();
    for (run, name) in others.iter().zip(&names[1..]) {
        let (overlap, warnings) = unfair(
            NamedRun {
                name: &names[0],
                run: first,
            },
            NamedRun { name, run },
        );
        refuse(&warnings, asked)?;
        let mut refusals = warnings.iter().filter(|warning| is_refusal(warning));
        let is_refused = refusals.clone().next().is_some();
        let withholds = refusals.any(|refusal| refusal.kind.is_about_energy()) && !asked.is_forced;
        let (withheld, wanted): (Vec<Metric>, Vec<Metric>) = asked
            .metrics
            .iter()
            .partition(|metric| withholds && metric.has_energy());
        let comparisons = compare(&rows, &run.rows(), &wanted, tolerance);
        let mut found = Against {
            name: name.clone(),
            overlap,
            gate: None,
            is_forced: asked.is_forced && is_refused,
            comparisons,
            withheld,
            warnings,
        };
        found.gate = asked.gate.map(|gate| found.judged(gate, asked.by));
        against.push(found);
    }
    let named = |(name, run): (String, RunRows)| Entrant {
        name,
        facts: run.facts,
    };
    drop(rows);
    Ok(SideBySide {
        against,
        tolerance,
        by: asked.by,
        runs: names.into_iter().zip(runs).map(named).collect(),
    })
}

/// Why runs are not compared.
#[derive(Debug, thiserror::Error)]
pub enum NotComparable {
    /// No run was given.
    #[error("there is nothing to compare")]
    Nothing,
    /// A warning refuses the comparison.
    #[error("{}", .0.text)]
    Unfair(Warning),
}

/// Refuses runs that cannot be compared, unless the caller forces it.
fn refuse(warnings: &[Warning], asked: &ComparisonRequest<'_>) -> Result<(), NotComparable> {
    let refuses = |of: &&Warning| is_refusal(of) && !of.kind.is_about_energy();
    match warnings.iter().find(refuses) {
        Some(refusal) if !asked.is_forced => Err(NotComparable::Unfair(refusal.clone())),
        _ => Ok(()),
    }
}

fn is_refusal(warning: &Warning) -> bool {
    warning.severity == Severity::Refusal
}

impl Against {
    /// Evaluates the gate on this comparison.
    pub fn judged(&self, gate: &Gate, by: Criterion) -> Vec<ClauseResult> {
        let mut judged = gate.judge(&self.comparisons, by);
        for one in &mut judged {
            let metric = one.clause.metric;
            if self.withheld.contains(&metric) {
                one.reason = format!("`{}` was not compared: {}", metric.name(), self.refusal());
            }
        }
        judged
    }

    /// Why metrics are withheld.
    pub fn refusal(&self) -> &str {
        let refusal = self.warnings.iter().find(|warning| is_refusal(warning));
        refusal.map_or("", |refusal| &refusal.text)
    }

    /// Comparisons that were made.
    pub fn made(&self) -> impl Iterator<Item = &Comparison> {
        let is_made = |comparison: &&Comparison| comparison.difference().is_some();
        self.comparisons.iter().filter(is_made)
    }

    /// Metrics that were not compared, grouped by reason.
    pub fn not_made(&self, baseline: &str) -> Vec<(String, Vec<Metric>)> {
        let mut groups: Vec<(String, Vec<Metric>)> = Vec::new();
        let mut put = |why: String, metric: Metric| match groups
            .iter_mut()
            .find(|(known, _)| *known == why)
        {
            Some((_, metrics)) => metrics.push(metric),
            None => groups.push((why, vec![metric])),
        };
        for metric in &self.withheld {
            put(self.refusal().to_owned(), *metric);
        }
        let missing = self
            .comparisons
            .iter()
            .filter(|comparison| comparison.difference().is_none());
        for comparison in missing {
            let why = match comparison.reason {
                Some(NotCompared::Unknown { run: Side::A }) if comparison.b.is_some() => {
                    format!("unknown in {baseline}")
                }
                Some(NotCompared::Unknown { run: Side::B }) if comparison.a.is_some() => {
                    format!("unknown in {}", self.name)
                }
                Some(NotCompared::Unknown { .. }) => "not known".to_owned(),
                Some(few) => few.to_string(),
                None => format!("{baseline} is zero"),
            };
            put(why, comparison.metric);
        }
        groups
    }

    /// Whether queries were compared in pairs.
    pub fn is_paired(&self) -> bool {
        let first = self.comparisons.first();
        first.is_some_and(|first| first.pairing == Pairing::Paired)
    }

    /// How queries were paired, in words.
    pub fn pairing(&self, baseline: &str) -> String {
        let Overlap { a, b, common, .. } = self.overlap;
        match self.comparisons.first().map(|first| first.pairing) {
            Some(Pairing::Paired) => format!("paired by query: {common} in both"),
            Some(Pairing::Unpaired) => {
                format!(
                    "not paired: {a} queries of {baseline} against {b} of {}",
                    self.name
                )
            }
            None => "nothing is compared".to_owned(),
        }
    }

    /// Conclusions: first what differs, one sentence each, then what does not.
    pub fn sentences(&self, baseline: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        let (mut unchanged, mut unclear) = (Vec::new(), Vec::new());
        for comparison in self.made() {
            match written::verdict(comparison) {
                "better" | "worse" => sentences.push(comparison.sentence(baseline, &self.name)),
                "unchanged" => unchanged.push(comparison.metric.name()),
                _ => unclear.push(comparison.metric.name()),
            }
        }
        if !unchanged.is_empty() {
            sentences.push(format!("unchanged: {}", unchanged.join(", ")));
        }
        if !unclear.is_empty() {
            sentences.push(format!("no difference found: {}", unclear.join(", ")));
        }
        sentences
    }

    /// Label of a warning's severity here.
    pub fn label(&self, warning: &Warning) -> &'static str {
        match (is_refusal(warning), self.is_forced) {
            (false, _) => "warning",
            (true, false) => "refused",
            (true, true) => "NOT COMPARABLE",
        }
    }
}

impl SideBySide {
    /// The letter of the baseline.
    pub fn baseline(&self) -> &str {
        self.runs.first().map_or("A", |run| &run.name)
    }

    /// Facts of the run with this letter.
    pub fn facts(&self, name: &str) -> Option<&Facts> {
        let run = self.runs.iter().find(|run| run.name == name);
        run.map(|run| &run.facts)
    }

    /// Whether every condition of the gate held; `None` without a gate.
    pub fn is_passed(&self) -> Option<bool> {
        let gates: Vec<_> = self
            .against
            .iter()
            .filter_map(|one| one.gate.as_ref())
            .collect();
        (!gates.is_empty()).then(|| gates.iter().all(|judged| is_passed(judged)))
    }

    /// Lines for each condition and the outcome of the gate.
    pub fn gate_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in &self.against {
            for judged in one.gate.iter().flatten() {
                lines.push(format!(
                    "gate {}: {}: {}",
                    one.name,
                    outcome(judged.outcome),
                    judged.reason
                ));
            }
        }
        match self.is_passed() {
            Some(true) => lines.push("gate passed".to_owned()),
            Some(false) => lines.push("gate NOT passed (exit 7)".to_owned()),
            None => {}
        }
        lines
    }

    /// The whole comparison as JSON, for programs.
    pub fn json(&self) -> Value {
        let against: Vec<Value> = self
            .against
            .iter()
            .map(|one| one.json(self.baseline()))
            .collect();
        json!({
            "format_version": FORMAT_VERSION,
            "ipw": env!("CARGO_PKG_VERSION"),
            "baseline": self.baseline(),
            "runs": self.runs,
            "tolerance": self.tolerance,
            "gate_by": self.by,
            "passed": self.is_passed(),
            "against": against,
        })
    }
}

impl Against {
    fn json(&self, baseline: &str) -> Value {
        let metrics: Vec<Value> = self
            .comparisons
            .iter()
            .map(|comparison| {
                let mut value = json!(comparison);
                value["is_better"] = json!(comparison.is_better());
                value["sentence"] = json!(comparison.sentence(baseline, &self.name));
                value
            })
            .collect();
        let passed = self.gate.as_deref().map(is_passed);
        json!({
            "run": self.name,
            "queries": self.overlap,
            "metrics": metrics,
            "withheld": self.withheld,
            "is_forced": self.is_forced,
            "doubts": self.warnings.iter().map(doubt).collect::<Vec<_>>(),
            "gate": self.gate,
            "passed": passed,
        })
    }
}

/// A warning in the JSON of a comparison.
fn doubt(warning: &Warning) -> Value {
    let is_about_energy = warning.kind.is_about_energy();
    json!({
        "id": warning.kind,
        "level": if is_refusal(warning) { "refuse" } else { "warn" },
        "about": if is_about_energy { "energy" } else { "all" },
        "finding": warning.text,
        "advice": warning.advice(),
    })
}

/// The outcome of a condition as one word.
pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Unknown => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::warning::PairKind;

    use super::*;

    #[test]
    fn a_warning_has_the_documented_keys_in_json() {
        let said = |kind: PairKind| doubt(&Warning::new(kind, "found").advise("do")).to_string();
        assert_eq!(
            said(PairKind::EstimatedAgainstMeasured),
            r#"{"id":"estimated_against_measured","level":"refuse","about":"energy","finding":"found","advice":"do"}"#
        );
        assert_eq!(
            said(PairKind::OtherLoad),
            r#"{"id":"other_load","level":"warn","about":"all","finding":"found","advice":"do"}"#
        );
    }
}
