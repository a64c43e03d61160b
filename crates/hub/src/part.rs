//! A file on its way: what has arrived, hashed as it arrives, and where it comes from.
//!
//! A part is continued only if it comes from the same URL and the server still has the same file
//! there: half of one file and half of another is neither.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::digest::{self, BLOCK};
use crate::error::{CacheError, Failure};
use crate::place::{Expected, Verified};
use crate::progress::{Progress, Report};
use crate::record::Check;
use crate::space;

/// Where a part comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its address.
    pub url: String,
    /// The server's mark of the file's version; `None` if it gives none.
    pub version: Option<String>,
}

/// The two files of a transfer.
#[derive(Debug)]
pub struct Part {
    /// What has arrived.
    pub path: PathBuf,
    /// Where it comes from.
    pub origin: PathBuf,
}

impl Part {
    /// How much of the file at `url` is here, and of which version.
    pub(crate) fn left(&self, url: &str, expected: &Expected) -> (u64, Option<String>) {
        let Ok(text) = fs::read_to_string(&self.origin) else {
            return (0, None);
        };
        let mut lines = text.lines();
        let is_same = lines.next() == Some(url);
        let version = lines.next().map(str::to_owned);
        // Without a version only a checksum can tell whether the two halves belong together.
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

    /// Opens the part for more, after `offset` bytes that are here.
    pub fn open(
        &self,
        offset: u64,
        origin: &Origin,
        report: Report<'_>,
    ) -> Result<Arriving, CacheError> {
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
            // The old content goes before the new origin is written down.
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
        Ok(Arriving {
            file,
            hasher,
            done: offset,
        })
    }

    pub(crate) fn remove(&self) {
        // What cannot be removed is found wrong again next time.
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

    /// What the finished part is.
    pub fn verify(
        &self,
        arrived: Arriving,
        expected: &Expected,
        from_hub: Option<String>,
    ) -> Result<Verified, Failure> {
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
        // Without a checksum the log-in page of a hotel would pass for a model.
        if let Some(magic) = &expected.magic
            && check == Check::Length
            && !self.starts_with(magic.bytes)
        {
            self.remove();
            return Err(format!("what came is not {}", magic.name).into());
        }
        Ok(Verified { sha256, check })
    }

    fn starts_with(&self, magic: &[u8]) -> bool {
        let mut start = vec![0; magic.len()];
        File::open(&self.path)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| start == magic)
    }
}

/// A part that grows.
#[derive(Debug)]
pub struct Arriving {
    file: File,
    hasher: Sha256,
    /// How many bytes there are.
    pub done: u64,
}

/// Why no more came.
#[derive(Debug)]
pub enum Broken {
    /// The source ended too early, or failed.
    Source(io::Error),
    /// We cannot keep what it sends.
    Ours(CacheError),
}

impl Arriving {
    /// Takes all that `source` has, up to `total`.
    pub fn take(
        &mut self,
        source: &mut dyn Read,
        total: Option<u64>,
        part: &Part,
        report: Report<'_>,
    ) -> Result<(), Broken> {
        let mut block = vec![0; BLOCK];
        loop {
            let count = match source.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Broken::Source(error)),
            };
            let arrived = &block[..count];
            if total.is_some_and(|total| self.done + count as u64 > total) {
                let error = io::Error::other("it sends more than it announced");
                return Err(Broken::Source(error));
            }
            self.file.write_all(arrived).map_err(|error| {
                let needed = total.unwrap_or(self.done).saturating_sub(self.done);
                let needed = needed.max(count as u64);
                Broken::Ours(part.failed(error, needed, self.done))
            })?;
            self.hasher.update(arrived);
            self.done += count as u64;
            let done = self.done;
            report(Progress::Received { done, total });
        }
        match total {
            Some(total) if self.done < total => {
                Err(Broken::Source(io::ErrorKind::UnexpectedEof.into()))
            }
            _ => Ok(()),
        }
    }
}
