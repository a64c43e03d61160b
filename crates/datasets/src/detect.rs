//! Detects the format of a path: by its first bytes where they are unambiguous, then by its name,
//! then by its first line.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ipw_core::params::Params;

use crate::columns;
use crate::error::DatasetError;
use crate::source::Source;
use crate::{csv, files, hf, jsonl, parquet};

/// The id of a path whose format is unknown; opening it fails and says what was tried.
pub(crate) const AUTO: &str = "auto";
/// The parameter with the path, for every format.
pub(crate) const PATH: &str = "path";

const PARQUET: &[u8] = b"PAR1";
const ARROW_FILE: &[u8] = b"ARROW1";
/// The continuation marker of an Arrow IPC message, which also begins a stream.
const ARROW_STREAM: &[u8] = &[0xff; 4];

/// Bytes of a text that are searched for the end of the first line.
const HEAD: u64 = 64 << 10;

/// An argument with one of these endings is a path, even if no such file exists.
const ENDINGS: [(&str, &str); 6] = [
    ("jsonl", jsonl::ID),
    ("ndjson", jsonl::ID),
    ("csv", csv::ID),
    ("tsv", csv::ID),
    ("parquet", parquet::ID),
    ("arrow", hf::ID),
];

/// The format by the ending of the name.
pub(crate) fn by_name(path: &Path) -> Option<&'static str> {
    ENDINGS
        .iter()
        .find(|(ending, _)| files::has_ending(path, ending))
        .map(|(_, id)| *id)
}

/// The format of the file or directory at `path`.
pub(crate) fn kind(path: &Path, params: &Params) -> Option<&'static str> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Some(hf::ID),
        // Bytes read from a pipe here would be missing later.
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

/// The error for a path whose format is unknown.
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
