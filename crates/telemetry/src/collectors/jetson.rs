//! Jetson boards: the INA3221 power monitors of their rails.
//!
//! Each chip measures three rails, read over I²C: voltage times current is the present power. The
//! input rail of the board contains all others. Boards without one, such as the AGX modules,
//! report the rails of GPU and CPU; the other rails stay out of the sum.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Gauge, Source};

use crate::collectors::host::files::{Reader, numbered};
use crate::collectors::sysfs::{
    Files, POWER, SHARE, STATE_INTERVAL, TEMPERATURE, Value, gauge, power, text,
};
use crate::{Absent, Collector, Options};

const ID: &str = "jetson";
const BOARD: &str = "jetson/0";

/// A reading takes several transfers over a slow bus, so it is not polled more often.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// Channels of a chip; higher numbers are shunt voltages and their sum.
const CHANNELS: u32 = 3;

/// Input rails of whole boards, the most likely first. Other rails that end in `_IN` feed a part:
/// `VDD_M2_IN` of the TX2 is a slot.
const INPUTS: [&str; 2] = ["VDD_IN", "POM_5V_IN"];

/// One rail.
struct Rail {
    label: String,
    value: Value,
    averaging: Duration,
}

/// Finds the rails and the gauges of the GPU.
pub fn detect(options: &Options) -> Result<Vec<Box<dyn Collector>>, Absent> {
    let rails = rails(&options.sysfs);
    let model = text(&options.proc.join("device-tree/model"));
    if rails.is_empty() {
        return Err(absent(options, model.as_deref()));
    }
    let energy = Files::new(ID, sources(rails), SHORTEST_INTERVAL).of(device(model));
    let mut collectors: Vec<Box<dyn Collector>> = vec![Box::new(energy)];
    let state = state(&options.sysfs);
    if !state.is_empty() {
        collectors.push(Box::new(Files::new(ID, state, STATE_INTERVAL)));
    }
    Ok(collectors)
}

fn absent(options: &Options, model: Option<&str>) -> Absent {
    let jetson = model.filter(|model| model.contains("Jetson"));
    let monitors = options.sysfs.join("bus/i2c/drivers/ina3221");
    let reason = jetson.map_or_else(
        || format!("no power monitor under `{}*`", monitors.display()),
        |model| {
            format!(
                "`{model}` has no power monitor under `{}*`",
                monitors.display()
            )
        },
    );
    Absent {
        collector: ID.into(),
        is_here: jetson.is_some(),
        reason,
        fix: jetson.map(|_| "sudo modprobe ina3221".to_owned()),
        risk: None,
    }
}

fn device(model: Option<String>) -> Device {
    let is_jetson = |model: &String| model.contains("NVIDIA") || model.contains("Jetson");
    Device {
        id: BOARD.to_owned(),
        vendor: model
            .as_ref()
            .filter(|model| is_jetson(model))
            .map(|_| "NVIDIA".to_owned()),
        name: model,
        index: Some(0),
        device_type: Some("SoC".to_owned()),
        backend: Some("ina3221".to_owned()),
        ..Device::default()
    }
}

/// The rails of all chips, each once.
fn rails(sysfs: &Path) -> Vec<Rail> {
    let mut chips: Vec<PathBuf> = Vec::new();
    let drivers = sysfs.join("bus/i2c/drivers");
    for driver in entries(&drivers, "ina3221") {
        // A driver's directory also contains files and a link to its module.
        for chip in entries(&driver, "")
            .iter()
            .filter(|chip| !chip.ends_with("module"))
        {
            chips.extend(numbered(&chip.join("hwmon"), "hwmon"));
            chips.extend(numbered(chip, "iio:device"));
        }
    }
    let monitors = numbered(&sysfs.join("class/hwmon"), "hwmon");
    let is_chip = |monitor: &PathBuf| text(&monitor.join("name")).as_deref() == Some("ina3221");
    chips.extend(monitors.into_iter().filter(is_chip));
    // The same chip is listed under its driver and under its class.
    let mut known = HashSet::new();
    chips.retain(|chip| known.insert(fs::canonicalize(chip).unwrap_or_else(|_| chip.clone())));
    let mut labels = HashSet::new();
    let all = chips.iter().flat_map(|chip| channels(chip));
    all.filter(|rail| labels.insert(rail.label.clone()))
        .collect()
}

/// The directories whose names start with `prefix`, in order.
fn entries(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// The rails of one chip, with the file names of the mainline driver or NVIDIA's older one.
fn channels(chip: &Path) -> Vec<Rail> {
    let averaging = averaging(chip);
    let modern = (1..=CHANNELS).filter_map(|number| {
        let file = |name: &str| chip.join(name.replace('N', &number.to_string()));
        let label = text(&file("inN_label"))?;
        let is_off = text(&file("inN_enable")).as_deref() == Some("0");
        // mV × mA
        let value = Value::product([file("inN_input"), file("currN_input")], 1e-6);
        (!is_off && value.is_there()).then_some((label, value))
    });
    let old = (0..CHANNELS).filter_map(|number| {
        let label = text(&chip.join(format!("rail_name_{number}")))?;
        let milliwatts = chip.join(format!("in_power{number}_input"));
        let value = Value::scaled(milliwatts, 1e-3, POWER);
        value.is_there().then_some((label, value))
    });
    modern
        .chain(old)
        .filter(|(label, _)| !is_unconnected(label))
        .map(|(label, value)| Rail {
            label,
            value,
            averaging,
        })
        .collect()
}

/// Whether the label is `NC`, not connected.
fn is_unconnected(label: &str) -> bool {
    label
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| word == "NC")
}

/// The chip's averaging time, from the driver's files (hwmon/ina3221 in the kernel's
/// documentation).
fn averaging(chip: &Path) -> Duration {
    Reader::default()
        .number(&chip.join("update_interval"))
        .filter(|millis| (0.0..=10_000.0).contains(millis))
        .map_or(Duration::ZERO, |millis| {
            Duration::from_secs_f64(millis / 1000.0)
        })
}

fn sources(rails: Vec<Rail>) -> Vec<(Source, Value)> {
    let input = input(&rails);
    let mut taken = HashSet::new();
    let sources = rails.into_iter().map(|rail| {
        let domain = if Some(&rail.label) == input.as_ref() {
            Domain::Soc
        } else {
            domain(&rail.label)
        };
        let mut source = power(format!("{ID}/{}", rail.label), domain, rail.averaging);
        // A device has one source per domain; a second rail of the same domain gets no device.
        if domain == Domain::Rail || taken.insert(domain) {
            source.device = Some(BOARD.to_owned());
        }
        (source, rail.value)
    });
    sources.collect()
}

/// The label of the rail that feeds the whole board; `None` if unknown.
fn input(rails: &[Rail]) -> Option<String> {
    let known = |label: &&str| rails.iter().any(|rail| rail.label == *label);
    if let Some(label) = INPUTS.iter().copied().find(known) {
        return Some(label.to_owned());
    }
    let mut others = rails.iter().filter(|rail| {
        let words: Vec<&str> = rail.label.split('_').collect();
        words.len() > 1 && words.last() == Some(&"IN") && !words.contains(&"M2")
    });
    // With several candidates, none is known to be the input.
    let only = others.next().filter(|_| others.next().is_none());
    only.map(|rail| rail.label.clone())
}

fn domain(label: &str) -> Domain {
    match (label.contains("GPU"), label.contains("CPU")) {
        (true, false) => Domain::Gpu,
        (false, true) => Domain::CpuPackage,
        _ => Domain::Rail,
    }
}

/// Temperature and utilization of the GPU.
fn state(sysfs: &Path) -> Vec<(Source, Value)> {
    let zones = numbered(&sysfs.join("class/thermal"), "thermal_zone");
    let is_gpu = |zone: &&PathBuf| {
        let kind = text(&zone.join("type")).unwrap_or_default();
        kind.to_ascii_lowercase().starts_with("gpu")
    };
    let temperature = zones.iter().find(is_gpu).map(|zone| {
        let value = Value::scaled(zone.join("temp"), 1e-3, TEMPERATURE);
        (gauge(BOARD, "temperature", Gauge::GpuTemperature), value)
    });
    let loads = ["devices/gpu.0/load", "devices/platform/gpu.0/load"];
    let load = loads.map(|file| sysfs.join(file));
    let load = load.into_iter().find(|file| file.exists()).map(|file| {
        // Per mille.
        (
            gauge(BOARD, "use", Gauge::GpuUse),
            Value::scaled(file, 0.1, SHARE),
        )
    });
    temperature.into_iter().chain(load).collect()
}

#[cfg(test)]
mod tests;
