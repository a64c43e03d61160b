//! Progress of a fetch.

use std::path::PathBuf;

/// An event during a fetch. Texts may come from outside: make them printable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process fetches the same file; this one waits for it.
    Waiting {
        /// The lock that the other process holds.
        lock: PathBuf,
    },
    /// A source is tried.
    Trying {
        /// Name of the source, for display.
        source: String,
    },
    /// Bytes that are already here are hashed.
    Checking {
        /// Bytes hashed so far.
        done: u64,
        /// Total bytes.
        total: u64,
    },
    /// A transfer starts.
    Started {
        /// Bytes from an earlier transfer, which are not sent again.
        resumed: u64,
        /// Total bytes; `None` if the source does not say.
        total: Option<u64>,
    },
    /// Bytes arrived.
    Received {
        /// Bytes so far.
        done: u64,
        /// Total bytes; `None` if the source does not say.
        total: Option<u64>,
    },
    /// The transfer was interrupted and continues.
    Again {
        /// Why it was interrupted.
        reason: String,
    },
    /// A source failed; the next one is tried, if there is one.
    Failed {
        /// Name of the source, for display.
        source: String,
        /// Why.
        reason: String,
    },
}

/// Receives progress.
pub type Report<'a> = &'a mut dyn FnMut(Progress);
