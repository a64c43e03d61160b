//! RAPL: the energy counters of x86 processors.
//!
//! Two interfaces lead to the same counters. The perf events come first: the kernel extends them to
//! 64 bits, and a read costs one system call. The powercap files come second. The MSRs are not
//! read directly: they need root and offer nothing more.
//!
//! Detection does not wait, so it cannot tell a counter that never moves from one that was read
//! twice within its period. The session finds such sources later.

mod counters;
mod limits;
#[cfg(target_os = "linux")]
mod perf;
mod powercap;

use std::path::Path;

use crate::Absent;
use crate::collector::{Collector, Options};

/// The collector's id.
const ID: &str = "rapl";

/// The risk of letting ordinary users read energy at this rate.
const RISK: &str = "programs that read energy this often can infer secrets of other processes \
                    (PLATYPUS, CVE-2020-8694)";

/// Finds the counters, through perf events or else through the powercap files.
pub fn detect(options: &Options) -> Result<Box<dyn Collector>, Absent> {
    let sysfs = options.sysfs.as_path();
    perf_events(sysfs)
        .or_else(|perf| powercap::detect(sysfs).map_err(|powercap| absent(sysfs, &perf, &powercap)))
}

#[cfg(target_os = "linux")]
fn perf_events(sysfs: &Path) -> Result<Box<dyn Collector>, AccessError> {
    perf::detect(sysfs)
}

#[cfg(not(target_os = "linux"))]
fn perf_events(_sysfs: &Path) -> Result<Box<dyn Collector>, AccessError> {
    Err(AccessError::Missing)
}

/// Why one of the two interfaces cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum AccessError {
    /// It does not exist on this system.
    Missing,
    /// It exists, but permission is denied.
    Denied(String),
    /// It exists, but is unusable.
    Unusable(String),
}

impl AccessError {
    fn words(&self) -> Option<&str> {
        match self {
            Self::Missing => None,
            Self::Denied(words) | Self::Unusable(words) => Some(words),
        }
    }

    fn is_denied(&self) -> bool {
        matches!(self, Self::Denied(_))
    }
}

fn absent(sysfs: &Path, perf: &AccessError, powercap: &AccessError) -> Absent {
    let words: Vec<_> = [perf, powercap]
        .into_iter()
        .filter_map(AccessError::words)
        .collect();
    let reason = if words.is_empty() {
        missing(sysfs)
    } else {
        words.join("; ")
    };
    let fix = fix(sysfs, perf, powercap);
    Absent {
        collector: ID.into(),
        is_here: !words.is_empty(),
        reason,
        risk: fix.is_some().then(|| RISK.to_owned()),
        fix,
    }
}

fn missing(sysfs: &Path) -> String {
    format!(
        "no counters under `{0}/class/powercap/intel-rapl*` or `{0}/devices/power`: this is a \
         virtual machine, a container that masks them, or not x86 Linux",
        sysfs.display()
    )
}

/// The commands that grant access, the narrowest first.
fn fix(sysfs: &Path, perf: &AccessError, powercap: &AccessError) -> Option<String> {
    let mut commands = Vec::new();
    if perf.is_denied() {
        commands.push("sudo setcap cap_perfmon+ep \"$(command -v ipw)\"".to_owned());
        commands.push("sudo sysctl kernel.perf_event_paranoid=0".to_owned());
    }
    if powercap.is_denied() {
        // Flat: every zone, inner ones too, has a link here, so no recursion is needed.
        let zones = sysfs.join("class/powercap/intel-rapl*/energy_uj");
        commands.push(format!("sudo chmod a+r {}", zones.display()));
    }
    (!commands.is_empty()).then(|| commands.join(" or "))
}

#[cfg(test)]
mod tests;
