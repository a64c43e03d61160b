//! The rows of a benchmark, file after file, converted while they are read.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use super::row::{Rejection, Shaper};
use crate::error::DatasetError;
use crate::fault::{Fault, RowPosition};
use crate::reader::{Encoding, Object, RawRow, Reader, Supply};

/// A row's position and content.
type Row = (RowPosition, Result<Object, Fault>);

/// Limit of the list of topics that an error shows.
const MOST_SUBJECTS: usize = 200;

/// The rows of one benchmark.
#[derive(Debug)]
pub(super) struct BenchmarkRows {
    parts: Vec<Box<dyn Supply>>,
    shaper: Shaper,
    subject: Option<String>,
    subjects: Subjects,
}

/// The topics seen so far, for the error when the requested one is not among them.
#[derive(Debug, Clone, Default)]
pub(super) struct Subjects(Arc<Mutex<BTreeSet<String>>>);

impl Subjects {
    fn add(&self, subject: Option<String>) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MOST_SUBJECTS {
            names.extend(subject);
        }
    }

    fn found(&self, subject: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(subject) {
            names.insert(subject.to_owned());
        }
    }

    /// Whether a row had this topic.
    pub(super) fn has(&self, subject: &str) -> bool {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.contains(subject)
    }

    /// The topics, at most [`MOST_SUBJECTS`] of them.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().cloned().collect()
    }
}

impl BenchmarkRows {
    pub(super) fn new(
        parts: Vec<Box<dyn Supply>>,
        shaper: Shaper,
        subject: Option<String>,
    ) -> Self {
        Self {
            parts,
            shaper,
            subject,
            subjects: Subjects::default(),
        }
    }

    pub(super) fn subjects(&self) -> Subjects {
        self.subjects.clone()
    }
}

impl Supply for BenchmarkRows {
    fn path(&self) -> PathBuf {
        let first = self.parts.first();
        first.map_or_else(
            || PathBuf::from(self.shaper.benchmark.id),
            |part| part.path(),
        )
    }

    /// False: the place of a row is counted on the way to it.
    fn jumps(&self) -> Result<bool, DatasetError> {
        Ok(false)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        let readers: Result<Vec<_>, _> = self.parts.iter().map(|part| part.reader()).collect();
        let mut readers = readers?.into_iter();
        Ok(Box::new(BenchmarkReader {
            current: readers.next(),
            readers,
            shaper: self.shaper,
            subject: self.subject.clone(),
            subjects: self.subjects.clone(),
            path: PathBuf::new(),
            place: 0,
        }))
    }
}

struct BenchmarkReader {
    current: Option<Box<dyn Reader>>,
    readers: vec::IntoIter<Box<dyn Reader>>,
    shaper: Shaper,
    subject: Option<String>,
    subjects: Subjects,
    /// The file of the last row.
    path: PathBuf,
    /// Rows read so far.
    place: u64,
}

impl BenchmarkReader {
    /// The next row as published.
    fn published(&mut self) -> Result<Option<Row>, DatasetError> {
        while let Some(reader) = &mut self.current {
            let Some(raw) = reader.advance()? else {
                self.current = self.readers.next();
                continue;
            };
            if self.path != raw.path {
                raw.path.clone_into(&mut self.path);
            }
            let object = raw.object.map_err(|fault| match raw.written {
                Encoding::Json(text) | Encoding::Text(text) => fault.shown_in(text),
                Encoding::Binary => fault,
            });
            return Ok(Some((raw.at, object)));
        }
        Ok(None)
    }

    /// Whether the row has the requested topic.
    fn is_wanted(&self, object: &Result<Object, Fault>) -> bool {
        let (Some(wanted), Ok(object)) = (&self.subject, object) else {
            return true;
        };
        let subject = self.shaper.subject(object);
        let is_wanted = subject.as_ref() == Some(wanted);
        if is_wanted {
            self.subjects.found(wanted);
        } else {
            self.subjects.add(subject);
        }
        is_wanted
    }
}

impl Reader for BenchmarkReader {
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError> {
        let (at, object) = loop {
            let Some((at, object)) = self.published()? else {
                return Ok(None);
            };
            self.place += 1;
            if self.is_wanted(&object) {
                break (at, object);
            }
        };
        let place = self.place - 1;
        let object = match object.map(|object| self.shaper.row(place, &object)) {
            Ok(Ok(row)) => Ok(row),
            Ok(Err(Rejection::Row(fault))) | Err(fault) => Err(fault),
            Ok(Err(Rejection::File(fault))) => {
                return Err(DatasetError::Row {
                    path: self.path.clone(),
                    at,
                    fault: Box::new(fault),
                });
            }
        };
        Ok(Some(RawRow {
            path: &self.path,
            at,
            offset: 0,
            // A spool keeps the converted row, not the text that it was made from.
            written: Encoding::Binary,
            object,
        }))
    }

    fn jump(&mut self, _: u64) -> Result<(), DatasetError> {
        unreachable!("a supply that does not jump is put aside first")
    }
}
