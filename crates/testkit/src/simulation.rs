//! Attribution against the truth, in simulated time: seeded workloads whose every joule is known,
//! seen through sensors with a period, an averaging window and late polls, and given to queries by
//! the rule and by what others do instead (docs/method.md §6.6).

mod score;
mod sensors;
mod table;
mod world;

pub use score::{Method, Score, score};
pub use sensors::{Sensor, Trace};
pub use table::{Case, Holds, SEEDS, Scored, between_markers, cases, scored, table};
pub use world::{Arrivals, IDLE_WATTS, Nature, Simulated, Workload, World};

use crate::fuzz::Random;

/// A number from 0 to below 1.
#[expect(
    clippy::cast_precision_loss,
    reason = "2^50 different numbers are enough"
)]
fn uniform(random: &mut Random) -> f64 {
    const MANY: usize = 1 << 50;
    random.below(MANY) as f64 / MANY as f64
}

/// A number around `mean`, with this relative spread, never far below it: a sum of twelve uniform
/// ones, which is nearly normal and the same on every machine.
fn around(random: &mut Random, mean: f64, spread: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| uniform(random)).sum();
    mean * (1.0 + spread * (sum - 6.0)).max(0.1)
}
