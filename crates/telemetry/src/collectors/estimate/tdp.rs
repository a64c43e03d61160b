//! Design power of CPU packages: the table `tdp.txt`, by name and by generation.

use ipw_core::hardware;

use crate::collectors::host::cpuinfo::CpuInfo;

const TABLE: &str = include_str!("tdp.txt");

/// Relative spread of a server package around its design power: the vendors' configurable range is
/// about ± 10 % (EPYC 9654: 320–400 W around 360 W).
const SERVER_SPREAD: f64 = 0.10;

/// Desktop and mobile parts exceed their design power for as long as cooling allows: AMD sets
/// sockets to 1.35 times of it, Intel's maximum turbo power is up to twice the base power.
const CLIENT_SPREAD: f64 = 0.35;

/// A kind of package, found by its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Package {
    /// The name in the form of [`hardware::label`].
    pub(super) label: &'static str,
    /// Design power in watts.
    pub(super) watts: f64,
    /// Number of hardware threads.
    pub(super) threads: u32,
    /// Relative spread of its power at full load around the design power.
    pub(super) spread: f64,
}

/// Power per thread of a package whose name is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PerThread {
    /// The generation.
    pub(super) generation: &'static str,
    /// Mean design power per thread, in watts.
    pub(super) watts: f64,
    /// Relative standard deviation around that mean, including the packages' own spread.
    pub(super) spread: f64,
}

/// Finds a package by the name in `/proc/cpuinfo`.
pub(super) fn by_name(name: &str) -> Option<Package> {
    let label = hardware::label(&[], Some(name));
    let named = |label: &str| {
        generations()
            .flat_map(|generation| generation.packages)
            .find(|package| package.label == label)
    };
    named(&label).or_else(|| {
        // Single-socket (EPYC 9654P) and no-graphics (i9-13900KF) variants have the same power.
        let suffix = if label.starts_with("EPYC") { 'P' } else { 'F' };
        named(label.strip_suffix(suffix)?)
    })
}

/// Power per thread by vendor, family and model. Desktop parts share these numbers with server
/// parts of the same time, so a name that rules out a server is respected.
pub(super) fn by_model(cpu: &CpuInfo) -> Option<PerThread> {
    let label = hardware::label(&[], cpu.name.as_deref());
    let may_be_server = ["EPYC", "Xeon", hardware::UNKNOWN]
        .iter()
        .any(|server| label.starts_with(server));
    let (vendor, family, model) = (cpu.vendor.as_deref()?, cpu.family?, cpu.model?);
    generations()
        .find(|generation| may_be_server && generation.is(vendor, family, model))
        .map(|generation| generation.per_thread())
}

/// Packages that share a design.
struct Generation {
    name: &'static str,
    /// Vendor, family and models, separated by spaces and commas; empty if only the name identifies
    /// it.
    models: &'static str,
    packages: Vec<Package>,
}

impl Generation {
    /// The mean over the threads of all packages with at least half as many threads as the largest.
    /// Cloud providers hide CPU names, sell threads, and so buy packages with many; few fast cores
    /// draw several times as much each.
    fn per_thread(&self) -> PerThread {
        let largest = self.packages.iter().map(|package| package.threads).max();
        let threads: Vec<(f64, f64)> = self
            .packages
            .iter()
            .filter(|package| Some(package.threads * 2) >= largest)
            .map(|package| (f64::from(package.threads), package.watts))
            .map(|(threads, watts)| (threads, watts / threads))
            .collect();
        let total: f64 = threads.iter().map(|(threads, _)| threads).sum();
        let sum: f64 = threads.iter().map(|(threads, watts)| threads * watts).sum();
        let mean = sum / total;
        let squares: f64 = threads
            .iter()
            .map(|(threads, watts)| threads * (watts - mean).powi(2))
            .sum();
        PerThread {
            generation: self.name,
            watts: mean,
            spread: ((squares / total).sqrt() / mean).hypot(SERVER_SPREAD),
        }
    }

    fn is(&self, vendor: &str, family: u32, model: u32) -> bool {
        let mut words = self.models.split(' ');
        words.next() == Some(vendor)
            && words.next().and_then(|word| word.parse().ok()) == Some(family)
            && words
                .next()
                .is_some_and(|models| models.split(',').any(|one| one.parse() == Ok(model)))
    }
}

/// Parses the table. A malformed line is a bug, which a test finds.
fn generations() -> impl Iterator<Item = Generation> {
    TABLE.split("\n= ").skip(1).map(|section| {
        let mut lines = section.lines();
        let mut head = lines.next().unwrap_or_default().split(" | ");
        let name = head.next().unwrap_or_default();
        let is_server = head.next() == Some("server");
        let spread = if is_server {
            SERVER_SPREAD
        } else {
            CLIENT_SPREAD
        };
        Generation {
            name,
            models: head.next().unwrap_or_default(),
            packages: lines.filter_map(|line| package(line, spread)).collect(),
        }
    })
}

fn package(line: &'static str, spread: f64) -> Option<Package> {
    let mut words = line.split(' ');
    Some(Package {
        label: words.next()?,
        watts: words.next()?.parse().ok()?,
        threads: words.next()?.parse().ok()?,
        spread,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood_and_plausible() {
        let packages: Vec<Package> = generations().flat_map(|one| one.packages).collect();
        let lines = TABLE
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '=']))
            .count();
        assert_eq!(packages.len(), lines);
        let labels: BTreeSet<&str> = packages.iter().map(|package| package.label).collect();
        assert_eq!(labels.len(), lines, "a label is there twice");
        for package in packages {
            let per_thread = package.watts / f64::from(package.threads);
            assert!((0.9..20.0).contains(&per_thread), "{package:?}");
        }
    }

    #[test]
    fn names_are_found_as_machines_report_them() {
        for (name, watts, threads) in [
            ("AMD EPYC 9654 96-Core Processor", 360.0, 192),
            ("AMD EPYC 7702P 64-Core Processor", 200.0, 128),
            ("Intel(R) Xeon(R) Platinum 8480+", 350.0, 112),
            ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 120.0, 28),
            ("Intel(R) Xeon(R) Gold 6230R CPU @ 2.10GHz", 150.0, 52),
            ("13th Gen Intel(R) Core(TM) i9-13900KF", 125.0, 32),
            ("Intel(R) Core(TM) Ultra 7 155H", 28.0, 22),
            ("AMD Ryzen 9 7950X 16-Core Processor", 170.0, 32),
            ("AMD Ryzen Threadripper 7980X 64-Cores", 350.0, 128),
        ] {
            let package = by_name(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((package.threads, package.watts), (threads, watts), "{name}");
        }
        assert_eq!(by_name("AMD EPYC"), None);
        assert_eq!(by_name("Common KVM processor"), None);
    }

    #[test]
    fn generations_are_found_by_their_numbers() {
        for (vendor, family, model, expected) in [
            ("AuthenticAMD", 23, 49, "Rome"),
            ("AuthenticAMD", 25, 1, "Milan"),
            ("AuthenticAMD", 25, 17, "Genoa"),
            ("AuthenticAMD", 25, 160, "Bergamo"),
            ("AuthenticAMD", 26, 2, "Turin"),
            ("GenuineIntel", 6, 79, "Broadwell"),
            ("GenuineIntel", 6, 85, "Cascade"),
            ("GenuineIntel", 6, 106, "Ice"),
            ("GenuineIntel", 6, 143, "Sapphire"),
            ("GenuineIntel", 6, 207, "Emerald"),
        ] {
            let cpu = CpuInfo {
                vendor: Some(vendor.to_owned()),
                family: Some(family),
                model: Some(model),
                ..CpuInfo::default()
            };
            let found = by_model(&cpu).unwrap();
            println!("{found:?}");
            assert!(found.generation.contains(expected), "{found:?}");
            assert!((1.0..6.0).contains(&found.watts), "{found:?}");
            assert!((0.1..0.4).contains(&found.spread), "{found:?}");
            let desktop = CpuInfo {
                name: Some("Intel(R) Core(TM) i9-7980XE CPU @ 2.60GHz".to_owned()),
                ..cpu
            };
            assert_eq!(by_model(&desktop), None);
        }
    }
}
