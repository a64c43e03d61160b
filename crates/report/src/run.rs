//! The report of a run: doubts, failures and figures put together.

use std::path::PathBuf;

use ipw_core::text::{excerpt, printable};
use ipw_findings::look::{Look, Wanted};
use ipw_findings::quality::Doubt;
use ipw_findings::{failures, quality};
use ipw_plot::{Mode, Style};
use ipw_store::{Overview, Run, StoreError};

use crate::figures::{self, Drawing};
use crate::gather::Pass;
use crate::{Figure, Level, Note, Options, Page};

/// The page's name in a run's directory.
pub const FILE: &str = "report.html";

/// Writes the page into the run's directory.
pub fn write(run: &Run, overview: &Overview, redact: bool) -> Result<PathBuf, StoreError> {
    let page = page(run, overview, redact)?;
    let path = run.directory().join(FILE);
    ipw_store::file::replace(&path, crate::html(&page).as_bytes(), false)?;
    Ok(path)
}

/// What the report of a run says; with `redact` without prompts, replies and names.
pub fn page(run: &Run, overview: &Overview, redact: bool) -> Result<Page, StoreError> {
    let mut notes = failed(overview, redact);
    let doubts = quality::of_run(run, overview);
    notes.extend(doubts.iter().filter_map(doubt));
    let mut pass = Pass::of(overview, redact);
    let look = Look::at(run, Some(overview.clone()), Wanted::PAGE, &mut [&mut pass])?;
    // The page draws time itself.
    let figures = figures::of(&look, |id| id != "timeline");
    let options = Options {
        values: look.values,
        redact,
        notes,
        figures: figures.iter().map(drawn).collect(),
    };
    Ok(Page::from_pass(run, overview, pass, &options))
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
        let page = include_str!("../assets/page.css").replace(' ', "");
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
