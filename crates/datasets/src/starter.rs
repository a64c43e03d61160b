//! The built-in dataset: prompts with checkable answers, for a first run and for trying a server.
//!
//! It has 32 templates of eight rows, four templates per subject, from easy to hard. A model of a
//! hundred million parameters answers a third of it; one of some billions does not answer all of
//! it. Every 32 consecutive rows hold each template once. `docs/starter.md` has the measurements.
//! It is not a benchmark for comparing models.

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

/// The entry in the list of datasets.
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
