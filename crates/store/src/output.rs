//! Making a new run directory, and keeping what was there before.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use serde_json::json;

use crate::features::features;
use crate::lock::Lock;
use crate::schema::RunSchema;
use crate::state::{State, fresh_fingerprint};
use crate::stream::StreamFile;
use crate::summary::{Stored, Summary};
use crate::{StoreError, disk, file};

/// The data file of the first part while the run goes on.
const LIVE_FILE: &str = "data-part-00000.arrow";

/// The columns in Hugging Face's words; what `datasets` knows a directory of rows by.
pub(crate) const DATASET_INFO: &str = "dataset_info.json";

/// A run that was just made: it loads, and has no rows.
pub struct NewRun {
    pub(crate) directory: PathBuf,
    pub(crate) schema: RunSchema,
    /// The summary that was there.
    pub(crate) stored: Stored,
    pub(crate) stream: StreamFile,
    pub(crate) lock: Lock,
    /// The run that was there before, until this one has finished.
    pub(crate) aside: Option<PathBuf>,
}

impl NewRun {
    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the run that was there before has been put.
    pub fn aside(&self) -> Option<&Path> {
        self.aside.as_deref()
    }
}

/// What to do with something that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Keep,
    /// Put it aside; it is removed when the new run has finished.
    Replace,
}

/// Makes the run directory: an empty run that `datasets` loads.
///
/// It is made under a dot-name and moved into place whole, so that nothing half made is ever seen.
pub fn create(
    directory: &Path,
    schema: RunSchema,
    existing: Existing,
    plan: &str,
    summary: &Summary,
    durable: bool,
) -> Result<NewRun, StoreError> {
    if directory.symlink_metadata().is_ok() && existing == Existing::Keep {
        return Err(StoreError::Exists {
            path: directory.to_owned(),
        });
    }
    if Lock::is_held(directory) {
        return Err(StoreError::Busy {
            path: directory.to_owned(),
        });
    }
    let fingerprint = fresh_fingerprint();
    let made = sibling(directory, "new", &fingerprint);
    // No other user may look into it: prompts and replies are in it.
    disk::make_directory(&made, 0o700, durable).map_err(StoreError::io("create", &made))?;
    let filled = fill(&made, &schema, &fingerprint, plan, summary, durable).and_then(|stream| {
        let lock = Lock::take(&made)?;
        move_into_place(&made, directory, existing, durable).map(|aside| (stream, lock, aside))
    });
    let (mut stream, lock, aside) = filled.inspect_err(|_| {
        // Best effort: a leftover directory has a dot-name, so that readers ignore it.
        let _ = disk::remove_all(&made);
    })?;
    stream.moved_to(directory.join(LIVE_FILE));
    Ok(NewRun {
        directory: directory.to_owned(),
        schema,
        stored: Stored::default(),
        stream,
        lock,
        aside,
    })
}

fn fill(
    made: &Path,
    schema: &RunSchema,
    fingerprint: &str,
    plan: &str,
    summary: &Summary,
    durable: bool,
) -> Result<StreamFile, StoreError> {
    write_dataset_info(made, Some(&schema.arrow()), durable)?;
    file::replace(&made.join(crate::plan::FILE), plan.as_bytes(), durable)?;
    Stored::default().write(summary, made, durable)?;
    let stream = StreamFile::create(&made.join(LIVE_FILE), &schema.arrow(), durable)?;
    State::new(fingerprint.to_owned(), [LIVE_FILE.to_owned()]).write(made, durable)?;
    Ok(stream)
}

/// `dataset_info.json`: the columns in Hugging Face's words. Without a schema they are left out, and
/// `datasets` takes those of the data files.
pub(crate) fn write_dataset_info(
    directory: &Path,
    schema: Option<&SchemaRef>,
    durable: bool,
) -> Result<(), StoreError> {
    let mut about = json!({ "citation": "", "description": "" });
    if let Some(schema) = schema {
        about["features"] = features(schema.fields());
    }
    about["homepage"] = json!("");
    about["license"] = json!("");
    let about = serde_json::to_vec_pretty(&about).expect("JSON values serialize");
    file::replace(&directory.join(DATASET_INFO), &about, durable)
}

fn move_into_place(
    made: &Path,
    directory: &Path,
    existing: Existing,
    durable: bool,
) -> Result<Option<PathBuf>, StoreError> {
    let mut aside = None;
    if directory.symlink_metadata().is_ok() {
        if existing == Existing::Keep {
            return Err(StoreError::Exists {
                path: directory.to_owned(),
            });
        }
        let old = sibling(directory, "old", &fresh_fingerprint());
        disk::rename(directory, &old).map_err(StoreError::io("put aside", directory))?;
        aside = Some(old);
    }
    match place(made, directory, durable) {
        Ok(()) => Ok(aside),
        Err(source) => {
            if let Some(old) = &aside {
                disk::rename(old, directory).map_err(StoreError::io("put back", directory))?;
            }
            Err(StoreError::Io {
                action: "create",
                path: directory.to_owned(),
                source,
            })
        }
    }
}

/// Gives the new run its name; on an error it has the old one.
fn place(made: &Path, directory: &Path, durable: bool) -> std::io::Result<()> {
    if durable {
        // The run that was there must not lose its name before it has the other one.
        disk::sync_name(directory)?;
    }
    disk::rename(made, directory)?;
    if durable {
        disk::sync_name(directory).inspect_err(|_| {
            // Best effort: both directories stay, whatever they are called.
            let _ = disk::rename(directory, made);
        })?;
    }
    Ok(())
}

/// A dot-name beside `directory`.
fn sibling(directory: &Path, kind: &str, fingerprint: &str) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!(".{name}.{kind}-{}", &fingerprint[..8]))
}
