//! Standard input.
//!
//! A dataset is read more than once, so standard input is first copied to a temporary file: all of
//! it, or as much as a limit on rows or queries needs.

use std::io::{BufRead, IsTerminal, stdin};
use std::path::PathBuf;

use ipw_core::params::{ParamError, Params};

use crate::DatasetInfo;
use crate::csv::{self, Csv};
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::options::{Options, row_params};
use crate::packed::Packing;
use crate::reader::Supply;
use crate::rows::Rows;
use crate::source::Source;
use crate::spool::Spool;

/// The id in the list of datasets, also the dataset's name.
pub(crate) const ID: &str = "stdin";
/// Lines that are copied first if rows are limited.
const FIRST_LINES: u64 = 4096;
/// The name in messages.
const LABEL: &str = "(standard input)";
/// The argument that means standard input.
pub(crate) const DASH: &str = "-";

const FORMAT: (&str, &str) = ("format", "`jsonl` (default), `csv` or `tsv`");

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "standard input, also spelt `-`; copied to disk before the first request",
    params: row_params!(FORMAT, csv::DELIMITER),
};

/// Copies standard input to disk and checks it.
pub(crate) fn open(params: &Params, most: Option<u64>) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let format = reader.text(FORMAT.0);
    let delimiter = csv::delimiter(&mut reader, ID)?;
    let options = Options::read(&mut reader, ID)?.taking(most);
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
    let supply = |source| -> Box<dyn Supply> {
        match delimiter {
            Some(delimiter) => Box::new(Csv { source, delimiter }),
            None => Box::new(Jsonl(source)),
        }
    };
    read(&mut input.lock(), &supply, &options)
}

/// Copies lines until the requested rows are complete or the input ends.
fn read(
    input: &mut dyn BufRead,
    supply: &dyn Fn(Source) -> Box<dyn Supply>,
    options: &Options,
) -> Result<Rows, DatasetError> {
    let mut spool = Spool::new()?;
    let head = input.fill_buf().map_err(|source| DatasetError::Read {
        path: PathBuf::from(LABEL),
        source,
    })?;
    // A compressed stream can only be read when it is complete.
    let mut lines = if options.is_limited() && Packing::of(head).is_none() {
        FIRST_LINES
    } else {
        u64::MAX
    };
    let mut fault = None;
    loop {
        let is_over = spool.copy_lines(input, lines)?;
        let source = spool.source(PathBuf::from(LABEL))?;
        let rows = Rows::open(ID, ID.to_owned(), supply(source), options.clone());
        match rows {
            Ok(rows) if is_over || rows.is_cut() => return Ok(rows),
            Ok(_) => fault = None,
            // The last row may be cut off where copying stopped; the next round shows whether it is
            // bad.
            Err(error) => {
                let words = error.to_string();
                if is_over || fault.as_ref() == Some(&words) {
                    return Err(error);
                }
                fault = Some(words);
            }
        }
        lines = lines.saturating_mul(4);
    }
}
