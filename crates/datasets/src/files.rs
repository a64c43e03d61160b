//! Checks paths given by the user, and names datasets after them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ipw_core::nearest::nearest;

use crate::error::DatasetError;

/// Endings of compressed files.
const PACKED: [&str; 3] = ["gz", "zst", "zstd"];

/// Checks that the path is a regular file, which can be read more than once.
pub(crate) fn check(path: &Path, expected: &'static str) -> Result<(), DatasetError> {
    match exists(path, expected)? {
        metadata if metadata.is_file() => Ok(()),
        metadata => Err(DatasetError::NotAFile {
            path: path.to_owned(),
            kind: if metadata.is_dir() {
                "a directory"
            } else {
                "a pipe or a device"
            },
        }),
    }
}

/// Checks that the path exists.
pub(crate) fn exists(path: &Path, expected: &'static str) -> Result<fs::Metadata, DatasetError> {
    fs::metadata(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => DatasetError::NotFound {
            nearest: nearest_file(path),
            path: path.to_owned(),
            expected,
        },
        _ => DatasetError::Open {
            path: path.to_owned(),
            source,
        },
    })
}

/// Whether the name ends in `.ending`, disregarding an ending of compression.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    let is = |path: &Path, ending: &str| {
        path.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
    };
    is(path, ending)
        || PACKED.iter().any(|packed| is(path, packed))
            && path
                .file_stem()
                .is_some_and(|stem| is(Path::new(stem), ending))
}

/// The file's name without its endings.
pub(crate) fn name(path: &Path, otherwise: &str) -> String {
    let mut stem = path.file_stem();
    if PACKED.iter().any(|packed| has_ending(path, packed)) {
        stem = stem.and_then(|stem| Path::new(stem).file_stem());
    }
    stem.map_or_else(
        || otherwise.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// A file in the same directory with a name similar to the missing one.
fn nearest_file(path: &Path) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let directory = path.parent()?;
    let listed = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let names: Vec<_> = fs::read_dir(listed)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    nearest(wanted, names.iter().map(String::as_str)).map(|name| directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_file_is_named_as_if_it_were_not() {
        for (path, expected) in [
            ("a/my set.jsonl", "my set"),
            ("b.csv.gz", "b"),
            ("b.v2.csv.zst", "b.v2"),
            ("plain", "plain"),
            ("odd.gz", "odd"),
            ("..", "x"),
        ] {
            assert_eq!(name(Path::new(path), "x"), expected);
        }
        for path in ["a.tsv", "a.TSV", "a.tsv.gz", "a.tsv.ZST"] {
            assert!(has_ending(Path::new(path), "tsv"), "{path}");
        }
        for path in ["a.csv", "tsv", "a.tsv.xz", "tsv.gz"] {
            assert!(!has_ending(Path::new(path), "tsv"), "{path}");
        }
    }
}
