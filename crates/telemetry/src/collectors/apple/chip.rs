//! A collector of a chip, independent of where its samples come from.

use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Method, Quantity, Source};
use ipw_core::time::{Clock, Timestamp};

use super::channel::{Channel, Part};
use super::{CHIP, ID};
use crate::collectors::sysfs::{SHARE, TEMPERATURE, gauge};
use crate::{Collector, PollError};

/// The requested length of a sample. Shorter ones would show the counters' own update rate.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// The mean power over an interval in watts, and the state at its end. `None` means not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Length of the interval.
    pub elapsed: Duration,
    /// Mean power of the CPU.
    pub cpu: Option<f64>,
    /// Mean power of the GPU.
    pub gpu: Option<f64>,
    /// Mean power of the neural engine.
    pub ane: Option<f64>,
    /// Mean power of the memory.
    pub dram: Option<f64>,
    /// Power of the whole machine at the end of the interval.
    pub system: Option<f64>,
    /// GPU utilization, in percent.
    pub gpu_use: Option<f64>,
    /// Clock of the GPU, in megahertz.
    pub gpu_clock: Option<f64>,
    /// Temperature of the GPU, in °C.
    pub gpu_temperature: Option<f64>,
    /// Temperature of the CPU, in °C.
    pub cpu_temperature: Option<f64>,
    /// Memory in use, in MiB.
    pub memory_used: Option<f64>,
}

impl Sample {
    /// The power of a part.
    pub const fn of(&self, part: Part) -> Option<f64> {
        match part {
            Part::Cpu => self.cpu,
            Part::Gpu => self.gpu,
            Part::Ane => self.ane,
            Part::Dram => self.dram,
            Part::System => self.system,
        }
    }
}

/// Fetches the next sample and the end of its interval.
pub type NextSample = Box<dyn FnMut(&dyn Clock) -> Result<(Timestamp, Sample), PollError> + Send>;

/// A stream of samples.
pub struct Feed {
    /// Fetches the next sample.
    pub next: NextSample,
    /// Whether samples arrive at their own pace: a slower reader would fall behind.
    pub is_paced: bool,
}

/// The gauges of a sample.
const GAUGES: [(&str, Gauge); 5] = [
    ("gpu/use", Gauge::GpuUse),
    ("gpu/clock", Gauge::GpuClock),
    ("gpu/temperature", Gauge::GpuTemperature),
    ("cpu/temperature", Gauge::CpuTemperature),
    ("memory_used", Gauge::MemoryUsed),
];

fn state(sample: &Sample, kind: Gauge) -> Option<f64> {
    let value = match kind {
        Gauge::GpuUse => sample.gpu_use.filter(|share| SHARE.contains(share)),
        Gauge::GpuClock => sample.gpu_clock,
        Gauge::GpuTemperature => sample.gpu_temperature.filter(|t| TEMPERATURE.contains(t)),
        Gauge::CpuTemperature => sample.cpu_temperature.filter(|t| TEMPERATURE.contains(t)),
        Gauge::MemoryUsed => sample.memory_used,
        _ => None,
    };
    value.filter(|value| value.is_finite() && *value >= 0.0)
}

/// The channels and gauges that a chip turns out to have, judged by many samples.
#[derive(Debug, Clone)]
pub struct Survey {
    channels: [Channel; 5],
    gauges: Vec<(&'static str, Gauge)>,
}

impl Survey {
    /// A survey without samples.
    pub fn new() -> Self {
        Self {
            channels: Part::ALL.map(Channel::new),
            gauges: Vec::new(),
        }
    }

    /// Adds a sample.
    pub fn see(&mut self, sample: &Sample) {
        for channel in &mut self.channels {
            if let Some(watts) = sample.of(channel.part()) {
                channel.take(watts);
            }
        }
        let seen = GAUGES
            .into_iter()
            .filter(|(_, kind)| state(sample, *kind).is_some());
        for gauge in seen {
            if !self.gauges.contains(&gauge) {
                self.gauges.push(gauge);
            }
        }
    }

    /// Whether this part ever drew power.
    pub fn has_moved(&self, part: Part) -> bool {
        let mut channels = self.channels.iter();
        channels.any(|channel| channel.part() == part && channel.has_moved())
    }

    /// Whether more samples are pointless. The neural engine is ignored: it is mostly idle.
    pub fn is_settled(&self) -> bool {
        let mut open = self.channels.iter().filter(|channel| {
            let is_quiet = channel.is_heard() && !channel.has_moved();
            is_quiet && channel.part() != Part::Ane
        });
        self.has_moved(Part::Cpu) && open.next().is_none()
    }

    /// Turns the result into a collector.
    pub fn into_chip(self, device: Device, privilege: &'static str, feed: Feed) -> Chip {
        let channels: Vec<Channel> = self
            .channels
            .into_iter()
            .filter(Channel::is_there)
            .collect();
        let powers = channels
            .iter()
            .map(|channel| power(channel.part(), privilege));
        let gauges: Vec<Gauge> = self.gauges.iter().map(|(_, kind)| *kind).collect();
        let states = self.gauges.iter().map(|(name, kind)| Source {
            name: format!("{ID}/{name}"),
            privilege: privilege.into(),
            ..gauge(CHIP, name, *kind)
        });
        Chip {
            sources: powers.chain(states).collect(),
            channels,
            gauges,
            device: [device],
            feed,
            last: Timestamp::ZERO,
        }
    }
}

impl Default for Survey {
    fn default() -> Self {
        Self::new()
    }
}

/// The source of a part's power.
fn power(part: Part, privilege: &'static str) -> Source {
    let (name, domain) = match part {
        Part::Cpu => ("cpu", Domain::CpuPackage),
        Part::Gpu => ("gpu", Domain::Gpu),
        Part::Ane => ("ane", Domain::Ane),
        Part::Dram => ("dram", Domain::Dram),
        Part::System => ("system", Domain::Platform),
    };
    Source {
        name: format!("{ID}/{name}"),
        collector: ID.into(),
        host: None,
        device: Some(CHIP.to_owned()),
        quantity: Quantity::Power {
            domain,
            averaging: averaging(part),
        },
        method: Method::Integrated,
        period: Some(INTERVAL),
        privilege: privilege.into(),
        relative_sigma: None,
    }
}

/// The machine's power is a value at the end of the interval; those of the parts are means over it.
const fn averaging(part: Part) -> Duration {
    match part {
        Part::System => Duration::ZERO,
        _ => INTERVAL,
    }
}

/// The collector of one chip.
pub struct Chip {
    sources: Vec<Source>,
    channels: Vec<Channel>,
    gauges: Vec<Gauge>,
    device: [Device; 1],
    feed: Feed,
    /// The last reported instant: late samples must not go back in time.
    last: Timestamp,
}

/// The instant at which a mean over an interval is reported, so that it stands for just that
/// interval. Each power holds from its instant, less half its averaging time, until the next one.
fn instant(end: Timestamp, elapsed: Duration) -> Timestamp {
    end.before(elapsed).after(INTERVAL / 2)
}

impl Collector for Chip {
    fn id(&self) -> &'static str {
        ID
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn devices(&self) -> &[Device] {
        &self.device
    }

    fn interval(&self, wanted: Duration) -> Duration {
        if self.feed.is_paced {
            INTERVAL
        } else {
            wanted.max(INTERVAL)
        }
    }

    fn poll(
        &mut self,
        clock: &dyn Clock,
        take: &mut dyn FnMut(usize, Timestamp, f64),
    ) -> Result<(), PollError> {
        let (end, sample) = (self.feed.next)(clock)?;
        let over = instant(end, sample.elapsed).max(self.last);
        self.last = over;
        for (place, channel) in self.channels.iter_mut().enumerate() {
            let said = sample.of(channel.part());
            if let Some(watts) = said.and_then(|watts| channel.take(watts)) {
                let is_mean = !averaging(channel.part()).is_zero();
                take(place, if is_mean { over } else { end }, watts);
            }
        }
        for (place, kind) in self.gauges.iter().enumerate() {
            if let Some(value) = state(&sample, *kind) {
                take(self.channels.len() + place, end, value);
            }
        }
        Ok(())
    }
}
