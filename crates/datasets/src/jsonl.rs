//! A file of the user's with one JSON object on each line.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ipw_core::nearest::nearest;
use ipw_core::params::Params;

use crate::Known;
use crate::columns::{self, Columns};
use crate::error::DatasetError;
use crate::order::{self, Selection};
use crate::rows::Rows;
use crate::source::Source;

/// The id in the registry.
pub(crate) const ID: &str = "jsonl";

/// The parameter `path` and its meaning.
pub(crate) const PATH: (&str, &str) = ("path", "the file, with one JSON object on each line");

/// What can be said of it without opening it.
pub(crate) const KNOWN: Known = Known {
    id: ID,
    summary: "a file with one JSON object on each line; naming its path is enough",
    params: &[
        PATH,
        columns::PROBLEM,
        columns::ANSWER,
        columns::SUBJECT,
        columns::ID,
        order::LIMIT,
        order::OFFSET,
        order::SHUFFLE,
        order::SEED,
    ],
};

/// Opens and checks the file that `params` name.
pub(crate) fn open(params: &Params) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let path = reader.required(PATH.0, PATH.1);
    let columns = Columns::read(&mut reader);
    let selection = Selection::read(&mut reader, ID)?;
    // A mistyped `path` is better called unknown than missing.
    reader.finish()?;
    let path = PathBuf::from(path?);

    check(&path)?;
    let name = path
        .file_stem()
        .map_or_else(|| ID.to_owned(), |stem| stem.to_string_lossy().into_owned());
    Rows::open(ID, name, Source::File(path), columns, &selection)
}

/// The path must lead to something that can be read twice.
fn check(path: &Path) -> Result<(), DatasetError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(metadata) => Err(DatasetError::NotAFile {
            path: path.to_owned(),
            kind: if metadata.is_dir() {
                "a directory"
            } else {
                "a pipe or a device"
            },
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(DatasetError::NotFound {
            nearest: nearest_file(path),
            path: path.to_owned(),
        }),
        Err(source) => Err(DatasetError::Open {
            path: path.to_owned(),
            source,
        }),
    }
}

/// A file in the same directory whose name resembles the one that is not there.
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
