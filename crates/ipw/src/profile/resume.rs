//! What earlier parts of a run left to the one that goes on.

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

pub use ipw_store::resume::Left;

/// Which queries that have a row are sent again when a run is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resend {
    /// Those that the interrupt cut off.
    #[default]
    Cancelled,
    /// Those that have no answer.
    Unanswered,
}

/// A run that goes on.
pub(super) struct Resume {
    directory: PathBuf,
    again: Again,
    found: Option<(Left, Recall)>,
    /// Queries that have a row and are sent again.
    pub(super) resent: u64,
    /// Queries that have no answer and are left alone.
    pub(super) unanswered: u64,
}

impl Resume {
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Which rows are replaced; `None` where none are.
    pub(super) fn again(&self, resent: u64) -> Option<Again> {
        (resent > 0).then_some(self.again)
    }
}

impl Profile {
    /// Goes on with the run in this directory, by its own plan; queries that have a row are not sent
    /// again, except for those that `resend` names.
    pub fn resume(directory: impl Into<PathBuf>, resend: Resend) -> Result<Self, Error> {
        let directory = directory.into();
        let plan =
            plan::of_run(&directory).map_err(|error| Error::from(anyhow::Error::from(error)))?;
        Self::from_plan(plan).resuming(directory, resend)
    }

    /// The same with a plan that is known already.
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

    /// Of a run that goes on: how many queries are sent again, and how many have no answer and are
    /// left alone.
    pub fn resent(&self) -> Option<(u64, u64)> {
        let resume = self.resume.as_ref()?;
        Some((resume.resent, resume.unanswered))
    }

    /// What earlier parts left, and what they heard in conversations that go on; nothing for a new
    /// run.
    pub(super) fn earlier(&mut self) -> Result<(Left, Recall), Error> {
        let Some(resume) = &mut self.resume else {
            return Ok((Left::default(), recall(HashMap::new())));
        };
        resume
            .found
            .take()
            .ok_or_else(|| Error::invalid("a run goes on once"))
    }
}

fn recall(heard: HashMap<u64, Option<Message>>) -> Recall {
    Arc::new(move |index| {
        let heard = heard.get(&index).cloned();
        heard.ok_or_else(|| "the run has no row for it".to_owned())
    })
}
