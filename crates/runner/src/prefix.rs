//! Texts that no prefix cache has seen before.

use std::borrow::Cow;

use ipw_core::query::Query;
use ipw_core::random::Random;

use crate::plan::Load;

/// The unique prefix of the prompt with this number, for a run with this seed.
pub(crate) fn of(seed: u64, number: u64) -> String {
    let mut random = Random::new(Random::new(seed).number() ^ number);
    format!("[{:016x}] ", random.number())
}

/// The query as sent with this load; its row keeps the dataset's text.
pub fn as_sent<'a>(load: &Load, query: &'a Query) -> Cow<'a, Query> {
    if !load.unique_prefix {
        return Cow::Borrowed(query);
    }
    // The turns of a conversation share one prefix, as they share their beginning.
    Cow::Owned(query.behind(&of(load.seed, query.first_turn())))
}
