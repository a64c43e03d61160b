//! The power limits of packages, from the powercap files beside the counters. All users may read
//! these files, even where they may not read the counters.

use std::collections::BTreeMap;
use std::path::Path;

use ipw_core::source::{Domain, Source};
use ipw_core::units::Watts;

use super::powercap::named_zones;

/// Factor by which a package may exceed its highest limit for a moment. Limits apply over
/// milliseconds to seconds; shorter peaks reach about twice the short-term limit.
const MARGIN: f64 = 4.0;

/// Lower bound for any package, in watts: firmware may raise the limits of a laptop later.
const LEAST: f64 = 400.0;

/// Number of constraints that the kernel offers: long term, short term, peak.
const CONSTRAINTS: usize = 3;

/// The highest limit of each package in watts, by source name.
pub(super) fn limits(sysfs: &Path) -> BTreeMap<String, f64> {
    let zones = named_zones(sysfs).into_iter();
    zones
        .filter(|(_, domain, _)| *domain == Domain::CpuPackage)
        .filter_map(|(name, _, directory)| Some((name, highest(&directory)?)))
        .collect()
}

/// The highest of the active limits and the design power.
fn highest(zone: &Path) -> Option<f64> {
    let watts = |file: String| {
        let text = std::fs::read_to_string(zone.join(file)).ok()?;
        let microwatts: u64 = text.trim().parse().ok()?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 µW are nine gigawatts, and more counts as no limit"
        )]
        let watts = microwatts as f64 / 1e6;
        (watts > 0.0).then_some(watts)
    };
    let files = (0..CONSTRAINTS).flat_map(|number| {
        ["power_limit_uw", "max_power_uw"].map(|what| format!("constraint_{number}_{what}"))
    });
    files.filter_map(watts).reduce(f64::max)
}

/// An upper bound for the power of `source`'s package and of the domains inside it.
pub(super) fn largest(source: &Source, limits: &BTreeMap<String, f64>) -> Option<Watts> {
    let is_limited = matches!(
        source.domain()?,
        Domain::CpuPackage | Domain::CpuCore | Domain::CpuUncore
    );
    let mut parts = source.name.splitn(3, '/');
    let package = format!("{}/{}", parts.next()?, parts.next()?);
    let limit = limits.get(&package).filter(|_| is_limited)?;
    Some(Watts::from_watts((limit * MARGIN).max(LEAST)))
}
