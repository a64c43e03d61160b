//! Texts that no prefix cache has seen.

use ipw_core::random::Random;

/// The text before the prompt with this number, of a run with this seed.
pub(crate) fn of(seed: u64, number: u64) -> String {
    let mut random = Random::new(Random::new(seed).number() ^ number);
    format!("[{:016x}] ", random.number())
}
