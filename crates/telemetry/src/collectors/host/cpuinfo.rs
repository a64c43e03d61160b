//! Parses `/proc/cpuinfo`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The CPUs of this machine; all are assumed to be like the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuInfo {
    /// `GenuineIntel`, `AuthenticAMD`.
    pub(crate) vendor: Option<String>,
    /// `cpu family`.
    pub(crate) family: Option<u32>,
    /// `model`.
    pub(crate) model: Option<u32>,
    /// `model name`, or the core's name on ARM.
    pub(crate) name: Option<String>,
    /// Number of logical CPUs.
    pub(crate) cpus: u32,
    /// Number of packages; zero if unknown.
    pub(crate) packages: u32,
    /// Whether this is a virtual machine; its package numbers are invented.
    pub(crate) is_virtual: bool,
}

impl CpuInfo {
    /// Reads the file; `None` if it is missing or lists no CPU.
    pub(crate) fn read(proc: &Path) -> Option<Self> {
        let bytes = fs::read(proc.join("cpuinfo")).ok()?;
        let info = Self::parse(&String::from_utf8_lossy(&bytes));
        (info.cpus > 0).then_some(info)
    }

    fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut packages = BTreeSet::new();
        let (mut implementer, mut part) = (None, None);
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match key.trim() {
                "processor" => info.cpus += 1,
                "vendor_id" => keep(&mut info.vendor, value),
                "model name" => keep(&mut info.name, value),
                "cpu family" => info.family = info.family.or(value.parse().ok()),
                "model" => info.model = info.model.or(value.parse().ok()),
                "physical id" => {
                    packages.insert(value);
                }
                "flags" => info.is_virtual |= value.split(' ').any(|flag| flag == "hypervisor"),
                "CPU implementer" => implementer = implementer.or(Some(value)),
                "CPU part" => part = part.or(Some(value)),
                _ => {}
            }
        }
        info.packages = u32::try_from(packages.len()).unwrap_or(u32::MAX);
        info.name = info
            .name
            .or_else(|| arm_core(implementer?, part?).map(str::to_owned));
        info
    }
}

fn keep(place: &mut Option<String>, value: &str) {
    if place.is_none() && !value.is_empty() {
        *place = Some(value.to_owned());
    }
}

/// Name of an ARM core, where kernels print numbers instead of a name. From the cores' reference
/// manuals (main ID register), as in `lscpu`.
fn arm_core(implementer: &str, part: &str) -> Option<&'static str> {
    Some(match (implementer, part) {
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd42") => "Cortex-A78AE",
        ("0x41", "0xd0c") => "Neoverse-N1",
        ("0x41", "0xd40") => "Neoverse-V1",
        ("0x41", "0xd49") => "Neoverse-N2",
        ("0x41", "0xd4f") => "Neoverse-V2",
        ("0xc0", "0xac3") => "Ampere-1",
        ("0xc0", "0xac4") => "Ampere-1a",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_cpus_are_counted_and_the_first_cpu_stands_for_all() {
        let one = |processor: u32, package: u32| {
            format!(
                "processor\t: {processor}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n\
                 model\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\n\
                 physical id\t: {package}\nflags\t\t: fpu vme\n\n"
            )
        };
        let info = CpuInfo::parse(&[one(0, 0), one(1, 0), one(2, 1), one(3, 1)].concat());
        assert_eq!((info.cpus, info.packages, info.is_virtual), (4, 2, false));
        assert_eq!((info.family, info.model), (Some(6), Some(143)));
        assert_eq!(
            info.name.as_deref(),
            Some("Intel(R) Xeon(R) Platinum 8480+")
        );
    }

    #[test]
    fn an_arm_core_gets_its_name_from_its_numbers() {
        let text = "processor\t: 0\nBogoMIPS\t: 2100.00\nCPU implementer\t: 0x41\n\
                    CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n";
        let info = CpuInfo::parse(text);
        assert_eq!((info.cpus, info.name.as_deref()), (1, Some("Neoverse-V1")));
    }
}
