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

use ipw_store::Run;

use crate::error::{CliError, Exit};

/// Opens a run to look at it.
pub(crate) fn open(place: &Path) -> Result<Run, CliError> {
    Run::open(place).map_err(|error| {
        CliError::new(Exit::Usage, error).help("name a directory that `ipw profile` made")
    })
}
