//! One repository's part of the hub and of the cache: files that are listed once, written down, and
//! fetched if they are not here.

use std::path::PathBuf;

use ipw_core::cache::NoCache;
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::hub::{Hub, Kind, Remote};
use crate::place::{Expected, Magic, Place};
use crate::progress::{Progress, Report};
use crate::tree::Entry;

/// Where files of the hub come from and where they are kept.
#[derive(Debug, Clone)]
pub struct Access {
    /// The hub.
    pub hub: Hub,
    /// The directory of the cache.
    pub cache: PathBuf,
}

impl Access {
    /// As the environment says.
    pub fn from_env() -> Result<Self, NoCache> {
        Ok(Self {
            hub: Hub::from_env(),
            cache: ipw_core::cache::directory(|name| std::env::var_os(name))?,
        })
    }
}

/// A file that a repository has, as a [note](crate::write_note) keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    /// The way to it in the repository, with `/`.
    pub path: String,
    /// Its size; `None` if the hub does not say.
    pub bytes: Option<u64>,
    /// Its checksum; the hub has one of large files only.
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

/// Where the files of one repository come from and lie.
#[derive(Debug)]
pub struct Shelf<'a> {
    /// The hub to ask, and the cache.
    pub access: &'a Access,
    /// The directory in the cache, by what the files are for.
    pub room: &'static str,
    /// What the repository holds.
    pub kind: Kind,
    /// `owner/repo`.
    pub repository: &'a str,
    /// How a file begins, by its path.
    pub magic: fn(&str) -> Option<Magic>,
}

impl Shelf<'_> {
    /// What to ask the hub for.
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
            Expected::default(),
        )
        .file
    }

    /// Where a file of a revision lies, or will.
    pub fn place(&self, revision: &str, file: &ListedFile) -> Place {
        let revision = step(revision);
        let mut steps = self.steps(&revision);
        steps.extend(file.path.split('/'));
        let expected = Expected {
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            magic: (self.magic)(&file.path),
        };
        Place::below(&self.access.cache, &steps, expected)
    }

    /// The files of a revision that are not here yet are fetched.
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

    /// The steps to the files of a revision, below the cache.
    fn steps<'a>(&'a self, revision: &'a str) -> Vec<&'a str> {
        let repository = self.repository.split('/');
        [self.room, "hf"]
            .into_iter()
            .chain(repository)
            .chain([revision])
            .collect()
    }
}

/// A revision as one step of a path: `refs/convert/parquet` has three.
fn step(revision: &str) -> String {
    revision.replace('/', "--")
}
