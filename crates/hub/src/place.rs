//! A file in the cache, with what lies beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::digest;
use crate::error::CacheError;
use crate::lock::Lock;
use crate::progress::{Progress, Report};
use crate::record::{Check, Record};

/// What a file must be, as far as it is known before it is fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Its size.
    pub bytes: Option<u64>,
    /// Its checksum.
    pub sha256: Option<String>,
    /// How it begins.
    pub magic: Option<Magic>,
}

/// The first bytes of every file of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// The bytes.
    pub bytes: &'static [u8],
    /// What such a file is called, with its article.
    pub name: &'static str,
}

/// What a file turned out to be.
#[derive(Debug)]
pub struct Verified {
    /// Its checksum, by our own count.
    pub sha256: String,
    /// What that was compared with.
    pub check: Check,
}

/// Where a file lies, or will.
#[derive(Debug)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Whoever writes to it, or to what lies beside it, holds this.
    pub lock: PathBuf,
    /// What it must be.
    pub expected: Expected,
}

impl Place {
    /// The file at `steps` below the cache's directory. Locks live apart: a lock's file cannot be
    /// removed safely, a file's directory can.
    pub fn below(cache: &Path, steps: &[&str], expected: Expected) -> Self {
        Self {
            file: steps
                .iter()
                .fold(cache.to_owned(), |path, step| path.join(step)),
            lock: cache.join("locks").join(steps.join("--")),
            expected,
        }
    }

    /// The file, checked: as it lies here, else as `fetch` brings it while nobody else does.
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
            // A cache that came with the image may be read-only, and right.
            Err(_) if self.is_right_by_content(report)? => return Ok(self.file.clone()),
            Err(source) => {
                let directory = self.lock.parent().and_then(Path::parent);
                return Err(E::from(CacheError::Unusable {
                    directory: directory.unwrap_or(&self.lock).to_owned(),
                    cause: source,
                }));
            }
        };
        // Whoever had the lock before may have fetched it.
        if self.checked().is_some() {
            return Ok(self.file.clone());
        }
        if self.is_right_by_content(report)? {
            let sha256 = self.expected.sha256.clone().unwrap_or_default();
            let check = Check::Catalogue;
            self.write_record(&self.file, Verified { sha256, check })?;
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

    /// Where what goes with it is, by its ending.
    pub fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.file);
        name.push(ending);
        PathBuf::from(name)
    }

    /// How the file was checked.
    pub fn record(&self) -> PathBuf {
        self.beside(".checked")
    }

    /// What has arrived of it.
    pub fn part(&self) -> PathBuf {
        self.beside(".part")
    }

    /// Where the part comes from.
    pub fn origin(&self) -> PathBuf {
        self.beside(".part.origin")
    }

    /// How the file that is there was checked; `None` if it is not there, or another one.
    pub fn checked(&self) -> Option<Record> {
        let found = fs::metadata(&self.file).ok()?;
        let record = Record::read(&self.record())?;
        let is_expected =
            self.expected.sha256.as_ref() == Some(&record.sha256) || self.expected.sha256.is_none();
        (record.is_of(&found) && is_expected).then_some(record)
    }

    /// Hashes a file that has the right size and no record: somebody put it there. `false` if it
    /// is another file, or if nothing is known to compare it with.
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

    /// Writes down that the file at `path`, which is or becomes this one, was checked.
    fn write_record(&self, path: &Path, verified: Verified) -> Result<(), CacheError> {
        let record = fs::metadata(path)
            .and_then(|found| Record::of(&found, verified.sha256, verified.check));
        record
            .and_then(|record| record.write(&self.record()))
            .map_err(|source| self.unusable(source))
    }

    /// Moves a verified file into place, in one step.
    pub fn install(&self, path: &Path, verified: Verified) -> Result<(), CacheError> {
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

    /// The error of a write that failed.
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
