//! One Parquet file, or all files of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use ipw_core::params::Params;

use crate::DatasetInfo;
use crate::error::DatasetError;
use crate::files;
use crate::options::{Options, row_params};
use crate::rows::Rows;
use crate::tables::{Format, Tables};

/// The id in the registry.
pub(crate) const ID: &str = "parquet";

/// The parameter `path` and its meaning.
const PATH: (&str, &str) = (
    "path",
    "the Parquet file, or a directory of them, read in the order of their names",
);

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "a Parquet file, or a directory of them; naming the file's path is enough",
    params: row_params!(PATH),
};

/// Opens and checks the file or directory in `params`.
pub(crate) fn open(params: &Params, most: Option<u64>) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let path = reader.required(PATH.0, PATH.1);
    let options = Options::read(&mut reader, ID)?.taking(most);
    reader.finish()?;
    let path = PathBuf::from(path?);
    let files = if files::exists(&path, PATH.1)?.is_dir() {
        inside(&path)?
    } else {
        files::check(&path, PATH.1)?;
        vec![path.clone()]
    };
    let name = files::name(&path, ID);
    let tables = Tables {
        path,
        format: Format::Parquet,
        files,
    };
    Rows::open(ID, name, Box::new(tables), options)
}

fn inside(directory: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let unreadable = |source| DatasetError::Open {
        path: directory.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if files::has_ending(&path, "parquet") && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(DatasetError::NoDataset {
            path: directory.to_owned(),
            looked_for: "files whose names end in `.parquet`",
        });
    }
    files.sort();
    Ok(files)
}
