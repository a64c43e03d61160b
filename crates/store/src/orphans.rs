//! What a killed writer left behind: files under a temporary name, and data files that no state
//! names. The next process that holds the lock removes them, by our own naming patterns only.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;

use crate::disk;
use crate::file::{self, is_aside, is_fingerprint};
use crate::state::State;

/// Directories of a run that hold files of ours.
const INSIDE: [&str; 5] = [
    crate::readings::DIRECTORY,
    crate::server_metrics::DIRECTORY,
    crate::verdicts::SETS,
    "analysis",
    "plots",
];

/// Removes the orphans of the run in `directory`. The caller holds its lock.
pub(crate) fn remove(directory: &Path) {
    remove_in(directory);
    for name in INSIDE {
        let inside = directory.join(name);
        if !inside.is_symlink() {
            remove_in(&inside);
        }
    }
}

fn remove_in(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    // Without a state that can be read, no data file is known to be an orphan.
    let state = State::read(directory).ok();
    let named: Option<HashSet<&str>> = state.as_ref().map(|state| state.files().collect());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let (true, Some(name)) = (is_file, name.to_str()) else {
            continue;
        };
        let is_unnamed = named.as_ref().is_some_and(|named| !named.contains(name));
        let is_orphan = if is_aside(name) {
            is_abandoned(&entry.path())
        } else {
            is_unnamed && is_data_file(name)
        };
        if is_orphan {
            // One that stays is tried again by the next writer.
            let _ = disk::remove_file(&entry.path());
        }
    }
}

/// Whether no process writes it any more.
fn is_abandoned(path: &Path) -> bool {
    file::open(path).is_ok_and(|file: File| file.try_lock().is_ok())
}

/// Whether it is called as we call data files: `data-part-00000.arrow`,
/// `data-part-00001-0123abcd.arrow`, `data-<fingerprint>-00000.arrow`,
/// `data-<fingerprint>-00000-of-00001.arrow`.
fn is_data_file(name: &str) -> bool {
    let is_number = |text: &str| text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = name
        .strip_prefix("data-")
        .and_then(|name| name.strip_suffix(".arrow"));
    let parts: Vec<&str> = stem.map_or(Vec::new(), |stem| stem.split('-').collect());
    match parts[..] {
        ["part", part] => is_number(part),
        ["part", part, print] => is_number(part) && is_fingerprint(print, 8),
        [print, number] => is_fingerprint(print, 16) && is_number(number),
        [print, number, "of", count] => {
            is_fingerprint(print, 16) && is_number(number) && is_number(count)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_data_files() {
        for own in [
            "data-part-00000.arrow",
            "data-part-00001-0123abcd.arrow",
            "data-0123456789abcdef-00000.arrow",
            "data-0123456789abcdef-00000-of-00001.arrow",
        ] {
            assert!(is_data_file(own), "{own}");
        }
        for other in [
            "data-00000-of-00001.arrow",
            "data-part-00000.parquet",
            "data-part-x.arrow",
            "data.arrow",
            "data-part-00001-mine.arrow",
            "my-data-part-00000.arrow",
        ] {
            assert!(!is_data_file(other), "{other}");
        }
    }
}
