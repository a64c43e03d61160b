//! The files of one repository: listed once, recorded in a note, and fetched if missing.

use std::path::PathBuf;

use ipw_core::cache::CacheLocationError;
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::hub::{Hub, Kind, Remote};
use crate::place::{Expectation, Magic, Place};
use crate::progress::{Progress, Report};
use crate::tree::Entry;

/// The hub and the cache.
#[derive(Debug, Clone)]
pub struct Access {
    /// The hub.
    pub hub: Hub,
    /// The directory of the cache.
    pub cache: PathBuf,
}

impl Access {
    /// From the environment variables.
    pub fn from_env() -> Result<Self, CacheLocationError> {
        Ok(Self {
            hub: Hub::from_env(),
            cache: ipw_core::cache::directory(|name| std::env::var_os(name))?,
        })
    }
}

/// A file of a repository, as a [note](crate::write_note) stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    /// Path in the repository, with `/`.
    pub path: String,
    /// Size; `None` if the hub does not say.
    pub bytes: Option<u64>,
    /// SHA-256; the hub has one for large files only.
    pub sha256: Option<String>,
}

impl From<Entry> for ListedFile {
    fn from(entry: Entry) -> Self {
        Self {
            path: entry.path,
            bytes: entry.bytes,
            sha256: entry.sha256,
        }
    }
}

/// The source and the cache directory of one repository's files.
#[derive(Debug)]
pub struct Shelf<'a> {
    /// The hub and the cache.
    pub access: &'a Access,
    /// Directory in the cache, by purpose.
    pub room: &'static str,
    /// What the repository contains.
    pub kind: Kind,
    /// `owner/repo`.
    pub repository: &'a str,
    /// The expected first bytes of a file, by its path.
    pub magic: fn(&str) -> Option<Magic>,
}

impl Shelf<'_> {
    /// The hub's address of a file.
    pub fn remote<'a>(&'a self, revision: &'a str, path: &'a str) -> Remote<'a> {
        Remote {
            kind: self.kind,
            repository: self.repository,
            revision,
            path,
        }
    }

    /// The directory of a revision.
    pub fn directory(&self, revision: &str) -> PathBuf {
        Place::below(
            &self.access.cache,
            &self.steps(&step(revision)),
            Expectation::default(),
        )
        .file
    }

    /// The location of a file of a revision in the cache.
    pub fn place(&self, revision: &str, file: &ListedFile) -> Place {
        let revision = step(revision);
        let mut steps = self.steps(&revision);
        steps.extend(file.path.split('/'));
        let expected = Expectation {
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            magic: (self.magic)(&file.path),
        };
        Place::below(&self.access.cache, &steps, expected)
    }

    /// Fetches the files of a revision that are missing.
    pub fn fetch(
        &self,
        revision: &str,
        files: &[ListedFile],
        report: Report<'_>,
    ) -> Result<(), Failure> {
        for file in files {
            let remote = self.remote(revision, &file.path);
            self.place(revision, file).get(report, |place, report| {
                let source = format!(
                    "{} ({} {})",
                    self.access.hub.host(),
                    self.repository,
                    file.path
                );
                report(Progress::Trying { source });
                self.access.hub.bring(&remote, place, report)
            })?;
        }
        Ok(())
    }

    /// The path steps of a revision's files below the cache.
    fn steps<'a>(&'a self, revision: &'a str) -> Vec<&'a str> {
        let repository = self.repository.split('/');
        [self.room, "hf"]
            .into_iter()
            .chain(repository)
            .chain([revision])
            .collect()
    }
}

/// A revision as one path step: `refs/convert/parquet` has three.
fn step(revision: &str) -> String {
    revision.replace('/', "--")
}
