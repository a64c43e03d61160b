//! Standard input.
//!
//! A dataset is read more than once, so all of it is put aside on disk before anything else.

use std::io::{IsTerminal, stdin};
use std::path::PathBuf;

use ipw_core::params::{ParamError, Params};

use crate::DatasetInfo;
use crate::csv::{self, Csv};
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::options::{Options, row_params};
use crate::reader::Supply;
use crate::rows::Rows;
use crate::spool::Spool;

/// The id in the registry, also the dataset's name.
pub(crate) const ID: &str = "stdin";
/// What people type for it.
pub(crate) const DASH: &str = "-";

const FORMAT: (&str, &str) = ("format", "`jsonl` (default), `csv` or `tsv`");

/// What can be said of it without opening it.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "standard input, also spelt `-`; put aside on disk before the first request",
    params: row_params!(FORMAT, csv::DELIMITER),
};

/// Reads all of standard input and checks it.
pub(crate) fn open(params: &Params) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let format = reader.text(FORMAT.0);
    let delimiter = csv::delimiter(&mut reader, ID)?;
    let options = Options::read(&mut reader, ID)?;
    reader.finish()?;
    let delimiter = match format.as_deref() {
        None | Some("jsonl") => None,
        Some("csv") => Some(delimiter),
        Some("tsv") => Some(delimiter.or(Some(b'\t'))),
        Some(other) => {
            return Err(DatasetError::Param(ParamError::IllTyped {
                owner: ID.to_owned(),
                name: FORMAT.0.to_owned(),
                value: other.to_owned(),
                expected: FORMAT.1.to_owned(),
            }));
        }
    };
    let input = stdin();
    if input.is_terminal() {
        return Err(DatasetError::Terminal);
    }
    let source = Spool::of(&mut input.lock(), PathBuf::from("(standard input)"))?;
    let supply: Box<dyn Supply> = match delimiter {
        Some(delimiter) => Box::new(Csv { source, delimiter }),
        None => Box::new(Jsonl(source)),
    };
    Rows::open(ID, ID.to_owned(), supply, options)
}
