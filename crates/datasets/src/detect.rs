//! What a path leads to: by its first bytes where they leave no doubt, then by its name, then by
//! its first line.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ipw_core::params::Params;

use crate::columns;
use crate::error::DatasetError;
use crate::source::Source;
use crate::{csv, files, hf, jsonl, parquet};

/// The id of a path whose kind cannot be told: opening it says what was looked for.
pub(crate) const AUTO: &str = "auto";
/// The parameter with the path, whatever the kind.
pub(crate) const PATH: &str = "path";

const PARQUET: &[u8] = b"PAR1";
const ARROW_FILE: &[u8] = b"ARROW1";
/// A message's marker; the length of the head that follows is far below 16 MiB.
const ARROW_STREAM: &[u8] = &[0xff; 4];

/// So much of a text is looked at for its first line.
const HEAD: u64 = 64 << 10;

/// Names that end like this are paths, whether they exist or not.
const ENDINGS: [(&str, &str); 6] = [
    ("jsonl", jsonl::ID),
    ("ndjson", jsonl::ID),
    ("csv", csv::ID),
    ("tsv", csv::ID),
    ("parquet", parquet::ID),
    ("arrow", hf::ID),
];

/// The kind that a path's name says.
pub(crate) fn by_name(path: &Path) -> Option<&'static str> {
    ENDINGS
        .iter()
        .find(|(ending, _)| files::has_ending(path, ending))
        .map(|(_, id)| *id)
}

/// The kind of what the path leads to.
pub(crate) fn kind(path: &Path, params: &Params) -> Option<&'static str> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Some(hf::ID),
        // A pipe would lose what is read here.
        Ok(metadata) if metadata.is_file() => by_magic(path)
            .or_else(|| by_name(path))
            .or_else(|| by_first_line(path, params)),
        _ => by_name(path),
    }
}

fn by_magic(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(8).read_to_end(&mut head).ok()?;
    if head.starts_with(PARQUET) {
        Some(parquet::ID)
    } else if head.starts_with(ARROW_FILE) || head.starts_with(ARROW_STREAM) {
        Some(hf::ID)
    } else {
        None
    }
}

fn by_first_line(path: &Path, params: &Params) -> Option<&'static str> {
    let head = Source::File(path.to_owned()).head(HEAD).ok()?;
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())?;
    if line.trim_ascii_start().starts_with(b"{") {
        return Some(jsonl::ID);
    }
    let named = params.iter().find(|(name, _)| *name == columns::PROBLEM.0);
    let delimiter = csv::guess(line);
    let is_header = line.split(|byte| *byte == delimiter).any(|cell| {
        let cell = cell.trim_ascii().trim_ascii_end();
        let cell = cell.strip_prefix(b"\"").unwrap_or(cell);
        let cell = cell.strip_suffix(b"\"").unwrap_or(cell);
        std::str::from_utf8(cell)
            .is_ok_and(|cell| columns::is_problem(cell, named.map(|(_, value)| value)))
    });
    is_header.then_some(csv::ID)
}

/// Why the path of `params` has no kind.
pub(crate) fn refusal(params: &Params) -> DatasetError {
    let path = params.iter().find(|(name, _)| *name == PATH);
    let path = PathBuf::from(path.map_or("", |(_, path)| path));
    if let Err(error) = files::check(&path, "the path of a file with a row for each prompt") {
        return error;
    }
    match fs::metadata(&path) {
        Ok(metadata) if metadata.len() == 0 => DatasetError::Empty { path },
        _ => DatasetError::Unrecognised { path },
    }
}
