//! Where lines come from: a file, or a text in the program.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Seek};
use std::path::PathBuf;

use crate::error::DatasetError;
use crate::lines::Lines;

/// What lines are read from.
pub(crate) trait Input: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Input for T {}

/// Where the lines are.
#[derive(Debug)]
pub(crate) enum Source {
    /// In a file.
    File(PathBuf),
    /// In the program itself.
    Text(&'static str),
}

impl Source {
    /// What messages call it.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Text(_) => PathBuf::from("(built in)"),
        }
    }

    /// The lines from the first one on.
    pub(crate) fn lines(&self) -> Result<Lines<Box<dyn Input>>, DatasetError> {
        let input: Box<dyn Input> = match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|source| DatasetError::Open {
                    path: path.clone(),
                    source,
                })?;
                Box::new(BufReader::new(file))
            }
            Self::Text(text) => Box::new(Cursor::new(text.as_bytes())),
        };
        Ok(Lines::new(input))
    }

    /// The error of a read that failed.
    pub(crate) fn unreadable(&self, source: io::Error) -> DatasetError {
        DatasetError::Read {
            path: self.path(),
            source,
        }
    }
}
