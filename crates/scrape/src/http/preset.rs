//! Devices and exporters with documented replies, as data.
//!
//! Each entry names the public document of its format. None was checked on a real device.

use std::time::Duration;

use ipw_core::source::Domain;

use super::unit::Unit;

/// A kind of device or exporter.
pub(super) struct Preset {
    pub(super) name: &'static str,
    about: &'static str,
    document: &'static str,
    /// Default path, if the URL has only a host.
    pub(super) path: Option<&'static str>,
    /// Documented update period; `None` if unknown.
    pub(super) period: Option<Duration>,
    pub(super) values: &'static [Value],
    /// How a metrics page describes its boards.
    pub(super) board: Option<Board>,
}

/// One value of a reply. Values that a device lacks are left out.
pub(super) struct Value {
    /// The last part of the source's name.
    pub(super) name: &'static str,
    pub(super) at: Location,
    pub(super) unit: Unit,
    pub(super) domain: Domain,
    /// Set if the place has several values: how to name each of them.
    pub(super) each: Option<Grouping>,
}

/// Where a value is, in the syntax of `field=` and `metric=`.
pub(super) enum Location {
    Field(&'static str),
    Metric(&'static str),
}

/// How to tell several devices in one reply apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grouping {
    /// Prefix of the key: `gpu` in `gpu0`.
    pub(super) prefix: &'static str,
    /// The labels that form the key; in JSON it is what `*` matched. Samples with the same key,
    /// such as the instances of a partitioned board, have the same value: the first one counts.
    pub(super) by: &'static [&'static str],
}

/// Labels that describe a board.
#[derive(Debug, Clone, Copy)]
pub(super) struct Board {
    pub(super) name: &'static str,
    pub(super) uuid: &'static str,
    pub(super) pci: &'static str,
    pub(super) vendor: &'static str,
}

/// A preset, for lists and help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresetInfo {
    /// The name, for `preset=`.
    pub name: &'static str,
    /// One line of description.
    pub about: &'static str,
    /// The document of its format.
    pub document: &'static str,
    /// Default path, if the URL has only a host.
    pub path: Option<&'static str>,
}

/// All presets.
pub fn known() -> impl Iterator<Item = PresetInfo> {
    PRESETS.iter().map(|preset| PresetInfo {
        name: preset.name,
        about: preset.about,
        document: preset.document,
        path: preset.path,
    })
}

/// The preset of that name.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

const fn field(name: &'static str, at: &'static str, unit: Unit, domain: Domain) -> Value {
    Value {
        name,
        at: Location::Field(at),
        unit,
        domain,
        each: None,
    }
}

const fn metric(name: &'static str, at: &'static str, unit: Unit, domain: Domain) -> Value {
    Value {
        name,
        at: Location::Metric(at),
        unit,
        domain,
        each: None,
    }
}

impl Value {
    const fn each(self, prefix: &'static str, by: &'static [&'static str]) -> Self {
        Self {
            each: Some(Grouping { prefix, by }),
            ..self
        }
    }
}

const NOTHING: Preset = Preset {
    name: "",
    about: "",
    document: "",
    path: None,
    period: None,
    values: &[],
    board: None,
};

const PRESETS: &[Preset] = &[
    Preset {
        name: "shelly-gen2",
        about: "Shelly plugs and relays from the second generation on: power and energy",
        document: "https://shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Switch",
        path: Some("/rpc/Switch.GetStatus?id=0"),
        values: &[
            field("energy", "aenergy.total", Unit::WATT_HOUR, Domain::Platform),
            field("power", "apower", Unit::WATT, Domain::Platform),
        ],
        ..NOTHING
    },
    Preset {
        name: "shelly-gen1",
        about: "Shelly plugs and relays of the first generation: power and energy",
        document: "https://shelly-api-docs.shelly.cloud/gen1/",
        path: Some("/meter/0"),
        values: &[
            field("energy", "total", Unit::WATT_MINUTE, Domain::Platform),
            field("power", "power", Unit::WATT, Domain::Platform),
        ],
        ..NOTHING
    },
    Preset {
        name: "tasmota",
        about: "plugs with the Tasmota firmware: power and energy (`Status 8`)",
        document: "https://tasmota.github.io/docs/JSON-Status-Responses/",
        path: Some("/cm?cmnd=Status%208"),
        values: &[
            field(
                "energy",
                "StatusSNS.ENERGY.Total",
                Unit::KILOWATT_HOUR,
                Domain::Platform,
            ),
            field(
                "power",
                "StatusSNS.ENERGY.Power",
                Unit::WATT,
                Domain::Platform,
            ),
        ],
        ..NOTHING
    },
    Preset {
        name: "redfish-power",
        about: "a server's BMC: `Chassis/ID/Power`, on older models",
        document: "https://redfish.dmtf.org/schemas/v1/Power.v1_7_1.json",
        values: &[field(
            "power",
            "PowerControl[0].PowerConsumedWatts",
            Unit::WATT,
            Domain::Platform,
        )],
        ..NOTHING
    },
    Preset {
        name: "redfish-environment",
        about: "a server's BMC: `Chassis/ID/EnvironmentMetrics`",
        document: "https://redfish.dmtf.org/schemas/v1/EnvironmentMetrics.v1_3_0.json",
        values: &[
            field(
                "energy",
                "EnergykWh.Reading",
                Unit::KILOWATT_HOUR,
                Domain::Platform,
            ),
            field("power", "PowerWatts.Reading", Unit::WATT, Domain::Platform),
        ],
        ..NOTHING
    },
    Preset {
        name: "dcgm",
        about: "NVIDIA's DCGM exporter: energy, power, temperature, utilization of every GPU",
        document: "https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv",
        path: Some("/metrics"),
        // The default of `--collect-interval`.
        period: Some(Duration::from_secs(30)),
        values: &[
            metric(
                "energy",
                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                Unit::MILLIJOULE,
                Domain::Gpu,
            )
            .each("gpu", &["gpu"]),
            metric("power", "DCGM_FI_DEV_POWER_USAGE", Unit::WATT, Domain::Gpu)
                .each("gpu", &["gpu"]),
            metric(
                "temperature",
                "DCGM_FI_DEV_GPU_TEMP",
                Unit::CELSIUS,
                Domain::Gpu,
            )
            .each("gpu", &["gpu"]),
            metric("use", "DCGM_FI_DEV_GPU_UTIL", Unit::PERCENT, Domain::Gpu).each("gpu", &["gpu"]),
            metric("memory", "DCGM_FI_DEV_FB_USED", Unit::MEBIBYTE, Domain::Gpu)
                .each("gpu", &["gpu"]),
        ],
        board: Some(Board {
            name: "modelName",
            uuid: "UUID",
            pci: "pci_bus_id",
            vendor: "NVIDIA",
        }),
    },
    Preset {
        name: "zeusd",
        about: "the Zeus daemon: energy of every GPU",
        document: "https://ml.energy/zeus/zeusd/",
        path: Some("/gpu/get_cumulative_energy"),
        values: &[field("energy", "*.energy_mj", Unit::MILLIJOULE, Domain::Gpu).each("gpu", &[])],
        ..NOTHING
    },
    Preset {
        name: "zeusd-power",
        about: "the Zeus daemon: power of every GPU, where it has no counter",
        document: "https://ml.energy/zeus/zeusd/",
        path: Some("/gpu/get_power"),
        values: &[field("power", "power_mw.*", Unit::MILLIWATT, Domain::Gpu).each("gpu", &[])],
        ..NOTHING
    },
    Preset {
        name: "zeusd-cpu",
        about: "the Zeus daemon: energy of every CPU and its memory",
        document: "https://ml.energy/zeus/zeusd/",
        path: Some("/cpu/get_cumulative_energy?cpu=true&dram=true"),
        values: &[
            field(
                "energy",
                "*.cpu_energy_uj",
                Unit::MICROJOULE,
                Domain::CpuPackage,
            )
            .each("cpu", &[]),
            field("energy", "*.dram_energy_uj", Unit::MICROJOULE, Domain::Dram).each("dram", &[]),
        ],
        ..NOTHING
    },
    Preset {
        name: "tensorrt-llm",
        about: "`trtllm-serve` with `enable_energy_metrics`: total energy of its GPUs",
        document: "https://github.com/NVIDIA/TensorRT-LLM/pull/11855",
        path: Some("/energy_metrics"),
        values: &[field("energy", "total_energy_j", Unit::JOULE, Domain::Gpu)],
        ..NOTHING
    },
    Preset {
        name: "kepler",
        about: "Kepler: energy of the node's CPU packages and memory",
        document: "https://github.com/sustainable-computing-io/kepler/blob/main/docs/user/metrics.md",
        path: Some("/metrics"),
        // The default of `monitor.interval`.
        period: Some(Duration::from_secs(5)),
        values: &[
            metric(
                "energy",
                "kepler_node_cpu_joules_total{zone=\"package\"}",
                Unit::JOULE,
                Domain::CpuPackage,
            )
            .each("package-", &["path"]),
            metric(
                "energy",
                "kepler_node_cpu_joules_total{zone=\"dram\"}",
                Unit::JOULE,
                Domain::Dram,
            )
            .each("dram-", &["path"]),
        ],
        ..NOTHING
    },
    Preset {
        name: "node-exporter",
        about: "Prometheus's node_exporter: RAPL's packages, memory and platform",
        document: "https://github.com/prometheus/node_exporter/blob/master/collector/rapl_linux.go",
        path: Some("/metrics"),
        values: &[
            metric(
                "energy",
                "node_rapl_package_joules_total",
                Unit::JOULE,
                Domain::CpuPackage,
            )
            .each("package-", &["index"]),
            metric(
                "energy",
                "node_rapl_dram_joules_total",
                Unit::JOULE,
                Domain::Dram,
            )
            .each("dram-", &["index"]),
            metric(
                "energy",
                "node_rapl_psys_joules_total",
                Unit::JOULE,
                Domain::Platform,
            )
            .each("psys-", &["index"]),
        ],
        ..NOTHING
    },
    Preset {
        name: "scaphandre",
        about: "Scaphandre: the host's energy and power, as its sensor has them",
        document: "https://hubblo-org.github.io/scaphandre-documentation/references/metrics.html",
        path: Some("/metrics"),
        values: &[
            metric(
                "energy",
                "scaph_host_energy_microjoules",
                Unit::MICROJOULE,
                Domain::Platform,
            ),
            metric(
                "power",
                "scaph_host_power_microwatts",
                Unit::MICROWATT,
                Domain::Platform,
            ),
        ],
        ..NOTHING
    },
];

#[cfg(test)]
mod tests {
    use super::super::json::Path;
    use super::super::text::Selector;
    use super::*;

    #[test]
    fn every_preset_is_complete_and_its_places_can_be_read() {
        for preset in PRESETS {
            let name = preset.name;
            assert!(!name.is_empty() && !preset.about.is_empty() && !preset.values.is_empty());
            assert!(preset.document.starts_with("https://"), "{name}");
            assert!(
                preset.path.is_none_or(|path| path.starts_with('/')),
                "{name}"
            );
            let is_json = matches!(preset.values[0].at, Location::Field(_));
            for value in preset.values {
                let is_readable = match value.at {
                    Location::Field(text) => is_json && text.parse::<Path>().is_ok(),
                    Location::Metric(text) => !is_json && text.parse::<Selector>().is_ok(),
                };
                assert!(is_readable, "{name}");
            }
            let same = PRESETS.iter().filter(|other| other.name == name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }
}
