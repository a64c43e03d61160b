//! NVIDIA Grace: the power meters of its sockets, which the firmware offers through ACPI.
//!
//! `Module` is the whole superchip with GPU and memory; `Grace` is its CPU side; `CPU` and `SysIO`
//! are rails inside that (NVIDIA, Grace Performance Tuning Guide).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::source::{Domain, Source};

use crate::collectors::host::cpuinfo::CpuInfo;
use crate::collectors::host::files::{Reader, numbered};
use crate::collectors::sysfs::{Files, POWER, Value, power, text};
use crate::{Absent, Collector, Options};

const ID: &str = "grace";

/// Averaging time of a meter that does not state one: the firmware uses this or one second.
const AVERAGING: Duration = Duration::from_millis(50);

/// The driver answers from a cache until the meter's sampling time has passed, at least 50 ms.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(25);

/// Id of the chip: NVIDIA's manufacturer code and the part. DCGM identifies it the same way.
const SOC: &str = "jep106:036b:0241";

/// Finds the power meters.
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let mut known = HashSet::new();
    let meters: Vec<(Source, Value)> = numbered(&options.sysfs.join("class/hwmon"), "hwmon")
        .into_iter()
        // Kernels differ in which of the two directories has the files; some show them in both.
        .flat_map(|monitor| [monitor.join("device"), monitor])
        .filter_map(|directory| meter(&directory))
        .filter(|(source, _)| known.insert(source.name.clone()))
        .collect();
    if meters.is_empty() {
        return Err(absent(options));
    }
    Ok(vec![Box::new(Files::new(ID, meters, SHORTEST_INTERVAL))])
}

fn meter(directory: &Path) -> Option<(Source, Value)> {
    let (kind, domain, socket) = identity(&text(&directory.join("power1_oem_info"))?)?;
    let average: PathBuf = directory.join("power1_average");
    if !average.exists() {
        return None;
    }
    let millis = Reader::default().number(&directory.join("power1_average_interval"));
    let averaging = millis
        .filter(|millis| (1.0..=10_000.0).contains(millis))
        .map_or(AVERAGING, |millis| Duration::from_secs_f64(millis / 1000.0));
    let source = power(format!("{ID}/{kind}-{socket}"), domain, averaging);
    Some((source, Value::scaled(average, 1e-6, POWER)))
}

/// Parses `CPU Power Socket 0`. Early firmware wrote `TH500`, the chip's number, and `SoC`.
fn identity(info: &str) -> Option<(&'static str, Domain, u16)> {
    let (kind, socket) = info.split_once(" Power Socket ")?;
    let (kind, domain) = match kind.trim() {
        "Module" => ("module", Domain::Module),
        "Grace" | "TH500" => ("grace", Domain::CpuPackage),
        "CPU" => ("cpu", Domain::CpuCore),
        "SysIO" | "SoC" => ("sysio", Domain::CpuUncore),
        _ => return None,
    };
    Some((kind, domain, socket.trim().parse().ok()?))
}

fn absent(options: &Options) -> Absent {
    let is_here = is_grace(options);
    let reason = if is_here {
        "this is an NVIDIA Grace, but the kernel shows none of its power meters: it needs \
         `CONFIG_SENSORS_ACPI_POWER` and `acpi_power_meter.force_cap_on=y` on its command line"
    } else {
        "this is not an NVIDIA Grace"
    };
    Absent {
        collector: ID.into(),
        is_here,
        reason: reason.to_owned(),
        fix: is_here.then(|| "sudo modprobe acpi_power_meter force_cap_on=y".to_owned()),
        risk: None,
    }
}

/// Checks the chip, not just the core: other vendors build servers with a Neoverse V2 too.
fn is_grace(options: &Options) -> bool {
    if let Some(soc) = text(&options.sysfs.join("devices/soc0/soc_id")) {
        return soc == SOC;
    }
    let cpu = CpuInfo::read(&options.proc).and_then(|cpu| cpu.name);
    cpu.as_deref() == Some("Neoverse-V2") && options.dev.join("nvidiactl").exists()
}

#[cfg(test)]
mod tests;
