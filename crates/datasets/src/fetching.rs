//! How a benchmark that is not on this disk gets here.

use ipw_hub::{Access, Progress};

use crate::error::DatasetError;

/// How a benchmark is fetched.
pub struct Fetching<'a> {
    /// From where and to where; `None`: as the environment says, which is asked only when it matters.
    pub access: Option<Access>,
    /// Who is told how it goes on.
    pub report: &'a mut dyn FnMut(Progress),
}

impl<'a> Fetching<'a> {
    /// As the environment says; `report` is told how it goes on.
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
