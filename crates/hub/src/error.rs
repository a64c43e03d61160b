//! Why a file is not in the cache.

use std::fmt;
use std::io;
use std::path::PathBuf;

use ipw_core::text::printable_path;

use crate::space::in_words;

/// What is wrong with the cache: no source can help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The cache's directory cannot be written to.
    #[error(
        "cannot write to the cache `{}`: {cause}\nhelp: set `IPW_CACHE` to a directory that you may \
         write to",
        printable_path(directory)
    )]
    Unusable {
        /// Which directory.
        directory: PathBuf,
        /// What the system says; in the message, so that the help is the last word.
        cause: io::Error,
    },
    /// A file of the cache cannot be read.
    #[error("cannot read `{}`", printable_path(path))]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The disk is full, or would be.
    #[error(
        "not enough room in `{}`: {} needed, {} free{}\nhelp: make room, or set `IPW_CACHE` to a \
         directory on another disk",
        printable_path(directory), in_words(*needed),
        free.map_or("an unknown amount".to_owned(), in_words),
        kept.map_or(String::new(), |kept| {
            format!("; the {} that arrived are kept, and the next try goes on from there", in_words(kept))
        })
    )]
    DiskFull {
        /// Where.
        directory: PathBuf,
        /// Bytes that are still to be written.
        needed: u64,
        /// Bytes that are free; `None` if the system does not say.
        free: Option<u64>,
        /// Bytes of an unfinished transfer that stay.
        kept: Option<u64>,
    },
}

/// Why one source did not deliver, and whether the others may still.
#[derive(Debug)]
pub enum Failure {
    /// The next source may do better.
    Source(String),
    /// The hub does not let us have it.
    Denied(Denied),
    /// No other source can help.
    Fatal(CacheError),
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        Self::Fatal(error)
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Source(reason)
    }
}

/// The hub refuses: what is asked for is private or gated, or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denied {
    /// 401 or 403.
    pub status: u16,
    /// Whether a token went with the question.
    pub had_token: bool,
}

impl fmt::Display for Denied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = if self.had_token {
            "`HF_TOKEN` is set and does not help"
        } else {
            "set `HF_TOKEN` to a token that may read it"
        };
        write!(
            formatter,
            "the server refuses ({}): the file does not exist, is private, or its licence is to be \
             accepted on the hub; {token}",
            self.status
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_where_how_much_and_what_stays() {
        let error = CacheError::DiskFull {
            directory: PathBuf::from("/cache"),
            needed: 98_362_432,
            free: Some(1_000),
            kept: Some(5_000_000),
        };
        let text = error.to_string();
        let expected = "not enough room in `/cache`: 98.4 MB needed, 1.0 kB free; the 5.0 MB that";
        assert!(text.starts_with(expected), "{text}");
    }
}
