//! Texts that no prefix cache has seen.

use std::borrow::Cow;

use ipw_core::query::Query;
use ipw_core::random::Random;

use crate::plan::Load;

/// The text before the prompt with this number, of a run with this seed.
pub(crate) fn of(seed: u64, number: u64) -> String {
    let mut random = Random::new(Random::new(seed).number() ^ number);
    format!("[{:016x}] ", random.number())
}

/// The query as this load sends it: the row keeps it as the dataset has it.
pub fn as_sent<'a>(load: &Load, query: &'a Query) -> Cow<'a, Query> {
    if !load.unique_prefix {
        return Cow::Borrowed(query);
    }
    // The turns of a conversation have one prefix, as they share their beginning.
    Cow::Owned(query.behind(&of(load.seed, query.first_turn())))
}
