//! A list beside fetched files of what a repository contains. With the list and all of its files
//! present, no network access is needed.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::CacheError;

/// Reads the list; `None` if it is missing or malformed.
pub fn read_note<T: DeserializeOwned>(note: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(note).ok()?).ok()
}

/// Writes the list atomically.
pub fn write_note(note: &Path, content: &impl Serialize) -> Result<(), CacheError> {
    let directory = note.parent().unwrap_or(note);
    let text = serde_json::to_vec(content).expect("a list of files serializes");
    let aside = note.with_extension("new");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&aside, text))
        .and_then(|()| fs::rename(&aside, note))
        .map_err(|cause| CacheError::Unusable {
            directory: directory.to_owned(),
            cause,
        })
}
