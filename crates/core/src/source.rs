//! What reports energy, power or state, and how.
//!
//! Every source is kept apart. Energy sources form a tree by [`Domain`]; roll-ups take only domains
//! that do not contain each other, so nothing is counted twice.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counter::{LARGEST_POWER, Rollover};
use crate::units::{Joules, Watts};

/// Place of a source in the list of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SourceIndex(pub u16);

/// One thing that reports one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// A name that is unique in a run: `rapl/package-0`, `host/memory_used`.
    pub name: String,
    /// The collector that reads it.
    pub collector: Cow<'static, str>,
    /// The machine that it is on, if that is another than this: all names of its sources begin with
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The device that it belongs to, as [`crate::hardware::Device::id`] has it: several sources
    /// may tell of one board. `None` where the source is the device.
    #[serde(default)]
    pub device: Option<String>,
    /// What it reports.
    pub quantity: Quantity,
    /// How its numbers come about.
    pub method: Method,
    /// How often the device updates it, as far as is known.
    #[serde(rename = "period_seconds", with = "crate::seconds::optional")]
    pub period: Option<Duration>,
    /// What reading it takes.
    pub privilege: Cow<'static, str>,
    /// Relative uncertainty of its scale, one standard deviation; `None` when nobody knows.
    pub relative_sigma: Option<f64>,
}

/// Whose machine a source is on, as far as energy is concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The service's: its joules are billed to queries.
    #[default]
    Service,
    /// The load generator's own: its joules are nobody's.
    Client,
}

impl Role {
    /// The role as files spell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Client => "client",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "service" => Ok(Self::Service),
            "client" => Ok(Self::Client),
            _ => Err(()),
        }
    }
}

/// What a source reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Quantity {
    /// Joules since some moment: a counter.
    Energy {
        /// Whose energy.
        domain: Domain,
        /// What a decrease means.
        #[serde(rename = "wraps_at_joules", with = "wraps_at")]
        rollover: Rollover,
    },
    /// Watts, as a mean over the time before each reading: its integral is energy.
    Power {
        /// Whose power.
        domain: Domain,
        /// How long the device averages; zero when it shows the moment.
        #[serde(rename = "averaging_seconds", with = "crate::seconds")]
        averaging: Duration,
    },
    /// A value at an instant: a gauge.
    Gauge {
        /// Of what.
        gauge: Gauge,
    },
}

/// Whose energy a source counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// A whole CPU package.
    CpuPackage,
    /// The cores of a package: inside it.
    CpuCore,
    /// The rest of a package: inside it.
    CpuUncore,
    /// Memory, outside the package on servers.
    Dram,
    /// The whole platform: around the packages, the boards, all of it.
    Platform,
    /// A whole GPU board.
    Gpu,
    /// The memory of a board: inside it.
    GpuMemory,
    /// A module of GPU, CPU and memory together: around them.
    Module,
    /// A neural engine.
    Ane,
    /// A whole system on a chip, or the board that is one: around everything on it.
    Soc,
    /// Some rail: inside something else.
    Rail,
}

impl Domain {
    /// Whether its energy is part of what another domain counts, or counts others: such domains
    /// are shown and never added.
    pub const fn is_nested(self) -> bool {
        matches!(
            self,
            Self::CpuCore | Self::CpuUncore | Self::Platform | Self::GpuMemory | Self::Rail
        )
    }

    /// More than any device of this kind draws, whatever it drew before: a package may go from 1 W
    /// to its peak within a poll. About three times the largest that there are (docs/method.md
    /// §6.2).
    pub const fn largest_power(self) -> Watts {
        Watts::from_watts(match self {
            Self::Ane | Self::Dram => 1000.0,
            Self::CpuPackage | Self::CpuCore | Self::CpuUncore | Self::Soc | Self::GpuMemory => {
                2000.0
            }
            Self::Gpu => 4000.0,
            Self::Module | Self::Rail => 8000.0,
            Self::Platform => LARGEST_POWER.watts(),
        })
    }
}

/// What a gauge shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// Share of the CPUs that was busy since the last reading, in percent.
    CpuUse,
    /// Mean frequency of the CPUs, in megahertz.
    CpuFrequency,
    /// Memory in use, in MiB.
    MemoryUsed,
    /// Temperature of the CPU, in °C.
    CpuTemperature,
    /// Share of time in which the GPU had work, in percent.
    GpuUse,
    /// Share of time in which the GPU's memory was read or written, in percent.
    GpuMemoryUse,
    /// Share of time in which the GPU's matrix units had work, in percent.
    GpuTensorUse,
    /// Memory of the GPU in use, in MiB.
    GpuMemoryUsed,
    /// Temperature of the GPU, in °C.
    GpuTemperature,
    /// Clock of the GPU's cores, in megahertz.
    GpuClock,
    /// Clock of the GPU's memory, in megahertz.
    GpuMemoryClock,
    /// What the board may draw, in watts.
    PowerLimit,
    /// Why the board is held back: bits, 0 for not at all. A bit is set only for reasons that slow
    /// the work down (heat, power, hardware), not for being idle.
    Throttle,
    /// Processes that use the board.
    Processes,
}

impl Gauge {
    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CpuUse | Self::GpuUse | Self::GpuMemoryUse | Self::GpuTensorUse => "%",
            Self::CpuFrequency | Self::GpuClock | Self::GpuMemoryClock => "MHz",
            Self::MemoryUsed | Self::GpuMemoryUsed => "MiB",
            Self::CpuTemperature | Self::GpuTemperature => "°C",
            Self::PowerLimit => "W",
            Self::Throttle | Self::Processes => "",
        }
    }
}

/// How numbers come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Differences of a hardware counter.
    Counter,
    /// Power readings, integrated over time.
    Integrated,
    /// A model; never shown as measured.
    Estimated,
    /// Read as it is.
    Direct,
}

impl Method {
    /// The method as columns spell it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Integrated => "integrated",
            Self::Estimated => "estimated",
            Self::Direct => "direct",
        }
    }
}

impl Source {
    /// The domain, if it reports energy, or power that can be integrated.
    pub const fn domain(&self) -> Option<Domain> {
        match self.quantity {
            Quantity::Energy { domain, .. } | Quantity::Power { domain, .. } => Some(domain),
            Quantity::Gauge { .. } => None,
        }
    }

    /// Whether it measures energy, as opposed to estimating it.
    pub fn is_measured_energy(&self) -> bool {
        self.domain().is_some() && self.method != Method::Estimated
    }

    /// The unit of its values.
    pub const fn unit(&self) -> &'static str {
        match self.quantity {
            Quantity::Energy { .. } => "J",
            Quantity::Power { .. } => "W",
            Quantity::Gauge { gauge } => gauge.unit(),
        }
    }
}

/// Where a counter wraps in joules, or null when it does not.
mod wraps_at {
    use super::{Deserialize, Deserializer, Joules, Rollover, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        rollover: &Rollover,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let range = match rollover {
            Rollover::Wraps(range) => Some(range.joules()),
            Rollover::Resets => None,
        };
        range.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Rollover, D::Error> {
        let range = Option::<f64>::deserialize(deserializer)?;
        Ok(range.map_or(Rollover::Resets, |range| {
            Rollover::Wraps(Joules::from_joules(range))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_back_from_disk_as_it_was() {
        for (rollover, period) in [
            (Rollover::Resets, None),
            (
                Rollover::Wraps(Joules::from_joules(262_143.5)),
                Some(Duration::from_millis(1)),
            ),
        ] {
            let source = Source {
                name: "rapl/package-0".to_owned(),
                collector: "rapl".into(),
                host: None,
                device: None,
                quantity: Quantity::Energy {
                    domain: Domain::CpuPackage,
                    rollover,
                },
                method: Method::Counter,
                period,
                privilege: "root".into(),
                relative_sigma: Some(0.05),
            };
            let text = serde_json::to_string(&source).unwrap();
            assert_eq!(
                serde_json::from_str::<Source>(&text).unwrap(),
                source,
                "{text}"
            );
        }
    }
}
