//! Reads a copy of a benchmark from disk, in any format that datasets may have.

use std::path::{Path, PathBuf};

use ipw_core::params::Params;

use super::BenchmarkPart;
use crate::csv::Csv;
use crate::error::DatasetError;
use crate::jsonl::Jsonl;
use crate::reader::Supply;
use crate::source::Source;
use crate::splits::{self, Split};
use crate::tables::{Format, Tables};
use crate::{csv, detect, files, hf, jsonl, parquet};

/// Formats of the files in a directory, in order of preference.
pub(super) const ENDINGS: [&str; 3] = ["parquet", "jsonl", "csv"];

/// The rows of the file or directory at `path`.
pub(super) fn parts(
    path: &Path,
    wanted: &BenchmarkPart,
) -> Result<Vec<Box<dyn Supply>>, DatasetError> {
    if path.is_dir() {
        return directory(path, wanted);
    }
    let kind = detect::kind(path, &Params::default());
    let format = match kind {
        Some(jsonl::ID) => "jsonl",
        Some(csv::ID) => "csv",
        Some(parquet::ID) => "parquet",
        Some(_) => "arrow",
        None => {
            let mut params = Params::default();
            params.insert(detect::PATH, path.display().to_string());
            return Err(detect::refusal(&params));
        }
    };
    files::check(path, super::PATH.1)?;
    Ok(of_files(format, path, vec![path.to_owned()]))
}

/// Files of one format, in the given order.
pub(super) fn of_files(ending: &str, path: &Path, files: Vec<PathBuf>) -> Vec<Box<dyn Supply>> {
    let tables = |format, files| -> Vec<Box<dyn Supply>> {
        vec![Box::new(Tables {
            path: path.to_owned(),
            format,
            files,
        })]
    };
    match ending {
        "parquet" => tables(Format::Parquet, files),
        "arrow" => tables(Format::Arrow, files),
        "csv" => files
            .into_iter()
            .map(|file| -> Box<dyn Supply> {
                let delimiter = files::has_ending(&file, "tsv").then_some(b'\t');
                let source = Source::File(file);
                Box::new(Csv { source, delimiter })
            })
            .collect(),
        _ => files
            .into_iter()
            .map(|file| -> Box<dyn Supply> { Box::new(Jsonl(Source::File(file))) })
            .collect(),
    }
}

/// The rows of the requested split, else of the only one, else of the benchmark's default.
fn directory(path: &Path, wanted: &BenchmarkPart) -> Result<Vec<Box<dyn Supply>>, DatasetError> {
    let told = match (&wanted.config, &wanted.split) {
        (None, None) => None,
        (None, Some(split)) => Some(split.clone()),
        (Some(_), _) => Some(format!("{}/{}", wanted.config(), wanted.split())),
    };
    let found = inside(path, told.as_deref());
    let Err(DatasetError::Split { wanted: None, .. }) = found else {
        return found;
    };
    let usual = format!("{}/{}", wanted.config(), wanted.split());
    inside(path, Some(&usual)).or_else(|_| inside(path, Some(wanted.split())))
}

fn inside(path: &Path, split: Option<&str>) -> Result<Vec<Box<dyn Supply>>, DatasetError> {
    let nothing = match hf::directory(path, split) {
        Ok(tables) => return Ok(vec![Box::new(tables)]),
        Err(error @ DatasetError::NoDataset { .. }) => error,
        Err(error) => return Err(error),
    };
    for ending in ["jsonl", "csv"] {
        let found = splits::below(path, ending)?;
        if !found.is_empty() {
            let split = hf::choose(path, found, split, |split: &Split| &split.name)?;
            return Ok(of_files(ending, path, split.files));
        }
    }
    Err(nothing)
}
