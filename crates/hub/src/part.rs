//! A partial download: its bytes, hashed as they arrive, and its origin.
//!
//! It is resumed only if it comes from the same URL and the server still has the same version.
//! Otherwise the file would be half of one version and half of another.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::digest::{self, BLOCK};
use crate::error::{CacheError, Failure};
use crate::place::{Expectation, Verification};
use crate::progress::{Progress, Report};
use crate::record::Check;
use crate::space;

/// The origin of a partial download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its address.
    pub url: String,
    /// The server's entity tag of the file; `None` if it sends none.
    pub version: Option<String>,
}

/// The two files of a partial download.
#[derive(Debug)]
pub struct Part {
    /// The bytes so far.
    pub path: PathBuf,
    /// The record of the origin.
    pub origin: PathBuf,
}

impl Part {
    /// Number of bytes of the file at `url` that are here, and their version.
    pub(crate) fn left(&self, url: &str, expected: &Expectation) -> (u64, Option<String>) {
        let Ok(text) = fs::read_to_string(&self.origin) else {
            return (0, None);
        };
        let mut lines = text.lines();
        let is_same = lines.next() == Some(url);
        let version = lines.next().map(str::to_owned);
        // Without a version, only a checksum can tell whether the two halves belong together.
        if !is_same || (version.is_none() && expected.sha256.is_none()) {
            return (0, None);
        }
        let found = fs::metadata(&self.path).ok().filter(fs::Metadata::is_file);
        let length = found.map_or(0, |found| found.len());
        match expected.bytes {
            Some(bytes) if length > bytes => (0, None),
            _ => (length, version),
        }
    }

    /// Opens the file for appending after the first `offset` bytes.
    pub fn open(
        &self,
        offset: u64,
        origin: &Origin,
        report: Report<'_>,
    ) -> Result<Download, CacheError> {
        let unusable = |source| CacheError::Unusable {
            directory: self.directory().to_owned(),
            cause: source,
        };
        let mut text = format!("{}\n", origin.url);
        if let Some(version) = &origin.version {
            text.push_str(version);
            text.push('\n');
        }
        let mut options = File::options();
        if offset == 0 {
            // Remove the old content before recording the new origin.
            options.write(true).create(true).truncate(true);
        } else {
            options.append(true);
        }
        let file = options.open(&self.path).map_err(unusable)?;
        fs::write(&self.origin, text).map_err(|source| self.failed(source, 0, 0))?;
        let mut hasher = Sha256::new();
        if offset > 0 {
            let seen = |done| {
                report(Progress::Checking {
                    done,
                    total: offset,
                });
            };
            (hasher, _) = digest::of_file(&self.path, seen).map_err(|source| CacheError::Read {
                path: self.path.clone(),
                source,
            })?;
        }
        Ok(Download {
            file,
            hasher,
            done: offset,
        })
    }

    pub(crate) fn remove(&self) {
        // A file that cannot be removed is rejected again next time.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.origin);
    }

    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    fn failed(&self, source: io::Error, needed: u64, kept: u64) -> CacheError {
        if space::is_full(&source) {
            return space::full(self.directory(), needed, kept);
        }
        CacheError::Unusable {
            directory: self.directory().to_owned(),
            cause: source,
        }
    }

    /// Checks the finished file.
    pub fn verify(
        &self,
        arrived: Download,
        expected: &Expectation,
        from_hub: Option<String>,
    ) -> Result<Verification, Failure> {
        arrived
            .file
            .sync_all()
            .map_err(|source| self.failed(source, arrived.done, arrived.done))?;
        if let Some(bytes) = expected.bytes
            && bytes != arrived.done
        {
            let found = arrived.done;
            self.remove();
            return Err(format!("wrong length: expected {bytes} bytes, found {found}").into());
        }
        let sha256 = digest::finish(arrived.hasher);
        let (wanted, check) = match (&expected.sha256, from_hub) {
            (Some(wanted), _) => (Some(wanted.clone()), Check::Catalogue),
            (None, Some(wanted)) => (Some(wanted), Check::Hub),
            (None, None) => (None, Check::Length),
        };
        if let Some(wanted) = wanted
            && wanted != sha256
        {
            self.remove();
            let what = format!("wrong checksum: expected SHA-256 {wanted}, found {sha256}");
            return Err(what.into());
        }
        // Without a checksum, the login page of a captive portal would pass for a model.
        if let Some(magic) = &expected.magic
            && check == Check::Length
            && !self.starts_with(magic.bytes)
        {
            self.remove();
            return Err(format!("the downloaded file is not {}", magic.name).into());
        }
        Ok(Verification { sha256, check })
    }

    fn starts_with(&self, magic: &[u8]) -> bool {
        let mut start = vec![0; magic.len()];
        File::open(&self.path)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| start == magic)
    }
}

/// A download in progress.
#[derive(Debug)]
pub struct Download {
    file: File,
    hasher: Sha256,
    /// Bytes so far.
    pub done: u64,
}

/// Why a download stopped.
#[derive(Debug)]
pub enum DownloadError {
    /// The source ended too early or failed.
    Source(io::Error),
    /// The bytes cannot be written.
    Ours(CacheError),
}

impl Download {
    /// Receives everything from `source`, up to `total`.
    pub fn take(
        &mut self,
        source: &mut dyn Read,
        total: Option<u64>,
        part: &Part,
        report: Report<'_>,
    ) -> Result<(), DownloadError> {
        let mut block = vec![0; BLOCK];
        loop {
            let count = match source.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(DownloadError::Source(error)),
            };
            let arrived = &block[..count];
            if total.is_some_and(|total| self.done + count as u64 > total) {
                let error = io::Error::other("it sends more than it announced");
                return Err(DownloadError::Source(error));
            }
            self.file.write_all(arrived).map_err(|error| {
                let needed = total.unwrap_or(self.done).saturating_sub(self.done);
                let needed = needed.max(count as u64);
                DownloadError::Ours(part.failed(error, needed, self.done))
            })?;
            self.hasher.update(arrived);
            self.done += count as u64;
            let done = self.done;
            report(Progress::Received { done, total });
        }
        match total {
            Some(total) if self.done < total => {
                Err(DownloadError::Source(io::ErrorKind::UnexpectedEof.into()))
            }
            _ => Ok(()),
        }
    }
}
