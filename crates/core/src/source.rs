//! What reports energy, power or state, and how (design D6).
//!
//! Every source is kept apart. Energy sources form a tree by [`Domain`]; roll-ups take only domains
//! that do not contain each other, so nothing is counted twice.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counter::Rollover;
use crate::units::Joules;

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
    /// What it reports.
    pub quantity: Quantity,
    /// How its numbers come about.
    pub method: Method,
    /// How often the device updates it, as far as is known.
    #[serde(rename = "period_seconds", with = "seconds")]
    pub period: Option<Duration>,
    /// What reading it takes.
    pub privilege: Cow<'static, str>,
    /// Relative uncertainty of its scale, one standard deviation; `None` when nobody knows.
    pub relative_sigma: Option<f64>,
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
    /// The whole platform: around the packages.
    Platform,
}

impl Domain {
    /// Whether its energy is part of what another domain counts, or counts others: such domains
    /// are shown and never added.
    pub const fn is_nested(self) -> bool {
        matches!(self, Self::CpuCore | Self::CpuUncore | Self::Platform)
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
}

impl Gauge {
    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CpuUse => "%",
            Self::CpuFrequency => "MHz",
            Self::MemoryUsed => "MiB",
            Self::CpuTemperature => "°C",
        }
    }
}

/// How numbers come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Differences of a hardware counter.
    Counter,
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
            Self::Estimated => "estimated",
            Self::Direct => "direct",
        }
    }
}

impl Source {
    /// The domain, if it reports energy.
    pub const fn domain(&self) -> Option<Domain> {
        match self.quantity {
            Quantity::Energy { domain, .. } => Some(domain),
            Quantity::Gauge { .. } => None,
        }
    }

    /// Whether it measures energy, as opposed to estimating it.
    pub fn is_measured_energy(&self) -> bool {
        self.domain().is_some() && self.method == Method::Counter
    }

    /// The unit of its values.
    pub const fn unit(&self) -> &'static str {
        match self.quantity {
            Quantity::Energy { .. } => "J",
            Quantity::Gauge { gauge } => gauge.unit(),
        }
    }
}

/// A period as seconds, or null.
mod seconds {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands over the field")]
    pub(super) fn serialize<S: Serializer>(
        period: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        period
            .map(|period| period.as_secs_f64())
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds
            .map(Duration::try_from_secs_f64)
            .transpose()
            .map_err(serde::de::Error::custom)
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
