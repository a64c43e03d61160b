//! `ipw compare A B [C…]`: every other run against the first, paired by query where possible.

mod html;
mod markdown;
mod table;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::anyhow;
use ipw_analysis::compare::{Comparison, NotCompared, Pairing, Side, Tolerance, compare};
use ipw_analysis::gate::{By, Gate, Judged, Outcome, is_passed};
use ipw_analysis::metric::Metric;
use ipw_core::rollup::Choice;
use ipw_core::text::printable;
use ipw_store::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{CompareArgs, Format};
use crate::compared::{Compared, Doubt, Facts, Level, Named, Overlap, Part, metric_named, unfair};
use crate::error::{CliError, Exit};
use crate::{output, screen, written};

/// Version of the JSON.
const FORMAT_VERSION: u32 = 1;

/// Runs side by side.
struct Findings {
    /// All runs, the first of them the one that the others are compared with.
    runs: Vec<Entrant>,
    against: Vec<Against>,
    tolerance: Tolerance,
    by: By,
}

/// A run with its letter.
#[derive(Serialize)]
struct Entrant {
    name: String,
    #[serde(flatten)]
    facts: Facts,
}

/// One run against the first.
struct Against {
    name: String,
    overlap: Overlap,
    comparisons: Vec<Comparison>,
    /// Metrics that are not compared, as the doubts say.
    withheld: Vec<Metric>,
    doubts: Vec<Doubt>,
    /// Whether a doubt that would refuse was overruled.
    is_forced: bool,
    gate: Option<Vec<Judged>>,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, CliError> {
    let gate = gate(args)?;
    let metrics = metrics(args, gate.as_ref())?;
    let runs = args
        .runs
        .iter()
        .map(|path| open(path, args.basis.choice()))
        .collect::<Result<Vec<_>, _>>()?;
    let by = if args.strict { By::Interval } else { By::Value };
    let asked = Asked {
        metrics: &metrics,
        gate: gate.as_ref(),
        by,
        is_forced: args.force,
    };
    let findings = findings(runs, &asked)?;
    let to = args.output.as_deref();
    let format = Format::of(args.format, to);
    output::put(to, &text(&findings, format, to))?;
    let is_on_screen = format == Format::Table && output::is_standard(to);
    if !is_on_screen {
        for line in findings.gate_lines() {
            screen::talk(&line);
        }
    }
    Ok(if findings.is_passed() == Some(false) {
        Exit::Gate
    } else {
        Exit::Done
    })
}

/// What is asked of the comparison.
struct Asked<'a> {
    metrics: &'a [Metric],
    gate: Option<&'a Gate>,
    by: By,
    is_forced: bool,
}

fn gate(args: &CompareArgs) -> Result<Option<Gate>, CliError> {
    let parsed = args.gate.as_deref().map(Gate::parse).transpose();
    parsed.map_err(CliError::usage)
}

/// Those that are asked for, and those of the gate; without any, the common ones.
fn metrics(args: &CompareArgs, gate: Option<&Gate>) -> Result<Vec<Metric>, CliError> {
    if args.metric.is_empty() {
        let named = gate.map(Gate::metrics).unwrap_or_default();
        let is_shown =
            |metric: &Metric| Metric::COMPARED.contains(metric) || named.contains(metric);
        return Ok(Metric::ALL.into_iter().filter(is_shown).collect());
    }
    let named = args.metric.iter().map(|name| metric_named(name));
    let mut metrics = named
        .collect::<Result<Vec<_>, _>>()
        .map_err(CliError::usage)?;
    metrics.extend(gate.map(Gate::metrics).unwrap_or_default());
    let is_asked = |metric: &Metric| metrics.contains(metric);
    Ok(Metric::ALL.into_iter().filter(is_asked).collect())
}

fn open(path: &Path, basis: Option<Choice>) -> Result<Compared, CliError> {
    Compared::open(path, basis).map_err(|error| match &error {
        StoreError::NoBasis { offered, .. } => super::no_basis(error.to_string(), offered),
        _ => CliError::new(Exit::Usage, error).help("name directories that `ipw profile` made"),
    })
}

fn findings(runs: Vec<Compared>, asked: &Asked<'_>) -> Result<Findings, CliError> {
    let tolerance = Tolerance::default();
    let (first, others) = runs
        .split_first()
        .ok_or_else(|| CliError::usage("there is nothing to compare"))?;
    let rows = first.rows();
    let names: Vec<String> = (0..runs.len()).map(written::letter).collect();
    let mut against = Vec::new();
    for (run, name) in others.iter().zip(&names[1..]) {
        let (overlap, doubts) = unfair(
            Named {
                name: &names[0],
                run: first,
            },
            Named { name, run },
        );
        refuse(&doubts, asked)?;
        let is_refused = |part: Part| {
            let refuses = |doubt: &Doubt| doubt.level == Level::Refuse && doubt.about == part;
            doubts.iter().any(refuses)
        };
        let withholds = is_refused(Part::Energy) && !asked.is_forced;
        let (withheld, wanted): (Vec<Metric>, Vec<Metric>) = asked
            .metrics
            .iter()
            .partition(|metric| withholds && metric.has_energy());
        let comparisons = compare(&rows, &run.rows(), &wanted, tolerance);
        let mut found = Against {
            name: name.clone(),
            overlap,
            gate: None,
            is_forced: asked.is_forced && (is_refused(Part::All) || is_refused(Part::Energy)),
            comparisons,
            withheld,
            doubts,
        };
        found.gate = asked.gate.map(|gate| found.judged(gate, asked.by));
        against.push(found);
    }
    let named = |(name, run): (String, Compared)| Entrant {
        name,
        facts: run.facts,
    };
    drop(rows);
    Ok(Findings {
        against,
        tolerance,
        by: asked.by,
        runs: names.into_iter().zip(runs).map(named).collect(),
    })
}

/// What cannot be compared at all ends here, unless it is wanted all the same.
fn refuse(doubts: &[Doubt], asked: &Asked<'_>) -> Result<(), CliError> {
    let refuses = |doubt: &&Doubt| doubt.level == Level::Refuse && doubt.about == Part::All;
    match doubts.iter().find(refuses) {
        Some(doubt) if !asked.is_forced => {
            let error = CliError::new(Exit::Usage, anyhow!("{}", printable(&doubt.finding)));
            let advice = printable(&doubt.advice);
            Err(error.help(format!("{advice}; `--force` compares them all the same")))
        }
        _ => Ok(()),
    }
}

impl Against {
    fn judged(&self, gate: &Gate, by: By) -> Vec<Judged> {
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
    fn refusal(&self) -> &str {
        let refuses = |doubt: &&Doubt| doubt.level == Level::Refuse;
        let doubt = self.doubts.iter().find(refuses);
        doubt.map_or("", |doubt| &doubt.finding)
    }

    /// Comparisons that were made.
    fn made(&self) -> impl Iterator<Item = &Comparison> {
        let is_made = |comparison: &&Comparison| comparison.difference().is_some();
        self.comparisons.iter().filter(is_made)
    }

    /// What was not compared, grouped by why.
    fn not_made(&self, baseline: &str) -> Vec<(String, Vec<Metric>)> {
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
                    format!("{baseline} does not know it")
                }
                Some(NotCompared::Unknown { run: Side::B }) if comparison.a.is_some() => {
                    format!("{} does not know it", self.name)
                }
                Some(NotCompared::Unknown { .. }) => "not known".to_owned(),
                Some(few) => few.to_string(),
                None => format!("{baseline} is zero"),
            };
            put(why, comparison.metric);
        }
        groups
    }

    fn is_paired(&self) -> bool {
        let first = self.comparisons.first();
        first.is_some_and(|first| first.pairing == Pairing::Paired)
    }

    /// How queries were brought together, in words.
    fn pairing(&self, baseline: &str) -> String {
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

    /// What to make of it: what differs, sentence by sentence, then what does not.
    fn sentences(&self, baseline: &str) -> Vec<String> {
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
            sentences.push(format!("no difference to be seen: {}", unclear.join(", ")));
        }
        sentences
    }

    /// The doubt with how grave it is here.
    fn label(&self, doubt: &Doubt) -> &'static str {
        match (doubt.level, self.is_forced) {
            (Level::Warn, _) => "warning",
            (Level::Refuse, false) => "refused",
            (Level::Refuse, true) => "NOT COMPARABLE",
        }
    }
}

impl Findings {
    fn baseline(&self) -> &str {
        self.runs.first().map_or("A", |run| &run.name)
    }

    fn facts(&self, name: &str) -> Option<&Facts> {
        let run = self.runs.iter().find(|run| run.name == name);
        run.map(|run| &run.facts)
    }

    /// Whether every gate held; `None` without one.
    fn is_passed(&self) -> Option<bool> {
        let gates: Vec<_> = self
            .against
            .iter()
            .filter_map(|one| one.gate.as_ref())
            .collect();
        (!gates.is_empty()).then(|| gates.iter().all(|judged| is_passed(judged)))
    }

    /// Condition by condition, and what became of all of them.
    fn gate_lines(&self) -> Vec<String> {
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

    fn json(&self) -> Value {
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
            "doubts": self.doubts,
            "gate": self.gate,
            "passed": passed,
        })
    }
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Unknown => "UNKNOWN",
    }
}

fn text(findings: &Findings, format: Format, to: Option<&Path>) -> String {
    match format {
        Format::Json => screen::json(&findings.json()),
        Format::Md => markdown::text(findings),
        Format::Html => html::page(findings),
        Format::Table => {
            let is_terminal = output::is_standard(to) && std::io::stdout().is_terminal();
            let look = table::Look {
                width: screen::width(),
                colours: is_terminal && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()),
            };
            table::text(findings, look)
        }
    }
}
