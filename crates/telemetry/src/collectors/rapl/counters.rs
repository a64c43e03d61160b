//! A collector of RAPL counters, for both interfaces.

use std::io;
use std::path::Path;
use std::time::Duration;

use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};
use ipw_core::units::{Joules, Watts};

use super::ID;
use super::limits::{largest, limits};
#[cfg(target_os = "linux")]
use super::perf::Event;
use super::powercap::Zone;
use crate::collector::{Collector, PollError};

/// Update period of a counter: about 1 ms according to Intel's manual and the kernel's
/// documentation of the AMD counters; measured as 0.976 ms with jitter.
const PERIOD: Duration = Duration::from_millis(1);

/// A read that takes longer is repeated: its timestamp would be too uncertain.
const DATED: Duration = Duration::from_millis(2);

/// Maximum number of reads of one value in one poll.
const TRIES: usize = 3;

/// The interface that a counter is read through.
pub(super) enum Port {
    /// A powercap zone.
    Zone(Zone),
    /// A perf event.
    #[cfg(target_os = "linux")]
    Event(Event),
}

impl Port {
    /// Reads until the timestamp is within [`DATED`] of the value. Losing the CPU during every try
    /// is very unlikely. A port that is always this slow still yields its last value: that is
    /// better than none.
    fn read_dated(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Joules), Fault> {
        for _ in 1..TRIES {
            let before = clock.now();
            let (at, energy) = self.read(clock)?;
            if at.since(before) <= DATED {
                return Ok((at, energy));
            }
        }
        self.read(clock)
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<(Timestamp, Joules), Fault> {
        match self {
            Self::Zone(zone) => zone.read(clock),
            #[cfg(target_os = "linux")]
            Self::Event(event) => event.read(clock),
        }
    }

    fn place(&self) -> String {
        match self {
            Self::Zone(zone) => zone.place(),
            #[cfg(target_os = "linux")]
            Self::Event(event) => event.place(),
        }
    }
}

/// Why a counter yielded no value.
#[derive(Debug)]
pub(super) enum Fault {
    /// The read failed.
    Io(io::Error),
    /// The value cannot be energy.
    Nonsense,
}

impl Fault {
    /// Whether retrying soon is pointless.
    fn is_gone(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        matches!(self, Self::Io(error)
            if matches!(error.kind(), NotFound | PermissionDenied | NotADirectory))
    }

    fn into_poll_error(self, place: &str) -> PollError {
        let is_gone = self.is_gone();
        let words = match self {
            Self::Io(error) => format!("cannot read {place}: {error}"),
            Self::Nonsense => format!("{place} holds a value that cannot be energy"),
        };
        if is_gone {
            PollError::Gone(words)
        } else {
            PollError::Retry(words)
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// All counters of the machine.
pub(super) struct Counters {
    sources: Vec<Source>,
    ports: Vec<Port>,
    /// Upper bound of each counter's power, where its package states one.
    largest: Vec<Option<Watts>>,
}

impl Counters {
    /// A collector of these counters; package limits come from `sysfs`.
    pub(super) fn new(counters: Vec<(Source, Port)>, sysfs: &Path) -> Self {
        let (sources, ports): (Vec<Source>, _) = counters.into_iter().unzip();
        let limits = limits(sysfs);
        let largest = sources.iter().map(|source| largest(source, &limits));
        Self {
            largest: largest.collect(),
            sources,
            ports,
        }
    }
}

impl Collector for Counters {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn dated_within(&self) -> Option<Duration> {
        Some(DATED)
    }

    fn largest(&self, place: usize) -> Option<Watts> {
        self.largest.get(place).copied().flatten()
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(PERIOD / 2)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let mut is_heard = false;
        let mut failed: Option<(usize, Fault)> = None;
        for (index, port) in self.ports.iter_mut().enumerate() {
            match port.read_dated(clock) {
                Ok((at, energy)) => {
                    take(index, at, energy.joules());
                    is_heard = true;
                }
                // A fault that may pass soon decides when to retry.
                Err(fault) => match &failed {
                    Some((_, before)) if fault.is_gone() || !before.is_gone() => {}
                    _ => failed = Some((index, fault)),
                },
            }
        }
        match failed {
            Some((index, fault)) if !is_heard => {
                Err(fault.into_poll_error(&self.ports[index].place()))
            }
            _ => Ok(()),
        }
    }
}

/// The source of a counter.
pub(super) fn source(
    name: String,
    domain: Domain,
    rollover: Rollover,
    privilege: &'static str,
) -> Source {
    Source {
        name,
        collector: ID.into(),
        host: None,
        device: None,
        quantity: Quantity::Energy { domain, rollover },
        method: Method::Counter,
        period: Some(PERIOD),
        privilege: privilege.into(),
        relative_sigma: relative_sigma(domain),
    }
}

/// Relative uncertainty of a domain's scale; vendors publish none. From Haswell on, the package is
/// measured and follows a power meter within a few percent (Khan et al., RAPL in Action, 2018).
/// Memory is measured on servers and modelled elsewhere, with an offset that differs between
/// machines (Desrochers et al., MEMSYS 2016). Psys depends on the board's wiring: on some boards it
/// reads lower than the package that it contains.
fn relative_sigma(domain: Domain) -> Option<f64> {
    match domain {
        Domain::CpuPackage | Domain::CpuCore | Domain::CpuUncore => Some(0.05),
        Domain::Dram => Some(0.1),
        _ => None,
    }
}
