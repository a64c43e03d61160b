//! The result of a run.

use std::path::PathBuf;
use std::sync::Arc;

use ipw_analysis::metric::Values;
use ipw_core::client::Client;
use ipw_core::plan::Plan;
use ipw_core::warning::Warning;
use ipw_runner::RunError;
use ipw_store::{Overview, Run, Status, Summary};
use ipw_telemetry::Session;

use crate::derived::DerivedFiles;
use crate::error::{Error, Kind, not_ready};

/// A run that has ended: complete, interrupted or stopped early. All that was measured is on disk.
pub struct Finished {
    /// The run directory.
    pub directory: PathBuf,
    /// The plan that it followed.
    pub plan: Plan,
    /// Complete, interrupted or failed.
    pub status: Status,
    /// Counts and totals over the rows.
    pub overview: Overview,
    /// All metrics of the run.
    pub metrics: Values,
    /// Warnings to read before quoting its numbers.
    pub warnings: Vec<Warning>,
    /// Which derived files (`report.html`, `analysis/`, `plots/`) were written or removed.
    pub files: DerivedFiles,
    /// The readings of the hardware. Sampling has stopped.
    pub session: Arc<Session>,
    /// Description of the service that answered, for people.
    pub service: String,
    /// Name of the dataset.
    pub dataset: String,
    /// The content of `summary.json`.
    pub summary: Box<Summary>,
    /// Why the client could not be closed; `None` if closing succeeded.
    pub close_warning: Option<String>,
    /// Energy sources that stopped reporting during the run and did not recover.
    pub lost_sources: Vec<String>,
    /// Why the run stopped early; `None` if it did not.
    pub(super) stopped: Option<Error>,
}

impl Finished {
    /// Opens the run to read its rows.
    pub fn open(&self) -> Result<Run, Error> {
        crate::run::open(&self.directory)
    }

    /// Returns the run if it succeeded or was interrupted (see `status`), and an error otherwise.
    ///
    /// - [`Kind::Service`]: the service became unavailable and did not recover.
    /// - [`Kind::Failed`]: more queries failed than the plan allows.
    /// - [`Kind::NoEnergy`]: energy was required, and its source was lost.
    /// - [`Kind::Unexpected`]: the run stopped early for another reason, or has no rows.
    ///
    /// All measured rows are on disk, in [`Error::run_directory`].
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
            let cause = anyhow::anyhow!("the run has no rows: the dataset is empty");
            return Err(Error::new(Kind::Unexpected, cause)
                .with_help("check the dataset and its parameters `offset`, `limit` and `path`"));
        }
        let allowed = self.plan.failures.max_failed;
        if self.status == Status::Failed || allowed.is_exceeded(failed, rows) {
            let cause = anyhow::anyhow!("{failed} of {rows} queries failed");
            return Err(Error::new(Kind::Failed, cause)
                .with_help("see the column `error` for the reason in each row"));
        }
        if self.plan.telemetry.require_energy && !self.lost_sources.is_empty() {
            let lost = self.lost_sources.join("`, `");
            let cause = anyhow::anyhow!("`{lost}` stopped reporting and did not recover")
                .context("energy is required, and its source was lost during the run");
            return Err(Error::new(Kind::NoEnergy, cause).with_help(
                "all rows are saved; rows after the loss have no energy (see `energy.reason`)",
            ));
        }
        Ok(self)
    }
}

/// Explains why the run stopped early.
pub(super) fn stopped_early(client: &dyn Client, error: RunError) -> Error {
    match error {
        RunError::Service(error) => not_ready(client, error),
        error => anyhow::Error::from(error)
            .context("the run stopped early")
            .into(),
    }
}
