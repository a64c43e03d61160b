//! The interface between sources and rows: one object after the other.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::DatasetError;
use crate::fault::{Fault, RowPosition};

/// The columns of one row, by name.
pub(crate) type Object = Map<String, Value>;

/// How a row is stored in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Encoding<'a> {
    /// One line of JSON.
    Json(&'a [u8]),
    /// Another text.
    Text(&'a [u8]),
    /// No text.
    Binary,
}

/// One row as read from its source.
#[derive(Debug)]
pub(crate) struct RawRow<'a> {
    /// Its file.
    pub(crate) path: &'a Path,
    /// Its line or row in the file.
    pub(crate) at: RowPosition,
    /// The argument of [`Reader::jump`] that leads back to it.
    pub(crate) offset: u64,
    /// How it is stored.
    pub(crate) written: Encoding<'a>,
    /// Its columns, or the fault that hides them.
    pub(crate) object: Result<Object, Fault>,
}

/// A pass over the rows of a source.
pub(crate) trait Reader: Send {
    /// Returns the next row; `None` at the end.
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError>;

    /// Goes to the row at `offset`; only allowed if [`Supply::jumps`].
    fn jump(&mut self, offset: u64) -> Result<(), DatasetError>;
}

/// A source of rows that can be read more than once.
pub(crate) trait Supply: fmt::Debug + Send + Sync {
    /// The name in messages.
    fn path(&self) -> PathBuf;

    /// Whether its rows can be read in any order.
    fn jumps(&self) -> Result<bool, DatasetError>;

    /// Starts a pass at the first row.
    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError>;
}
