//! Lists and removes models in the cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::catalogue::{CATALOGUE, Entry};
use super::error::ModelError;
use super::fetch::own_file;
use super::reference::{HubFile, ModelRef};
use super::wheel::{remove_tree, size_of_tree, workshop};
use crate::{CacheError, Check, Lock, Place};

/// Maximum depth of a hub file: a loop of links must not hang the search.
const DEEPEST: usize = 16;

/// A model in the cache or in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelListing {
    /// The model.
    pub model: ModelRef,
    /// How much of it is in the cache.
    pub state: State,
}

impl ModelListing {
    /// The catalogue's description; `None` for a file of the hub.
    pub fn entry(&self) -> Option<&'static Entry> {
        match self.model {
            ModelRef::Named(entry) => Some(entry),
            _ => None,
        }
    }
}

/// How much of a model is in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The whole file, and how it was checked.
    Cached {
        /// Its size.
        bytes: u64,
        /// How it was checked.
        check: Check,
    },
    /// A file of that name that was never checked, or has changed since.
    Unchecked {
        /// Its size.
        bytes: u64,
    },
    /// A partial download, which the next fetch continues.
    Partial {
        /// Its size.
        bytes: u64,
    },
    /// Not in the cache.
    Absent,
}

/// All models of the catalogue, then the hub files that are cached or partially downloaded.
pub fn list(cache: &Cache) -> Result<Vec<ModelListing>, ModelError> {
    let mut models: Vec<_> = CATALOGUE.iter().map(ModelRef::Named).collect();
    let mut found = Vec::new();
    hub_files(&cache.hub(), &mut Vec::new(), &mut found).map_err(|source| CacheError::Read {
        path: cache.hub(),
        source,
    })?;
    found.sort();
    found.dedup();
    models.extend(found.iter().filter_map(|steps| {
        let steps: Vec<_> = steps.iter().map(String::as_str).collect();
        HubFile::from_relative_path(&steps).map(ModelRef::Hub)
    }));
    Ok(models
        .into_iter()
        .filter_map(|model| {
            let state = state_of(&cache.place(&model).ok()?);
            Some(ModelListing { model, state })
        })
        .collect())
}

/// The path of a model's file if it is cached and checked, else `None`. Fetches nothing.
pub fn path(model: &ModelRef, cache: &Cache) -> Result<Option<PathBuf>, ModelError> {
    match cache.place(model) {
        Ok(place) => Ok(place.checked().is_some().then_some(place.file)),
        Err(path) => own_file(path).map(Some),
    }
}

/// Removes a model's file and partial downloads. Returns the number of bytes freed, `None` if there
/// was nothing.
pub fn remove(model: &ModelRef, cache: &Cache) -> Result<Option<u64>, ModelError> {
    let place = cache.place(model).map_err(|path| ModelError::NotOurs {
        path: path.to_owned(),
    })?;
    if state_of(&place) == State::Absent && !workshop(&place).exists() {
        return Ok(None);
    }
    let lock = Lock::try_take(&place.lock).map_err(|source| CacheError::Unusable {
        directory: cache.directory().to_owned(),
        cause: source,
    })?;
    let Some(_lock) = lock else {
        return Err(ModelError::Busy {
            model: model.to_string(),
        });
    };
    let mut freed = 0;
    for path in all_of(&place) {
        freed += remove_one(&path).map_err(|source| ModelError::Remove { path, source })?;
    }
    remove_empty_directories(place.directory(), &cache.models());
    Ok(Some(freed))
}

/// A model's file and everything beside it, except the lock.
fn all_of(place: &Place) -> [PathBuf; 5] {
    [
        place.file.clone(),
        place.record(),
        place.part(),
        place.origin(),
        workshop(place),
    ]
}

fn state_of(place: &Place) -> State {
    if let Some(record) = place.checked() {
        return State::Cached {
            bytes: record.bytes,
            check: record.check,
        };
    }
    let size = |path: &Path| {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        found.map(|found| found.len())
    };
    if let Some(bytes) = size(&place.file) {
        return State::Unchecked { bytes };
    }
    size(&place.part()).map_or(State::Absent, |bytes| State::Partial { bytes })
}

fn remove_one(path: &Path) -> io::Result<u64> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        let bytes = size_of_tree(path);
        remove_tree(path)?;
        return Ok(bytes);
    }
    fs::remove_file(path)?;
    Ok(found.len())
}

fn remove_empty_directories(from: &Path, up_to: &Path) {
    let between = from.ancestors().take_while(|path| *path != up_to);
    for directory in between {
        // A directory that is not empty stays, and so do its parents.
        if fs::remove_dir(directory).is_err() {
            return;
        }
    }
}

/// The path steps of each model or partial download below `directory`.
fn hub_files(
    directory: &Path,
    steps: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> io::Result<()> {
    if steps.len() == DEEPEST {
        return Ok(());
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // A name that is not Unicode is not ours.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if entry.file_type()?.is_dir() {
            steps.push(name);
            hub_files(&entry.path(), steps, found)?;
            steps.pop();
        } else {
            let name = name.strip_suffix(".part").unwrap_or(&name);
            let mut steps = steps.clone();
            steps.push(name.to_owned());
            found.push(steps);
        }
    }
    Ok(())
}
