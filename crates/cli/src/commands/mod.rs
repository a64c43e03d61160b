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
use ipw_store::Run;

use crate::error::CliError;

/// Opens a run, on another basis if one is given.
pub(crate) fn open(place: &Path, basis: Option<Choice>) -> Result<Run, CliError> {
    let run = ipw::run::open(place).map_err(|error| {
        CliError::from(error).help("name a run directory that `ipw profile` created")
    })?;
    Ok(match basis {
        Some(basis) => ipw::run::on(run, basis)?,
        None => run,
    })
}
