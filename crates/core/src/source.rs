//! Sources of energy, power and state readings.
//!
//! Each source is stored separately. Energy sources form a tree by [`Domain`]. Roll-ups combine
//! only domains that do not contain each other, so no energy is counted twice.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counter::{LARGEST_POWER, Rollover};
use crate::units::{Joules, Watts};

/// Index of a source in the list of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SourceIndex(pub u16);

/// One sensor that reports one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its name, unique within a run: `rapl/package-0`, `host/memory_used`.
    pub name: String,
    /// Id of the collector that reads it.
    pub collector: Cow<'static, str>,
    /// Its machine, if another than this: all names of its sources begin with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its device, as in [`crate::hardware::Device::id`]; several sources may belong to one board.
    /// `None` where the source is the device.
    #[serde(default)]
    pub device: Option<String>,
    /// The quantity that it reports.
    pub quantity: Quantity,
    /// How its values are obtained.
    pub method: Method,
    /// Update period of the device, where known.
    #[serde(rename = "period_seconds", with = "crate::seconds::optional")]
    pub period: Option<Duration>,
    /// Privilege needed to read it.
    pub privilege: Cow<'static, str>,
    /// Relative uncertainty of its scale, one standard deviation; `None` when it is unknown.
    pub relative_sigma: Option<f64>,
}

/// Role of a source's machine in energy attribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The machine of the service: its energy is attributed to queries.
    #[default]
    Service,
    /// The machine of the load generator only: its energy is attributed to no query.
    Client,
}

impl Role {
    /// The name in files.
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

/// The quantity of a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Quantity {
    /// Cumulative joules: a counter.
    Energy {
        /// The part of the machine.
        domain: Domain,
        /// Meaning of a decrease.
        #[serde(rename = "wraps_at_joules", with = "wraps_at")]
        rollover: Rollover,
    },
    /// Watts, averaged over the time before each reading; the integral is energy.
    Power {
        /// The part of the machine.
        domain: Domain,
        /// Averaging time of the device; zero for instantaneous power.
        #[serde(rename = "averaging_seconds", with = "crate::seconds")]
        averaging: Duration,
    },
    /// An instantaneous value: a gauge.
    Gauge {
        /// The quantity of the gauge.
        gauge: Gauge,
    },
}

/// The part of the machine whose energy a source counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// A whole CPU package.
    CpuPackage,
    /// The cores of a package, contained in it.
    CpuCore,
    /// The rest of a package, contained in it.
    CpuUncore,
    /// Memory, outside the package on servers.
    Dram,
    /// The whole platform, which contains packages and boards.
    Platform,
    /// A whole GPU board.
    Gpu,
    /// The memory of a board, contained in it.
    GpuMemory,
    /// A module of GPU, CPU and memory, which contains them.
    Module,
    /// A neural engine.
    Ane,
    /// A whole system on a chip or its board, which contains all its parts.
    Soc,
    /// A power rail, contained in another domain.
    Rail,
}

impl Domain {
    /// Whether the domain contains other domains or is contained in one. Such domains are shown and
    /// never added.
    pub const fn is_nested(self) -> bool {
        matches!(
            self,
            Self::CpuCore | Self::CpuUncore | Self::Platform | Self::GpuMemory | Self::Rail
        )
    }

    /// Upper bound of the power of any device in this domain: about three times the largest that
    /// exist (docs/method.md §6.2). It cannot depend on earlier readings: a package may go from 1 W
    /// to its peak within one poll.
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

/// The quantity of a gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// CPU utilization since the last reading, in percent.
    CpuUse,
    /// Mean frequency of the CPUs, in megahertz.
    CpuFrequency,
    /// Memory in use, in MiB.
    MemoryUsed,
    /// Temperature of the CPU, in °C.
    CpuTemperature,
    /// GPU utilization in percent: share of time with work.
    GpuUse,
    /// Share of time with reads or writes of GPU memory, in percent.
    GpuMemoryUse,
    /// Utilization of the GPU's matrix units, in percent.
    GpuTensorUse,
    /// Memory of the GPU in use, in MiB.
    GpuMemoryUsed,
    /// Temperature of the GPU, in °C.
    GpuTemperature,
    /// Clock of the GPU's cores, in megahertz.
    GpuClock,
    /// Clock of the GPU's memory, in megahertz.
    GpuMemoryClock,
    /// Power limit of the board, in watts.
    PowerLimit,
    /// Throttle reasons of the board, as bits; 0 for none. Only reasons that slow the work down
    /// count (heat, power, hardware), not idleness.
    Throttle,
    /// Number of processes that use the board.
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

/// How values are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Differences of a hardware counter.
    Counter,
    /// Power readings, integrated over time.
    Integrated,
    /// A model's estimate; never shown as measured.
    Estimated,
    /// Read without conversion.
    Direct,
}

impl Method {
    /// The name in columns.
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
    /// The domain of a source of energy or power.
    pub const fn domain(&self) -> Option<Domain> {
        match self.quantity {
            Quantity::Energy { domain, .. } | Quantity::Power { domain, .. } => Some(domain),
            Quantity::Gauge { .. } => None,
        }
    }

    /// Whether it measures energy rather than estimating it.
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

/// Serializes the value at which a counter wraps, in joules; null for a counter that does not wrap.
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
