//! The end of a run.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// At the end of the dataset.
    Exhausted,
    /// After this number of queries, or at the end of a smaller dataset.
    After(NonZeroU64),
}

impl Stop {
    /// Whether the run has sent all of its queries.
    pub const fn is_reached(self, sent: u64) -> bool {
        match self {
            Self::Exhausted => false,
            Self::After(most) => sent >= most.get(),
        }
    }

    /// Upper limit of queries, if there is one.
    pub const fn most(self) -> Option<u64> {
        match self {
            Self::Exhausted => None,
            Self::After(most) => Some(most.get()),
        }
    }

    /// Number of queries over a dataset of this size; `None` if unknown.
    pub fn expected(self, size: Option<u64>) -> Option<u64> {
        match self {
            Self::Exhausted => size,
            Self::After(most) => size.map(|size| size.min(most.get())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_wish_and_dataset() {
        let three = Stop::After(NonZeroU64::new(3).unwrap());
        assert_eq!(three.expected(Some(10)), Some(3));
        assert_eq!(three.expected(Some(2)), Some(2));
        assert_eq!(three.expected(None), None);
        assert_eq!(Stop::Exhausted.expected(Some(2)), Some(2));
        assert!(!three.is_reached(2) && three.is_reached(3));
    }
}
