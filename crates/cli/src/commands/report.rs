//! `ipw report RUN…`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_report::{Page, run as report};
use ipw_store::Overview;

use crate::args::{ReportArgs, ReportFormat};
use crate::error::{CliError, Exit};
use crate::{output, screen};

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CliError> {
    if args.runs.len() > 1 && args.output.is_some() {
        return Err(
            CliError::usage("`--output` takes one run, and several are given")
                .help("omit `--output`: each report goes into its run directory"),
        );
    }
    for directory in &args.runs {
        let run = super::open(directory, args.basis.choice())?;
        let overview = Overview::of(&run).context("cannot read the rows")?;
        let page = report::page(&run, &overview, args.redact).context("cannot read the rows")?;
        let (place, text) = (place(args, directory), text(&page, args.format));
        match place.filter(|_| args.output.is_none()) {
            // A run may come from a stranger: replace its file, never follow a link.
            Some(own) => output::put_into_run(&own, &text)?,
            None => output::put(args.output.as_deref(), &text)?,
        }
    }
    if args.runs.len() > 1 {
        screen::talk(&format!("{} runs, a report for each", args.runs.len()));
    }
    Ok(Exit::Done)
}

/// The file to write; `None` for standard output.
fn place(args: &ReportArgs, run: &Path) -> Option<PathBuf> {
    let own = || (args.format == ReportFormat::Html).then(|| run.join(report::FILE));
    args.output.clone().or_else(own)
}

fn text(page: &Page, format: ReportFormat) -> String {
    match format {
        ReportFormat::Html => ipw_report::html(page),
        ReportFormat::Md => ipw_report::markdown(page),
        ReportFormat::Json => ipw_report::json(page),
        ReportFormat::Csv => ipw_report::csv(page),
    }
}
