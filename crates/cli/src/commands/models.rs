//! `ipw models list|pull|path|rm`.

use std::fmt::Write as _;

use ipw_core::text::{excerpt, printable};
use ipw_hub::models::{Cache, ModelError, ModelListing, ModelRef, State, list, path, remove};
use ipw_hub::{Check, bytes_in_words};

use crate::args::ModelsCommand;
use crate::error::{CliError, Exit};
use crate::observe::Transfer;
use crate::screen;

/// The longest name that the table shows whole.
const LONGEST_NAME: usize = 60;

pub(crate) fn run(command: &ModelsCommand) -> Result<Exit, CliError> {
    match command {
        ModelsCommand::List => show(),
        ModelsCommand::Pull(model) => pull(&model.name),
        ModelsCommand::Path(model) => print_path(&model.name),
        ModelsCommand::Rm(model) => rm(&model.name),
    }
}

fn show() -> Result<Exit, CliError> {
    let cache = Cache::locate().map_err(failed)?;
    let listed = list(&cache).map_err(failed)?;
    let directory = printable(&cache.directory().display().to_string());
    screen::print(&format!("{}\ncache: {directory}\n", table(&listed)));
    Ok(Exit::Done)
}

fn pull(name: &str) -> Result<Exit, CliError> {
    let model = ModelRef::parse(name).map_err(failed)?;
    let path = Transfer::during(false, |progress| ipw::clients::model_file(name, progress))?;
    let name = printable(&model.to_string());
    let path = printable(&path.display().to_string());
    screen::print(&format!("`{name}` is in the cache: {path}\n"));
    Ok(Exit::Done)
}

fn print_path(name: &str) -> Result<Exit, CliError> {
    let model = ModelRef::parse(name).map_err(failed)?;
    let cache = Cache::locate().map_err(failed)?;
    let Some(path) = path(&model, &cache).map_err(failed)? else {
        return Err(not_here(&model).help(format!("run `ipw models pull {model}`")));
    };
    screen::print(&format!("{}\n", path.display()));
    Ok(Exit::Done)
}

fn rm(name: &str) -> Result<Exit, CliError> {
    let model = ModelRef::parse(name).map_err(failed)?;
    let cache = Cache::locate().map_err(failed)?;
    let Some(freed) = remove(&model, &cache).map_err(failed)? else {
        return Err(not_here(&model).help("`ipw models list` shows the cached models"));
    };
    let name = printable(&model.to_string());
    screen::print(&format!(
        "removed `{name}`: {} freed\n",
        bytes_in_words(freed)
    ));
    Ok(Exit::Done)
}

fn not_here(model: &ModelRef) -> CliError {
    let error = anyhow::anyhow!("`{}` is not in the cache", printable(&model.to_string()));
    CliError::new(Exit::Unexpected, error)
}

fn failed(error: ModelError) -> CliError {
    let exit = if error.is_usage() {
        Exit::Usage
    } else {
        Exit::Unexpected
    };
    CliError::new(exit, error)
}

/// A line per model.
fn table(listed: &[ModelListing]) -> String {
    let mut rows = vec![["NAME", "SIZE", "STATE", "LICENCE", "WHAT"].map(str::to_owned)];
    rows.extend(listed.iter().map(row));
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn row(listed: &ModelListing) -> [String; 5] {
    let entry = listed.entry();
    let (size, state) = match listed.state {
        State::Cached { bytes, check } => (Some(bytes), cached(check).to_owned()),
        State::Unchecked { bytes } => (Some(bytes), "cached, not verified yet".to_owned()),
        State::Partial { bytes } => (
            entry.map(|entry| entry.bytes),
            format!("{} downloaded so far", bytes_in_words(bytes)),
        ),
        State::Absent => (entry.map(|entry| entry.bytes), "not cached".to_owned()),
    };
    [
        excerpt(&printable(&listed.model.to_string()), LONGEST_NAME),
        size.map_or("unknown".to_owned(), bytes_in_words),
        state,
        entry
            .map_or("see the hub", |entry| entry.licence)
            .to_owned(),
        entry
            .map_or("a file from the hub", |entry| entry.summary)
            .to_owned(),
    ]
}

fn cached(check: Check) -> &'static str {
    match check {
        Check::Catalogue | Check::Hub => "cached",
        Check::Length => "cached, no checksum known",
    }
}
