//! When a run has sent enough.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// The rule by which a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// With the dataset.
    Exhausted,
    /// After this number of queries, or with the dataset if it is smaller.
    After(NonZeroU64),
}

impl Stop {
    /// Whether enough queries went out.
    pub const fn is_reached(self, sent: u64) -> bool {
        match self {
            Self::Exhausted => false,
            Self::After(most) => sent >= most.get(),
        }
    }

    /// How many queries go out at most, if that is limited.
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
