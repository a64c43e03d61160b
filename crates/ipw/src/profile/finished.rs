//! What a run came to.

use std::path::PathBuf;
use std::sync::Arc;

use ipw_analysis::metric::Values;
use ipw_core::client::Client;
use ipw_core::plan::Plan;
use ipw_core::warning::Warning;
use ipw_runner::RunError;
use ipw_store::{Overview, Run, Status, Summary};
use ipw_telemetry::Session;

use crate::derived::Refreshed;
use crate::error::{Error, Kind, not_ready};

/// A run that is over: complete, interrupted or broken off, with everything that was measured on
/// disk.
pub struct Finished {
    /// Where the run lies.
    pub directory: PathBuf,
    /// The plan that it was made by.
    pub plan: Plan,
    /// Whether it is complete.
    pub status: Status,
    /// Its rows, counted.
    pub overview: Overview,
    /// Its metrics.
    pub metrics: Values,
    /// What a person should know before quoting it.
    pub warnings: Vec<Warning>,
    /// What became of `report.html` and the other files that are made from rows.
    pub files: Refreshed,
    /// What the hardware reported; the session is stopped.
    pub session: Arc<Session>,
    /// Where queries went, in words.
    pub service: String,
    /// The name of the dataset.
    pub dataset: String,
    /// What `summary.json` says.
    pub summary: Box<Summary>,
    /// Why the client could not be closed; `None` if it was.
    pub close_warning: Option<String>,
    /// Sources of energy that fell silent and did not come back.
    pub lost_sources: Vec<String>,
    /// Why no further query was sent, if the run was broken off.
    pub(super) stopped: Option<Error>,
}

impl Finished {
    /// Opens the run, to read its rows.
    pub fn open(&self) -> Result<Run, Error> {
        crate::run::open(&self.directory)
    }

    /// The run, if it is what was asked for; an interrupted run passes (see `status`).
    ///
    /// Otherwise an error: [`Kind::Service`] if the service went away for good, [`Kind::Failed`] if
    /// more rows failed than the plan allows, [`Kind::NoEnergy`] if required energy was lost,
    /// [`Kind::Unexpected`] if the run was broken off or has no rows. All rows are on disk, in
    /// [`Error::run_directory`].
    pub fn checked(self) -> Result<Self, Error> {
        let directory = self.directory.clone();
        self.judged().map_err(|error| error.left(&directory))
    }

    fn judged(mut self) -> Result<Self, Error> {
        if let Some(error) = self.stopped.take() {
            return Err(error);
        }
        if self.status == Status::Interrupted {
            return Ok(self);
        }
        let (failed, rows) = (self.overview.failed(), self.overview.rows);
        if rows == 0 {
            let cause = anyhow::anyhow!("the run has no rows: the dataset has none");
            return Err(Error::new(Kind::Unexpected, cause)
                .with_help("look at the dataset, and at its `offset`, `limit` and `path`"));
        }
        let allowed = self.plan.failures.max_failed;
        if self.status == Status::Failed || allowed.is_exceeded(failed, rows) {
            let cause = anyhow::anyhow!("{failed} of {rows} queries failed");
            return Err(Error::new(Kind::Failed, cause)
                .with_help("the column `error` says why, row by row"));
        }
        if self.plan.telemetry.require_energy && !self.lost_sources.is_empty() {
            let lost = self.lost_sources.join("`, `");
            let cause = anyhow::anyhow!("`{lost}` fell silent and did not come back")
                .context("energy was required and was lost on the way");
            return Err(Error::new(Kind::NoEnergy, cause).with_help(
                "all rows are saved; those after the loss have no energy (`energy.reason`)",
            ));
        }
        Ok(self)
    }
}

/// Why no further query was sent.
pub(super) fn stopped_early(client: &dyn Client, error: RunError) -> Error {
    match error {
        RunError::Service(error) => not_ready(client, error),
        error => anyhow::Error::from(error)
            .context("the run stopped early")
            .into(),
    }
}
