//! `ipw plot RUN…`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_findings::look::{Look, LookOptions};
use ipw_findings::sweep::SweepResult;
use ipw_plot::Style;
use ipw_report::figures::{self, Drawing, Picture, content};
use ipw_store::file::{refuse_link, replace};

use super::analyze::unknown;
use super::open;
use crate::args::PlotArgs;
use crate::error::{CliError, Exit};
use crate::screen;

pub(crate) fn run(args: &PlotArgs) -> Result<Exit, CliError> {
    let known: Vec<_> = figures::all().map(|(id, _)| id).collect();
    if let Some(id) = args.plots.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(unknown("plot", id, &known));
    }
    let is_wanted = |id: &str| args.plots.is_empty() || args.plots.iter().any(|one| one == id);
    for place in &args.runs {
        let (drawings, possible) = match SweepResult::open(place).map_err(CliError::sweep)? {
            Some(swept) => {
                let curves = is_wanted(figures::SWEEP.0).then(|| figures::of_sweep(&swept));
                let curves = curves.flatten().into_iter().collect();
                (curves, &[figures::SWEEP][..])
            }
            None => (of_run(place, is_wanted)?, &figures::ALL[..]),
        };
        let directory = directory(args, place);
        for drawing in &drawings {
            draw(args, &directory, drawing.id, |style| drawing.svg(style))?;
        }
        for (id, about) in possible {
            if is_wanted(id) && !drawings.iter().any(|drawing| drawing.id == *id) {
                nothing(id, about);
            }
        }
    }
    if is_wanted(figures::PARETO.0) {
        over_all(args)?;
    }
    Ok(Exit::Done)
}

fn of_run(place: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Drawing>, CliError> {
    let run = open(place, None)?;
    let look =
        Look::at(&run, None, LookOptions::FIGURES, &mut []).context("cannot read the rows")?;
    Ok(figures::of(&look, is_wanted))
}

/// Accuracy against energy over all runs; several figures if not all runs are comparable.
fn over_all(args: &PlotArgs) -> Result<(), CliError> {
    let (id, about) = figures::PARETO;
    let (figures, left_out) = match args.runs.len() {
        0 | 1 => (Vec::new(), Vec::new()),
        _ => figures::over(&args.runs),
    };
    for one in left_out {
        screen::talk(&format!("note: not in `{id}`: {one}"));
    }
    let beside = || {
        args.runs
            .first()
            .and_then(|run| run.parent())
            .map(|all| all.join("plots"))
    };
    let directory = args.output.clone().or_else(beside).unwrap_or_default();
    for (place, figure) in figures.iter().enumerate() {
        let name = match place {
            0 => id.to_owned(),
            _ => format!("{id}_{}", place + 1),
        };
        draw(args, &directory, &name, |style| figure.svg(style))?;
    }
    if figures.is_empty() && (args.runs.len() > 1 || !args.plots.is_empty()) {
        nothing(id, about);
    }
    Ok(())
}

fn nothing(id: &str, about: &str) {
    screen::talk(&format!("note: no data for `{id}` ({about})\n"));
}

/// With `--output` and several runs, each run gets a directory below it.
fn directory(args: &PlotArgs, place: &Path) -> PathBuf {
    match &args.output {
        None => place.join("plots"),
        Some(output) if args.runs.len() == 1 => output.clone(),
        Some(output) => output.join(place.file_name().unwrap_or(place.as_os_str())),
    }
}

/// Writes a figure in every chosen format, and prints the paths.
fn draw(
    args: &PlotArgs,
    directory: &Path,
    name: &str,
    svg: impl Fn(&Style) -> String,
) -> Result<(), CliError> {
    if args.output.is_none() {
        refuse_link(directory).context("cannot write a figure")?;
    }
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create `{}`", directory.display()))?;
    let wanted = |format: &Picture| {
        let mut asked = args.formats.iter().map(|asked| Picture::from(*asked));
        args.formats.is_empty() || asked.any(|asked| asked == *format)
    };
    for format in Picture::ALL.into_iter().filter(wanted) {
        let path = directory.join(format!("{name}.{}", format.extension()));
        let content = content(format, &svg).with_context(|| format!("cannot draw `{name}`"))?;
        replace(&path, &content, false).context("cannot write a figure")?;
        screen::print(&format!("{}\n", path.display()));
    }
    Ok(())
}
