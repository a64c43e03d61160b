//! Derives findings from the rows of runs: metrics, load, warnings, comparisons, leaderboards, and
//! the content of pages.
//!
//! This crate reads runs and computes. It does not print, draw or write into a run. The mathematics
//! is in `ipw-analysis`, which opens no file; `ipw-report` renders pages.

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
