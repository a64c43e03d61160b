//! What every kind with rows can be told: columns, selection, and what to do with bad rows.

use std::str::FromStr;

use ipw_core::params::ParamReader;

use crate::columns::Columns;
use crate::error::DatasetError;
use crate::order::Selection;

/// The parameters of a dataset that reads rows: its own, then those of [`Options`].
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

/// What becomes of a bad row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnError {
    /// It is the dataset's error.
    #[default]
    Fail,
    /// It is left out.
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

/// How rows are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Which columns hold what.
    pub(crate) columns: Columns,
    /// Which rows, in which order.
    pub(crate) selection: Selection,
    /// What becomes of bad ones.
    pub(crate) on_error: OnError,
    /// How many queries the run takes at most: no more rows need be looked at.
    pub(crate) most: Option<u64>,
}

impl Options {
    /// Takes the parameters on behalf of `owner`.
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

    /// Whether the rows may end before their source does.
    pub(crate) fn is_limited(&self) -> bool {
        let is_limited = self.selection.limit.is_some() || self.most.is_some();
        is_limited && self.selection.shuffle.is_none()
    }

    /// The same for a run that takes at most that many queries.
    pub(crate) fn taking(self, most: Option<u64>) -> Self {
        Self { most, ..self }
    }
}
