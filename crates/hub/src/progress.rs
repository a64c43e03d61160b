//! What a fetch tells while it goes on.

use std::path::PathBuf;

/// Something that happened during a fetch. Texts may come from outside: make them printable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process fetches the same file; this one waits for it.
    Waiting {
        /// The lock that the other holds.
        lock: PathBuf,
    },
    /// A source is asked.
    Trying {
        /// Which, for people.
        source: String,
    },
    /// Bytes that are here already are hashed.
    Checking {
        /// How many were hashed.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// A transfer begins.
    Started {
        /// How many bytes an earlier transfer left, which do not travel again.
        resumed: u64,
        /// How many there will be; `None` if the source does not say.
        total: Option<u64>,
    },
    /// Bytes arrived.
    Received {
        /// How many there are now.
        done: u64,
        /// How many there will be; `None` if the source does not say.
        total: Option<u64>,
    },
    /// The transfer broke and goes on from where it was.
    Again {
        /// Why it broke.
        reason: String,
    },
    /// A source did not deliver; the next one is asked, if there is one.
    Failed {
        /// Which, for people.
        source: String,
        /// Why.
        reason: String,
    },
}

/// Where progress goes.
pub type Report<'a> = &'a mut dyn FnMut(Progress);
