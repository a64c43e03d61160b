//! What every kind of source looks like to the rows: one object after the other.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::DatasetError;
use crate::fault::{At, Fault};

/// The columns of one row by name.
pub(crate) type Object = Map<String, Value>;

/// How a row is written in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Written<'a> {
    /// As one line of JSON.
    Json(&'a [u8]),
    /// As some other text.
    Text(&'a [u8]),
    /// Not as text.
    Binary,
}

/// One row as its source has it.
#[derive(Debug)]
pub(crate) struct Raw<'a> {
    /// The file that it is in.
    pub(crate) path: &'a Path,
    /// Where in the file it is, as a person counts.
    pub(crate) at: At,
    /// Where to jump to for it.
    pub(crate) offset: u64,
    /// How it is written.
    pub(crate) written: Written<'a>,
    /// Its columns, or why it has none.
    pub(crate) object: Result<Object, Fault>,
}

/// A way through the rows of a source.
pub(crate) trait Reader: Send {
    /// The next row; `None` at the end.
    fn advance(&mut self) -> Result<Option<Raw<'_>>, DatasetError>;

    /// Goes to the row at `offset`; only where [`Supply::jumps`].
    fn jump(&mut self, offset: u64) -> Result<(), DatasetError>;
}

/// A source of rows, which can be read more than once.
pub(crate) trait Supply: fmt::Debug + Send + Sync {
    /// What messages call it.
    fn path(&self) -> PathBuf;

    /// Whether its rows can be read in any order.
    fn jumps(&self) -> Result<bool, DatasetError>;

    /// The rows from the first one on.
    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError>;
}
