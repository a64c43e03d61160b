//! A model's file in the cache, with what lies beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::digest;
use crate::error::ModelError;
use crate::progress::{Progress, Report};
use crate::record::{Check, Record};
use crate::reference::ModelRef;

/// What a file must be, as far as it is known before it is fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) bytes: Option<u64>,
    pub(crate) sha256: Option<String>,
}

/// What a file turned out to be.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) sha256: String,
    pub(crate) check: Check,
}

#[derive(Debug)]
pub(crate) struct Place {
    /// The model's file.
    pub(crate) file: PathBuf,
    /// Whoever writes to the others holds this.
    pub(crate) lock: PathBuf,
    pub(crate) expected: Expected,
}

impl Place {
    pub(crate) fn new(file: PathBuf, lock: PathBuf, model: &ModelRef) -> Self {
        let expected = match model {
            ModelRef::Named(entry) => Expected {
                bytes: Some(entry.bytes),
                sha256: Some(entry.sha256.to_owned()),
            },
            _ => Expected::default(),
        };
        Self {
            file,
            lock,
            expected,
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.file);
        name.push(ending);
        PathBuf::from(name)
    }

    /// How the file was checked.
    pub(crate) fn record(&self) -> PathBuf {
        self.beside(".checked")
    }

    /// What has arrived of it.
    pub(crate) fn part(&self) -> PathBuf {
        self.beside(".part")
    }

    /// Where the part comes from.
    pub(crate) fn origin(&self) -> PathBuf {
        self.beside(".part.origin")
    }

    /// Where pip works.
    pub(crate) fn workshop(&self) -> PathBuf {
        self.beside(".pip")
    }

    /// Everything but the lock.
    pub(crate) fn all(&self) -> [PathBuf; 5] {
        [
            self.file.clone(),
            self.record(),
            self.part(),
            self.origin(),
            self.workshop(),
        ]
    }

    /// How the file that is there was checked; `None` if it is not there, or another one.
    pub(crate) fn checked(&self) -> Option<Record> {
        let found = fs::metadata(&self.file).ok()?;
        let record = Record::read(&self.record())?;
        let is_expected =
            self.expected.sha256.as_ref() == Some(&record.sha256) || self.expected.sha256.is_none();
        (record.is_of(&found) && is_expected).then_some(record)
    }

    /// Hashes a file that has the right size and no record: somebody put it there. `false` if it
    /// is another file, or if nothing is known to compare it with.
    pub(crate) fn is_right_by_content(&self, report: Report<'_>) -> Result<bool, ModelError> {
        let (Some(bytes), Some(sha256)) = (self.expected.bytes, &self.expected.sha256) else {
            return Ok(false);
        };
        let found = fs::metadata(&self.file);
        if !found.is_ok_and(|found| found.is_file() && found.len() == bytes) {
            return Ok(false);
        }
        let seen = |done| report(Progress::Checking { done, total: bytes });
        let (hasher, _) = digest::of_file(&self.file, seen).map_err(|source| ModelError::Read {
            path: self.file.clone(),
            source,
        })?;
        Ok(digest::finish(hasher) == *sha256)
    }

    /// Writes down that the file at `path`, which is or becomes the model's, was checked.
    pub(crate) fn write_record(&self, path: &Path, verified: Verified) -> Result<(), ModelError> {
        let record = fs::metadata(path)
            .and_then(|found| Record::of(&found, verified.sha256, verified.check));
        record
            .and_then(|record| record.write(&self.record()))
            .map_err(|source| self.unusable(source))
    }

    /// Moves a verified file into place, in one step.
    pub(crate) fn install(&self, path: &Path, verified: Verified) -> Result<(), ModelError> {
        // The record comes first: a crash in between leaves a record of no file, which is nothing.
        self.write_record(path, verified)?;
        fs::rename(path, &self.file).map_err(|source| self.unusable(source))?;
        // A lost rename costs a download and nothing else, so that a refusal here is no error.
        if let Ok(directory) = File::open(self.directory()) {
            let _ = directory.sync_all();
        }
        for left in [self.part(), self.origin()] {
            let _ = fs::remove_file(left);
        }
        Ok(())
    }

    pub(crate) fn unusable(&self, source: io::Error) -> ModelError {
        if crate::space::is_full(&source) {
            return crate::space::full(self.directory(), self.expected.bytes.unwrap_or(0), 0);
        }
        ModelError::CacheUnusable {
            directory: self.directory().to_owned(),
            cause: source,
        }
    }
}
