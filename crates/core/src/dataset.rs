//! The seam between a run and where its queries come from: [`Dataset`].
//!
//! A user's own dataset is a value of this trait; files, benchmarks and made-up queries are in
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
    /// Which member of the registry.
    pub id: String,
    /// What it is told, by name.
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
    /// Names it in plans; any text for a dataset of your own.
    fn id(&self) -> &str;

    /// What to call it: for a file, the file's stem.
    fn name(&self) -> &str;

    /// How many queries it yields, after `offset` and `limit`; `None` when that is not known.
    fn size(&self) -> Option<u64>;

    /// The struct that the metadata of every query fits. Its first field must be `row`, a whole
    /// number: it is a column of the run.
    fn metadata_shape(&self) -> &Shape;

    /// What the user should know of it, such as rows that were left out; one line each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Streams the queries in the run's order, each time from the first one. `Query::index` must be
    /// the position, from 0: a resumed run goes by it. An error is the last thing that the iterator
    /// yields.
    fn queries(&self) -> Result<Queries<'_>, ReadError>;
}

/// A dataset that cannot be read on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReadError(#[from] pub Box<dyn Error + Send + Sync>);
