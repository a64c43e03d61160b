//! `ipw compare A B [C…]`: each run against the first, paired by query where possible.

mod table;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::path::Path;

use ipw_analysis::gate::{Criterion, Gate};
use ipw_analysis::metric::Metric;
use ipw_core::rollup::Choice;
use ipw_core::text::printable;
use ipw_findings::comparison::{
    ComparisonRequest, NotComparable, RunRows, SideBySide, compare_runs, metric_named,
};
use ipw_report::comparison::{html, markdown};
use ipw_store::StoreError;

use crate::args::{CompareArgs, Format};
use crate::error::{CliError, Exit};
use crate::{output, screen};

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, CliError> {
    let gate = gate(args)?;
    let metrics = metrics(args, gate.as_ref())?;
    let runs = args
        .runs
        .iter()
        .map(|path| open(path, args.basis.choice()))
        .collect::<Result<Vec<_>, _>>()?;
    let by = if args.strict {
        Criterion::Interval
    } else {
        Criterion::Value
    };
    let asked = ComparisonRequest {
        metrics: &metrics,
        gate: gate.as_ref(),
        by,
        is_forced: args.force,
    };
    let findings = compare_runs(runs, &asked).map_err(refused)?;
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

fn gate(args: &CompareArgs) -> Result<Option<Gate>, CliError> {
    let parsed = args.gate.as_deref().map(Gate::parse).transpose();
    parsed.map_err(CliError::usage)
}

/// The chosen metrics, else the common ones; always those of the gate.
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

fn open(path: &Path, basis: Option<Choice>) -> Result<RunRows, CliError> {
    RunRows::open(path, basis).map_err(|error| match &error {
        StoreError::NoBasis { .. } => CliError::from(ipw::run::refusal(error)),
        _ => CliError::new(Exit::Usage, error)
            .help("name run directories that `ipw profile` created"),
    })
}

fn refused(error: NotComparable) -> CliError {
    match error {
        NotComparable::Unfair(warning) => CliError::usage(printable(&warning.text)).help(format!(
            "{}; `--force` compares them anyway",
            printable(warning.advice())
        )),
        NotComparable::Nothing => CliError::usage(error),
    }
}

fn text(findings: &SideBySide, format: Format, to: Option<&Path>) -> String {
    match format {
        Format::Json => screen::json(&findings.json()),
        Format::Md => markdown(findings),
        Format::Html => html(findings),
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
