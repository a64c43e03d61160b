//! `ipw plot RUN…`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_plot::{Mode, Style, png};
use ipw_store::Overview;
use ipw_store::file::replace;

use super::analyze::unknown;
use super::open;
use crate::args::{PlotArgs, PlotFormat};
use crate::error::{CliError, Exit};
use crate::look::Look;
use crate::look::figures::{self, Drawing};
use crate::screen;

/// Pixels for a unit of the drawing: sharp in print at the usual width of a column.
const SCALE: f32 = 2.0;

pub(crate) fn run(args: &PlotArgs) -> Result<Exit, CliError> {
    let known: Vec<_> = figures::ALL.iter().map(|(id, _)| *id).collect();
    if let Some(id) = args.plots.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(unknown("plot", id, &known));
    }
    for place in &args.runs {
        let run = open(place)?;
        let overview = Overview::of(&run).context("counting the rows")?;
        let look = Look::at(&run, &overview).context("reading the rows")?;
        let directory = directory(args, place);
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("creating `{}`", directory.display()))?;
        let is_wanted = |id: &str| args.plots.is_empty() || args.plots.iter().any(|one| one == id);
        let drawings = figures::of(&look, is_wanted);
        for drawing in &drawings {
            for path in write(drawing, &directory, &args.formats)? {
                screen::print(&format!("{}\n", path.display()));
            }
        }
        for (id, about) in figures::ALL {
            if is_wanted(id) && !drawings.iter().any(|drawing| drawing.id == id) {
                screen::talk(&format!("note: nothing to draw in `{id}` ({about})\n"));
            }
        }
    }
    Ok(Exit::Done)
}

/// Several runs in one place have a directory each.
fn directory(args: &PlotArgs, place: &Path) -> PathBuf {
    match &args.output {
        None => place.join("plots"),
        Some(output) if args.runs.len() == 1 => output.clone(),
        Some(output) => output.join(place.file_name().unwrap_or(place.as_os_str())),
    }
}

fn write(
    drawing: &Drawing,
    directory: &Path,
    formats: &[PlotFormat],
) -> Result<Vec<PathBuf>, CliError> {
    let mut written = Vec::new();
    let is_wanted = |format| formats.is_empty() || formats.contains(&format);
    if is_wanted(PlotFormat::Svg) {
        let path = directory.join(format!("{}.svg", drawing.id));
        let svg = drawing.svg(&Style::new(Mode::Standalone));
        replace(&path, svg.as_bytes(), false).context("writing a figure")?;
        written.push(path);
    }
    if is_wanted(PlotFormat::Png) {
        let path = directory.join(format!("{}.png", drawing.id));
        let image = png(&drawing.svg(&Style::new(Mode::Light)), SCALE)
            .with_context(|| format!("drawing `{}`", drawing.id))?;
        replace(&path, &image, false).context("writing a figure")?;
        written.push(path);
    }
    Ok(written)
}
