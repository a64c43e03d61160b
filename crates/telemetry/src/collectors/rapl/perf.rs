//! RAPL through the kernel's perf events (`devices/power`).
//!
//! The kernel tracks the hardware counters itself and extends them to 64 bits, so nothing wraps.
//! `cpumask` names one CPU of each package or die; an event counts for all CPUs of it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::Path;

use ipw_core::counter::Rollover;
use ipw_core::source::Domain;
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::Joules;
use perf_event_open_sys::bindings::{PERF_FLAG_FD_CLOEXEC, perf_event_attr};
use rustix::io::Errno;

use super::AccessError;
use super::counters::{Counters, Fault, Port, source};
use crate::collector::Collector;

const PRIVILEGE: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at 0 or below";

const EVENTS: [(&str, Domain); 5] = [
    ("energy-pkg", Domain::CpuPackage),
    ("energy-cores", Domain::CpuCore),
    ("energy-gpu", Domain::CpuUncore),
    ("energy-ram", Domain::Dram),
    ("energy-psys", Domain::Platform),
];

/// Opens the events that the processor has, each on every package or not at all.
pub(super) fn detect(sysfs: &Path) -> Result<Box<dyn Collector>, AccessError> {
    let device = sysfs.join("devices/power");
    let pmu = Pmu::read(&device)?;
    let mut counters = Vec::new();
    for (event, domain) in EVENTS {
        let Some(kind) = Kind::read(&device.join("events").join(event)) else {
            continue;
        };
        match pmu.open(event, kind) {
            Ok(events) => counters.extend(events.into_iter().enumerate().map(|(place, event)| {
                let name = source_name(domain, place);
                let source = source(name, domain, Rollover::Resets, PRIVILEGE);
                (source, Port::Event(event))
            })),
            // Kernels before 5.17 list events that AMD processors lack.
            Err(error) if is_bogus(&error) => {}
            Err(error) => return Err(refusal(event, &device, &error)),
        }
    }
    let has_package = |domain: Option<Domain>| domain == Some(Domain::CpuPackage);
    if counters
        .iter()
        .any(|(known, _)| has_package(known.domain()))
    {
        Ok(Box::new(Counters::new(counters, sysfs)))
    } else {
        let words = format!(
            "`{}` has no event that counts package energy",
            device.display()
        );
        Err(AccessError::Unusable(words))
    }
}

fn is_bogus(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP | Errno::NODEV)
    )
}

fn refusal(event: &str, device: &Path, error: &io::Error) -> AccessError {
    let words = format!("cannot open `{event}` of `{}`: {error}", device.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => AccessError::Denied(words),
        _ => AccessError::Unusable(words),
    }
}

/// The names of the powercap zones; there the kernel calls the integrated GPU's domain `uncore`.
fn source_name(domain: Domain, place: usize) -> String {
    match domain {
        Domain::CpuPackage => format!("rapl/package-{place}"),
        Domain::CpuCore => format!("rapl/package-{place}/core"),
        Domain::CpuUncore => format!("rapl/package-{place}/uncore"),
        Domain::Dram => format!("rapl/package-{place}/dram"),
        Domain::Platform if place == 0 => "rapl/psys".to_owned(),
        _ => format!("rapl/psys-{place}"),
    }
}

/// The kernel's type number for these events, and the CPUs to open them on.
struct Pmu {
    number: u32,
    cpus: Vec<u16>,
}

impl Pmu {
    fn read(device: &Path) -> Result<Self, AccessError> {
        let number = text(&device.join("type")).ok_or(AccessError::Missing)?;
        let cpus = text(&device.join("cpumask")).and_then(|mask| cpus(&mask));
        if let (Ok(number), Some(cpus)) = (number.parse(), cpus) {
            return Ok(Self { number, cpus });
        }
        let device = device.display();
        let words = format!("cannot parse `{device}/type` or `{device}/cpumask`");
        Err(AccessError::Unusable(words))
    }

    fn open(&self, name: &'static str, kind: Kind) -> io::Result<Vec<Event>> {
        let open = |&cpu| {
            Ok(Event {
                name,
                cpu,
                scale: kind.scale,
                file: open(self.number, kind.config, cpu)?,
            })
        };
        self.cpus.iter().map(open).collect()
    }
}

/// Parses a CPU list like `0,18` or `0-3`; `None` if it is empty or malformed.
fn cpus(list: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u16>().ok()?..=last.parse().ok()?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// Configuration and scale of an event, from `events/energy-pkg` and the files beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    config: u64,
    /// Joules per count.
    scale: f64,
}

impl Kind {
    /// `None` if the event does not exist or its unit is unknown.
    fn read(event: &Path) -> Option<Self> {
        let config = text(event)?;
        let config = config.strip_prefix("event=0x")?;
        let scale: f64 = text(&event.with_extension("scale"))?.parse().ok()?;
        let is_joules = text(&event.with_extension("unit"))? == "Joules";
        let is_usable = is_joules && scale.is_finite() && scale > 0.0;
        is_usable.then_some(Self {
            config: u64::from_str_radix(config, 16).ok()?,
            scale,
        })
    }
}

/// One event on one CPU; it counts until it is dropped.
pub(super) struct Event {
    name: &'static str,
    cpu: u16,
    scale: f64,
    file: File,
}

impl Event {
    /// The counter, and the instant right after the read.
    pub(super) fn read(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Joules), Fault> {
        let mut count = [0; 8];
        self.file.read_exact(&mut count)?;
        let at = clock.now();
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 counts of 2^-32 J are two million joules, and the next bit is 0.2 nJ"
        )]
        let count = u64::from_ne_bytes(count) as f64;
        Ok((at, Joules::from_joules(count * self.scale)))
    }

    /// The location, for messages.
    pub(super) fn place(&self) -> String {
        format!("perf event `{}` on CPU {}", self.name, self.cpu)
    }
}

#[expect(unsafe_code, reason = "there is no safe interface to perf_event_open")]
fn open(pmu: u32, config: u64, cpu: u16) -> io::Result<File> {
    let mut attributes = perf_event_attr {
        type_: pmu,
        size: u32::try_from(size_of::<perf_event_attr>()).expect("the structure is small"),
        config,
        ..Default::default()
    };
    let flags = PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: `attributes` is initialised, states its own size, and outlives the call. It asks for
    // a plain count, so the kernel does not write to our memory later. A non-negative result is a
    // descriptor that nothing else owns.
    let descriptor = unsafe {
        match perf_event_open_sys::perf_event_open(&raw mut attributes, -1, cpu.into(), -1, flags) {
            descriptor @ 0.. => OwnedFd::from_raw_fd(descriptor),
            _ => return Err(io::Error::last_os_error()),
        }
    };
    Ok(File::from(descriptor))
}

fn text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests;
