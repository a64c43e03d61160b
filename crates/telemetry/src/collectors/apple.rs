//! Apple silicon: the power of the chip's parts, as modelled by the system.
//!
//! `macmon` reads the same counters as `powermetrics`, without needing root. Where those counters
//! do not move, as on systems that restrict them, `powermetrics` is used if this process is root.
//! Its values are means over an interval whose length it reports.
//!
//! All logic about values is plain code, tested on every system; only the two modules that fetch
//! samples need a Mac.

pub mod channel;
pub mod chip;
pub mod powermetrics;

#[cfg(target_os = "macos")]
mod mac;

use crate::{Absent, Collector, Options};

const ID: &str = "apple";
/// The device id of the chip.
const CHIP: &str = "apple/0";

/// Detects what this chip reports.
#[cfg(target_os = "macos")]
pub fn detect(_options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    mac::detect()
}

/// Always absent on other systems.
#[cfg(not(target_os = "macos"))]
pub fn detect(_options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    Err(absent(false, "this is not a Mac", None))
}

fn absent(is_here: bool, reason: impl Into<String>, fix: Option<&str>) -> Absent {
    Absent {
        collector: ID.into(),
        is_here,
        reason: reason.into(),
        fix: fix.map(str::to_owned),
        risk: None,
    }
}

#[cfg(test)]
mod tests;
