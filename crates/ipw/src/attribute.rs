//! Attributes the energy of a run's rows again, from its raw readings.

use std::path::Path;

use ipw_core::time::Clock as _;
use ipw_findings::summary::renew;
use ipw_findings::{attribution, marginal};
use ipw_runner::SystemClock;
use ipw_store::StoreError;
pub use ipw_store::attribute::{Asking, AttributionResult, IdleFrom, IdleUsed, basis};
use ipw_store::summary::{Attribution, MarginalCosts};

use crate::derived::{self, DerivedFiles, Page};
use crate::error::{Error, Kind};

/// Result of attributing a run's energy again.
pub struct Reattribution {
    /// Number of rows whose energy changed.
    pub done: AttributionResult,
    /// How the energy of the rows was attributed, as stored in the summary.
    pub attribution: Attribution,
    /// Marginal energy of a token and of a second; `None` without a measured source.
    pub marginal: Option<MarginalCosts>,
    /// Derived files that were written again or removed.
    pub files: DerivedFiles,
}

/// Attributes the energy of the run in this directory again, and updates its summary and derived
/// files.
pub fn attribute(directory: &Path, asking: &Asking) -> Result<Reattribution, Error> {
    let clock = SystemClock::start();
    let now = || clock.anchor().unix_seconds(clock.now());
    let made = |done: &AttributionResult| {
        attribution::of(asking.weights, &done.idle, &done.overview, now())
    };
    let done = ipw_store::attribute::attribute(directory, asking, |summary, done, run| {
        renew(summary, &done.overview, run);
        summary.attribution = Some(made(done));
        summary.marginal = marginal::of(&done.worked);
    });
    let done = done.map_err(refusal)?;
    Ok(Reattribution {
        attribution: made(&done),
        marginal: marginal::of(&done.worked),
        files: derived::refresh(directory, &done.overview, Page::IfThere),
        done,
    })
}

/// Explains why the energy of a run cannot be attributed again.
pub fn refusal(error: StoreError) -> Error {
    match &error {
        StoreError::Busy { .. } => {
            Error::new(Kind::Exists, error).with_help("wait until it has finished")
        }
        StoreError::NotARun { .. } => {
            Error::new(Kind::NotARun, error).with_help("name a directory created by `ipw profile`")
        }
        StoreError::NoReadings { .. } => Error::new(Kind::Invalid, error).with_help(
            "attribution needs raw readings; without them the stored energy cannot change",
        ),
        StoreError::Json { .. } | StoreError::UnknownSource { .. } | StoreError::Column { .. } => {
            Error::new(Kind::Invalid, error).with_help("nothing was changed")
        }
        _ => Error::from(
            anyhow::Error::from(error)
                .context("attributing the energy again; the run is unchanged"),
        ),
    }
}
