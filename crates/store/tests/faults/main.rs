//! The disk fails, the process dies or the power goes, at every call that the store makes.
//!
//! SQLite is tested this way: a shim under the store fails, shortens or records the n-th call, for
//! every n. Whatever happens, the run opens with every committed row, none of them doubled or torn,
//! and the next writer goes on from there.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod calls;
mod histories;
mod power;
mod recorder;
mod scene;
mod shims;

/// The one seed to try, which a failed test printed: `IPW_SEED`.
fn chosen_seed() -> Option<u64> {
    std::env::var("IPW_SEED").ok()?.parse().ok()
}

use ipw_testkit::fuzz::rounds;
