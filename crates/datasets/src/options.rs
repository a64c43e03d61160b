//! Options of every dataset with rows: columns, selection, and the treatment of bad rows.

use std::str::FromStr;

use ipw_core::params::ParamReader;

use crate::columns::Columns;
use crate::error::DatasetError;
use crate::order::Selection;

/// The parameters of a dataset with rows: its own, then those of [`Options`].
macro_rules! row_params {
    ($($own:expr),+) => {
        &[
            $($own,)+
            $crate::columns::PROBLEM,
            $crate::columns::ANSWER,
            $crate::columns::SUBJECT,
            $crate::columns::ID,
            $crate::chat::TURNS,
            $crate::chat::HISTORY,
            $crate::order::LIMIT,
            $crate::order::OFFSET,
            $crate::order::SHUFFLE,
            $crate::order::SEED,
            $crate::options::ON_ERROR,
        ]
    };
}
pub(crate) use row_params;

/// The parameter `on_error` and its meaning.
pub(crate) const ON_ERROR: (&str, &str) = (
    "on_error",
    "`skip` to leave bad rows out, counted and listed (default `fail`)",
);

/// The treatment of a bad row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnError {
    /// Opening the dataset fails.
    #[default]
    Fail,
    /// The row is left out.
    Skip,
}

impl FromStr for OnError {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "fail" => Ok(Self::Fail),
            "skip" => Ok(Self::Skip),
            _ => Err(()),
        }
    }
}

/// How rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Which columns hold the parts of a query.
    pub(crate) columns: Columns,
    /// Which rows are taken, in which order.
    pub(crate) selection: Selection,
    /// What happens to bad rows.
    pub(crate) on_error: OnError,
    /// Limit of the run's queries: more rows need not be read.
    pub(crate) most: Option<u64>,
}

impl Options {
    /// Reads the parameters; `owner` is the id in error messages.
    pub(crate) fn read(reader: &mut ParamReader<'_>, owner: &str) -> Result<Self, DatasetError> {
        let columns = Columns::read(reader)?;
        let selection = Selection::read(reader, owner)?;
        let on_error = reader.parsed(ON_ERROR.0, "`fail` or `skip`")?;
        Ok(Self {
            columns,
            selection,
            on_error: on_error.unwrap_or_default(),
            most: None,
        })
    }

    /// Whether the pass may end before the source does.
    pub(crate) fn is_limited(&self) -> bool {
        let is_limited = self.selection.limit.is_some() || self.most.is_some();
        is_limited && self.selection.shuffle.is_none()
    }

    /// Sets the limit of the run's queries.
    pub(crate) fn taking(self, most: Option<u64>) -> Self {
        Self { most, ..self }
    }
}
