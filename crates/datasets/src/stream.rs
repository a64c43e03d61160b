//! One pass over the queries of a dataset of rows.
//!
//! All rows were good when the dataset was opened. A row that is now bad or missing means that the
//! file was changed. The queries before it were already sent, so the pass ends there with an error.

use std::slice;

use ipw_core::query::Query;

use crate::error::DatasetError;
use crate::reader::Reader;
use crate::rows::{Order, Place, Rows};

/// The rows that are still to be read.
enum Course<'a> {
    /// In the order of the source; `next` is the next row.
    AsWritten { next: u64 },
    /// At these places.
    Shuffled(slice::Iter<'a, Place>),
}

/// One pass over the queries.
pub(crate) struct Stream<'a> {
    rows: &'a Rows,
    reader: Box<dyn Reader>,
    course: Course<'a>,
    /// Queries of the row that was read last.
    ready: std::vec::IntoIter<Query>,
    index: u64,
    end: u64,
}

impl<'a> Stream<'a> {
    /// Starts a pass of `size` queries.
    pub(crate) fn begin(rows: &'a Rows, size: u64) -> Result<Self, DatasetError> {
        let mut reader = rows.supply().reader()?;
        let course = match rows.order() {
            Order::AsWritten { first } => {
                let mut next = 0;
                let mut left = if size == 0 { 0 } else { *first };
                while left > 0 {
                    let Some(raw) = reader.advance()? else {
                        // The error names the row of the first query.
                        next += left;
                        break;
                    };
                    next += 1;
                    left -= u64::from(!rows.leaves_out(&raw));
                }
                Course::AsWritten { next }
            }
            Order::Shuffled(places) => Course::Shuffled(places.iter()),
        };
        Ok(Self {
            rows,
            reader,
            course,
            ready: Vec::new().into_iter(),
            index: 0,
            end: size,
        })
    }

    fn query(&mut self) -> Result<Query, DatasetError> {
        loop {
            match self.ready.next() {
                Some(query) => return Ok(query),
                None => self.ready = self.read()?.into_iter(),
            }
        }
    }

    fn read(&mut self) -> Result<Vec<Query>, DatasetError> {
        let rows = self.rows;
        let changed = |row, change| DatasetError::Changed {
            path: rows.supply().path(),
            row,
            change,
        };
        match &mut self.course {
            Course::AsWritten { next } => loop {
                let row = *next;
                *next += 1;
                let raw = self.reader.advance()?;
                let raw = raw.ok_or_else(|| changed(row, "is gone"))?;
                if !rows.leaves_out(&raw) {
                    return rows
                        .queries_of(self.index, row, raw)
                        .ok_or_else(|| changed(row, "is not what it was"));
                }
            },
            Course::Shuffled(places) => {
                let place = places.next().expect("each place has its queries");
                self.reader.jump(place.offset)?;
                let raw = self.reader.advance()?;
                let raw = raw
                    .filter(|raw| raw.offset == place.offset)
                    .ok_or_else(|| changed(place.row, "is gone"))?;
                rows.queries_of(self.index, place.row, raw)
                    .ok_or_else(|| changed(place.row, "is not what it was"))
            }
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Query, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.end {
            return None;
        }
        let query = self.query();
        self.index += 1;
        if query.is_err() {
            self.end = self.index;
        }
        Some(query)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error ends the pass early, so the rest is only an upper bound.
        let least = usize::from(self.index < self.end);
        (least, usize::try_from(self.end - self.index).ok())
    }
}
