//! A tokenizer's files from the hub, in the cache.
//!
//! Which of them there are is written down: a tokenizer that is here whole needs no question, and
//! one that is here stays as it is, also when its branch has moved on.

use std::path::{Path, PathBuf};

use ipw_hub::{
    Denied, Entry, Expected, Failure, Hub, Kind, Missing, Place, Progress, Refusal, Remote, Report,
    read_note, write_note,
};
use serde::{Deserialize, Serialize};

use crate::error::TokensError;
use crate::load::{CONFIG, JINJA, JSON};

/// Where the list of what there is lies; no file of a tokenizer is called so.
const NOTE: &str = ".files.json";

/// What a repository has of a tokenizer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    files: Vec<Listed>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    path: String,
    bytes: Option<u64>,
    sha256: Option<String>,
}

/// One repository's part of the hub, and of the cache.
pub(crate) struct Shelf<'a> {
    pub(crate) repository: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) hub: &'a Hub,
    pub(crate) cache: &'a Path,
}

impl Shelf<'_> {
    /// The directory with the tokenizer, fetched first if it is not here.
    pub(crate) fn directory(&self, report: Report<'_>) -> Result<PathBuf, TokensError> {
        if !self.is_whole() {
            let listing = self.list(report)?;
            write_note(&self.note(), &listing)?;
            for file in &listing.files {
                self.fetch(file, report)?;
            }
        }
        Ok(self.own())
    }

    /// The repository's own directory.
    fn own(&self) -> PathBuf {
        let steps = self.steps();
        let own = steps.iter();
        own.fold(self.cache.to_owned(), |path, step| path.join(step))
    }

    /// The steps to the files, below the cache.
    fn steps(&self) -> Vec<&str> {
        let repository = self.repository.split('/');
        ["tokenizers", "hf"]
            .into_iter()
            .chain(repository)
            .chain([self.revision])
            .collect()
    }

    fn remote<'a>(&'a self, path: &'a str) -> Remote<'a> {
        Remote {
            kind: Kind::Model,
            repository: self.repository,
            revision: self.revision,
            path,
        }
    }

    fn place(&self, file: &Listed) -> Place {
        let mut steps = self.steps();
        steps.push(&file.path);
        let expected = Expected {
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            magic: None,
        };
        Place::below(self.cache, &steps, expected)
    }

    fn note(&self) -> PathBuf {
        self.own().join(NOTE)
    }

    /// Whether all that the repository has is here.
    fn is_whole(&self) -> bool {
        let listing: Option<Listing> = read_note(&self.note());
        listing.is_some_and(|listing| {
            let mut files = listing.files.iter();
            let is_here =
                files.all(|file| is_wanted(&file.path) && self.place(file).checked().is_some());
            is_here && !listing.files.is_empty()
        })
    }

    /// What the hub says that there is.
    fn list(&self, report: Report<'_>) -> Result<Listing, TokensError> {
        let entries = self.hub.tree(&self.remote(""), false, report);
        let entries = entries.map_err(|refusal| self.refused(refusal))?;
        let wanted = |entry: &Entry| !entry.is_directory && is_wanted(&entry.path);
        let files = entries.into_iter().filter(wanted).map(|entry| Listed {
            path: entry.path,
            bytes: entry.bytes,
            sha256: entry.sha256,
        });
        let files: Vec<_> = files.collect();
        if !files.iter().any(|file| file.path == JSON) {
            return Err(TokensError::NoTokenizer {
                repository: self.repository.to_owned(),
                revision: self.revision.to_owned(),
            });
        }
        Ok(Listing { files })
    }

    fn fetch(&self, file: &Listed, report: Report<'_>) -> Result<(), TokensError> {
        let remote = self.remote(&file.path);
        self.place(file).get(report, |place, report| {
            let source = format!("{} ({} {})", self.hub.host(), self.repository, file.path);
            report(Progress::Trying { source });
            let brought = self.hub.bring(&remote, place, report);
            brought.map_err(|failure| match failure {
                Failure::Fatal(error) => error.into(),
                Failure::Denied(denied) => self.denied(denied),
                Failure::Source(reason) => self.unfetched(reason),
            })
        })?;
        Ok(())
    }

    fn refused(&self, refusal: Refusal) -> TokensError {
        match refusal {
            Refusal::Denied(denied) => self.denied(denied),
            Refusal::Offline => {
                self.unfetched("`HF_HUB_OFFLINE` is set, and it is not in the cache".to_owned())
            }
            Refusal::Missing(Missing::Revision) => {
                self.unfetched(format!("it has no revision `{}`", self.revision))
            }
            Refusal::Missing(_) => {
                self.unfetched("the server has no such repository (404)".to_owned())
            }
            Refusal::Other(reason) => self.unfetched(reason),
        }
    }

    fn denied(&self, denied: Denied) -> TokensError {
        let page = self.hub.page(&self.remote(""));
        let help = if denied.had_token {
            format!(
                "look at the name, and ask for access at {page}; your `HF_TOKEN` is wrong or may \
                 not read it yet"
            )
        } else {
            format!(
                "look at the name; if it is gated or private, ask for access at {page}, then set \
                 `HF_TOKEN` to a token that may read it"
            )
        };
        TokensError::Denied {
            repository: self.repository.to_owned(),
            status: denied.status,
            help,
        }
    }

    fn unfetched(&self, reason: String) -> TokensError {
        TokensError::Unfetched {
            repository: self.repository.to_owned(),
            host: self.hub.host(),
            reason,
        }
    }
}

fn is_wanted(path: &str) -> bool {
    [JSON, CONFIG, JINJA].contains(&path)
}
