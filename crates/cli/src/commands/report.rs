//! `ipw report RUN…`, and the page at the end of a run.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_core::text::{excerpt, printable};
use ipw_plot::{Mode, Style};
use ipw_report::{Figure, Level, Note, Options, Page};
use ipw_store::{Overview, Run, StoreError};
use serde_json::Value;

use crate::args::{ReportArgs, ReportFormat};
use crate::error::{CliError, Exit};
use crate::look::Look;
use crate::look::figures::{self, Drawing};
use crate::quality::Doubt;
use crate::{failures, output, quality, screen};

/// The page's name in a run's directory.
pub(crate) const FILE: &str = "report.html";

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CliError> {
    if args.runs.len() > 1 && args.output.is_some() {
        return Err(CliError::usage("one file for several runs")
            .help("leave `--output` out: each run's report goes into its own directory"));
    }
    for directory in &args.runs {
        let run = super::open(directory, args.basis.choice())?;
        let overview = Overview::of(&run).context("counting the rows")?;
        let page = page(&run, &overview, args.redact).context("reading the rows")?;
        let (place, text) = (place(args, directory), text(&page, args.format));
        match place.filter(|_| args.output.is_none()) {
            // What lies in the run may be a stranger's: its own file is replaced, never followed.
            Some(own) => output::put_into_run(&own, &text)?,
            None => output::put(args.output.as_deref(), &text)?,
        }
    }
    if args.runs.len() > 1 {
        screen::talk(&format!("{} runs, a report for each", args.runs.len()));
    }
    Ok(Exit::Done)
}

/// Writes the page into the run's directory.
pub(crate) fn write(run: &Run, overview: &Overview, redact: bool) -> Result<PathBuf, StoreError> {
    let page = page(run, overview, redact)?;
    let path = run.directory().join(FILE);
    ipw_store::file::replace(&path, ipw_report::html(&page).as_bytes(), false)?;
    Ok(path)
}

/// Where it goes; `None` is standard output.
fn place(args: &ReportArgs, run: &Path) -> Option<PathBuf> {
    let own = || (args.format == ReportFormat::Html).then(|| run.join(FILE));
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

fn page(run: &Run, overview: &Overview, redact: bool) -> Result<Page, StoreError> {
    let part = |key: &str| run.summary().get(key).unwrap_or(&Value::Null);
    let mut notes = failed(overview, redact);
    let doubts = quality::notes(overview, part("telemetry"), part("load"));
    notes.extend(doubts.iter().filter_map(doubt));
    let look = Look::sampled(run, overview)?;
    // The page draws time itself.
    let figures = figures::of(&look, |id| id != "timeline");
    let options = Options {
        values: look.values,
        redact,
        notes,
        figures: figures.iter().map(drawn).collect(),
    };
    Page::of(run, overview, &options)
}

/// A doubt as a note; `None` where the page says it in its own words.
fn doubt(doubt: &quality::Note) -> Option<Note> {
    let level = match doubt.id {
        Doubt::Estimated | Doubt::RowsWithoutEnergy => return None,
        Doubt::FewSamples => Level::Hint,
        _ => Level::Caution,
    };
    Some(Note::new(level, doubt.finding.clone()).advise(doubt.advice.clone()))
}

/// A figure for the page.
fn drawn(drawing: &Drawing) -> Figure {
    let id = format!("figure-{}", drawing.id.replace('_', "-"));
    let style = Style::new(Mode::Inline).with_prefix(&id);
    Figure {
        title: drawing.title.to_owned(),
        svg: drawing.svg(&style),
        caption: String::new(),
        id,
    }
}

/// Queries without an answer, by kind, with the first example and what to do.
fn failed(overview: &Overview, redact: bool) -> Vec<Note> {
    let note = |failure: &ipw_store::overview::FailureKind| {
        let example = failure.error.as_deref().filter(|_| !redact);
        // Backticks would make an error's words look like ours.
        let example = example.map_or(String::new(), |error| {
            format!(
                ", the first: {}",
                excerpt(&printable(error), 200).replace('`', "'")
            )
        });
        let rows = overview.rows;
        let finding = format!(
            "{} of {rows} queries have no answer (`{}`{example})",
            failure.rows,
            printable(&failure.outcome)
        );
        let note = Note::new(Level::Problem, finding);
        match failures::advice(&failure.outcome) {
            Some(advice) => note.advise(advice),
            None => note,
        }
    };
    overview.failures.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_has_the_colours_of_the_figures() {
        let page = include_str!("../../../report/assets/page.css").replace(' ', "");
        let declared = |variables: String| -> Vec<String> {
            let parts = variables.split(';').map(|part| part.replace(' ', ""));
            parts.filter(|part| !part.is_empty()).collect()
        };
        let light = declared(ipw_plot::light_variables());
        let dark = declared(ipw_plot::dark_variables());
        assert!(light.len() > 10, "{light:?}");
        for variable in light.iter().chain(&dark) {
            assert!(page.contains(variable), "{variable}");
        }
    }
}
