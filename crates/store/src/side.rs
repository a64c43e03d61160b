//! Tables beside the rows: each a directory of its own, in the same tear-free stream, with a file for
//! every part of the run.
//!
//! `state.json` names the files. There is no `dataset_info.json`: the original's accuracy pass takes a
//! directory that has one for rows, and deletes it (docs/decisions/0014).

use std::path::Path;

use arrow_schema::SchemaRef;

use crate::output::DATASET_INFO;
use crate::state::{STATE_FILE, State, fresh_fingerprint};
use crate::stream::StreamFile;
use crate::{StoreError, disk, file};

/// The file of the first part.
const LIVE_FILE: &str = "data-part-00000.arrow";

/// The stream of one part in the run's directory `name`, which is made if it is not there; what earlier parts left
/// stays.
pub(crate) fn open(
    run: &Path,
    name: &str,
    schema: &SchemaRef,
    part: u32,
    durable: bool,
) -> Result<StreamFile, StoreError> {
    let directory = &file::directory(run, name, durable)?;
    let old = directory.join(DATASET_INFO);
    if old.symlink_metadata().is_ok() {
        // Best effort: runs of earlier versions have it, and nothing of ours reads it.
        let _ = disk::remove_file(&old);
    }
    let fingerprint = fresh_fingerprint();
    // A state that is there and cannot be read is an error: a new one would not name its files.
    let is_there = directory.join(STATE_FILE).symlink_metadata().is_ok();
    let earlier = is_there.then(|| State::read(directory)).transpose()?;
    let first = directory.join(LIVE_FILE);
    // A process that was killed may have left a file without a state.
    let live = if earlier.is_none() && !first.exists() {
        LIVE_FILE.to_owned()
    } else {
        format!("data-part-{part:05}-{}.arrow", &fingerprint[..8])
    };
    let stream = StreamFile::create(&directory.join(&live), schema, durable)?;
    let replaces = earlier.is_some();
    if replaces {
        // The state of what is there must not give way to one whose files are not.
        stream.secure()?;
    }
    let files = earlier.iter().flat_map(State::files).map(str::to_owned);
    let files: Vec<_> = files.chain([live]).collect();
    State::new(fingerprint, files).write(directory, durable || replaces)?;
    Ok(stream)
}
