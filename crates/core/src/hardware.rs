//! Hardware description: facts for the run's metadata, and one short label.
//!
//! The label is part of the run directory's name and of every report, so it must be recognisable
//! and safe as a file name. Rules derive it from the device names, without a list of devices, so
//! new devices get a sensible label too. Vendor, memory size, form factor and trade marks are
//! dropped.

mod cpu;
mod gpu;

use serde::{Deserialize, Serialize};

/// Label of a machine without device names.
pub const UNKNOWN: &str = "UNKNOWN_HW";

/// Longest label: the run directory's name also contains the model and the dataset.
const LONGEST: usize = 48;

/// Operating system and CPU of a machine; unknown values are `None`.
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
    /// Number of CPUs that the system schedules on: threads, not cores.
    pub cpu_count: Option<u32>,
    /// The CPU's name as it reports it.
    pub cpu_brand: Option<String>,
}

/// The first device, in the columns of the original; unknown values are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuInfo {
    /// Its name as reported.
    pub name: Option<String>,
    /// Its vendor.
    pub vendor: Option<String>,
    /// Its index in the driver's list.
    pub device_id: Option<u64>,
    /// `GPU`, `Integrated GPU`, `SoC`.
    pub device_type: Option<String>,
    /// The interface that reported it: `nvml`.
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

/// A compute device: a board, or the GPU of a chip. Unknown values are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// Its id in sources: `nvml/0`.
    pub id: String,
    /// Its name as reported: `NVIDIA H100 80GB HBM3`.
    pub name: Option<String>,
    /// Its vendor.
    pub vendor: Option<String>,
    /// Its index in the driver's list.
    pub index: Option<u32>,
    /// `GPU`, `Integrated GPU`, `SoC`.
    pub device_type: Option<String>,
    /// The interface that reported it: `nvml`.
    pub backend: Option<String>,
    /// Its serial identity, where the driver has one.
    pub uuid: Option<String>,
    /// Its PCI address: `0000:3b:00.0`.
    pub pci: Option<String>,
    /// The driver's version.
    pub driver_version: Option<String>,
    /// Its total memory.
    pub memory_total_mib: Option<f64>,
    /// Its power limit at the start.
    pub power_limit_watts: Option<f64>,
    /// Whether it is divided into MIG instances.
    pub mig_enabled: Option<bool>,
    /// Whether its memory has error correction.
    pub ecc_enabled: Option<bool>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A short label of the hardware that does the work: the recognised GPUs, else the CPU, else
/// [`UNKNOWN`].
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

/// Only characters that every file system and shell accepts, up to the longest length.
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

/// The name without the parts in round brackets: `(R)`, `(TM)`, `(rev a1)`, `(MCM)`.
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

/// Spelling of a word in a label: vendors write some of them in capitals on some devices only.
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
