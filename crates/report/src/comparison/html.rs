//! Renders a comparison as an HTML page.

use std::fmt::Write as _;

use ipw_analysis::gate::Outcome;
use ipw_analysis::metric::{Better, Metric, Unit};
use ipw_core::setting::Setting;
use ipw_core::warning::Severity;
use ipw_findings::calibration::day;
use ipw_findings::comparison::{Against, Facts, SideBySide, outcome};
use ipw_findings::written::{self, UNKNOWN};
use ipw_plot::{Caption, CompareBars, Difference, Heading, Mode, Quantity, Style};

use crate::document::{definitions, document, escape, prose};

/// The whole page.
pub fn page(findings: &SideBySide) -> String {
    let names: Vec<&str> = findings.runs.iter().map(|run| run.name.as_str()).collect();
    let mut body = String::new();
    let _ = writeln!(
        body,
        "<h1>Comparison of {}</h1>\n<p class=\"soft\">Each run is compared with {}. Intervals are 95 % confidence intervals.</p>",
        names.join(", "),
        findings.baseline()
    );
    runs(&mut body, findings);
    for one in &findings.against {
        against(&mut body, findings, one);
    }
    let shown: Vec<Metric> = Metric::ALL
        .into_iter()
        .filter(|metric| {
            let mut made = findings.against.iter().flat_map(Against::made);
            made.any(|comparison| comparison.metric == *metric)
        })
        .collect();
    definitions(&mut body, &shown);
    document("ipw comparison", &body, None)
}

fn runs(out: &mut String, findings: &SideBySide) {
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table class=\"runs\"><caption>The runs</caption><thead><tr><th scope=\"col\">Run</th><th scope=\"col\">Model</th><th scope=\"col\">Hardware</th><th scope=\"col\">Dataset</th><th scope=\"col\" class=\"n\">Queries</th><th scope=\"col\">Load</th><th scope=\"col\">Energy</th><th scope=\"col\">Day</th></tr></thead><tbody>\n",
    );
    for run in &findings.runs {
        let facts = &run.facts;
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}<span class=\"small\">{} <code>{}</code></span></td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"nowrap\">{}</td></tr>",
            run.name,
            escape(&facts.model),
            facts.name.as_deref().map_or_else(String::new, escape),
            escape(&facts.directory),
            known(facts.hardware.as_deref()),
            escape(facts.dataset_label()),
            facts.queries,
            known(facts.load.as_deref()),
            energy(facts),
            facts
                .started_at
                .map_or_else(|| UNKNOWN.to_owned(), |at| escape(&day(at))),
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn known(text: Option<&str>) -> String {
    text.map_or_else(|| UNKNOWN.to_owned(), escape)
}

fn energy(facts: &Facts) -> String {
    let basis = facts.basis_label().map_or(String::new(), |basis| {
        format!("<span class=\"small\">{}</span>", escape(&basis))
    });
    format!("{}{basis}", facts.energy.words())
}

fn against(out: &mut String, findings: &SideBySide, one: &Against) {
    let baseline = findings.baseline();
    let _ = writeln!(
        out,
        "<section>\n<h2>{} against {baseline}</h2>\n<p class=\"soft\">{}</p>",
        one.name,
        escape(&one.pairing(baseline))
    );
    if one.is_forced {
        let _ = writeln!(
            out,
            "<p class=\"note refuse\"><b>Not comparable.</b>Compared anyway, as requested (<code>{}</code>).</p>",
            Setting::Force
        );
    }
    let sentences = one.sentences(baseline);
    if !sentences.is_empty() {
        out.push_str("<ul class=\"findings\">\n");
        for sentence in sentences {
            let _ = writeln!(out, "<li>{}</li>", escape(&sentence));
        }
        out.push_str("</ul>\n");
    }
    gate(out, one);
    if one.made().next().is_some() {
        let _ = writeln!(out, "<figure>{}</figure>", figure(findings, one));
        table(out, findings, one);
    }
    for (why, metrics) in one.not_made(baseline) {
        let names: Vec<String> = metrics
            .iter()
            .map(|metric| escape(metric.definition().label))
            .collect();
        let _ = writeln!(
            out,
            "<p class=\"soft\">Not compared: {} ({}).</p>",
            names.join(", "),
            prose(&why)
        );
    }
    warnings(out, one);
    out.push_str("</section>\n");
}

fn gate(out: &mut String, one: &Against) {
    for judged in one.gate.iter().flatten() {
        let class = match judged.outcome {
            Outcome::Pass => "pass",
            Outcome::Fail | Outcome::Unknown => "fail",
        };
        let _ = writeln!(
            out,
            "<p class=\"note {class}\"><b>Gate: {}</b>{}</p>",
            outcome(judged.outcome).to_lowercase(),
            prose(&judged.reason)
        );
    }
}

fn warnings(out: &mut String, one: &Against) {
    if one.warnings.is_empty() {
        return;
    }
    out.push_str("<h3>Is the comparison fair?</h3>\n");
    for warning in &one.warnings {
        let is_refusal = warning.severity == Severity::Refusal;
        let class = if is_refusal { " refuse" } else { "" };
        let _ = writeln!(
            out,
            "<p class=\"note{class}\"><b>{}:</b>{}: <span class=\"soft\">{}.</span></p>",
            one.label(warning),
            prose(&warning.text),
            prose(warning.advice())
        );
    }
}

/// Changes of shares are in percentage points, all others in percent.
fn figure(findings: &SideBySide, one: &Against) -> String {
    let differences = one.made().filter_map(|comparison| {
        let found = comparison.difference()?;
        let points = if comparison.unit == Unit::Share {
            " (points)"
        } else {
            ""
        };
        Some(Difference {
            name: format!("{}{points}", comparison.metric.definition().title),
            change: Quantity::within(found.value, found.low, found.high),
            lower_is_better: comparison.better == Better::Lower,
        })
    });
    let baseline = findings.baseline();
    let is_estimated = |name: &str| {
        let facts = findings.facts(name);
        facts.is_some_and(|facts| facts.energy.is_estimated())
    };
    let mut notes = Vec::new();
    if one.is_forced {
        notes.push("not comparable".to_owned());
    }
    if is_estimated(baseline) || is_estimated(&one.name) {
        notes.push("energy is estimated".to_owned());
    }
    let caption = Caption {
        n: usize::try_from(one.overlap.common)
            .ok()
            .filter(|_| one.is_paired()),
        interval: Some("95 % intervals".to_owned()),
        method: None,
        notes,
    };
    let figure = CompareBars {
        heading: Heading::new(&format!("{} against {baseline}", one.name), caption),
        differences: differences.collect(),
        tolerance: Some(findings.tolerance.relative),
    };
    figure.svg(&Style::new(Mode::Inline).with_prefix(&one.name))
}

fn table(out: &mut String, findings: &SideBySide, one: &Against) {
    let baseline = findings.baseline();
    let is_estimated = |name: &str| {
        let facts = findings.facts(name);
        facts.is_some_and(|facts| facts.energy.is_estimated())
    };
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0} against {baseline}\"><table><caption>Metric by metric; definitions are at the end of the page</caption><thead><tr><th scope=\"col\">Metric</th><th scope=\"col\" class=\"n\">{baseline}</th><th scope=\"col\" class=\"n\">{0}</th><th scope=\"col\" class=\"n\">Change</th><th scope=\"col\">95 %</th><th scope=\"col\">Verdict</th></tr></thead><tbody>",
        one.name
    );
    for comparison in one.made() {
        let value = |found: Option<f64>, name: &str| {
            let text = escape(&comparison.unit.known(found));
            if comparison.metric.has_energy() && is_estimated(name) {
                format!("{text}<span class=\"small\">estimated</span>")
            } else {
                text
            }
        };
        let change = written::change(comparison);
        let (change, interval) = change.map_or_else(
            || (UNKNOWN.to_owned(), String::new()),
            |change| (change.value, change.interval),
        );
        let verdict = written::verdict(comparison);
        let class = if verdict == "cannot tell" {
            "unclear"
        } else {
            verdict
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}<span class=\"small\"><code>{}</code></span></th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{change}</td><td class=\"nowrap\">{interval}</td><td><span class=\"verdict {class}\">{verdict}</span></td></tr>",
            escape(comparison.metric.definition().label),
            comparison.metric.name(),
            value(comparison.a, baseline),
            value(comparison.b, &one.name),
        );
    }
    out.push_str("</tbody></table></div>\n");
}
