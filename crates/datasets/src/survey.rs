//! The first pass over the rows: checks them and fixes the shape of the metadata.

use std::path::Path;

use ipw_core::shape::Shape;
use ipw_core::text::printable_path;
use serde_json::Value;

use crate::cells::MOST_COLUMNS;
use crate::columns::RowPrompt;
use crate::error::DatasetError;
use crate::fault::Fault;
use crate::options::{OnError, Options};
use crate::reader::{Encoding, RawRow, Supply};
use crate::rows::Place;
use crate::spool::Spool;

/// A file with fewer rows and bytes than these is always read to its end.
const MOST_AHEAD_ROWS: u64 = 1000;
const MOST_AHEAD_BYTES: u64 = 16 << 20;

/// Limit of skipped rows that are listed.
const MOST_LISTED: usize = 5;

/// The state of the first pass.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The shape that fits the metadata of all rows so far.
    pub(crate) joined: Shape,
    /// Their places, if they are to be shuffled.
    pub(crate) places: Vec<Place>,
    /// The rows themselves, if they are to be shuffled and their source cannot jump.
    pub(crate) spool: Option<Spool>,
    /// Number of good rows.
    pub(crate) good: u64,
    /// Number of queries of the selected rows, if they are not shuffled.
    pub(crate) selected: u64,
    /// Bad rows that were skipped.
    pub(crate) skipped: SkippedRows,
    /// Bytes of the rows so far, where they are text.
    bytes: u64,
}

impl Survey {
    pub(crate) fn new(supply: &dyn Supply, options: &Options) -> Result<Self, DatasetError> {
        let is_spooled = options.selection.shuffle.is_some() && !supply.jumps()?;
        Ok(Self {
            joined: Shape::Unknown,
            places: Vec::new(),
            spool: is_spooled.then(Spool::new).transpose()?,
            good: 0,
            selected: 0,
            skipped: SkippedRows::default(),
            bytes: 0,
        })
    }

    /// Whether all selected rows have been read, and enough others that a file of usual size is
    /// read to its end.
    pub(crate) fn is_enough(&self, options: &Options) -> bool {
        let selection = &options.selection;
        if selection.shuffle.is_some() {
            return false;
        }
        let rows = self.good + self.skipped.count;
        let is_long = rows >= MOST_AHEAD_ROWS || self.bytes >= MOST_AHEAD_BYTES;
        let rows_are_there = selection
            .limit
            .is_some_and(|limit| self.good >= selection.offset.saturating_add(limit.get()));
        let queries_are_there = options.most.is_some_and(|most| self.selected >= most);
        is_long && (rows_are_there || queries_are_there)
    }

    /// Checks one row.
    pub(crate) fn look(&mut self, raw: RawRow<'_>, options: &Options) -> Result<(), DatasetError> {
        let row = self.good + self.skipped.count;
        let mut offset = raw.offset;
        self.bytes += match raw.written {
            Encoding::Json(text) | Encoding::Text(text) => text.len() as u64,
            Encoding::Binary => 0,
        };
        let taken = raw.object.and_then(|object| {
            // The copy is acceptable because a spool is rare.
            let kept = self.spool.as_ref().map(|_| object.clone());
            options.columns.row(object).map(|row| (row, kept))
        });
        match taken {
            Ok((taken, kept)) => {
                if let (Some(spool), Some(kept)) = (&mut self.spool, kept) {
                    offset = spool.push(raw.written, &kept)?;
                }
                let shape = Shape::of(&Value::Object(taken.rest));
                self.joined = std::mem::replace(&mut self.joined, Shape::Unknown).join(shape);
                if self.joined.fields() > MOST_COLUMNS {
                    return Err(DatasetError::Row {
                        path: raw.path.to_owned(),
                        at: raw.at,
                        fault: Box::new(too_many_columns()),
                    });
                }
                let queries = match &taken.asks {
                    RowPrompt::Text(_) => 1,
                    RowPrompt::Chat(_, asked) => u32::try_from(asked.len()).unwrap_or(u32::MAX),
                };
                let selection = &options.selection;
                if selection.shuffle.is_some() {
                    self.places.push(Place {
                        row,
                        offset,
                        queries,
                    });
                } else if selection.holds(self.good) {
                    self.selected += u64::from(queries);
                }
                self.good += 1;
                Ok(())
            }
            Err(fault) => {
                let error = DatasetError::Row {
                    path: raw.path.to_owned(),
                    at: raw.at,
                    fault: Box::new(shown(fault, raw.written)),
                };
                match options.on_error {
                    OnError::Fail => Err(error),
                    OnError::Skip => {
                        self.skipped.push(&error);
                        Ok(())
                    }
                }
            }
        }
    }
}

/// A fault of all rows together, so it cannot be skipped.
fn too_many_columns() -> Fault {
    Fault::new(
        format!("at most {MOST_COLUMNS} different columns in all rows, with those in columns"),
        "more",
    )
    .help("keep what differs from row to row in one column, as a list or a text")
}

fn shown(fault: Fault, written: Encoding<'_>) -> Fault {
    match written {
        Encoding::Json(text) | Encoding::Text(text) => fault.shown_in(text),
        Encoding::Binary => fault,
    }
}

/// The rows that were skipped.
#[derive(Debug, Default)]
pub(crate) struct SkippedRows {
    count: u64,
    first: Vec<String>,
}

impl SkippedRows {
    fn push(&mut self, error: &DatasetError) {
        self.count += 1;
        if self.first.len() < MOST_LISTED {
            self.first.push(error.to_string());
        }
    }

    /// One note with their number, and the first of them.
    pub(crate) fn notes(&self, path: &Path) -> Vec<String> {
        if self.count == 0 {
            return Vec::new();
        }
        let rows = if self.count == 1 { "row" } else { "rows" };
        let path = printable_path(path);
        let head = format!("skipped {} bad {rows} of `{path}`", self.count);
        let more = self.count - self.first.len() as u64;
        let rest = (more > 0).then(|| format!("and {more} more"));
        [head]
            .into_iter()
            .chain(self.first.iter().cloned())
            .chain(rest)
            .collect()
    }
}
