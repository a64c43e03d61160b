//! The static description of the monitor and its machine.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::source::Source;
use ipw_telemetry::Session;
use prost::Message as _;
use serde::Serialize;

use super::Machine;
use crate::pb;

/// Collectors and their platform names; the first one that measures decides. The original knows the
/// names down to Apple's.
const PLATFORMS: [(&str, &str); 5] = [
    ("jetson", "jetson"),
    ("nvml", "nvidia"),
    ("amd", "amd"),
    ("apple", "macos"),
    ("intel_gpu", "intel"),
];
/// The original's name for a machine without measurement.
const NOTHING: &str = "null";

/// What does not change while the monitor runs.
pub(super) struct Portrait {
    /// A random id of this process.
    pub(super) instance: u64,
    pub(super) health: pb::HealthResponse,
    /// The encoded start of every message: platform, machine, GPU.
    pub(super) head: Vec<u8>,
}

impl Portrait {
    pub(super) fn of(session: &Session, machine: &Machine, interval: Duration) -> Self {
        let instance = RandomState::new().build_hasher().finish();
        let platform = platform(session.sources());
        let system_info = system_info(&machine.system);
        let absent = machine.absent.iter().map(|absent| pb::Absent {
            collector: absent.collector.clone().into_owned(),
            reason: absent.reason.clone(),
            fix: absent.fix.clone(),
        });
        let monitor = pb::MonitorInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance,
            boot_id: boot_id(),
            interval_nanos: i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX),
            system_info: Some(system_info.clone()),
            sources: session.sources().map(described).collect(),
            devices: session
                .devices()
                .iter()
                .map(|device| pb::Device {
                    about_json: json(device),
                })
                .collect(),
            absent: absent.collect(),
            estimate: machine.estimate.clone(),
        };
        let head = pb::TelemetryReading {
            platform: platform.clone(),
            system_info: Some(system_info),
            gpu_info: gpu_info(session.devices()),
            ..pb::TelemetryReading::default()
        };
        Self {
            instance,
            head: head.encode_to_vec(),
            health: pb::HealthResponse {
                healthy: session.sources().any(Source::is_measured_energy),
                platform,
                monitor: Some(monitor),
            },
        }
    }
}

fn described(source: &Source) -> pb::Source {
    pb::Source {
        about_json: json(source),
    }
}

/// Serialises to JSON. Plain structures of texts and numbers cannot fail.
fn json(about: &impl Serialize) -> String {
    serde_json::to_string(about).unwrap_or_default()
}

/// A platform without a name of its own is named after its collector.
fn platform<'a>(sources: impl Iterator<Item = &'a Source>) -> String {
    let measured: Vec<&str> = sources
        .filter(|source| source.is_measured_energy())
        .map(|source| &*source.collector)
        .collect();
    let is_here = |(collector, _): &&(&str, &str)| measured.contains(collector);
    let named = PLATFORMS.iter().find(is_here).map(|(_, name)| *name);
    let name = named.or(measured.first().copied());
    name.unwrap_or(NOTHING).to_owned()
}

/// Unknown values are empty texts: this protocol has no other representation.
fn system_info(system: &SystemInfo) -> pb::SystemInfo {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    pb::SystemInfo {
        os_name: text(&system.os_name),
        os_version: text(&system.os_version),
        kernel_version: text(&system.kernel_version),
        host_name: text(&system.host_name),
        cpu_count: system.cpu_count.unwrap_or_default(),
        cpu_brand: text(&system.cpu_brand),
    }
}

/// All boards as one, in the original's format; `None` without boards.
fn gpu_info(devices: &[Device]) -> Option<pb::GpuInfo> {
    let first = devices.first()?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let count = devices.len();
    let is_same = devices.iter().all(|device| device.name == first.name);
    let name = match (count, is_same) {
        (1, _) => text(&first.name),
        (_, true) => format!("{} x{count}", text(&first.name)),
        _ => format!("{} ({count} GPUs)", text(&first.vendor)),
    };
    Some(pb::GpuInfo {
        name,
        vendor: text(&first.vendor),
        device_id: match count {
            1 => u64::from(first.index.unwrap_or_default()),
            _ => 0,
        },
        device_type: text(&first.device_type),
        backend: text(&first.backend),
    })
}

/// The kernel's boot id, which identifies machine and boot; empty if unavailable.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(name: &str) -> Device {
        Device {
            name: Some(name.to_owned()),
            vendor: Some("NVIDIA".to_owned()),
            index: Some(3),
            ..Device::default()
        }
    }

    #[test]
    fn boards_are_called_as_the_original_calls_them() {
        for (boards, name, id) in [
            (vec![board("H100")], "H100", 3),
            (vec![board("H100"), board("H100")], "H100 x2", 0),
            (vec![board("H100"), board("L4")], "NVIDIA (2 GPUs)", 0),
        ] {
            let about = gpu_info(&boards).unwrap();
            assert_eq!((&*about.name, about.device_id), (name, id));
        }
        assert_eq!(gpu_info(&[]), None);
    }
}
