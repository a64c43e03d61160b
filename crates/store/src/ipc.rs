//! Arrow IPC streams from disk, which may be damaged: what is wrong is an error, never a panic and
//! never an allocation that the file's own size does not justify. Batches before the damage come
//! out as they were written.

use std::fs::File;
use std::io::{BufReader, Read, Take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};

use crate::checksum::ChecksumReader;
use crate::framing::framing;
use crate::{StoreError, file};

/// The batches of a stream. An error is the last thing that it yields.
pub(crate) struct Stream {
    reader: Option<StreamReader<ChecksumReader<BufReader<Take<File>>>>>,
    schema: SchemaRef,
    /// What is wrong behind the last sound batch.
    damage: Option<ArrowError>,
}

impl Stream {
    /// A data file of a run.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::over(file::open(path)?, path)
    }

    /// An open file, which `path` names in messages.
    pub(crate) fn over(file: File, path: &Path) -> Result<Self, StoreError> {
        let action = "read the Arrow stream";
        let framing = framing(&file).map_err(StoreError::arrow(action, path))?;
        if let (0, Some(damage)) = (framing.sound, framing.damage.as_ref()) {
            let damage = ArrowError::ParseError(damage.to_string());
            return Err(StoreError::arrow(action, path)(damage));
        }
        let content = BufReader::new(file.take(framing.sound));
        // Outermost, so that an error concerns the message at hand and none before it.
        let content = ChecksumReader::new(content, framing.sealed);
        let reader = guarded(|| StreamReader::try_new(content, None))
            .map_err(StoreError::arrow(action, path))?;
        Ok(Self {
            schema: reader.schema(),
            reader: Some(reader),
            damage: framing.damage,
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        match guarded(|| reader.next().transpose()) {
            Ok(Some(batch)) => Some(Ok(batch)),
            Ok(None) => {
                self.reader = None;
                self.damage.take().map(Err)
            }
            Err(error) => {
                self.reader = None;
                Some(Err(error))
            }
        }
    }
}

/// Arrow and Parquet check much and assert the rest, so a damaged file can make them panic.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(ArrowError::ParseError(
            "its content contradicts itself: the file is damaged".to_owned(),
        ))
    })
}
