//! Makes and writes the report of a run, with its figures.

use std::path::PathBuf;

use ipw_plot::{Mode, Style};
use ipw_store::{Overview, Run, StoreError};

use crate::figures::{self, Drawing};
use crate::{Figure, Page};

/// File name of the report in the run directory.
pub const FILE: &str = "report.html";

/// Writes the report into the run directory.
pub fn write(run: &Run, overview: &Overview, redact: bool) -> Result<PathBuf, StoreError> {
    let page = page(run, overview, redact)?;
    let path = run.directory().join(FILE);
    ipw_store::file::replace(&path, crate::html(&page).as_bytes(), false)?;
    Ok(path)
}

/// The content of a run's report. With `redact` it has no prompts, replies and names.
pub fn page(run: &Run, overview: &Overview, redact: bool) -> Result<Page, StoreError> {
    let (mut page, look) = Page::of_run(run, overview, redact)?;
    // The page has its own, interactive timeline.
    let figures = figures::of(&look, |id| id != "timeline");
    page.figures = figures.iter().map(drawn).collect();
    Ok(page)
}

/// A figure as the page embeds it.
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
