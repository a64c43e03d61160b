//! How benchmarks are fetched.

use ipw_hub::{Access, Progress};

use crate::error::DatasetError;

/// The source, the cache and the progress callback of a fetch.
pub struct Fetching<'a> {
    /// The hub and the cache; `None` takes both from the environment, and only when something must
    /// be fetched.
    pub access: Option<Access>,
    /// Called with the progress.
    pub report: &'a mut dyn FnMut(Progress),
}

impl<'a> Fetching<'a> {
    /// Takes hub and cache from the environment and reports progress to `report`.
    pub fn from_env(report: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            access: None,
            report,
        }
    }

    pub(crate) fn access(&self) -> Result<Access, DatasetError> {
        Ok(self.access.clone().map_or_else(Access::from_env, Ok)?)
    }
}
