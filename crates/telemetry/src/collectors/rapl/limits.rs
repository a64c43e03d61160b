//! What packages say of their own limits, in the powercap files beside the counters. These files are
//! readable by all users, also where the counters are not.

use std::collections::BTreeMap;
use std::path::Path;

use ipw_core::source::{Domain, Source};
use ipw_core::units::Watts;

use super::powercap::named_zones;

/// How far beyond its highest limit a package may draw for a moment. Limits hold over milliseconds
/// to seconds; peaks below that reach about twice the short-term limit.
const MARGIN: f64 = 4.0;

/// Watts that any package may draw: firmware may raise the limits of a laptop later.
const LEAST: f64 = 400.0;

/// Constraints that the kernel knows: long term, short term, peak.
const CONSTRAINTS: usize = 3;

/// The highest limit of each package, in watts, by the name of its source.
pub(super) fn limits(sysfs: &Path) -> BTreeMap<String, f64> {
    let zones = named_zones(sysfs).into_iter();
    zones
        .filter(|(_, domain, _)| *domain == Domain::CpuPackage)
        .filter_map(|(name, _, directory)| Some((name, highest(&directory)?)))
        .collect()
}

/// The highest of the limits in force and of the design power.
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

/// More than the device of `source` draws: a package, and what is inside it.
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
