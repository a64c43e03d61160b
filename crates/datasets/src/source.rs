//! The sources of text: a file, a text in the program, or a temporary file.
//!
//! Compressed text (gzip, zstd) is decompressed while it is read. It is detected by the first
//! bytes, not by the name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::DatasetError;
use crate::packed::{Packing, unpack};
use crate::spool::SpoolReader;

/// A seekable, buffered stream of text.
pub(crate) trait Input: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Input for T {}

#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file of the user.
    File(PathBuf),
    /// A text in the program.
    Text(&'static str),
    /// A temporary file without a name.
    Spool {
        /// The open file.
        file: Arc<File>,
        /// The name in messages.
        label: PathBuf,
    },
}

impl Source {
    /// The name in messages.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) | Self::Spool { label: path, .. } => path.clone(),
            Self::Text(_) => PathBuf::from("(built in)"),
        }
    }

    /// Opens the text at its first byte, decompressed.
    pub(crate) fn open(&self) -> Result<Box<dyn Input>, DatasetError> {
        let mut input = self.bytes()?;
        let packing = self.packing_of(&mut input)?;
        Ok(match packing {
            Some(packing) => unpack(packing, input),
            None => input,
        })
    }

    /// Whether the text is compressed and thus cannot be read in another order.
    pub(crate) fn is_packed(&self) -> Result<bool, DatasetError> {
        Ok(self.packing_of(&mut self.bytes()?)?.is_some())
    }

    /// The first bytes of the text, at most `most`.
    pub(crate) fn head(&self, most: u64) -> Result<Vec<u8>, DatasetError> {
        let mut head = Vec::new();
        self.open()?
            .take(most)
            .read_to_end(&mut head)
            .map_err(|error| self.unreadable(error))?;
        Ok(head)
    }

    /// Wraps the error of a failed read.
    pub(crate) fn unreadable(&self, source: io::Error) -> DatasetError {
        DatasetError::Read {
            path: self.path(),
            source,
        }
    }

    fn packing_of(&self, input: &mut dyn Input) -> Result<Option<Packing>, DatasetError> {
        let head = input.fill_buf().map_err(|error| self.unreadable(error))?;
        Ok(Packing::of(head))
    }

    fn bytes(&self) -> Result<Box<dyn Input>, DatasetError> {
        Ok(match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|source| DatasetError::Open {
                    path: path.clone(),
                    source,
                })?;
                Box::new(BufReader::new(file))
            }
            Self::Text(text) => Box::new(Cursor::new(text.as_bytes())),
            Self::Spool { file, .. } => Box::new(BufReader::new(SpoolReader::new(file))),
        })
    }
}
