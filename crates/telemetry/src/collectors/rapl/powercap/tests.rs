use std::time::Duration;

use ipw_core::energy::{Kind, Meter};
use ipw_core::reading::{Reading, Window};
use ipw_core::source::{Quantity, Source, SourceIndex};

use super::super::tests::{Ticks, Tree, names, poll, said};
use super::*;
use crate::collector::PollError;

const ENERGY: &str = "class/powercap/intel-rapl:0/energy_uj";

fn one_package(energy: &str) -> Tree {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", energy);
    tree
}

fn rollover(source: &Source) -> Rollover {
    match source.quantity {
        Quantity::Energy { rollover, .. } => rollover,
        Quantity::Power { .. } | Quantity::Gauge { .. } => panic!("a gauge"),
    }
}

#[test]
fn a_socket_shows_its_package_and_what_is_inside() {
    let tree = one_package("1500000");
    tree.write("class/powercap/intel-rapl/enabled", "1\n");
    tree.zone("intel-rapl:0:0", "core", "1000000");
    tree.zone("intel-rapl:0:1", "uncore", "250000");
    tree.zone("intel-rapl:0:2", "dram", "500000");
    let mut collector = tree.detect().unwrap();
    let domains: Vec<_> = collector.sources().iter().map(Source::domain).collect();
    let expected = [
        Domain::CpuPackage,
        Domain::CpuCore,
        Domain::CpuUncore,
        Domain::Dram,
    ];
    assert_eq!(domains, expected.map(Some));
    let expected = [
        ("rapl/package-0", 1.5),
        ("rapl/package-0/core", 1.0),
        ("rapl/package-0/uncore", 0.25),
        ("rapl/package-0/dram", 0.5),
    ];
    let heard = poll(collector.as_mut()).unwrap();
    assert_eq!(heard, said(expected));
    assert!(collector.sources().iter().all(Source::is_measured_energy));
}

#[test]
fn sockets_dies_and_the_platform_have_names_of_their_own() {
    let tree = one_package("1");
    tree.zone("intel-rapl:0:0", "dram", "1");
    tree.zone("intel-rapl:1", "package-1", "1");
    tree.zone("intel-rapl:1:0", "dram", "1");
    tree.zone("intel-rapl:2", "package-0-die-1", "1");
    tree.zone("intel-rapl:10", "psys", "1");
    tree.zone("intel-rapl:11", "psys-1", "1");
    let collector = tree.detect().unwrap();
    let expected = [
        "rapl/package-0",
        "rapl/package-0/dram",
        "rapl/package-1",
        "rapl/package-1/dram",
        "rapl/package-0-die-1",
        "rapl/psys",
        "rapl/psys-1",
    ];
    assert_eq!(names(collector.as_ref()), expected);
    let domain = |index: usize| collector.sources()[index].domain();
    assert_eq!(domain(4), Some(Domain::CpuPackage));
    assert_eq!(domain(5), Some(Domain::Platform));
}

#[test]
fn unknown_zones_are_skipped() {
    let tree = one_package("1");
    tree.zone("intel-rapl:0:0", "npu", "1");
    tree.zone("intel-rapl:0:1:0", "core", "1");
    tree.zone("intel-rapl:1", "package-x", "1");
    tree.zone("intel-rapl:2", "gpu", "1");
    tree.zone("intel-rapl:2:0", "core", "1");
    tree.zone("intel-rapl:7:0", "dram", "1");
    tree.zone("dtpm:0", "package-9", "1");
    assert_eq!(names(tree.detect().unwrap().as_ref()), ["rapl/package-0"]);
}

#[test]
fn mmio_zones_count_only_where_they_are_no_duplicates() {
    let tree = one_package("1000000");
    tree.zone("intel-rapl-mmio:0", "package-0", "2000000");
    tree.zone("intel-rapl-mmio:0:0", "dram", "3000000");
    let mut collector = tree.detect().unwrap();
    let heard = poll(collector.as_mut()).unwrap();
    let expected = [("rapl/package-0", 1.0), ("rapl/package-0/dram", 3.0)];
    assert_eq!(heard, said(expected));
}

#[cfg(unix)]
#[test]
fn zones_may_be_links() {
    let tree = one_package("4000000");
    let powercap = tree.path().join("class/powercap");
    let device = tree.path().join("devices/virtual/powercap");
    fs::create_dir_all(&device).unwrap();
    fs::rename(powercap.join("intel-rapl:0"), device.join("zone")).unwrap();
    std::os::unix::fs::symlink(device.join("zone"), powercap.join("intel-rapl:0")).unwrap();
    // What a container that masks the target leaves behind.
    std::os::unix::fs::symlink("/nowhere/at/all", powercap.join("intel-rapl:1")).unwrap();
    let mut collector = tree.detect().unwrap();
    assert_eq!(
        poll(collector.as_mut()).unwrap(),
        said([("rapl/package-0", 4.0)])
    );
    assert_eq!(collector.sources().len(), 1);
}

#[test]
fn a_zone_wraps_where_it_says_and_resets_if_it_says_nothing() {
    let tree = one_package("1");
    tree.zone("intel-rapl:1", "package-1", "1");
    tree.zone("intel-rapl:2", "package-2", "1");
    tree.write("class/powercap/intel-rapl:1/max_energy_range_uj", "0\n");
    let range = "class/powercap/intel-rapl:2/max_energy_range_uj";
    fs::remove_file(tree.path().join(range)).unwrap();
    let collector = tree.detect().unwrap();
    let rollovers: Vec<_> = collector.sources().iter().map(rollover).collect();
    let Rollover::Wraps(after) = rollovers[0] else {
        panic!("{rollovers:?}");
    };
    assert!((after.joules() - 262_143.328_851).abs() < 1e-9);
    assert_eq!(rollovers[1..], [Rollover::Resets, Rollover::Resets]);
}

#[test]
fn nonsense_in_one_zone_does_not_hide_the_others() {
    let tree = one_package("1000000");
    tree.zone("intel-rapl:1", "package-1", "1000000");
    let mut collector = tree.detect().unwrap();
    let largest = u64::MAX.to_string();
    for nonsense in [
        "",
        "\n",
        "N/A",
        "-5",
        "262143328851",
        &largest,
        &"9".repeat(40),
    ] {
        tree.write(ENERGY, nonsense);
        let heard = poll(collector.as_mut()).unwrap();
        assert_eq!(heard, said([("rapl/package-1", 1.0)]), "{nonsense:?}");
    }
}

#[test]
fn nothing_but_nonsense_is_worth_another_try() {
    let tree = one_package("");
    let mut collector = tree.detect().unwrap();
    let error = poll(collector.as_mut()).unwrap_err();
    assert!(matches!(&error, PollError::Retry(words) if words.contains(ENERGY)));
    tree.write(ENERGY, "2000000\n");
    assert_eq!(
        poll(collector.as_mut()).unwrap(),
        said([("rapl/package-0", 2.0)])
    );
}

#[test]
fn a_file_that_vanishes_is_gone_until_it_is_back() {
    let tree = one_package("1000000");
    let mut collector = tree.detect().unwrap();
    assert_eq!(
        poll(collector.as_mut()).unwrap(),
        said([("rapl/package-0", 1.0)])
    );
    fs::remove_dir_all(tree.path().join("class/powercap/intel-rapl:0")).unwrap();
    let error = poll(collector.as_mut()).unwrap_err();
    assert!(matches!(&error, PollError::Gone(words) if words.contains(ENERGY)));
    tree.zone("intel-rapl:0", "package-0", "3000000");
    assert_eq!(
        poll(collector.as_mut()).unwrap(),
        said([("rapl/package-0", 3.0)])
    );
}

/// A directory in its place cannot be read, not even by root.
fn break_file(tree: &Tree, file: &str) {
    fs::remove_file(tree.path().join(file)).unwrap();
    fs::create_dir(tree.path().join(file)).unwrap();
}

#[test]
fn zones_that_cannot_be_read_are_not_called_missing() {
    let tree = one_package("1");
    break_file(&tree, ENERGY);
    let absent = tree.detect().err().unwrap();
    assert!(absent.reason.contains("cannot read"), "{absent:?}");
    fs::remove_dir(tree.path().join(ENERGY)).unwrap();
    let absent = tree.detect().err().unwrap();
    assert!(absent.reason.contains("no counters"), "{absent:?}");
}

#[test]
fn a_package_that_cannot_be_read_stays_and_is_silent() {
    let tree = one_package("1");
    tree.zone("intel-rapl:0:0", "core", "1");
    tree.zone("intel-rapl:1", "package-1", "5000000");
    break_file(&tree, ENERGY);
    break_file(&tree, "class/powercap/intel-rapl:0:0/energy_uj");
    let mut collector = tree.detect().unwrap();
    assert_eq!(
        names(collector.as_ref()),
        ["rapl/package-0", "rapl/package-1"]
    );
    let heard = poll(collector.as_mut()).unwrap();
    assert_eq!(heard, said([("rapl/package-1", 5.0)]));
}

#[test]
fn the_energy_is_right_across_a_wrap() {
    // 2 J in each tick of 100 ms; the counter wraps in the third.
    let range = 262_143_328_851_u64;
    let first = range - 5_000_000;
    let tree = one_package(&first.to_string());
    let mut collector = tree.detect().unwrap();
    let clock = Ticks::default();
    let mut readings: Vec<Reading> = Vec::new();
    for tick in 0..6 {
        let value = (first + tick * 2_000_000) % range;
        tree.write(ENERGY, &value.to_string());
        let mut take = |_, at, value| {
            readings.push(Reading {
                source: SourceIndex(0),
                at,
                previous: readings.last().map(|last| last.at),
                value,
            });
        };
        collector.poll(&clock, &mut take).unwrap();
    }
    let source = &collector.sources()[0];
    let meter = Meter {
        kind: Kind::Counter(rollover(source)),
        period: source.period,
        relative_sigma: source.relative_sigma,
        longest_silence: Duration::from_secs(1),
        clock_bound: Duration::ZERO,
        largest: ipw_core::counter::LARGEST_POWER,
        dated_within: None,
    };
    let window = Window::new(readings[0].at, readings[5].at).unwrap();
    let said = meter.energy(&readings, window);
    assert_eq!((said.reason, said.coverage), (None, 1.0));
    assert!(
        (said.energy.unwrap().joules() - 10.0).abs() < 1e-6,
        "{said:?}"
    );
}
