//! The interface between a run and the source of its queries: [`Dataset`].
//!
//! A custom dataset implements this trait; files, benchmarks and synthetic queries are in
//! `ipw-datasets`.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::params::Params;
use crate::query::Query;
use crate::shape::Shape;

/// A dataset's id and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// Its id in the registry.
    pub id: String,
    /// Its parameters, by name.
    #[serde(default)]
    pub params: Params,
}

impl DatasetSpec {
    /// The dataset of this id, without parameters.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            params: Params::default(),
        }
    }
}

/// The queries of one dataset in the run's order.
pub type Queries<'a> = Box<dyn Iterator<Item = Result<Query, ReadError>> + Send + 'a>;

/// A source of queries, checked and ready to stream.
pub trait Dataset: Send {
    /// Its id in plans; any text for a custom dataset.
    fn id(&self) -> &str;

    /// Its display name: for a file, the file's stem.
    fn name(&self) -> &str;

    /// Number of queries after `offset` and `limit`; `None` when it is unknown.
    fn size(&self) -> Option<u64>;

    /// The struct that fits the metadata of every query. Its first field must be `row`, an integer:
    /// it is a column of the run.
    fn metadata_shape(&self) -> &Shape;

    /// Notes for the user, such as rows that were left out; one line each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Streams the queries in the run's order, each time from the first one. `Query::index` must be
    /// the position, from 0: resuming relies on it. The iterator ends after an error.
    fn queries(&self) -> Result<Queries<'_>, ReadError>;
}

/// A dataset that cannot be read on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReadError(#[from] pub Box<dyn Error + Send + Sync>);
