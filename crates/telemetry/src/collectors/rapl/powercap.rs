//! RAPL through the powercap files, `class/powercap/intel-rapl:N[:M]` (AMD's processors too).
//!
//! Files are kept open, and a file that vanishes or is replaced is noticed by its links. Rights that
//! are taken away later do not matter to a file that is open. `intel-rapl-mmio` shows the same counters a second time.

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

use super::Closed;
use super::counters::{Counters, Fault, Port, source};
use crate::collector::Collector;

/// The file that holds the energy.
const COUNTER: &str = "energy_uj";
const PRIVILEGE: &str = "root, or read access to energy_uj";

/// Finds the zones that count energy.
///
/// A package that may not be read stays a source, one that is never heard: without it the sum of
/// the packages is not known, and must not pass for less. Other zones are left out.
pub(super) fn detect(sysfs: &Path) -> Result<Box<dyn Collector>, Closed> {
    let zones = zones(&sysfs.join("class/powercap"));
    let mut counters: Vec<(Source, Port)> = Vec::new();
    let mut is_readable = false;
    let mut refused: Option<Closed> = None;
    for (id, (directory, _)) in &zones {
        let Some((name, domain)) = identity(id, &zones) else {
            continue;
        };
        // The kernel numbers packages and dies: the same name is the same counter.
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
        Err(refused.unwrap_or(Closed::Missing))
    }
}

/// Source name, domain and directory of every zone that we know.
pub(super) fn named_zones(sysfs: &Path) -> Vec<(String, Domain, PathBuf)> {
    let zones = zones(&sysfs.join("class/powercap"));
    let named = zones.iter().filter_map(|(id, (directory, _))| {
        let (name, domain) = identity(id, &zones)?;
        Some((name, domain, directory.clone()))
    });
    named.collect()
}

/// Place of a zone in the tree: those behind MSRs sort before their duplicates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    is_mmio: bool,
    path: Vec<u16>,
}

impl Id {
    /// From `intel-rapl:0:1`; `None` for `intel-rapl` itself, which is a control type and no zone.
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

/// The source name of a zone and whose energy it is; `None` for a name that we do not know.
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

/// One zone's counter.
pub(super) struct Zone {
    directory: PathBuf,
    /// Its counter, kept open: opening it at every poll would cost several times the reading.
    file: Option<OwnedFd>,
    /// The largest value that it shows, in µJ; `None` when it does not say.
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

    /// Whether it can be read at all; what it says is of no interest yet.
    fn probe(&mut self) -> io::Result<()> {
        self.take(&mut [0; 1]).map(|_| ())
    }

    fn refusal(&self, error: &io::Error) -> Closed {
        let words = format!("{} is not readable: {error}", self.place());
        match error.kind() {
            io::ErrorKind::PermissionDenied => Closed::Denied(words),
            _ => Closed::Unusable(words),
        }
    }

    fn rollover(&self) -> Rollover {
        self.largest.map_or(Rollover::Resets, |largest| {
            Rollover::Wraps(Joules::from_microjoules(largest) + Joules::from_microjoules(1))
        })
    }

    /// The counter, and the instant right after it was read.
    pub(super) fn read(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Joules), Fault> {
        let mut text = [0; 32];
        let length = self.take(&mut text)?;
        let at = clock.now();
        let value = number(&text[..length]).ok_or(Fault::Nonsense)?;
        // All ones are what a device that is off reads as.
        if value == u64::MAX || self.largest.is_some_and(|largest| value > largest) {
            return Err(Fault::Nonsense);
        }
        Ok((at, Joules::from_microjoules(value)))
    }

    /// The file: open since the last poll, unless it was replaced or removed meanwhile.
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
            // A device that went away leaves a dead file behind: look again next time.
            self.file = None;
        }
        Ok(taken?)
    }

    /// Where it is, for messages.
    pub(super) fn place(&self) -> String {
        format!("`{}`", self.directory.join(COUNTER).display())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
