//! A file in the cache, and the files beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::digest;
use crate::error::CacheError;
use crate::lock::Lock;
use crate::progress::{Progress, Report};
use crate::record::{Check, Record};

/// What is known about a file before it is fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Size; `None` if unknown.
    pub bytes: Option<u64>,
    /// SHA-256; `None` if unknown.
    pub sha256: Option<String>,
    /// First bytes; `None` if any.
    pub magic: Option<Magic>,
}

/// The first bytes of a file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// The bytes.
    pub bytes: &'static [u8],
    /// Name of the format, with its article.
    pub name: &'static str,
}

/// The result of checking a file.
#[derive(Debug)]
pub struct Verification {
    /// SHA-256 as computed from the file.
    pub sha256: String,
    /// What it was compared with.
    pub check: Check,
}

/// The location of a file in the cache.
#[derive(Debug)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Must be held to write the file or the files beside it.
    pub lock: PathBuf,
    /// What the file must be.
    pub expected: Expectation,
}

impl Place {
    /// The file at `steps` below the cache's directory. Locks are in a separate directory: a lock
    /// file cannot be removed safely, a file's directory can.
    pub fn below(cache: &Path, steps: &[&str], expected: Expectation) -> Self {
        Self {
            file: steps
                .iter()
                .fold(cache.to_owned(), |path, step| path.join(step)),
            lock: cache.join("locks").join(steps.join("--")),
            expected,
        }
    }

    /// The checked file: from the cache, else fetched with `fetch` under the lock.
    pub fn get<E: From<CacheError>>(
        &self,
        report: Report<'_>,
        fetch: impl FnOnce(&Self, Report<'_>) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if self.checked().is_some() {
            return Ok(self.file.clone());
        }
        let _lock = match Lock::take(&self.lock, report) {
            Ok(lock) => lock,
            // A cache that is part of an image may be read-only and still valid.
            Err(_) if self.is_right_by_content(report)? => return Ok(self.file.clone()),
            Err(source) => {
                let directory = self.lock.parent().and_then(Path::parent);
                return Err(E::from(CacheError::Unusable {
                    directory: directory.unwrap_or(&self.lock).to_owned(),
                    cause: source,
                }));
            }
        };
        // The previous holder of the lock may have fetched it.
        if self.checked().is_some() {
            return Ok(self.file.clone());
        }
        if self.is_right_by_content(report)? {
            let sha256 = self.expected.sha256.clone().unwrap_or_default();
            let check = Check::Catalogue;
            self.write_record(&self.file, Verification { sha256, check })?;
            return Ok(self.file.clone());
        }
        fs::create_dir_all(self.directory()).map_err(|error| self.unusable(error))?;
        fetch(self, report)?;
        Ok(self.file.clone())
    }

    /// The directory that it is in.
    pub fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// The path of a companion file, by its extension.
    pub fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.file);
        name.push(ending);
        PathBuf::from(name)
    }

    /// The record of how the file was checked.
    pub fn record(&self) -> PathBuf {
        self.beside(".checked")
    }

    /// The partial download.
    pub fn part(&self) -> PathBuf {
        self.beside(".part")
    }

    /// The origin of the partial download.
    pub fn origin(&self) -> PathBuf {
        self.beside(".part.origin")
    }

    /// How the existing file was checked; `None` if it is missing or has changed.
    pub fn checked(&self) -> Option<Record> {
        let found = fs::metadata(&self.file).ok()?;
        let record = Record::read(&self.record())?;
        let is_expected =
            self.expected.sha256.as_ref() == Some(&record.sha256) || self.expected.sha256.is_none();
        (record.is_of(&found) && is_expected).then_some(record)
    }

    /// Hashes a file of the right size without a record, which the user may have put there. `false`
    /// if the content differs, or if there is nothing to compare it with.
    fn is_right_by_content(&self, report: Report<'_>) -> Result<bool, CacheError> {
        let (Some(bytes), Some(sha256)) = (self.expected.bytes, &self.expected.sha256) else {
            return Ok(false);
        };
        let found = fs::metadata(&self.file);
        if !found.is_ok_and(|found| found.is_file() && found.len() == bytes) {
            return Ok(false);
        }
        let seen = |done| report(Progress::Checking { done, total: bytes });
        let (hasher, _) = digest::of_file(&self.file, seen).map_err(|source| CacheError::Read {
            path: self.file.clone(),
            source,
        })?;
        Ok(digest::finish(hasher) == *sha256)
    }

    /// Records that the file at `path`, which is or becomes this one, was checked.
    fn write_record(&self, path: &Path, verified: Verification) -> Result<(), CacheError> {
        let record = fs::metadata(path)
            .and_then(|found| Record::of(&found, verified.sha256, verified.check));
        record
            .and_then(|record| record.write(&self.record()))
            .map_err(|source| self.unusable(source))
    }

    /// Moves a verified file into place atomically.
    pub fn install(&self, path: &Path, verified: Verification) -> Result<(), CacheError> {
        // The record comes first: after a crash in between it refers to no file, and is ignored.
        self.write_record(path, verified)?;
        fs::rename(path, &self.file).map_err(|source| self.unusable(source))?;
        // A lost rename only costs a download, so a failure here is ignored.
        if let Ok(directory) = File::open(self.directory()) {
            let _ = directory.sync_all();
        }
        for left in [self.part(), self.origin()] {
            let _ = fs::remove_file(left);
        }
        Ok(())
    }

    /// The error of a failed write.
    pub fn unusable(&self, source: io::Error) -> CacheError {
        if crate::space::is_full(&source) {
            return crate::space::full(self.directory(), self.expected.bytes.unwrap_or(0), 0);
        }
        CacheError::Unusable {
            directory: self.directory().to_owned(),
            cause: source,
        }
    }
}
