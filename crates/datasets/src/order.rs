//! Which rows a run takes, in which order: first shuffle, then offset, then limit.
//!
//! The shuffle is our own, so that a seed gives the same order on every machine and with every
//! version of every dependency. It must never change.

use std::num::NonZeroU64;

use ipw_core::params::ParamReader;
use ipw_core::random::Random;

use crate::error::DatasetError;

/// The parameter `limit` and its meaning.
pub(crate) const LIMIT: (&str, &str) = ("limit", "take at most this many rows");
/// The parameter `offset` and its meaning.
pub(crate) const OFFSET: (&str, &str) = ("offset", "leave out this many rows at the start");
/// The parameter `shuffle` and its meaning.
pub(crate) const SHUFFLE: (&str, &str) = (
    "shuffle",
    "`true` to mix the rows, before offset and limit are applied (default `false`)",
);
/// The parameter `seed` and its meaning.
pub(crate) const SEED: (&str, &str) = (
    "seed",
    "which shuffle: the same number gives the same order for ever (default 0)",
);

/// The rows that the user selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Rows to skip at the start.
    pub(crate) offset: u64,
    /// Limit of rows; `None` takes all.
    pub(crate) limit: Option<NonZeroU64>,
    /// The seed to shuffle with; `None` keeps the order of the source.
    pub(crate) shuffle: Option<u64>,
}

impl Selection {
    /// Reads the four parameters of a selection; `owner` is the id in error messages.
    pub(crate) fn read(reader: &mut ParamReader<'_>, owner: &str) -> Result<Self, DatasetError> {
        let (selection, seed) = Self::read_with_seed(reader)?;
        if seed.is_some() && selection.shuffle.is_none() {
            let owner = owner.to_owned();
            return Err(DatasetError::SeedWithoutShuffle { owner });
        }
        Ok(selection)
    }

    /// Like [`Self::read`], for datasets that also use a seed without a shuffle. Returns the seed
    /// too.
    pub(crate) fn read_with_seed(
        reader: &mut ParamReader<'_>,
    ) -> Result<(Self, Option<u64>), DatasetError> {
        let limit = reader.parsed(LIMIT.0, "a whole number from 1 up")?;
        let offset = reader.parsed(OFFSET.0, "a whole number")?.unwrap_or(0);
        let shuffles = reader
            .parsed(SHUFFLE.0, "`true` or `false`")?
            .unwrap_or(false);
        let seed: Option<u64> = reader.parsed(SEED.0, "a whole number")?;
        let selection = Self {
            offset,
            limit,
            shuffle: shuffles.then(|| seed.unwrap_or(0)),
        };
        Ok((selection, seed))
    }

    /// Whether a row is selected that has `before` good rows before it in the source.
    pub(crate) fn holds(&self, before: u64) -> bool {
        let place = before.checked_sub(self.offset);
        place.is_some_and(|place| self.limit.is_none_or(|limit| place < limit.get()))
    }

    /// How many of `rows` rows are selected.
    pub(crate) fn size(&self, rows: u64) -> u64 {
        let left = rows.saturating_sub(self.offset);
        self.limit.map_or(left, |limit| left.min(limit.get()))
    }
}

/// The shuffle of Fisher and Yates, from the end, with the numbers of [`Random`].
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Random::new(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, random.up_to(last));
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::params::Params;

    use super::*;

    fn selection(pairs: &[(&str, &str)]) -> Result<Selection, String> {
        let mut params = Params::default();
        for (name, value) in pairs {
            params.insert(*name, *value);
        }
        Selection::read(&mut params.reader("jsonl"), "jsonl").map_err(|error| error.to_string())
    }

    #[test]
    fn a_seed_means_the_same_order_for_ever() {
        for (seed, golden) in [
            (0, [4, 9, 2, 5, 1, 7, 6, 0, 3, 8]),
            (1, [9, 0, 1, 4, 8, 2, 3, 7, 6, 5]),
            (u64::MAX, [6, 7, 0, 3, 5, 4, 2, 1, 9, 8]),
        ] {
            let mut items: [u8; 10] = std::array::from_fn(|index| u8::try_from(index).unwrap());
            shuffle(&mut items, seed);
            assert_eq!(items, golden, "seed {seed}");
        }
    }

    #[test]
    fn every_order_is_about_as_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, seed);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(
            seen.values().all(|count| (850..1150).contains(count)),
            "{seen:?}"
        );
    }

    #[test]
    fn offset_and_limit_bound_the_size() {
        for (pairs, rows, size) in [
            (&[][..], 5, 5),
            (&[("limit", "3")], 5, 3),
            (&[("limit", "9")], 5, 5),
            (&[("offset", "2")], 5, 3),
            (&[("offset", "2"), ("limit", "2")], 5, 2),
            (&[("offset", "4"), ("limit", "2")], 5, 1),
            (&[("offset", "9"), ("limit", "2")], 5, 0),
            (&[("limit", "3")], 0, 0),
        ] {
            assert_eq!(selection(pairs).unwrap().size(rows), size, "{pairs:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        let seed = "`jsonl` has a `seed` but does not shuffle: \
                    add `shuffle=true` or leave `seed` out";
        let limit = "parameter `limit` of `jsonl` is `0`, expected a whole number from 1 up";
        let shuffle = "parameter `shuffle` of `jsonl` is `yes`, expected `true` or `false`";
        let offset = "parameter `offset` of `jsonl` is `-1`, expected a whole number";
        for (pairs, message) in [
            (&[("seed", "3")][..], seed),
            (&[("seed", "3"), ("shuffle", "false")], seed),
            (&[("limit", "0")], limit),
            (&[("shuffle", "yes")], shuffle),
            (&[("offset", "-1")], offset),
        ] {
            assert_eq!(selection(pairs).unwrap_err(), message);
        }
        let both = selection(&[("shuffle", "true"), ("seed", "3")]).unwrap();
        assert_eq!(both.shuffle, Some(3));
        assert_eq!(selection(&[("shuffle", "true")]).unwrap().shuffle, Some(0));
    }
}
