//! When queries are due.

use ipw_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The rule by which queries arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// One at a time: the next is due when the last is over.
    Sequential,
}

impl Arrivals {
    /// When the next query is due, given that the last one was over at `free`.
    pub const fn due(self, free: Timestamp) -> Timestamp {
        match self {
            Self::Sequential => free,
        }
    }
}
