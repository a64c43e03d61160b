//! The table of a comparison on a terminal.

use std::fmt::Write as _;

use ipw_analysis::compare::Comparison;
use ipw_core::text::{excerpt, printable};
use ipw_core::warning::Severity;
use ipw_findings::comparison::{Against, Facts, SideBySide};
use ipw_findings::written::{self, UNKNOWN};

/// Width of the terminal, and whether to use colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) width: usize,
    pub(super) colours: bool,
}

/// Width that fits the default metrics.
const NAME: usize = 18;
const VALUE: usize = 11;
const CHANGE: usize = 9;
const INTERVAL: usize = 16;
const VERDICT: usize = 11;
/// All columns but the name; without the interval as well.
const ALL: usize = 2 * VALUE + CHANGE + 2 + INTERVAL + 2 + VERDICT;
const NO_INTERVAL: usize = ALL - INTERVAL - 2;
/// Longest line of text on a wide terminal.
const LONGEST: usize = 100;

pub(super) fn text(findings: &SideBySide, look: Look) -> String {
    let mut out = String::new();
    for run in &findings.runs {
        out.push_str(&head(&run.name, &run.facts, look.width));
    }
    for one in &findings.against {
        against(&mut out, findings, one, look);
    }
    let gate = findings.gate_lines();
    if !gate.is_empty() {
        out.push('\n');
    }
    for line in gate {
        let _ = writeln!(out, "{}", paragraph(&line, look));
    }
    out
}

fn paragraph(text: &str, look: Look) -> String {
    written::wrapped(text, look.width.min(LONGEST), "  ")
}

/// A run in two lines: its facts and its directory.
fn head(name: &str, facts: &Facts, width: usize) -> String {
    let called = facts.name.as_ref().map(|called| format!("{called}:"));
    let mut what: Vec<String> = called.into_iter().chain([facts.model.clone()]).collect();
    what.extend(facts.hardware.as_ref().map(|label| format!("on {label}")));
    what.push(format!(
        "({}, {} queries, energy {})",
        facts.dataset_label(),
        facts.queries,
        match facts.basis_label() {
            Some(basis) => format!("{}: {basis}", facts.energy.words()),
            None => facts.energy.words().to_owned(),
        }
    ));
    // Leave room for the ellipsis.
    let room = width.saturating_sub(4).max(20);
    let mut text = String::new();
    let _ = writeln!(text, "{name}  {}", excerpt(&what.join(" "), room));
    let _ = writeln!(text, "   {}", printable(&facts.directory));
    text
}

fn against(out: &mut String, findings: &SideBySide, one: &Against, look: Look) {
    let baseline = findings.baseline();
    let title = format!("{} against {baseline}, {}", one.name, one.pairing(baseline));
    let _ = writeln!(out, "\n{}", paragraph(&title, look));
    if one.is_forced {
        let loud = "NOT COMPARABLE: compared anyway because of `--force`";
        let _ = writeln!(out, "{}", paragraph(loud, look));
    }
    let marks = [baseline, &one.name].map(|name| {
        let facts = findings.facts(name);
        facts.is_some_and(|facts| facts.energy.is_estimated())
    });
    if one.made().next().is_some() {
        table(out, one, [baseline, &one.name], marks, look);
    }
    for (why, metrics) in one.not_made(baseline) {
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
        let line = format!("not compared: {} ({why})", names.join(", "));
        let _ = writeln!(out, "{}", paragraph(&line, look));
    }
    let sentences = one.sentences(baseline);
    if !sentences.is_empty() {
        out.push('\n');
    }
    for sentence in sentences {
        let _ = writeln!(out, "{}", paragraph(&sentence, look));
    }
    if !one.warnings.is_empty() {
        out.push('\n');
    }
    for warning in &one.warnings {
        let label = one.label(warning);
        let line = printable(&format!("{label}: {warning}"));
        let text = paragraph(&line, look);
        let colour = if warning.severity == Severity::Refusal {
            RED
        } else {
            YELLOW
        };
        let _ = writeln!(
            out,
            "{}{}",
            painted(label, colour, look),
            text.strip_prefix(label).unwrap_or(&text)
        );
    }
}

fn table(out: &mut String, one: &Against, names: [&str; 2], marks: [bool; 2], look: Look) {
    let longest = one.made().map(|found| found.metric.name().len()).max();
    let names_width = longest.unwrap_or(0).max(NAME);
    let is_wide = look.width >= names_width + ALL;
    let has_values = look.width >= names_width + NO_INTERVAL;
    let mut line = |cells: [&str; 6], paint: Option<&'static str>| {
        let [name, a, b, change, interval, verdict] = cells;
        let mut text = format!("{name:<names_width$}");
        if has_values {
            let _ = write!(text, "{a:>VALUE$}{b:>VALUE$}");
        }
        let _ = write!(text, "{change:>CHANGE$}");
        if is_wide {
            let _ = write!(text, "  {interval:<INTERVAL$}");
        }
        text.push_str("  ");
        let verdict = match paint {
            Some(colour) => painted(verdict, colour, look),
            None => verdict.to_owned(),
        };
        let _ = writeln!(out, "{}", format!("{text}{verdict}").trim_end());
    };
    let [a, b] = names;
    line(["", a, b, "change", "95 %", ""], None);
    for comparison in one.made() {
        let value = |found: Option<f64>, is_estimate: bool| {
            let mark = if is_estimate && comparison.metric.has_energy() {
                "~"
            } else {
                ""
            };
            format!("{mark}{}", comparison.unit.known(found))
        };
        let change = written::change(comparison);
        let (change, interval) = change.map_or_else(
            || (UNKNOWN.to_owned(), String::new()),
            |change| (change.value, change.interval),
        );
        line(
            [
                comparison.metric.name(),
                &value(comparison.a, marks[0]),
                &value(comparison.b, marks[1]),
                &change,
                &interval,
                written::verdict(comparison),
            ],
            colour(comparison),
        );
    }
    let has_estimates = marks.contains(&true);
    if has_estimates && has_values && one.made().any(|found| found.metric.has_energy()) {
        let _ = writeln!(out, "~ estimated, not measured");
    }
}

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

fn colour(comparison: &Comparison) -> Option<&'static str> {
    comparison
        .is_better()
        .map(|is_better| if is_better { GREEN } else { RED })
}

fn painted(text: &str, colour: &str, look: Look) -> String {
    if look.colours {
        format!("{colour}{text}{PLAIN}")
    } else {
        text.to_owned()
    }
}
