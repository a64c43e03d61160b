//! From the rows of runs to what they say: metrics, load, warnings, comparisons, leaderboards,
//! and the content of pages.
//!
//! Everything here reads runs and computes; nothing prints, draws or writes into a run. The
//! mathematics are in `ipw-analysis`, which opens no file; pages are rendered by `ipw-report`.

#[cfg(test)]
extern crate self as ipw_findings;

pub mod attribution;
pub mod calibration;
pub mod comparison;
pub mod conclusion;
pub mod efficiency;
pub mod failures;
pub mod leaderboard;
pub mod load;
pub mod look;
pub mod marginal;
pub mod measured;
pub mod page;
pub mod quality;
pub mod runs;
pub mod summary;
pub mod survey;
pub mod sweep;
pub mod timeline;
pub mod written;
