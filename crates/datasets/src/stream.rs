//! One pass over the queries of a dataset of lines.
//!
//! The rows were good when the dataset was opened. One that is not good now, or not there, means
//! that somebody wrote to the file; the queries before it have been asked, so the pass ends there.

use std::slice;

use ipw_core::query::Query;

use crate::error::DatasetError;
use crate::lines::Lines;
use crate::rows::{Order, Place, Rows};
use crate::source::Input;

/// The way through the rows that is still ahead.
enum Course<'a> {
    AsWritten { next: u64 },
    Shuffled(slice::Iter<'a, Place>),
}

impl Course<'_> {
    /// The next row's number and, if one must go there, its offset.
    fn step(&mut self) -> (u64, Option<u64>) {
        match self {
            Self::AsWritten { next } => {
                *next += 1;
                (*next - 1, None)
            }
            Self::Shuffled(places) => {
                let place = places.next().expect("there is a place for each query");
                (place.row, Some(place.offset))
            }
        }
    }
}

/// The queries of one pass.
pub(crate) struct Stream<'a> {
    rows: &'a Rows,
    lines: Lines<Box<dyn Input>>,
    course: Course<'a>,
    index: u64,
    end: u64,
}

impl<'a> Stream<'a> {
    /// A pass of `size` queries, before the first of them.
    pub(crate) fn begin(rows: &'a Rows, size: u64) -> Result<Self, DatasetError> {
        let source = rows.source();
        let mut lines = source.lines()?;
        let course = match rows.order() {
            Order::AsWritten { first } => {
                for _ in 0..*first {
                    let line = lines.advance().map_err(|error| source.unreadable(error))?;
                    if line.is_none() {
                        break;
                    }
                }
                Course::AsWritten { next: *first }
            }
            Order::Shuffled(places) => Course::Shuffled(places.iter()),
        };
        Ok(Self {
            rows,
            lines,
            course,
            index: 0,
            end: size,
        })
    }

    fn read(&mut self) -> Result<Query, DatasetError> {
        let source = self.rows.source();
        let (row, offset) = self.course.step();
        let changed = |change| DatasetError::Changed {
            path: source.path(),
            row,
            change,
        };
        if let Some(offset) = offset {
            self.lines
                .jump(offset)
                .map_err(|error| source.unreadable(error))?;
        }
        let line = self
            .lines
            .advance()
            .map_err(|error| source.unreadable(error))?
            .filter(|line| offset.is_none_or(|offset| offset == line.offset))
            .ok_or_else(|| changed("is gone"))?;
        self.rows
            .query(self.index, row, line.bytes)
            .ok_or_else(|| changed("is not what it was"))
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Query, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.end {
            return None;
        }
        let query = self.read();
        self.index += 1;
        if query.is_err() {
            self.end = self.index;
        }
        Some(query)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error ends the pass early, so what is left is only the most that can come.
        let least = usize::from(self.index < self.end);
        (least, usize::try_from(self.end - self.index).ok())
    }
}
