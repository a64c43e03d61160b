//! The state of the host: CPU utilization, frequency, temperature and memory; and its description.
//!
//! Gauges only, from Linux's `/proc` and `/sys`. The kernel counts CPU time in ticks of 10 ms, so
//! shares over shorter intervals would be noise: the host is polled every 100 ms at most.

pub(crate) mod cpuinfo;
pub(crate) mod files;
mod hwmon;
pub(crate) mod stat;
mod system;

use std::path::PathBuf;
use std::time::Duration;

use ipw_core::source::{Gauge, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

use crate::{Absent, Collector, Options, PollError};
use files::Reader;
use stat::CpuTimes;
pub use system::system_info;

const ID: &str = "host";

/// Ten ticks of the kernel's accounting: shares are accurate to ten percent of one CPU.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// Number of CPUs whose frequency is read. On a machine with hundreds, reading all of them would
/// cost more than the mean gains.
const MOST_FREQUENCIES: usize = 16;

struct Host {
    sources: Vec<Source>,
    gauges: Vec<Probe>,
    reader: Reader,
}

/// How one gauge is read; in the order of the sources.
enum Probe {
    Use {
        stat: PathBuf,
        last: Option<CpuTimes>,
    },
    Frequency(Vec<PathBuf>),
    Memory(PathBuf),
    Temperature(Vec<PathBuf>),
}

/// Detects what this host reports about itself.
pub fn detect(options: &Options) -> Result<Box<dyn Collector>, Absent> {
    let stat = options.proc.join("stat");
    let mut reader = Reader::default();
    if CpuTimes::read(&mut reader, &stat).is_none() {
        return Err(Absent {
            collector: ID.into(),
            is_here: false,
            reason: format!("cannot read `{}`, or it is not Linux's", stat.display()),
            fix: None,
            risk: None,
        });
    }
    let candidates = [
        Probe::Use { stat, last: None },
        Probe::Frequency(frequencies(options)),
        Probe::Memory(options.proc.join("meminfo")),
        Probe::Temperature(hwmon::temperatures(&options.sysfs)),
    ];
    let gauges: Vec<Probe> = candidates
        .into_iter()
        .filter_map(|mut probe| {
            let is_there = matches!(probe, Probe::Use { .. }) || probe.read(&mut reader).is_some();
            is_there.then_some(probe)
        })
        .collect();
    Ok(Box::new(Host {
        sources: gauges.iter().map(Probe::source).collect(),
        gauges,
        reader,
    }))
}

impl Collector for Host {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn interval(&self, wanted: Duration) -> Duration {
        wanted.max(SHORTEST_INTERVAL)
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let mut is_readable = false;
        for (place, probe) in self.gauges.iter_mut().enumerate() {
            let had_begun = probe.has_begun();
            if let Some(value) = probe.read(&mut self.reader) {
                is_readable = true;
                take(place, clock.now(), value);
            }
            // The first poll has no share of CPU time yet, which is not a fault.
            is_readable |= !had_begun && probe.has_begun();
        }
        if is_readable {
            Ok(())
        } else {
            Err(PollError::Retry("no file of the host is readable".into()))
        }
    }
}

impl Probe {
    fn read(&mut self, reader: &mut Reader) -> Option<f64> {
        match self {
            Self::Use { stat, last } => {
                let now = CpuTimes::read(reader, stat)?;
                let share = last.and_then(|last| now.busy_share_since(last));
                *last = Some(now);
                share.map(|share| share * 100.0)
            }
            Self::Frequency(files) => mean_megahertz(reader, files),
            Self::Memory(meminfo) => memory_used(reader.read(meminfo)?),
            Self::Temperature(files) => hwmon::hottest(reader, files),
        }
    }

    /// Whether there is an earlier value to subtract.
    const fn has_begun(&self) -> bool {
        !matches!(self, Self::Use { last: None, .. })
    }

    fn source(&self) -> Source {
        let (name, gauge, period) = match self {
            Self::Use { .. } => ("host/cpu_use", Gauge::CpuUse, Some(stat::TICK)),
            Self::Frequency(_) => ("host/cpu_frequency", Gauge::CpuFrequency, None),
            Self::Memory(_) => ("host/memory_used", Gauge::MemoryUsed, None),
            Self::Temperature(_) => ("host/cpu_temperature", Gauge::CpuTemperature, None),
        };
        Source {
            name: name.to_owned(),
            collector: ID.into(),
            host: None,
            device: None,
            quantity: Quantity::Gauge { gauge },
            method: Method::Direct,
            period,
            privilege: "none".into(),
            relative_sigma: None,
        }
    }
}

/// The frequency files of some CPUs, spread evenly over all of them.
fn frequencies(options: &Options) -> Vec<PathBuf> {
    let cpus = files::numbered(&options.sysfs.join("devices/system/cpu"), "cpu");
    let all: Vec<PathBuf> = cpus
        .into_iter()
        .map(|cpu| cpu.join("cpufreq/scaling_cur_freq"))
        .filter(|file| file.exists())
        .collect();
    let step = all.len().div_ceil(MOST_FREQUENCIES).max(1);
    all.into_iter().step_by(step).collect()
}

/// The mean of files in kilohertz. Offline CPUs are left out.
fn mean_megahertz(reader: &mut Reader, files: &[PathBuf]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for file in files {
        if let Some(kilohertz) = reader.number(file) {
            sum += kilohertz / 1000.0;
            count += 1;
        }
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// Memory in use, in MiB: total minus `MemAvailable`, as `free` counts.
fn memory_used(meminfo: &str) -> Option<f64> {
    let kibibytes = |key: &str| {
        meminfo
            .lines()
            .find_map(|line| line.strip_prefix(key)?.trim().strip_suffix("kB"))
            .and_then(|number| number.trim().parse::<f64>().ok())
    };
    let used = kibibytes("MemTotal:")? - kibibytes("MemAvailable:")?;
    (used >= 0.0).then_some(used / 1024.0)
}

#[cfg(test)]
mod tests;
