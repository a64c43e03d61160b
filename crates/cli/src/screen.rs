//! Terminal output: results on standard output, messages on standard error.
//!
//! A closed pipe is not an error: `ipw … | head` succeeds.

mod loaded;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use ipw::derived::DerivedFiles;
use ipw_analysis::interval::wilson;
use ipw_analysis::metric::{Metric, Values};
use ipw_core::quantity::{Unit, digits, grouped};
use ipw_core::rollup::Choice;
use ipw_core::text::{escaped, excerpt, printable};
use ipw_findings::{efficiency, failures, marginal};
use ipw_store::basis::methods;
use ipw_store::overview::{Distribution, EnergyTotals, Verdicts};
use ipw_store::{Overview, Summary};
use serde_json::Value;

use crate::error::CliError;
use loaded::Column;

/// Width of the first column of tables, and of the others.
const NAME: usize = 12;
const CELL: usize = 11;
/// Width of the only other column on a very narrow terminal.
const NARROW: usize = 8;

/// Columns of the terminal; 80 without one.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// A value as JSON that is safe to show on a terminal.
pub(crate) fn json(value: &Value) -> String {
    escaped(&format!("{value:#}\n")).into_owned()
}

/// Prints a result on standard output.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a message on standard error.
pub(crate) fn talk(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints warnings about files derived from rows, and notes unless `quiet`.
pub(crate) fn refreshed(files: &DerivedFiles, quiet: bool) {
    for warning in &files.warnings {
        talk(&format!("warning: {}", printable(warning)));
    }
    for note in files.notes.iter().filter(|_| !quiet) {
        talk(&format!("note: {}", printable(note)));
    }
}

/// Prints an error with its causes and its advice.
pub(crate) fn error(error: &CliError) {
    let mut text = String::new();
    for (depth, cause) in error.error.chain().enumerate() {
        let lead = if depth == 0 { "error" } else { "  because" };
        for (line, content) in cause.to_string().lines().enumerate() {
            // A message may carry its own `help:` line; other text from outside stays on one line.
            let content = printable(content);
            let _ = if line == 0 {
                writeln!(text, "{lead}: {content}")
            } else {
                writeln!(text, "{content}")
            };
        }
    }
    if let Some(help) = &error.help {
        let _ = writeln!(text, "help: {}", printable(help));
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Results of a run in addition to its counts.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a> {
    pub(crate) values: &'a Values,
    pub(crate) basis: Choice,
    pub(crate) summary: &'a Summary,
}

/// The overview of a run.
pub(crate) fn overview(
    head: &[(&str, String)],
    overview: &Overview,
    results: Results<'_>,
    calibrated: &[String],
    notes: &[String],
    directory: &Path,
) -> String {
    let mut text = String::new();
    for (name, value) in head {
        let _ = writeln!(text, "{name:<9} {}", excerpt(&printable(value), 200));
    }
    let _ = writeln!(text, "{:<9} {}", "queries", outcomes(overview));
    let _ = writeln!(text, "{:<9} {}", "tokens", tokens(overview));
    if let Some(cost) = overview.cost_usd {
        let _ = writeln!(text, "{:<9} {cost:.6} US dollars for the tokens", "price");
    }
    if let Some(elapsed) = overview.elapsed_seconds {
        let _ = writeln!(text, "{:<9} {}", "elapsed", seconds(elapsed));
    }
    let summary = results.summary;
    let methods = methods(summary.telemetry.as_ref(), results.basis);
    for line in energy(&overview.energy, results.values, methods.as_deref()) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(line) = summary.marginal.as_ref().and_then(marginal::line) {
        let _ = writeln!(text, "{line}");
    }
    for line in answers(overview, results.values)
        .iter()
        .chain(&subjects(overview))
    {
        let _ = writeln!(text, "{line}");
    }
    for line in summary.load.iter().flat_map(loaded::lines) {
        let _ = writeln!(text, "{line}");
    }
    let load = summary.load.as_ref();
    let table = load.and_then(|load| loaded::table(load, overview, width()));
    let table = table.or_else(|| latencies(overview, width()));
    if let Some(table) = table {
        let _ = writeln!(text, "\n{table}");
    }
    let failures = failures::lines(overview);
    if !failures.is_empty() {
        let _ = writeln!(text, "\n{}", failures.join("\n"));
    }
    if !calibrated.is_empty() || !notes.is_empty() {
        text.push('\n');
    }
    for line in calibrated {
        let _ = writeln!(text, "{}", printable(line));
    }
    for note in notes {
        let _ = writeln!(text, "note: {}", printable(note));
    }
    let _ = writeln!(text, "\n{}", printable(&directory.display().to_string()));
    text
}

fn outcomes(overview: &Overview) -> String {
    if overview.rows == 0 {
        return "none".to_owned();
    }
    let by_kind: Vec<_> = overview
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    format!("{} ({})", grouped(overview.rows), by_kind.join(", "))
}

fn tokens(overview: &Overview) -> String {
    let count = |tokens: Option<u64>| tokens.map_or("unknown".to_owned(), grouped);
    let mut text = format!(
        "{} in, {} out",
        count(overview.tokens.input),
        count(overview.tokens.output)
    );
    let by_chunks = overview.tokens.rows_counted_by_chunks;
    if by_chunks > 0 {
        let _ = write!(
            text,
            " ({by_chunks} rows counted by chunks, as the service gave no usage)"
        );
    }
    let by_tokenizer = overview.tokens.rows_counted_by_tokenizer;
    if let Some(by_tokenizer) = by_tokenizer.filter(|rows| *rows > 0) {
        let _ = write!(
            text,
            " ({by_tokenizer} rows counted by the tokenizer, as the service gave no usage)"
        );
    }
    text
}

/// `ipw analyze` shows more subjects than this.
const SHOWN_SUBJECTS: usize = 12;

/// Accuracy by subject, if there are 2 to [`SHOWN_SUBJECTS`] of them.
fn subjects(overview: &Overview) -> Vec<String> {
    let known = overview.subjects.iter().flatten();
    let graded: Vec<_> = known
        .filter(|(_, verdicts)| verdicts.correct + verdicts.wrong > 0)
        .collect();
    if !(2..=SHOWN_SUBJECTS).contains(&graded.len()) {
        return Vec::new();
    }
    let name = |name: &str| excerpt(&printable(name), 24);
    let longest = graded.iter().map(|(of, _)| name(of).chars().count()).max();
    let longest = longest.unwrap_or(0);
    let line = |(of, verdicts): &(&String, &Verdicts)| {
        let all = verdicts.correct + verdicts.wrong;
        let share = wilson(verdicts.correct, all)?;
        Some(format!(
            "{:<9} {:<longest$}  {:>3} of {all}: {} (95 %: {})",
            "",
            name(of),
            verdicts.correct,
            Unit::Share.show(share.value),
            Unit::Share.range(share.low, share.high)
        ))
    };
    graded.iter().filter_map(line).collect()
}

/// Accuracy, and accuracy per watt and joule.
pub(crate) fn answers(overview: &Overview, values: &Values) -> Vec<String> {
    let verdicts = overview.verdicts;
    let found = efficiency::of(overview, values);
    let Some(accuracy) = found.accuracy else {
        let why = if overview.rows == 0 {
            "no rows"
        } else {
            "no scorer applies to any row"
        };
        return vec![format!("{:<9} none graded ({why})", "answers")];
    };
    let mut lines = vec![format!(
        "{:<9} {} of {} right: {} (95 %: {}){}",
        "answers",
        verdicts.correct,
        verdicts.correct + verdicts.wrong,
        Unit::Share.show(accuracy.value),
        Unit::Share.range(accuracy.low, accuracy.high),
        match verdicts.unscored {
            0 => String::new(),
            unscored => format!(", {unscored} not graded"),
        }
    )];
    let mark = if is_estimate(&overview.energy) {
        " (estimated)"
    } else {
        ""
    };
    let parts: Vec<String> = [
        (Metric::Ipw, "IPW"),
        (Metric::Ipj, "IPJ"),
        (Metric::JoulesPerCorrect, "per correct answer"),
    ]
    .into_iter()
    .filter_map(|(metric, words)| {
        let value = metric.unit().show(values.get(metric)?);
        Some(if metric == Metric::JoulesPerCorrect {
            format!("{value} {words}")
        } else {
            format!("{words} {value}")
        })
    })
    .collect();
    if !parts.is_empty() {
        lines.push(format!("{:<9} {}{mark}", "", parts.join(", ")));
    }
    lines
}

fn is_estimate(energy: &EnergyTotals) -> bool {
    energy
        .basis
        .iter()
        .any(|basis| basis.ends_with("estimated"))
}

/// The energy and its method. Every line with an estimate says so.
fn energy(energy: &EnergyTotals, values: &Values, methods: Option<&str>) -> Vec<String> {
    let Some(joules) = energy.joules else {
        let reasons: Vec<_> = energy
            .reasons
            .iter()
            .map(|(reason, rows)| format!("{reason}: {rows} rows"))
            .collect();
        let why = if reasons.is_empty() {
            "no rows".to_owned()
        } else {
            reasons.join(", ")
        };
        return vec![format!("{:<9} unknown ({why})", "energy")];
    };
    let is_estimate = is_estimate(energy);
    let how = match (is_estimate, methods) {
        (true, _) => "estimated, not measured".to_owned(),
        (false, Some(methods)) => format!("measured by {methods}"),
        (false, None) => "measured".to_owned(),
    };
    let total = |joules: f64, sigma: Option<f64>| match sigma {
        Some(sigma) => Unit::Joules.give_or_take(joules, sigma),
        None => Unit::Joules.show(joules),
    };
    let all = total(joules, energy.sigma_joules);
    let basis = energy.basis.join(", ");
    let mut lines = vec![format!("{:<9} {all}, {how} ({basis})", "energy")];
    let parts: Vec<String> = [
        (Metric::JoulesPerQuery, "per query"),
        (Metric::JoulesPerOutputToken, "per output token"),
        (Metric::Watts, "while in flight"),
    ]
    .into_iter()
    .filter_map(|(metric, words)| {
        let value = metric.unit().show(values.get(metric)?);
        Some(format!("{value} {words}"))
    })
    .collect();
    let mark = if is_estimate { " (estimated)" } else { "" };
    lines.push(format!("{:<9} {}{mark}", "", parts.join(", ")));
    if let Some(above) = energy.above_idle_joules {
        let above = Unit::Joules.show(above);
        lines.push(format!("{:<9} {above} of it above idle power", ""));
    }
    for other in energy.by_basis.iter().skip(1) {
        let total = total(other.joules, other.sigma_joules);
        lines.push(format!(
            "{:<9} not added: {total} of {} rows on another basis ({})",
            "", other.rows, other.basis
        ));
    }
    if !energy.reasons.is_empty() {
        let without: u64 = energy.reasons.values().sum();
        let why: Vec<_> = energy.reasons.keys().cloned().collect();
        lines.push(format!(
            "{:<9} {without} rows without energy ({})",
            "",
            why.join(", ")
        ));
    }
    lines
}

/// A table of latencies with the columns that fit `width`.
fn latencies(overview: &Overview, width: usize) -> Option<String> {
    overview.total_query_seconds?;
    let all = [
        Column::Mean,
        Column::Min,
        Column::P50,
        Column::P90,
        Column::P99,
        Column::Max,
    ];
    let (columns, cell) = if NAME + all.len() * CELL <= width {
        (&all[..], CELL)
    } else if NAME + 2 * CELL <= width {
        (&[all[2], all[4]][..], CELL)
    } else {
        (&all[2..3], NARROW)
    };
    let mut table = format!("{:<NAME$}", "per query");
    for column in columns {
        let _ = write!(table, "{:>cell$}", column.name());
    }
    let mut row = |name: &str, of: Option<Distribution>, show: fn(f64) -> String| {
        let Some(of) = of else { return };
        let _ = write!(table, "\n{name:<NAME$}");
        for column in columns {
            let value = column.ruled(&of);
            let _ = write!(table, "{:>cell$}", value.map_or("n/a".to_owned(), show));
        }
    };
    row("first token", overview.time_to_first_token_seconds, seconds);
    row("whole query", overview.total_query_seconds, seconds);
    row("tokens/s", overview.throughput_tokens_per_sec, digits);
    Some(table)
}

/// Seconds with a unit that fits.
pub(crate) fn seconds(value: f64) -> String {
    Unit::Seconds.show(value)
}

#[cfg(test)]
mod tests;
