//! The workload that is built in: prompts with checkable answers, for a first run and for trying
//! out a server.
//!
//! 32 templates of eight rows, four templates to a subject, from easy to hard: a model of a hundred
//! million parameters gets a third of it right, and one of some billions not all. The order is such
//! that every 32 rows hold each template once. `docs/starter.md` says what was measured. Not a
//! benchmark to compare models by.

use ipw_core::params::Params;

use crate::DatasetInfo;
use crate::columns::Columns;
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::options::{OnError, Options};
use crate::order::{self, Selection};
use crate::rows::Rows;
use crate::source::Source;

const ROWS: &str = include_str!("starter.jsonl");

/// The id in the registry.
pub(crate) const ID: &str = "starter";

/// What can be said of it without opening it.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "built in: 256 questions from eight subjects, easy to hard, with answers that can be checked",
    params: &[order::LIMIT, order::OFFSET, order::SHUFFLE, order::SEED],
};

/// Opens the built-in rows.
pub(crate) fn open(params: &Params) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let selection = Selection::read(&mut reader, ID)?;
    reader.finish()?;
    let options = Options {
        columns: Columns::default(),
        selection,
        on_error: OnError::Fail,
        most: None,
    };
    let supply = Jsonl(Source::Text(ROWS));
    Rows::open(ID, ID.to_owned(), Box::new(supply), options)
}
