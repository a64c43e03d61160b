//! `state.json`: which data files make up the run. Switching it is how every rewrite commits.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Component, Path};

use ipw_core::text::printable;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{StoreError, file};

pub(crate) const STATE_FILE: &str = "state.json";

/// The keys that `datasets` wants, all of them, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    #[serde(rename = "_data_files")]
    data_files: Vec<DataFile>,
    #[serde(rename = "_fingerprint")]
    fingerprint: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DataFile {
    filename: String,
}

impl State {
    /// A state over these data files, with the fingerprint by which `datasets` caches.
    pub(crate) fn new(fingerprint: String, files: impl IntoIterator<Item = String>) -> Self {
        let Value::Object(rest) = json!({
            "_format_columns": null,
            "_format_kwargs": {},
            "_format_type": null,
            "_output_all_columns": false,
            "_split": null,
        }) else {
            unreachable!("an object literal")
        };
        let data_files = files
            .into_iter()
            .map(|filename| DataFile { filename })
            .collect();
        Self {
            data_files,
            fingerprint,
            rest,
        }
    }

    /// The state of a run, or of a dataset in it.
    pub(crate) fn read(directory: &Path) -> Result<Self, StoreError> {
        Self::read_with(directory, file::read)
    }

    /// The state of a dataset that `read` reads: those of a cache may be symbolic links.
    pub(crate) fn read_with(
        directory: &Path,
        read: impl Fn(&Path) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Self, StoreError> {
        let path = directory.join(STATE_FILE);
        let not_a_run = |reason: String| StoreError::NotARun {
            path: directory.to_owned(),
            reason,
        };
        if !directory.exists() {
            return Err(not_a_run("it does not exist".to_owned()));
        }
        let text = read(&path).map_err(|error| match &error {
            StoreError::Io { source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                not_a_run(format!("it has no `{STATE_FILE}`"))
            }
            _ => error,
        })?;
        let state: Self =
            serde_json::from_slice(&text).map_err(|source| StoreError::Json { path, source })?;
        let outside = state.files().find(|name| !is_plain(name)).map(printable);
        match outside {
            None => Ok(state),
            Some(name) => Err(not_a_run(format!(
                "its `{STATE_FILE}` names the data file `{name}`, which is not a plain file name"
            ))),
        }
    }

    pub(crate) fn write(&self, directory: &Path, durable: bool) -> Result<(), StoreError> {
        let text = serde_json::to_vec_pretty(self).expect("strings and lists serialize");
        file::replace(&directory.join(STATE_FILE), &text, durable)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.data_files.iter().map(|file| file.filename.as_str())
    }
}

/// Whether it is the name of a file in the directory itself.
fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let first = components.next();
    matches!(first, Some(Component::Normal(only)) if only == name) && components.next().is_none()
}

/// Sixteen hexadecimal digits that no earlier state had.
pub(crate) fn fresh_fingerprint() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
