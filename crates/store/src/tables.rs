//! The rows of other people's tables, as JSON objects: Parquet files and Arrow IPC streams.
//!
//! One batch is in memory at a time, and of it a few hundred rows as objects, fewer where rows are
//! large. The files may be damaged or made to harm: what is wrong with them is an error, never a
//! panic. How much a page (`pages`) and a row (`weight`) may take is checked first.

mod pages;
mod thrift;
mod weight;
mod zones;

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

use crate::StoreError;
use crate::ipc::{Stream, guarded};

/// The most rows that are objects at a time.
const SLICE: usize = 256;

/// One row: its columns by name, null where it has nothing.
pub type Object = Map<String, Value>;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The rows of one file, a few hundred at a time. An error is the last thing that it yields.
pub struct TableRows {
    path: PathBuf,
    batches: Option<Batches>,
    batch: Option<RecordBatch>,
    next: usize,
}

/// The rows of a Parquet file.
pub fn parquet(path: &Path) -> Result<TableRows, StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    let reader = guarded(|| {
        let pages = file.try_clone()?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
        let rows = pages::rows_that_fit(&pages, reader.metadata(), SLICE)?;
        Ok(reader.with_batch_size(rows).build()?)
    });
    let reader = reader.map_err(StoreError::arrow("read the Parquet file", path))?;
    Ok(TableRows::new(path, Box::new(reader)))
}

/// The rows of an Arrow IPC stream, as Hugging Face `datasets` writes them.
pub fn arrow_stream(path: &Path) -> Result<TableRows, StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    Ok(TableRows::new(path, Box::new(Stream::over(file, path)?)))
}

/// The data files that the `state.json` of a `save_to_disk` directory names.
pub fn data_files(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let read = |path: &Path| std::fs::read(path).map_err(StoreError::io("read", path));
    let state = crate::state::State::read_with(directory, read)?;
    Ok(state.files().map(|name| directory.join(name)).collect())
}

impl TableRows {
    fn new(path: &Path, batches: Batches) -> Self {
        Self {
            path: path.to_owned(),
            batches: Some(batches),
            batch: None,
            next: 0,
        }
    }

    fn slice(&mut self) -> Result<Option<Vec<Object>>, ArrowError> {
        loop {
            if let Some(batch) = &self.batch {
                let left = batch.num_rows() - self.next;
                if left > 0 {
                    let (next, most) = (self.next, left.min(SLICE));
                    let rows = guarded(|| weight::rows_that_fit(batch, next, most))?;
                    let slice = batch.slice(next, rows);
                    self.next += slice.num_rows();
                    return guarded(|| objects(&slice)).map(Some);
                }
            }
            let Some(batches) = &mut self.batches else {
                return Ok(None);
            };
            self.next = 0;
            self.batch = guarded(|| batches.next().transpose())?;
            if self.batch.is_none() {
                self.batches = None;
            }
        }
    }
}

impl Iterator for TableRows {
    type Item = Result<Vec<Object>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let slice = self.slice();
        if slice.is_err() {
            self.batches = None;
            self.batch = None;
        }
        slice
            .map_err(StoreError::arrow("read rows of", &self.path))
            .transpose()
    }
}

/// Arrow's own words for values (dates, decimals, bytes as hexadecimal) are good enough.
fn objects(batch: &RecordBatch) -> Result<Vec<Object>, ArrowError> {
    let batch = zones::as_offsets(batch)?;
    let mut text = Vec::new();
    let mut writer = WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, LineDelimited>(&mut text);
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            serde_json::from_slice(line).map_err(|error| ArrowError::JsonError(error.to_string()))
        })
        .collect()
}
