//! Fetches a tokenizer's files from the hub into the cache.
//!
//! A list of the files is stored with them. A complete tokenizer needs no network, and it stays as
//! it is, even when its branch has moved on.

use std::path::PathBuf;

use ipw_hub::{
    Access, AccessDenied, Entry, Failure, Kind, ListedFile, Report, Shelf, read_note, write_note,
};
use serde::{Deserialize, Serialize};

use crate::error::TokensError;
use crate::load::{CONFIG, JINJA, JSON};

/// File name of the list; no tokenizer file has this name.
const NOTE: &str = ".files.json";

/// The tokenizer files of a repository.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    files: Vec<ListedFile>,
}

/// The source and the cache of one repository.
struct Tokenizer<'a> {
    shelf: Shelf<'a>,
    revision: &'a str,
}

/// The directory of the tokenizer; fetches it first if missing.
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
    /// Whether all files of the repository are in the cache.
    fn is_whole(&self, listing: Option<Listing>) -> bool {
        listing.is_some_and(|Listing { files }| {
            let is_here = |file: &ListedFile| {
                is_wanted(&file.path) && self.shelf.place(self.revision, file).checked().is_some()
            };
            files.iter().all(is_here) && !files.is_empty()
        })
    }

    /// Asks the hub for the list of files.
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

    fn denied(&self, denied: AccessDenied) -> TokensError {
        let remote = self.shelf.remote(self.revision, "");
        let page = self.shelf.access.hub.page(&remote);
        let help = if denied.had_token {
            format!(
                "check the name, and request access at {page}; your `HF_TOKEN` is wrong or may not read \
                 it yet"
            )
        } else {
            format!(
                "check the name; if it is gated or private, request access at {page}, then set \
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
