//! Fetches a benchmark's files from the hub into the cache.
//!
//! `main` means the hub's own Parquet copy (branch `refs/convert/parquet`), which has the same form
//! for every dataset: `config/split/0000.parquet`. Any other revision means the repository's own
//! files. The listing is stored in the cache. A benchmark that is complete there needs no request,
//! and it stays the same when its branch moves on.

use std::path::{Path, PathBuf};

use ipw_core::nearest::nearest;
use ipw_hub::{
    AccessDenied, Entry, Failure, Kind, ListedFile, MAIN, Magic, MissingPart, Refusal, Report,
    Shelf, is_step, read_note, write_note,
};
use serde::{Deserialize, Serialize};

use super::{BenchmarkPart, local, needs_path};
use crate::error::DatasetError;
use crate::reader::Supply;
use crate::{Fetching, files, splits};

const CONVERTED: &str = "refs/convert/parquet";
/// Of very large datasets the hub converts only the first gigabytes and marks the split with this.
const PARTIAL: &str = "partial-";
const PARQUET: Magic = Magic {
    bytes: b"PAR1",
    name: "a Parquet file",
};

/// The files of one split.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    revision: String,
    files: Vec<ListedFile>,
}

/// One benchmark's place on the hub and in the cache.
struct Stock<'a> {
    wanted: &'a BenchmarkPart,
    repository: &'static str,
    shelf: Shelf<'a>,
}

/// The rows of the selected part; fetches files that are not in the cache.
pub(super) fn parts(
    wanted: &BenchmarkPart,
    fetching: &mut Fetching<'_>,
) -> Result<Vec<Box<dyn Supply>>, DatasetError> {
    let Some(repository) = wanted.benchmark.repository else {
        return Err(needs_path(wanted.benchmark));
    };
    let access = fetching.access()?;
    let shelf = Shelf {
        access: &access,
        room: "datasets",
        kind: Kind::Dataset,
        repository,
        magic: |path| (ending(path) == Some("parquet")).then_some(PARQUET),
    };
    let stock = Stock {
        wanted,
        repository,
        shelf,
    };
    stock.check_names()?;
    let listing = match stock.whole() {
        Some(listing) => listing,
        None => stock.fill(&mut *fetching.report)?,
    };
    let files: Vec<_> = listing
        .files
        .iter()
        .map(|file| stock.shelf.place(&listing.revision, file).file)
        .collect();
    let ending = listing.files.first().and_then(|file| ending(&file.path));
    let label = files.first().and_then(|file| file.parent());
    let label = label.unwrap_or(&access.cache).to_owned();
    Ok(local::of_files(ending.unwrap_or("parquet"), &label, files))
}

impl Stock<'_> {
    /// Names given by the user become paths, so none may lead out of the cache.
    fn check_names(&self) -> Result<(), DatasetError> {
        for (name, value) in [
            ("config", self.wanted.config()),
            ("split", self.wanted.split()),
        ] {
            if !is_step(value) {
                return Err(self.odd(name, value));
            }
        }
        let revision = self.wanted.revision();
        if !revision.split('/').all(is_step) {
            return Err(self.odd("revision", revision));
        }
        Ok(())
    }

    fn odd(&self, name: &str, value: &str) -> DatasetError {
        ipw_core::params::ParamError::IllTyped {
            owner: self.wanted.benchmark.id.to_owned(),
            name: name.to_owned(),
            value: ipw_core::text::printable(value),
            expected: "a name as the hub has it".to_owned(),
        }
        .into()
    }

    /// The cached listing of the selected part.
    fn note(&self) -> PathBuf {
        let wanted = self.wanted;
        let directory = self.shelf.directory(wanted.revision());
        directory.join(format!(".{}--{}.json", wanted.config(), wanted.split()))
    }

    /// The cached listing, if all of its files are in the cache.
    fn whole(&self) -> Option<Listing> {
        let listing: Listing = read_note(&self.note())?;
        let is_whole = listing.files.iter().all(|file| {
            file.path.split('/').all(is_step)
                && self
                    .shelf
                    .place(&listing.revision, file)
                    .checked()
                    .is_some()
        });
        (is_whole && !listing.files.is_empty()).then_some(listing)
    }

    /// Fetches the selected part.
    fn fill(&self, report: Report<'_>) -> Result<Listing, DatasetError> {
        let listing = self.list(report)?;
        if listing.files.is_empty() {
            return Err(self.unfetched("it has no files there".to_owned()));
        }
        write_note(&self.note(), &listing)?;
        let fetched = self.shelf.fetch(&listing.revision, &listing.files, report);
        fetched.map_err(|failure| self.failed(failure))?;
        Ok(listing)
    }

    /// Asks the hub for the listing of the selected part.
    fn list(&self, report: Report<'_>) -> Result<Listing, DatasetError> {
        if self.wanted.revision() == MAIN {
            match self.converted(report) {
                Err(Refusal::Missing(MissingPart::Revision)) => {}
                listed => return listed.map_err(|refusal| self.refused(refusal))?,
            }
        }
        self.own_files(report)
    }

    /// Lists the hub's Parquet copy. The inner error names an unknown configuration or split.
    fn converted(&self, report: Report<'_>) -> Result<Result<Listing, DatasetError>, Refusal> {
        let (config, split) = (self.wanted.config(), self.wanted.split());
        let mut path = format!("{config}/{split}");
        let entries = match self.tree(&path, report) {
            Err(Refusal::Missing(MissingPart::Path)) => {
                let splits = match self.tree(config, report) {
                    Err(Refusal::Missing(MissingPart::Path)) => {
                        let configs = directories(&self.tree("", report)?);
                        return Ok(Err(self.no_part("config", config, configs)));
                    }
                    listed => directories(&listed?),
                };
                let partial = format!("{PARTIAL}{split}");
                if !splits.contains(&partial) {
                    return Ok(Err(self.no_part("split", split, splits)));
                }
                path = format!("{config}/{partial}");
                self.tree(&path, report)?
            }
            listed => listed?,
        };
        Ok(Ok(listing(CONVERTED, "parquet", entries)))
    }

    fn tree(&self, path: &str, report: Report<'_>) -> Result<Vec<Entry>, Refusal> {
        self.shelf
            .access
            .hub
            .tree(&self.shelf.remote(CONVERTED, path), false, report)
    }

    /// Lists the repository's own files.
    fn own_files(&self, report: Report<'_>) -> Result<Listing, DatasetError> {
        let revision = self.wanted.revision();
        let entries = self
            .shelf
            .access
            .hub
            .tree(&self.shelf.remote(revision, ""), true, report);
        let entries = entries.map_err(|refusal| self.refused(refusal))?;
        let (config, split) = (self.wanted.config(), self.wanted.split());
        for ending in local::ENDINGS {
            let files: Vec<_> = entries
                .iter()
                .filter(|entry| !entry.is_directory)
                .filter(|entry| files::has_ending(Path::new(&entry.path), ending))
                .map(|entry| (split_of(&entry.path), entry))
                .collect();
            if files.is_empty() {
                continue;
            }
            let mut names: Vec<_> = files.iter().map(|(name, _)| name.clone()).collect();
            names.sort_unstable();
            names.dedup();
            // The full name is tried first. A lone name is taken for a split or a configuration.
            let full = format!("{config}/{split}");
            let found = [full.as_str(), split, config]
                .into_iter()
                .find(|wanted| names.iter().any(|name| name == wanted))
                .or_else(|| (names.len() == 1).then(|| names[0].as_str()));
            let Some(found) = found else {
                return Err(self.no_part("split", &full, names));
            };
            let chosen = files.iter().filter(|(name, _)| name == found);
            let entries = chosen.map(|(_, entry)| (*entry).clone()).collect();
            return Ok(listing(revision, ending, entries));
        }
        let reason = "it has no Parquet, JSON lines or CSV there".to_owned();
        Err(self.unfetched(reason))
    }

    fn no_part(&self, what: &'static str, wanted: &str, known: Vec<String>) -> DatasetError {
        let nearest = nearest(wanted, known.iter().map(String::as_str)).map(str::to_owned);
        DatasetError::NoPart {
            repository: self.repository,
            what,
            wanted: wanted.to_owned(),
            nearest,
            known,
        }
    }

    fn refused(&self, refusal: Refusal) -> DatasetError {
        self.failed(refusal.into_failure("dataset", self.wanted.revision()))
    }

    fn failed(&self, failure: Failure) -> DatasetError {
        match failure {
            Failure::Fatal(error) => error.into(),
            Failure::Denied(denied) => self.denied(denied),
            Failure::Source(reason) => self.unfetched(reason),
        }
    }

    fn denied(&self, denied: AccessDenied) -> DatasetError {
        let benchmark = self.wanted.benchmark;
        let page = self.shelf.access.hub.page(&self.shelf.remote(MAIN, ""));
        let help = match (benchmark.is_gated, denied.had_token) {
            (true, true) => {
                format!("ask for access at {page}; the owner of your `HF_TOKEN` has none yet")
            }
            (true, false) => {
                format!("ask for access at {page}, then set `HF_TOKEN` to a token that may read it")
            }
            (false, true) => {
                format!("your `HF_TOKEN` is wrong or may not read {page}: set another one, or none")
            }
            (false, false) => {
                format!("look at {page}; if it is gated by now, set `HF_TOKEN`")
            }
        };
        DatasetError::Denied {
            id: benchmark.id,
            repository: self.repository,
            status: denied.status,
            is_gated: benchmark.is_gated,
            help,
        }
    }

    fn unfetched(&self, reason: String) -> DatasetError {
        DatasetError::Unfetched {
            id: self.wanted.benchmark.id,
            repository: self.repository,
            host: self.shelf.access.hub.host(),
            reason,
        }
    }
}

/// The files whose names end in `ending`.
fn listing(revision: &str, ending: &str, entries: Vec<Entry>) -> Listing {
    let mut files: Vec<_> = entries
        .into_iter()
        .filter(|entry| !entry.is_directory)
        .filter(|entry| files::has_ending(Path::new(&entry.path), ending))
        .filter(|entry| entry.path.split('/').all(is_step))
        .map(ListedFile::from)
        .collect();
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Listing {
        revision: revision.to_owned(),
        files,
    }
}

/// The split in the path of a file, else the file's own name.
fn split_of(path: &str) -> String {
    let path = Path::new(path);
    match splits::name(path).as_str() {
        splits::ALL => files::name(path, splits::ALL),
        name => name.to_owned(),
    }
}

fn directories(entries: &[Entry]) -> Vec<String> {
    let names = entries.iter().filter(|entry| entry.is_directory);
    names
        .filter_map(|entry| entry.path.rsplit('/').next())
        .map(str::to_owned)
        .collect()
}

fn ending(path: &str) -> Option<&'static str> {
    let endings = local::ENDINGS.into_iter();
    endings
        .into_iter()
        .find(|ending| files::has_ending(Path::new(path), ending))
}
