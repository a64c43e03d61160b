//! How a benchmark that is not on this disk gets here.

use std::path::PathBuf;

use ipw_hub::{Hub, Progress};

use crate::error::DatasetError;

/// Where files come from and where they are kept.
#[derive(Debug, Clone)]
pub struct Access {
    /// The hub.
    pub hub: Hub,
    /// The directory of the cache.
    pub cache: PathBuf,
}

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

    pub(crate) fn access(&self) -> Result<(Hub, PathBuf), DatasetError> {
        if let Some(access) = &self.access {
            return Ok((access.hub.clone(), access.cache.clone()));
        }
        let cache = ipw_core::cache::directory(|name| std::env::var_os(name))?;
        Ok((Hub::from_env(), cache))
    }
}
