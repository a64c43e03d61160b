//! Where text comes from: a file, a text in the program, or what was put aside on disk.
//!
//! What was packed with gzip or zstd is unpacked on the way; its first bytes say so, not its name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::DatasetError;
use crate::packed::{Packing, unpack};
use crate::spool::SpoolReader;

/// What text is read from.
pub(crate) trait Input: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Input for T {}

/// Where the text is.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// In a file.
    File(PathBuf),
    /// In the program itself.
    Text(&'static str),
    /// In a file without a name.
    Spool {
        /// The file.
        file: Arc<File>,
        /// What messages call it.
        label: PathBuf,
    },
}

impl Source {
    /// What messages call it.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) | Self::Spool { label: path, .. } => path.clone(),
            Self::Text(_) => PathBuf::from("(built in)"),
        }
    }

    /// The text from its first byte on, unpacked.
    pub(crate) fn open(&self) -> Result<Box<dyn Input>, DatasetError> {
        let mut input = self.bytes()?;
        let packing = self.packing_of(&mut input)?;
        Ok(match packing {
            Some(packing) => unpack(packing, input),
            None => input,
        })
    }

    /// Whether it must be unpacked, and so cannot be read in another order.
    pub(crate) fn is_packed(&self) -> Result<bool, DatasetError> {
        Ok(self.packing_of(&mut self.bytes()?)?.is_some())
    }

    /// At most `most` bytes of the text.
    pub(crate) fn head(&self, most: u64) -> Result<Vec<u8>, DatasetError> {
        let mut head = Vec::new();
        self.open()?
            .take(most)
            .read_to_end(&mut head)
            .map_err(|error| self.unreadable(error))?;
        Ok(head)
    }

    /// The error of a read that failed.
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
