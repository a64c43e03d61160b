//! What cannot be read twice, or not in any order, put aside on disk.
//!
//! The file has no name: it goes with the process, however that ends. Disk is all that bounds it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write, copy};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::DatasetError;
use crate::reader::{Object, Written};
use crate::source::Source;

/// A file without a name, while it is written.
#[derive(Debug)]
pub(crate) struct Spool {
    file: BufWriter<File>,
    length: u64,
}

impl Spool {
    pub(crate) fn new() -> Result<Self, DatasetError> {
        let file = tempfile::tempfile().map_err(full)?;
        Ok(Self {
            file: BufWriter::new(file),
            length: 0,
        })
    }

    /// All that `input` gives, before anything can be done with it.
    pub(crate) fn of(input: &mut dyn Read, label: PathBuf) -> Result<Source, DatasetError> {
        let mut spool = Self::new()?;
        copy(input, &mut spool.file).map_err(full)?;
        spool.finish(label)
    }

    /// Adds one row as a line of JSON and says where it is.
    pub(crate) fn push(
        &mut self,
        written: Written<'_>,
        object: &Object,
    ) -> Result<u64, DatasetError> {
        let offset = self.length;
        let text;
        let line = if let Written::Json(line) = written {
            // Read and printed again, a number could differ in its last digit.
            line
        } else {
            text = serde_json::to_vec(object).expect("an object with text keys serializes");
            &text
        };
        self.file.write_all(line).map_err(full)?;
        self.file.write_all(b"\n").map_err(full)?;
        self.length += line.len() as u64 + 1;
        Ok(offset)
    }

    /// The end of writing.
    pub(crate) fn finish(self, label: PathBuf) -> Result<Source, DatasetError> {
        let file = self
            .file
            .into_inner()
            .map_err(|error| full(error.into_error()))?;
        Ok(Source::Spool {
            file: Arc::new(file),
            label,
        })
    }
}

fn full(source: io::Error) -> DatasetError {
    DatasetError::Spool {
        directory: std::env::temp_dir(),
        source,
    }
}

/// One way through the file; another has its own place.
pub(crate) struct SpoolReader {
    file: Arc<File>,
    position: u64,
}

impl SpoolReader {
    pub(crate) fn new(file: &Arc<File>) -> Self {
        Self {
            file: Arc::clone(file),
            position: 0,
        }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(buffer, self.position)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for SpoolReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
