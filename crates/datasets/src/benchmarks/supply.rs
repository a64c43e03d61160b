//! The rows of a benchmark, file after file, turned as they are read.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use super::row::{Refused, Shaper};
use crate::error::DatasetError;
use crate::fault::{At, Fault};
use crate::reader::{Object, Raw, Reader, Supply, Written};

/// Where a row is, and what is in it.
type Row = (At, Result<Object, Fault>);

/// More topics than this are not listed.
const MOST_SUBJECTS: usize = 200;

/// Published rows.
#[derive(Debug)]
pub(super) struct Published {
    parts: Vec<Box<dyn Supply>>,
    shaper: Shaper,
    subject: Option<String>,
    subjects: Subjects,
}

/// The topics that went by while one of them was looked for.
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

    /// Whether a row had it.
    pub(super) fn has(&self, subject: &str) -> bool {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.contains(subject)
    }

    /// All of them, up to a bound.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().cloned().collect()
    }
}

impl Published {
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

impl Supply for Published {
    fn path(&self) -> PathBuf {
        let first = self.parts.first();
        first.map_or_else(
            || PathBuf::from(self.shaper.benchmark.id),
            |part| part.path(),
        )
    }

    /// A row's place is counted on the way to it.
    fn jumps(&self) -> Result<bool, DatasetError> {
        Ok(false)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        let readers: Result<Vec<_>, _> = self.parts.iter().map(|part| part.reader()).collect();
        let mut readers = readers?.into_iter();
        Ok(Box::new(PublishedReader {
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

struct PublishedReader {
    current: Option<Box<dyn Reader>>,
    readers: vec::IntoIter<Box<dyn Reader>>,
    shaper: Shaper,
    subject: Option<String>,
    subjects: Subjects,
    /// The file that the last row was in.
    path: PathBuf,
    /// How many rows are behind us.
    place: u64,
}

impl PublishedReader {
    /// The next row as it was published.
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
                Written::Json(text) | Written::Text(text) => fault.shown_in(text),
                Written::Binary => fault,
            });
            return Ok(Some((raw.at, object)));
        }
        Ok(None)
    }

    /// Whether the row is of the topic that is wanted.
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

impl Reader for PublishedReader {
    fn advance(&mut self) -> Result<Option<Raw<'_>>, DatasetError> {
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
            Ok(Err(Refused::Row(fault))) | Err(fault) => Err(fault),
            Ok(Err(Refused::File(fault))) => {
                return Err(DatasetError::Row {
                    path: self.path.clone(),
                    at,
                    fault: Box::new(fault),
                });
            }
        };
        Ok(Some(Raw {
            path: &self.path,
            at,
            offset: 0,
            // What is put aside is the turned row, not the text that it was made from.
            written: Written::Binary,
            object,
        }))
    }

    fn jump(&mut self, _: u64) -> Result<(), DatasetError> {
        unreachable!("a supply that does not jump is put aside first")
    }
}
