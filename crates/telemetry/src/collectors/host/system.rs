//! Describes this host, for the run's metadata.

use std::fs;
use std::path::Path;
use std::thread;

use ipw_core::hardware::SystemInfo;

use super::cpuinfo::CpuInfo;
use crate::Options;

/// Files that name the distribution; not affected by [`Options`].
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// Reads the description of this machine; unknown values are `None`.
pub fn system_info(options: &Options) -> SystemInfo {
    let os_release = OS_RELEASE
        .into_iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    let cpu = CpuInfo::read(&options.proc);
    let cpu_count = cpu.as_ref().map(|cpu| cpu.cpus).or_else(|| {
        let threads = thread::available_parallelism().ok()?;
        u32::try_from(threads.get()).ok()
    });
    SystemInfo {
        os_name: value(&os_release, "NAME"),
        os_version: value(&os_release, "VERSION_ID"),
        kernel_version: line(&options.proc.join("sys/kernel/osrelease")),
        host_name: line(&options.proc.join("sys/kernel/hostname")),
        cpu_count,
        cpu_brand: cpu.and_then(|cpu| cpu.name),
    }
}

/// A value of os-release(5), without quotes.
fn value(os_release: &str, key: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    some(value.trim().trim_matches(['"', '\'']))
}

fn line(path: &Path) -> Option<String> {
    some(fs::read_to_string(path).ok()?.trim())
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_taken_without_quotes() {
        let text = "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=24.04\nX=\n";
        assert_eq!(value(text, "NAME").as_deref(), Some("Ubuntu"));
        assert_eq!(value(text, "VERSION_ID").as_deref(), Some("24.04"));
        assert_eq!(value(text, "X"), None);
        assert_eq!(value(text, "ID"), None);
    }
}
