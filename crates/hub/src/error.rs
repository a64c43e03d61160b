//! Why a file is not in the cache.

use std::fmt;
use std::io;
use std::path::PathBuf;

use ipw_core::text::printable_path;

use crate::space::in_words;

/// A fault of the cache itself: another source does not help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The cache's directory is not writable.
    #[error(
        "cannot write to the cache `{}`: {cause}\nhelp: set `IPW_CACHE` to a directory that you may \
         write to",
        printable_path(directory)
    )]
    Unusable {
        /// Which directory.
        directory: PathBuf,
        /// The system's error; part of the message, so that the help comes last.
        cause: io::Error,
    },
    /// A file of the cache is unreadable.
    #[error("cannot read `{}`", printable_path(path))]
    Read {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk is full, or would be.
    #[error(
        "not enough space in `{}`: {} needed, {} free{}\nhelp: free some space, or set \
         `IPW_CACHE` to a directory on another disk",
        printable_path(directory), in_words(*needed),
        free.map_or("an unknown amount".to_owned(), in_words),
        kept.map_or(String::new(), |kept| {
                        format!("; the {} downloaded so far are kept, and the next try resumes", in_words(kept))
        })
    )]
    DiskFull {
        /// Where.
        directory: PathBuf,
        /// Bytes still to be written.
        needed: u64,
        /// Free bytes; `None` if unknown.
        free: Option<u64>,
        /// Bytes of a partial download that are kept.
        kept: Option<u64>,
    },
}

/// Why a source failed, and whether others may work.
#[derive(Debug)]
pub enum Failure {
    /// Another source may work.
    Source(String),
    /// The hub denies access.
    Denied(AccessDenied),
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

/// The hub denies access: the file is private or gated, or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessDenied {
    /// 401 or 403.
    pub status: u16,
    /// Whether a token was sent.
    pub had_token: bool,
}

impl fmt::Display for AccessDenied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = if self.had_token {
            "the token in `HF_TOKEN` does not grant access"
        } else {
            "set `HF_TOKEN` to a token that may read it"
        };
        write!(
            formatter,
            "access denied ({}): the file does not exist, is private, or its licence must be \
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
        let expected = "not enough space in `/cache`: 98.4 MB needed, 1.0 kB free; the 5.0 MB down";
        assert!(text.starts_with(expected), "{text}");
    }
}
