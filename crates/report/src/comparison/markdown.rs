//! Renders a comparison as Markdown, for a pull request.

use std::fmt::Write as _;

use ipw_findings::comparison::{Against, Facts, SideBySide, outcome};
use ipw_findings::written::{self, UNKNOWN};

use crate::markup::markdown;

/// The whole text.
pub fn text(findings: &SideBySide) -> String {
    let mut out = "# Comparison\n\n".to_owned();
    out.push_str("| run | model | hardware | dataset | queries | load | energy | directory |\n");
    out.push_str("|---|---|---|---|---:|---|---|---|\n");
    for run in &findings.runs {
        out.push_str(&line(&run.name, &run.facts));
    }
    for one in &findings.against {
        against(&mut out, findings, one);
    }
    out
}

fn line(name: &str, facts: &Facts) -> String {
    let known =
        |text: &Option<String>| text.as_deref().map_or_else(|| UNKNOWN.to_owned(), markdown);
    let energy = match facts.basis_label() {
        Some(basis) => format!("{} ({})", facts.energy.words(), markdown(&basis)),
        None => facts.energy.words().to_owned(),
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {energy} | {} |\n",
        markdown(&facts.model),
        known(&facts.hardware),
        markdown(facts.dataset_label()),
        facts.queries,
        known(&facts.load),
        markdown(&facts.directory),
    )
}

fn against(out: &mut String, findings: &SideBySide, one: &Against) {
    let baseline = findings.baseline();
    let _ = writeln!(out, "\n## {} against {baseline}\n", one.name);
    let _ = writeln!(out, "{}.", one.pairing(baseline));
    if one.is_forced {
        out.push_str("\n**NOT COMPARABLE**: compared anyway, as requested.\n");
    }
    if one.made().next().is_some() {
        table(out, findings, one);
    }
    for (why, metrics) in one.not_made(baseline) {
        let names: Vec<String> = metrics
            .iter()
            .map(|metric| format!("`{}`", metric.name()))
            .collect();
        let _ = writeln!(
            out,
            "\nNot compared: {} ({}).",
            names.join(", "),
            markdown(&why)
        );
    }
    out.push('\n');
    for sentence in one.sentences(baseline) {
        let _ = writeln!(out, "- {}", markdown(&sentence));
    }
    if !one.warnings.is_empty() {
        out.push_str("\n### Is the comparison fair?\n\n");
    }
    for warning in &one.warnings {
        let _ = writeln!(
            out,
            "- **{}**: {}: {}",
            one.label(warning),
            markdown(&warning.text),
            markdown(warning.advice())
        );
    }
    let Some(gate) = &one.gate else { return };
    out.push_str("\n### Gate\n\n| condition | outcome | why |\n|---|---|---|\n");
    for judged in gate {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            markdown(&judged.clause.text),
            outcome(judged.outcome),
            markdown(&judged.reason)
        );
    }
}

fn table(out: &mut String, findings: &SideBySide, one: &Against) {
    let baseline = findings.baseline();
    let marked = |name: &str| {
        let facts = findings.facts(name);
        facts.is_some_and(|facts| facts.energy.is_estimated())
    };
    let _ = writeln!(
        out,
        "\n| metric | {baseline} | {} | change | 95 % | verdict |\n|---|---:|---:|---:|---|---|",
        one.name
    );
    for comparison in one.made() {
        let value = |found: Option<f64>, name: &str| {
            let text = comparison.unit.known(found);
            if comparison.metric.has_energy() && marked(name) {
                format!("{text} (estimated)")
            } else {
                text
            }
        };
        let change = written::change(comparison);
        let change = change.map_or_else(
            || [UNKNOWN.to_owned(), UNKNOWN.to_owned()],
            |change| [change.value, change.interval],
        );
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} |",
            comparison.metric.name(),
            value(comparison.a, baseline),
            value(comparison.b, &one.name),
            change[0],
            change[1],
            written::verdict(comparison)
        );
    }
}
