//! Datasets beside the rows: each a directory of its own, in the same tear-free stream, with a file for
//! every part of the run.

use std::path::Path;

use arrow::datatypes::SchemaRef;

use crate::output::write_dataset_info;
use crate::state::{State, fresh_fingerprint};
use crate::stream::StreamFile;
use crate::{StoreError, file};

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
    let directory = &file::make_directory(run, name)?;
    write_dataset_info(directory, schema, durable)?;
    let fingerprint = fresh_fingerprint();
    let earlier = State::read(directory).ok();
    let live = if earlier.is_none() {
        LIVE_FILE.to_owned()
    } else {
        format!("data-part-{part:05}-{}.arrow", &fingerprint[..8])
    };
    let stream = StreamFile::create(&directory.join(&live), schema, durable)?;
    let files = earlier.iter().flat_map(State::files).map(str::to_owned);
    let files: Vec<_> = files.chain([live]).collect();
    State::new(fingerprint, files).write(directory, durable)?;
    Ok(stream)
}
