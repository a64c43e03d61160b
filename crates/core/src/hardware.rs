//! What a machine is called: facts for the run's metadata, and one short label.
//!
//! The label goes into the run directory's name and into every report, so it has to be recognised
//! at a glance and safe as a file name. It is made by rules over the names that devices report, not
//! by a list of devices: a device that comes out next year gets a sensible label too. What does not
//! tell devices apart to a reader (vendor, memory size, form factor, trade marks) is dropped.

mod cpu;
mod gpu;

use serde::{Deserialize, Serialize};

/// The label of a machine that says nothing about itself.
pub const UNKNOWN: &str = "UNKNOWN_HW";

/// Longest label: the run directory's name carries the model and the dataset too.
const LONGEST: usize = 48;

/// The machine, as far as it says; `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemInfo {
    /// The operating system or distribution: `Ubuntu`.
    pub os_name: Option<String>,
    /// Its version: `24.04`.
    pub os_version: Option<String>,
    /// The kernel's release: `6.8.0-45-generic`.
    pub kernel_version: Option<String>,
    /// The host's name.
    pub host_name: Option<String>,
    /// How many CPUs the system schedules on: threads, not cores.
    pub cpu_count: Option<u32>,
    /// The CPU's name as it reports it.
    pub cpu_brand: Option<String>,
}

/// The first device in the original's words; `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuInfo {
    /// What it calls itself.
    pub name: Option<String>,
    /// Who made it.
    pub vendor: Option<String>,
    /// Its place in the driver's list.
    pub device_id: Option<u64>,
    /// `GPU`, `Integrated GPU`, `SoC`.
    pub device_type: Option<String>,
    /// What reported it: `nvml`.
    pub backend: Option<String>,
}

impl From<&Device> for GpuInfo {
    fn from(device: &Device) -> Self {
        Self {
            name: device.name.clone(),
            vendor: device.vendor.clone(),
            device_id: device.index.map(u64::from),
            device_type: device.device_type.clone(),
            backend: device.backend.clone(),
        }
    }
}

/// A device that does the work: a board, or the GPU of a chip. `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// What sources call it: `nvml/0`.
    pub id: String,
    /// What it calls itself: `NVIDIA H100 80GB HBM3`.
    pub name: Option<String>,
    /// Who made it.
    pub vendor: Option<String>,
    /// Its place in the driver's list.
    pub index: Option<u32>,
    /// `GPU`, `Integrated GPU`, `SoC`.
    pub device_type: Option<String>,
    /// What reported it: `nvml`.
    pub backend: Option<String>,
    /// Its serial identity, where the driver has one.
    pub uuid: Option<String>,
    /// Its place on the bus: `0000:3b:00.0`.
    pub pci: Option<String>,
    /// The driver's version.
    pub driver_version: Option<String>,
    /// All of its memory.
    pub memory_total_mib: Option<f64>,
    /// What it may draw, when it was found.
    pub power_limit_watts: Option<f64>,
    /// Whether it is divided into instances.
    pub mig_enabled: Option<bool>,
    /// Whether its memory corrects errors.
    pub ecc_enabled: Option<bool>,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

/// A short label of the hardware that does the work: the GPUs if any are recognised, else the CPU,
/// else [`UNKNOWN`].
///
/// Equal GPUs are counted (`H100x8`); different ones are joined by `_` in the order in which they
/// first appear (`H100x2_L4`). Letters, digits, `+`, `-` and `_` only, and never empty.
///
/// ```
/// # use ipw_core::hardware::label;
/// assert_eq!(label(&["NVIDIA H100 80GB HBM3"; 8], None), "H100x8");
/// assert_eq!(label(&[], Some("AMD EPYC 9654 96-Core Processor")), "EPYC9654");
/// ```
pub fn label(gpus: &[&str], cpu_brand: Option<&str>) -> String {
    let gpus = counted(gpus.iter().filter_map(|name| gpu::short(name)));
    let found = if gpus.is_empty() {
        cpu_brand.and_then(cpu::short)
    } else {
        Some(gpus)
    };
    found
        .map(|label| safe(&label))
        .filter(|label| !label.is_empty())
        .unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `H100x2_L4`: each label once, with its count.
fn counted(labels: impl Iterator<Item = String>) -> String {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for label in labels {
        match groups.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => groups.push((label, 1)),
        }
    }
    let named: Vec<String> = groups
        .into_iter()
        .map(|(label, count)| match count {
            1 => label,
            _ => format!("{label}x{count}"),
        })
        .collect();
    named.join("_")
}

/// Only characters that every file system and shell takes, and not too many.
fn safe(label: &str) -> String {
    let kept: String = label
        .chars()
        .filter(|character| is_safe(*character))
        .take(LONGEST)
        .collect();
    kept.trim_matches(['-', '_']).to_owned()
}

const fn is_safe(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '_')
}

/// The name without what stands in round brackets: `(R)`, `(TM)`, `(rev a1)`, `(MCM)`.
fn without_parentheses(name: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '(' => {
                depth += 1;
                outside.push(' ');
            }
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(character),
            _ => {}
        }
    }
    outside
}

/// How a word is spelled in a label: vendors shout some of them on some devices only.
fn spelled(word: &str) -> &str {
    const SPELLINGS: [&str; 18] = [
        "Ada",
        "Core",
        "Laptop",
        "Max",
        "Max+",
        "Nano",
        "Pro",
        "Ryzen",
        "Super",
        "Thor",
        "Ti",
        "Titan",
        "Ultra",
        "Xavier",
        "Xeon",
        "Orin",
        "Threadripper",
        "Mobile",
    ];
    SPELLINGS
        .into_iter()
        .find(|spelling| spelling.eq_ignore_ascii_case(word))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests;
