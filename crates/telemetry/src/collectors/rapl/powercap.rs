//! RAPL through the powercap files, `class/powercap/intel-rapl:N[:M]` (also for AMD processors).
//!
//! Files stay open; a file that was removed or replaced is noticed by its link count. Permissions
//! revoked later do not affect an open file. `intel-rapl-mmio` shows the same counters a second
//! time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Joules;
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::pread;

use super::AccessError;
use super::counters::{Counters, Fault, Port, source};
use crate::collector::Collector;

/// The energy counter of a zone.
const COUNTER: &str = "energy_uj";
const PRIVILEGE: &str = "root, or read access to energy_uj";

/// Finds the zones that count energy.
///
/// An unreadable package stays a source that never yields a value: without it, the sum over the
/// packages is unknown and must not look smaller. Other unreadable zones are left out.
pub(super) fn detect(sysfs: &Path) -> Result<Box<dyn Collector>, AccessError> {
    let zones = zones(&sysfs.join("class/powercap"));
    let mut counters: Vec<(Source, Port)> = Vec::new();
    let mut is_readable = false;
    let mut refused: Option<AccessError> = None;
    for (id, (directory, _)) in &zones {
        let Some((name, domain)) = identity(id, &zones) else {
            continue;
        };
        // The kernel numbers packages and dies: zones with the same name are the same counter.
        if counters.iter().any(|(known, _)| known.name == name) {
            continue;
        }
        let mut zone = Zone::at(directory);
        match zone.probe() {
            Ok(()) => is_readable = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                refused.get_or_insert_with(|| zone.refusal(&error));
                if domain != Domain::CpuPackage {
                    continue;
                }
            }
        }
        let source = source(name, domain, zone.rollover(), PRIVILEGE);
        counters.push((source, Port::Zone(zone)));
    }
    if is_readable {
        Ok(Box::new(Counters::new(counters, sysfs)))
    } else {
        Err(refused.unwrap_or(AccessError::Missing))
    }
}

/// Source name, domain and directory of every known zone.
pub(super) fn named_zones(sysfs: &Path) -> Vec<(String, Domain, PathBuf)> {
    let zones = zones(&sysfs.join("class/powercap"));
    let named = zones.iter().filter_map(|(id, (directory, _))| {
        let (name, domain) = identity(id, &zones)?;
        Some((name, domain, directory.clone()))
    });
    named.collect()
}

/// Position of a zone in the tree; MSR zones sort before their MMIO duplicates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    is_mmio: bool,
    path: Vec<u16>,
}

impl Id {
    /// Parses `intel-rapl:0:1`; `None` for `intel-rapl` itself, which is a control type, not a
    /// zone.
    fn parse(directory: &str) -> Option<Self> {
        let (is_mmio, numbers) = match directory.strip_prefix("intel-rapl:") {
            Some(numbers) => (false, numbers),
            None => (true, directory.strip_prefix("intel-rapl-mmio:")?),
        };
        let path = numbers.split(':').map(str::parse).collect::<Result<_, _>>();
        Some(Self {
            is_mmio,
            path: path.ok()?,
        })
    }
}

/// Directory and name of every zone.
type Zones = BTreeMap<Id, (PathBuf, String)>;

fn zones(powercap: &Path) -> Zones {
    let entries = fs::read_dir(powercap).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id = Id::parse(entry.file_name().to_str()?)?;
            let name = fs::read_to_string(entry.path().join("name")).ok()?;
            Some((id, (entry.path(), name.trim().to_owned())))
        })
        .collect()
}

/// The source name and domain of a zone; `None` if its name is unknown.
fn identity(id: &Id, zones: &Zones) -> Option<(String, Domain)> {
    let (_, name) = zones.get(id)?;
    match id.path[..] {
        [_] => Some((format!("rapl/{name}"), outer_domain(name)?)),
        [package, _] => {
            let parent = Id {
                is_mmio: id.is_mmio,
                path: vec![package],
            };
            let (_, parent) = zones.get(&parent)?;
            let domain = inner_domain(name)?;
            (outer_domain(parent)? == Domain::CpuPackage)
                .then(|| (format!("rapl/{parent}/{name}"), domain))
        }
        _ => None,
    }
}

/// `package-0`, `package-0-die-1`, `psys`, `psys-1`.
fn outer_domain(name: &str) -> Option<Domain> {
    let is_number = |text: &str| text.parse::<u16>().is_ok();
    if let Some(numbers) = name.strip_prefix("package-") {
        let (package, die) = numbers.split_once("-die-").unwrap_or((numbers, "0"));
        return (is_number(package) && is_number(die)).then_some(Domain::CpuPackage);
    }
    let is_platform = name == "psys" || name.strip_prefix("psys-").is_some_and(is_number);
    is_platform.then_some(Domain::Platform)
}

fn inner_domain(name: &str) -> Option<Domain> {
    match name {
        "core" => Some(Domain::CpuCore),
        "uncore" => Some(Domain::CpuUncore),
        "dram" => Some(Domain::Dram),
        _ => None,
    }
}

/// The counter of one zone.
pub(super) struct Zone {
    directory: PathBuf,
    /// Kept open: opening it at every poll would cost several times the read.
    file: Option<OwnedFd>,
    /// The largest counter value in µJ (`max_energy_range_uj`); `None` if unknown.
    largest: Option<u64>,
}

impl Zone {
    fn at(directory: &Path) -> Self {
        let range = fs::read(directory.join("max_energy_range_uj"));
        Self {
            directory: directory.to_owned(),
            file: None,
            largest: range.ok().and_then(|text| number(&text)).filter(|&n| n > 0),
        }
    }

    /// Whether the counter is readable; the value is ignored.
    fn probe(&mut self) -> io::Result<()> {
        self.take(&mut [0; 1]).map(|_| ())
    }

    fn refusal(&self, error: &io::Error) -> AccessError {
        let words = format!("cannot read {}: {error}", self.place());
        match error.kind() {
            io::ErrorKind::PermissionDenied => AccessError::Denied(words),
            _ => AccessError::Unusable(words),
        }
    }

    fn rollover(&self) -> Rollover {
        self.largest.map_or(Rollover::Resets, |largest| {
            Rollover::Wraps(Joules::from_microjoules(largest) + Joules::from_microjoules(1))
        })
    }

    /// The counter, and the instant right after the read.
    pub(super) fn read(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Joules), Fault> {
        let mut text = [0; 32];
        let length = self.take(&mut text)?;
        let at = clock.now();
        let value = number(&text[..length]).ok_or(Fault::Nonsense)?;
        // A device that is off reads as all ones.
        if value == u64::MAX || self.largest.is_some_and(|largest| value > largest) {
            return Err(Fault::Nonsense);
        }
        Ok((at, Joules::from_microjoules(value)))
    }

    /// The open file; opened again if it was replaced or removed.
    fn file(&mut self) -> io::Result<&OwnedFd> {
        let is_there = |file: &OwnedFd| fstat(file).is_ok_and(|about| about.st_nlink > 0);
        if !self.file.as_ref().is_some_and(is_there) {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            self.file = None;
            self.file = Some(open(self.directory.join(COUNTER), flags, Mode::empty())?);
        }
        self.file
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn take(&mut self, text: &mut [u8]) -> io::Result<usize> {
        let taken = pread(self.file()?, text, 0);
        if taken.is_err() {
            // A device that went away leaves a dead file: open it again at the next poll.
            self.file = None;
        }
        Ok(taken?)
    }

    /// The location, for messages.
    pub(super) fn place(&self) -> String {
        format!("`{}`", self.directory.join(COUNTER).display())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
