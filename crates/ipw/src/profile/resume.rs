//! Resuming a run: what earlier parts have already measured.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use ipw_core::chat::Message;
use ipw_runner::Recall;
use ipw_store::resume::{self, Again};
use ipw_store::{Run, plan};

use super::Profile;
use crate::error::{Error, Kind};

pub use ipw_store::resume::EarlierParts;

/// Which queries to send again when a run is resumed, although they have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resend {
    /// Queries that an interrupt cancelled.
    #[default]
    Cancelled,
    /// All queries without an answer.
    Unanswered,
}

/// A run to be resumed.
pub(super) struct Resume {
    directory: PathBuf,
    again: Again,
    found: Option<(EarlierParts, Recall)>,
    /// Number of queries with a row that are sent again.
    pub(super) resent: u64,
    /// Number of queries without an answer that keep their row.
    pub(super) unanswered: u64,
}

impl Resume {
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Which rows are replaced; `None` if none are.
    pub(super) fn again(&self, resent: u64) -> Option<Again> {
        (resent > 0).then_some(self.again)
    }
}

impl Profile {
    /// Resumes the run in this directory by its stored plan. Queries that have a row are skipped,
    /// except those that `resend` selects.
    pub fn resume(directory: impl Into<PathBuf>, resend: Resend) -> Result<Self, Error> {
        let directory = directory.into();
        let plan =
            plan::of_run(&directory).map_err(|error| Error::from(anyhow::Error::from(error)))?;
        Self::from_plan(plan).resuming(directory, resend)
    }

    /// Like [`Profile::resume`], with a plan that is already loaded.
    pub fn resuming(
        mut self,
        directory: impl Into<PathBuf>,
        resend: Resend,
    ) -> Result<Self, Error> {
        let directory = directory.into();
        let again = match resend {
            Resend::Cancelled => Again::Cancelled,
            Resend::Unanswered => Again::Unanswered,
        };
        let run = Run::open(&directory).map_err(|error| Error::new(Kind::NotARun, error))?;
        let left = resume::look(&run, again).context("looking at the rows")?;
        let heard = resume::replies(&run, &left).context("looking at the rows")?;
        self.resume = Some(Resume {
            directory,
            again,
            resent: left.again,
            unanswered: left.failed,
            found: Some((left, recall(heard))),
        });
        Ok(self)
    }

    /// For a resumed run: the number of queries sent again, and of unanswered queries left as they
    /// are.
    pub fn resent(&self) -> Option<(u64, u64)> {
        let resume = self.resume.as_ref()?;
        Some((resume.resent, resume.unanswered))
    }

    /// Rows of earlier parts, and their replies in conversations to be continued; both empty for a
    /// new run.
    pub(super) fn earlier(&mut self) -> Result<(EarlierParts, Recall), Error> {
        let Some(resume) = &mut self.resume else {
            return Ok((EarlierParts::default(), recall(HashMap::new())));
        };
        resume
            .found
            .take()
            .ok_or_else(|| Error::invalid("a resumed run can be started only once"))
    }
}

fn recall(heard: HashMap<u64, Option<Message>>) -> Recall {
    Arc::new(move |index| {
        let heard = heard.get(&index).cloned();
        heard.ok_or_else(|| "the run has no row for this turn".to_owned())
    })
}
