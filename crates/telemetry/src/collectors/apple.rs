//! Apple's chips: what their parts draw, as the system models it.
//!
//! `macmon` reads the counters that `powermetrics` reads too, without its rights. Where those stand
//! still, as on a new system that keeps them to itself, `powermetrics` is asked, if we are root.
//! What it says comes as a mean over a stretch of time that it names.
//!
//! All that decides about numbers is plain code, tested on every system; only the two that fetch
//! them need a Mac.

pub mod channel;
pub mod chip;
pub mod powermetrics;

#[cfg(target_os = "macos")]
mod mac;

use crate::{Absent, Collector, Options};

const ID: &str = "apple";
/// The chip, as a device.
const CHIP: &str = "apple/0";

/// Finds what this chip says of itself.
#[cfg(target_os = "macos")]
pub fn detect(_options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    mac::detect()
}

/// There is none here.
#[cfg(not(target_os = "macos"))]
pub fn detect(_options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    Err(absent(false, "this is no Mac", None))
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
