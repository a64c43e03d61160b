//! Opens stored runs, finished or still being written.

use std::path::Path;

use ipw_core::rollup::Choice;
use ipw_store::{Run, StoreError};

use crate::error::{Error, Kind, no_basis};

/// Opens the run in this directory to read its rows, summary and readings.
///
/// ```no_run
/// use ipw::row::Fields;
///
/// let run = ipw::run::open("runs/profile_EPYC9654_smollm2_starter".as_ref())?;
/// let mut joules = 0.0;
/// run.for_each(Fields::ENERGY, |row| joules += row.energy.joules.unwrap_or(0.0))?;
/// println!("{joules} J");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(directory: &Path) -> Result<Run, Error> {
    Run::open(directory).map_err(|error| {
        let kind = match error {
            StoreError::Io { .. } => Kind::Invalid,
            _ => Kind::NotARun,
        };
        Error::new(kind, error)
    })
}

/// Selects another energy basis: the sources whose joules count in headline figures.
pub fn on(run: Run, basis: Choice) -> Result<Run, Error> {
    run.on(basis).map_err(refusal)
}

/// Explains why a basis cannot be selected, and which ones the run has.
pub fn refusal(error: StoreError) -> Error {
    match &error {
        StoreError::NoBasis { offered, .. } => no_basis(&error, offered),
        _ => Error::new(Kind::Invalid, error),
    }
}
