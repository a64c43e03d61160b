//! The first look at all rows.

use std::path::Path;

use ipw_core::shape::Shape;
use ipw_core::text::printable_path;
use serde_json::Value;

use crate::cells::MOST_COLUMNS;
use crate::columns::Asks;
use crate::error::DatasetError;
use crate::fault::Fault;
use crate::options::{OnError, Options};
use crate::reader::{Raw, Supply, Written};
use crate::rows::Place;
use crate::spool::Spool;

/// A file of fewer rows and bytes is always looked through to its end.
const MOST_AHEAD_ROWS: u64 = 1000;
const MOST_AHEAD_BYTES: u64 = 16 << 20;

/// So many skipped rows are listed.
const MOST_LISTED: usize = 5;

/// What the rows so far have shown.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The shape that holds the metadata of all of them.
    pub(crate) joined: Shape,
    /// Where they are, if they are to be shuffled.
    pub(crate) places: Vec<Place>,
    /// The rows themselves, if they are to be shuffled and their source cannot jump.
    pub(crate) spool: Option<Spool>,
    /// How many are good.
    pub(crate) good: u64,
    /// How many queries those are that are selected, if they are not to be shuffled.
    pub(crate) selected: u64,
    /// Those that were left out.
    pub(crate) skipped: Skipped,
    /// Bytes of the rows so far, where they are written as text.
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
            skipped: Skipped::default(),
            bytes: 0,
        })
    }

    /// Whether all rows that will be asked are among those so far, and enough others that a file of
    /// usual size has been looked through.
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

    /// Looks at one row.
    pub(crate) fn look(&mut self, raw: Raw<'_>, options: &Options) -> Result<(), DatasetError> {
        let row = self.good + self.skipped.count;
        let mut offset = raw.offset;
        self.bytes += match raw.written {
            Written::Json(text) | Written::Text(text) => text.len() as u64,
            Written::Binary => 0,
        };
        let taken = raw.object.and_then(|object| {
            // Cheap only because a spool is rare.
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
                    Asks::Text(_) => 1,
                    Asks::Chat(_, asked) => u32::try_from(asked.len()).unwrap_or(u32::MAX),
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

/// Not one row's fault, so that it cannot be skipped.
fn too_many_columns() -> Fault {
    Fault::new(
        format!("at most {MOST_COLUMNS} different columns in all rows, with those in columns"),
        "more",
    )
    .help("keep what differs from row to row in one column, as a list or a text")
}

fn shown(fault: Fault, written: Written<'_>) -> Fault {
    match written {
        Written::Json(text) | Written::Text(text) => fault.shown_in(text),
        Written::Binary => fault,
    }
}

/// Rows that were left out.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    count: u64,
    first: Vec<String>,
}

impl Skipped {
    fn push(&mut self, error: &DatasetError) {
        self.count += 1;
        if self.first.len() < MOST_LISTED {
            self.first.push(error.to_string());
        }
    }

    /// How many there were, and the first of them.
    pub(crate) fn notes(&self, path: &Path) -> Vec<String> {
        if self.count == 0 {
            return Vec::new();
        }
        let rows = if self.count == 1 { "row" } else { "rows" };
        let path = printable_path(path);
        let head = format!("left {} bad {rows} of `{path}` out", self.count);
        let more = self.count - self.first.len() as u64;
        let rest = (more > 0).then(|| format!("and {more} more"));
        [head]
            .into_iter()
            .chain(self.first.iter().cloned())
            .chain(rest)
            .collect()
    }
}
