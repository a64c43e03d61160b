//! The energy of a run's rows once more, from its raw readings.

use std::path::Path;

use ipw_core::time::Clock as _;
use ipw_findings::summary::renew;
use ipw_findings::{attribution, marginal};
use ipw_runner::SystemClock;
use ipw_store::StoreError;
pub use ipw_store::attribute::{Asking, Attributed, IdleFrom, IdleUsed, basis};
use ipw_store::summary::{Attribution, MarginalCosts};

use crate::derived::{self, Page, Refreshed};
use crate::error::{Error, Kind};

/// What attributing a run's energy again came to.
pub struct Reattributed {
    /// How many rows changed.
    pub done: Attributed,
    /// What made the energy of the rows, as the summary says it.
    pub attribution: Attribution,
    /// What one more token and second cost; `None` where nothing measures.
    pub marginal: Option<MarginalCosts>,
    /// Files that were made from the rows.
    pub files: Refreshed,
}

/// Attributes the energy of the run in this directory again.
pub fn attribute(directory: &Path, asking: &Asking) -> Result<Reattributed, Error> {
    let clock = SystemClock::start();
    let now = || clock.anchor().unix_seconds(clock.now());
    let made =
        |done: &Attributed| attribution::of(asking.weights, &done.idle, &done.overview, now());
    let done = ipw_store::attribute::attribute(directory, asking, |summary, done, run| {
        renew(summary, &done.overview, run);
        summary.attribution = Some(made(done));
        summary.marginal = marginal::of(&done.worked);
    });
    let done = done.map_err(refusal)?;
    Ok(Reattributed {
        attribution: made(&done),
        marginal: marginal::of(&done.worked),
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
    })
}

/// Why the energy of a run cannot be attributed again.
pub fn refusal(error: StoreError) -> Error {
    match &error {
        StoreError::Busy { .. } => {
            Error::new(Kind::Exists, error).with_help("wait until it has finished")
        }
        StoreError::NotARun { .. } => {
            Error::new(Kind::NotARun, error).with_help("name a directory that `ipw profile` made")
        }
        StoreError::NoReadings { .. } => Error::new(Kind::Invalid, error)
            .with_help("energy is computed from raw readings; without them it stays what it is"),
        StoreError::Json { .. } | StoreError::UnknownSource { .. } | StoreError::Column { .. } => {
            Error::new(Kind::Invalid, error).with_help("nothing was changed")
        }
        _ => Error::from(
            anyhow::Error::from(error).context("computing the energy again; the run is as it was"),
        ),
    }
}
