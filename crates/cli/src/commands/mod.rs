//! The commands.

pub(crate) mod analyze;
pub(crate) mod attribute;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod leaderboard;
pub(crate) mod list;
#[cfg(feature = "engine")]
pub(crate) mod models;
pub(crate) mod monitor;
pub(crate) mod ping;
pub(crate) mod plot;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod score;
#[cfg(feature = "engine")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod watch;

use std::path::Path;

use ipw_core::rollup::Choice;
use ipw_store::{Run, StoreError};

use crate::error::{CliError, Exit};

/// Opens a run to look at it, on another basis where one is asked for.
pub(crate) fn open(place: &Path, basis: Option<Choice>) -> Result<Run, CliError> {
    let run = Run::open(place).map_err(|error| {
        CliError::new(Exit::Usage, error).help("name a directory that `ipw profile` made")
    })?;
    on(run, basis)
}

/// The run on another basis where one is asked for.
pub(crate) fn on(run: Run, basis: Option<Choice>) -> Result<Run, CliError> {
    let Some(basis) = basis else { return Ok(run) };
    run.on(basis).map_err(|error| match &error {
        StoreError::NoBasis { offered, .. } => no_basis(error.to_string(), offered),
        _ => CliError::new(Exit::Usage, error),
    })
}

/// A basis that is not to be had, with those that are.
pub(crate) fn no_basis(message: String, offered: &[Choice]) -> CliError {
    let offered: Vec<_> = offered.iter().map(|choice| choice.label()).collect();
    let help = if offered.is_empty() {
        "no source of energy counts here: leave `--basis` out".to_owned()
    } else {
        format!("`--basis` can be {}", offered.join(", "))
    };
    CliError::usage(message).help(help)
}
