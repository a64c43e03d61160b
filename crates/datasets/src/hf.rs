//! Hugging Face datasets on disk: a `save_to_disk` directory (a run is one too), or a snapshot or
//! cache folder with Parquet or Arrow files.

use std::fs;
use std::path::{Path, PathBuf};

use ipw_core::nearest::nearest;
use ipw_core::params::Params;
use serde_json::Value;

use crate::DatasetInfo;
use crate::error::DatasetError;
use crate::files;
use crate::options::{Options, row_params};
use crate::rows::Rows;
use crate::splits::{self, Split};
use crate::tables::{Format, Tables};

/// The id in the registry.
pub(crate) const ID: &str = "hf";

/// The parameter `path` and its meaning.
const PATH: (&str, &str) = (
    "path",
    "the directory of a Hugging Face dataset: `save_to_disk`, a snapshot or a run of ours",
);
/// The parameter `split` and its meaning.
const SPLIT: (&str, &str) = ("split", "which split, where there is more than one");

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "a Hugging Face dataset on disk, or a run of ours; naming its directory is enough",
    params: row_params!(PATH, SPLIT),
};

const LOOKED_FOR: &str = "`state.json` or `dataset_dict.json` of `save_to_disk`, \
                          and files below it that end in `.parquet` or `.arrow`";

/// Opens and checks the directory in `params`.
pub(crate) fn open(params: &Params, most: Option<u64>) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let path = reader.required(PATH.0, PATH.1);
    let split = reader.text(SPLIT.0);
    let options = Options::read(&mut reader, ID)?.taking(most);
    reader.finish()?;
    let path = PathBuf::from(path?);
    let split = split.as_deref();
    let name = name(&path, split);
    let tables = if files::exists(&path, PATH.1)?.is_dir() {
        directory(&path, split)?
    } else {
        files::check(&path, PATH.1)?;
        saved(&path, vec![path.clone()])
    };
    Rows::open(ID, name, Box::new(tables), options)
}

fn saved(path: &Path, files: Vec<PathBuf>) -> Tables {
    Tables {
        path: path.to_owned(),
        format: Format::Arrow,
        files,
    }
}

/// The tables of the split `wanted` in a directory.
pub(crate) fn directory(path: &Path, wanted: Option<&str>) -> Result<Tables, DatasetError> {
    if path.join("state.json").is_file() {
        if let (Some(wanted), Some(own)) = (wanted, own_split(path)) {
            choose(path, vec![own], Some(wanted), String::as_str)?;
        }
        return Ok(saved(path, ipw_store::tables::data_files(path)?));
    }
    if path.join("dataset_dict.json").is_file() {
        let names = splits_of_dict(path)?;
        let name = choose(path, names, wanted, String::as_str)?;
        let inner = path.join(name);
        return Ok(saved(&inner, ipw_store::tables::data_files(&inner)?));
    }
    let root = snapshot(path)?;
    for (ending, format) in [("parquet", Format::Parquet), ("arrow", Format::Arrow)] {
        let found = splits::below(&root, ending)?;
        if !found.is_empty() {
            let split = choose(path, found, wanted, |split: &Split| &split.name)?;
            return Ok(Tables {
                path: path.to_owned(),
                format,
                files: split.files,
            });
        }
    }
    Err(DatasetError::NoDataset {
        path: path.to_owned(),
        looked_for: LOOKED_FOR,
    })
}

/// The split that the metadata of a `save_to_disk` directory names.
fn own_split(path: &Path) -> Option<String> {
    let state: Value = serde_json::from_slice(&fs::read(path.join("state.json")).ok()?).ok()?;
    state["_split"].as_str().map(str::to_owned)
}

/// The splits that the directory lists. A name that is not a directory inside of it is left out, so
/// that no listed name leads elsewhere.
fn splits_of_dict(path: &Path) -> Result<Vec<String>, DatasetError> {
    let file = path.join("dataset_dict.json");
    let text = fs::read(&file).map_err(|source| DatasetError::Read {
        path: file.clone(),
        source,
    })?;
    let listed: Value = serde_json::from_slice(&text).map_err(|source| DatasetError::Read {
        path: file,
        source: source.into(),
    })?;
    let names = listed["splits"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(names
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| Path::new(name).file_name() == Some(name.as_ref()))
        .filter(|name| path.join(name).is_dir())
        .map(str::to_owned)
        .collect())
}

/// The newest snapshot that is known in a dataset's folder of the hub's cache.
fn snapshot(path: &Path) -> Result<PathBuf, DatasetError> {
    let snapshots = path.join("snapshots");
    if !snapshots.is_dir() {
        return Ok(path.to_owned());
    }
    if let Ok(commit) = fs::read_to_string(path.join("refs").join("main")) {
        let inner = snapshots.join(commit.trim());
        if Path::new(commit.trim()).file_name() == Some(commit.trim().as_ref()) && inner.is_dir() {
            return Ok(inner);
        }
    }
    let mut found = splits::directories(&snapshots)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(DatasetError::NoDataset {
            path: path.to_owned(),
            looked_for: "one snapshot, or `refs/main` that names one; give the path of a snapshot",
        }),
    }
}

/// The requested split, or the only one.
pub(crate) fn choose<T>(
    path: &Path,
    mut splits: Vec<T>,
    wanted: Option<&str>,
    name: impl Fn(&T) -> &str,
) -> Result<T, DatasetError> {
    let last = |split: &T| {
        let name = name(split);
        name.rsplit('/').next().map(str::to_owned)
    };
    let fits = |split: &T| match wanted {
        None => true,
        Some(wanted) => name(split) == wanted || last(split).as_deref() == Some(wanted),
    };
    // An exact name wins: `train` does not also mean `other/train`.
    let exact = splits.iter().position(|split| Some(name(split)) == wanted);
    let fitting: Vec<_> = (0..splits.len()).filter(|at| fits(&splits[*at])).collect();
    let only = (fitting.len() == 1).then(|| fitting[0]);
    if let Some(place) = exact.or(only) {
        return Ok(splits.swap_remove(place));
    }
    let known: Vec<_> = splits.iter().map(|split| name(split).to_owned()).collect();
    let names = || known.iter().map(String::as_str);
    Err(DatasetError::Split {
        path: path.to_owned(),
        wanted: wanted.map(str::to_owned),
        nearest: wanted
            .and_then(|wanted| nearest(wanted, names()))
            .map(str::to_owned),
        known,
    })
}

/// The dataset's name on the hub, or the directory's name; followed by the split if one was chosen.
fn name(path: &Path, split: Option<&str>) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let hub = full
        .iter()
        .filter_map(|step| {
            step.to_str()?
                .strip_prefix("datasets--")?
                .rsplit("--")
                .next()
        })
        .next_back();
    let name = match hub {
        Some(name) => name.to_owned(),
        None if full.is_dir() => full
            .file_name()
            .map_or_else(|| ID.to_owned(), |name| name.to_string_lossy().into_owned()),
        None => files::name(&full, ID),
    };
    match split {
        Some(split) => format!("{name}-{}", split.replace('/', "-")),
        None => name,
    }
}
