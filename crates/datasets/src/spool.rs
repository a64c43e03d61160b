//! A temporary copy on disk, for sources that can be read only once or only in their own order.
//!
//! The file has no name, so it vanishes with the process, however that ends. Only the disk bounds
//! its size.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::DatasetError;
use crate::reader::{Encoding, Object};
use crate::source::Source;

/// A usual line has fewer bytes.
const LINE: u64 = 16 << 10;

/// The temporary file while it is written.
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

    /// Copies that many lines of `input`, fewer if they are long; returns whether the input has
    /// ended.
    pub(crate) fn copy_lines(
        &mut self,
        input: &mut dyn BufRead,
        most: u64,
    ) -> Result<bool, DatasetError> {
        let (mut lines, mut bytes) = (0, 0);
        let longest = most.saturating_mul(LINE);
        while lines < most && bytes < longest {
            let piece = match input.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(full(error)),
            };
            if piece.is_empty() {
                return Ok(true);
            }
            lines += memchr::memchr_iter(b'\n', piece).count() as u64;
            bytes += piece.len() as u64;
            self.file.write_all(piece).map_err(full)?;
            let taken = piece.len();
            input.consume(taken);
        }
        Ok(false)
    }

    /// A source of what was copied so far.
    pub(crate) fn source(&mut self, label: PathBuf) -> Result<Source, DatasetError> {
        self.file.flush().map_err(full)?;
        let file = self.file.get_ref().try_clone().map_err(full)?;
        Ok(Source::Spool {
            file: Arc::new(file),
            label,
        })
    }

    /// Adds one row as a line of JSON; returns its offset.
    pub(crate) fn push(
        &mut self,
        written: Encoding<'_>,
        object: &Object,
    ) -> Result<u64, DatasetError> {
        let offset = self.length;
        let text;
        let line = if let Encoding::Json(line) = written {
            // Kept as written: parsed and printed again, a number could differ in its last digit.
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

    /// Ends writing and returns the source.
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

/// One pass over the file, with its own position.
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
