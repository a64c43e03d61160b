//! The set of queries that already have a row.

/// A set of query indices, as a bit set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinishedSet {
    bits: Vec<u64>,
    count: u64,
}

impl FinishedSet {
    /// Whether the query has a row.
    pub fn contains(&self, index: u64) -> bool {
        let word = usize::try_from(index / 64).ok();
        word.and_then(|word| self.bits.get(word))
            .is_some_and(|bits| bits >> (index % 64) & 1 == 1)
    }

    /// Number of queries with a row.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl FromIterator<u64> for FinishedSet {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Self {
        let mut done = Self::default();
        for index in indices {
            if done.contains(index) {
                continue;
            }
            let Ok(word) = usize::try_from(index / 64) else {
                continue;
            };
            if done.bits.len() <= word {
                done.bits.resize(word + 1, 0);
            }
            done.bits[word] |= 1 << (index % 64);
            done.count += 1;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_is_in_once() {
        let done: FinishedSet = [3, 64, 3, 200].into_iter().collect();
        assert_eq!(done.count(), 3);
        let found: Vec<_> = (0..300).filter(|index| done.contains(*index)).collect();
        assert_eq!(found, [3, 64, 200]);
        assert!(!FinishedSet::default().contains(0));
    }
}
