//! A tokenizer's files from the hub, in the cache.
//!
//! Which of them there are is written down: a tokenizer that is here whole needs no question, and
//! one that is here stays as it is, also when its branch has moved on.

use std::path::PathBuf;

use ipw_hub::{
    Access, Denied, Entry, Failure, Kind, ListedFile, Report, Shelf, read_note, write_note,
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
    files: Vec<ListedFile>,
}

/// One repository's part of the hub, and of the cache.
struct Tokenizer<'a> {
    shelf: Shelf<'a>,
    revision: &'a str,
}

/// The directory with the tokenizer, fetched first if it is not here.
pub(crate) fn directory(
    repository: &str,
    revision: &str,
    access: &Access,
    report: Report<'_>,
) -> Result<PathBuf, TokensError> {
    let shelf = Shelf {
        access,
        room: "tokenizers",
        kind: Kind::Model,
        repository,
        magic: |_| None,
    };
    let directory = shelf.directory(revision);
    let tokenizer = Tokenizer { shelf, revision };
    let note = directory.join(NOTE);
    if !tokenizer.is_whole(read_note(&note)) {
        let listing = tokenizer.list(report)?;
        write_note(&note, &listing)?;
        let fetched = tokenizer.shelf.fetch(revision, &listing.files, report);
        fetched.map_err(|failure| tokenizer.failed(failure))?;
    }
    Ok(directory)
}

impl Tokenizer<'_> {
    /// Whether all that the repository has is here.
    fn is_whole(&self, listing: Option<Listing>) -> bool {
        listing.is_some_and(|Listing { files }| {
            let is_here = |file: &ListedFile| {
                is_wanted(&file.path) && self.shelf.place(self.revision, file).checked().is_some()
            };
            files.iter().all(is_here) && !files.is_empty()
        })
    }

    /// What the hub says that there is.
    fn list(&self, report: Report<'_>) -> Result<Listing, TokensError> {
        let remote = self.shelf.remote(self.revision, "");
        let entries = self.shelf.access.hub.tree(&remote, false, report);
        let entries = entries
            .map_err(|refusal| self.failed(refusal.into_failure("repository", self.revision)))?;
        let wanted = |entry: &Entry| !entry.is_directory && is_wanted(&entry.path);
        let files: Vec<ListedFile> = entries.into_iter().filter(wanted).map(Into::into).collect();
        if !files.iter().any(|file| file.path == JSON) {
            return Err(TokensError::NoTokenizer {
                repository: self.shelf.repository.to_owned(),
                revision: self.revision.to_owned(),
            });
        }
        Ok(Listing { files })
    }

    fn failed(&self, failure: Failure) -> TokensError {
        match failure {
            Failure::Fatal(error) => error.into(),
            Failure::Denied(denied) => self.denied(denied),
            Failure::Source(reason) => TokensError::Unfetched {
                repository: self.shelf.repository.to_owned(),
                host: self.shelf.access.hub.host(),
                reason,
            },
        }
    }

    fn denied(&self, denied: Denied) -> TokensError {
        let remote = self.shelf.remote(self.revision, "");
        let page = self.shelf.access.hub.page(&remote);
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
            repository: self.shelf.repository.to_owned(),
            status: denied.status,
            help,
        }
    }
}

fn is_wanted(path: &str) -> bool {
    [JSON, CONFIG, JINJA].contains(&path)
}
