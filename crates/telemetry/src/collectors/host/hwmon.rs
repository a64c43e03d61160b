//! The CPU's temperature, from the kernel's hardware monitors.
//!
//! There is one chip for each socket. A package sensor is preferred to core sensors. On AMD, `Tdie`
//! is preferred to `Tctl`, which some models offset for fan control (hwmon/k10temp in the kernel's
//! documentation).

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{Reader, numbered};

/// Drivers of sensors inside CPUs.
const CHIPS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];

/// Highest sensor number to look for on one chip: `coretemp` has one for each core.
const MOST_SENSORS: u32 = 256;

/// Plausible temperatures in °C; other values are sensor faults.
const PLAUSIBLE: std::ops::Range<f64> = -50.0..150.0;

/// The temperature files of all CPU packages.
pub(super) fn temperatures(sysfs: &Path) -> Vec<PathBuf> {
    numbered(&sysfs.join("class/hwmon"), "hwmon")
        .iter()
        .filter(|chip| CHIPS.contains(&text(&chip.join("name")).as_str()))
        .flat_map(|chip| best(chip))
        .collect()
}

/// The highest of them now, in °C.
pub(super) fn hottest(reader: &mut Reader, files: &[PathBuf]) -> Option<f64> {
    let mut hottest: Option<f64> = None;
    for file in files {
        let celsius = reader
            .number(file)
            .map(|millidegrees| millidegrees / 1000.0);
        if let Some(celsius) = celsius.filter(|celsius| PLAUSIBLE.contains(celsius)) {
            hottest = Some(hottest.map_or(celsius, |so_far| so_far.max(celsius)));
        }
    }
    hottest
}

/// The package sensors of one chip, else all of its sensors.
fn best(chip: &Path) -> Vec<PathBuf> {
    let sensors: Vec<(String, PathBuf)> = (1..=MOST_SENSORS)
        .map(|number| {
            let label = text(&chip.join(format!("temp{number}_label")));
            (label, chip.join(format!("temp{number}_input")))
        })
        .filter(|(_, input)| input.exists())
        .collect();
    let labelled = |prefix: &str| -> Vec<PathBuf> {
        sensors
            .iter()
            .filter(|(label, _)| label.starts_with(prefix))
            .map(|(_, input)| input.clone())
            .collect()
    };
    ["Package id", "Tdie", "Tctl"]
        .into_iter()
        .map(labelled)
        .find(|found| !found.is_empty())
        .unwrap_or_else(|| sensors.iter().map(|(_, input)| input.clone()).collect())
}

/// The text of a small file; empty if unreadable.
fn text(path: &Path) -> String {
    fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}
