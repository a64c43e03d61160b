//! Fixtures for the tests of both ways, and which way is taken.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_core::units::Watts;

use super::*;
use crate::collector::PollError;
pub(super) use crate::collectors::sysfs::tests::{Ticks, names};

/// A `/sys` of our own.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, file: &str, content: &str) {
        let file = self.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// A powercap zone that wraps after 262143.328850 J, as Intel's do.
    pub(super) fn zone(&self, directory: &str, name: &str, energy: &str) {
        let file = |file| format!("class/powercap/{directory}/{file}");
        self.write(&file("name"), &format!("{name}\n"));
        self.write(&file("energy_uj"), &format!("{energy}\n"));
        self.write(&file("max_energy_range_uj"), "262143328850\n");
    }

    /// A perf PMU whose package event is the kernel's CPU clock: one "joule" a second.
    #[cfg(target_os = "linux")]
    pub(super) fn pmu(&self) {
        self.write("devices/power/type", "1\n");
        self.write("devices/power/cpumask", "0\n");
        self.event("energy-pkg", "event=0x00");
    }

    #[cfg(target_os = "linux")]
    pub(super) fn event(&self, name: &str, config: &str) {
        let file = format!("devices/power/events/{name}");
        self.write(&file, &format!("{config}\n"));
        self.write(&format!("{file}.scale"), "1e-9\n");
        self.write(&format!("{file}.unit"), "Joules\n");
    }

    pub(super) fn detect(&self) -> Result<Box<dyn Collector>, Absent> {
        detect(&Options {
            sysfs: self.path().to_owned(),
            proc: "/nowhere".into(),
            dev: "/nowhere".into(),
            estimate: false,
            cpu_tdp: None,
            ..Options::default()
        })
    }
}

/// Name and joules of what one poll says.
pub(super) fn poll(collector: &mut dyn Collector) -> Result<Vec<(String, f64)>, PollError> {
    let mut heard = Vec::new();
    collector.poll(&Ticks::default(), &mut |index, _, value| {
        heard.push((index, value));
    })?;
    let named = |(index, value): (usize, f64)| (collector.sources()[index].name.clone(), value);
    Ok(heard.into_iter().map(named).collect())
}

/// What a poll should say.
pub(super) fn said<const N: usize>(expected: [(&str, f64); N]) -> [(String, f64); N] {
    expected.map(|(name, value)| (name.to_owned(), value))
}

/// Runs `test` without the rights that let root read everything; says so if that cannot be done.
#[cfg(target_os = "linux")]
pub(super) fn without_rights(test: impl FnOnce() + Send) {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let rights = CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::DAC_READ_SEARCH
        | CapabilitySet::PERFMON
        | CapabilitySet::SYS_ADMIN;
    // Rights belong to a thread: this one takes its loss with it.
    let run = move || {
        let dropped = capabilities(None).and_then(|mut sets| {
            sets.effective.remove(rights);
            set_capabilities(None, sets)
        });
        match dropped {
            Ok(()) => test(),
            Err(error) => skipped(&format!("rights cannot be dropped: {error}")),
        }
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap();
}

/// Not `eprintln!`: the harness swallows that when the test passes.
#[cfg(target_os = "linux")]
pub(super) fn skipped(why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "\n!! SKIPPED a RAPL test: {why}\n");
}

#[cfg(target_os = "linux")]
fn forbid(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o000)).unwrap();
}

#[test]
fn an_empty_machine_says_what_is_missing_and_knows_no_fix() {
    let tree = Tree::new();
    let absent = tree.detect().err().unwrap();
    assert_eq!(absent.collector, "rapl");
    assert!(absent.reason.contains("class/powercap"), "{absent:?}");
    assert!(absent.reason.contains("virtual machine"), "{absent:?}");
    assert_eq!((absent.fix, absent.risk), (None, None));
}

#[test]
fn it_is_not_polled_faster_than_twice_a_period() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", "1");
    let collector = tree.detect().unwrap();
    let interval = |micros| collector.interval(Duration::from_micros(micros));
    assert_eq!(interval(10_000), Duration::from_millis(10));
    assert_eq!(interval(1), Duration::from_micros(500));
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_be_read_are_absent_with_the_command_that_opens_them() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", "1");
    forbid(&tree.path().join("class/powercap/intel-rapl:0/energy_uj"));
    without_rights(|| {
        let absent = tree.detect().err().unwrap();
        assert!(absent.reason.contains("cannot read"), "{absent:?}");
        let zones = tree.path().join("class/powercap/intel-rapl*/energy_uj");
        let command = format!("sudo chmod a+r {}", zones.display());
        assert_eq!(absent.fix, Some(command));
        assert!(absent.risk.unwrap().contains("CVE-2020-8694"));
    });
}

#[test]
fn both_ways_denied_give_both_fixes_and_one_missing_gives_one() {
    let sysfs = Path::new("/sys");
    let denied = |words: &str| AccessError::Denied(words.to_owned());
    let both = absent(sysfs, &denied("perf"), &denied("files"));
    assert_eq!(both.reason, "perf; files");
    let fix = both.fix.unwrap();
    assert!(fix.contains("setcap cap_perfmon+ep"), "{fix}");
    assert!(fix.contains("kernel.perf_event_paranoid=0"), "{fix}");
    assert!(
        fix.ends_with("sudo chmod a+r /sys/class/powercap/intel-rapl*/energy_uj"),
        "{fix}"
    );

    let perf = absent(sysfs, &denied("perf"), &AccessError::Missing);
    assert!(!perf.fix.unwrap().contains("chmod"));
    let broken = absent(
        sysfs,
        &AccessError::Missing,
        &AccessError::Unusable("odd".to_owned()),
    );
    assert_eq!((broken.reason.as_str(), broken.fix), ("odd", None));
}

#[cfg(target_os = "linux")]
#[test]
fn perf_comes_first_and_the_files_serve_where_it_is_denied() {
    let tree = Tree::new();
    tree.pmu();
    tree.zone("intel-rapl:0", "package-0", "7000000");
    let is_perf = |collector: &dyn Collector| collector.sources()[0].privilege.contains("PERFMON");
    if perf_events(tree.path()).is_ok() {
        assert!(is_perf(tree.detect().unwrap().as_ref()));
    } else {
        skipped("perf events do not open here");
    }
    without_rights(|| {
        let mut collector = tree.detect().unwrap();
        if is_perf(collector.as_ref()) {
            return skipped("kernel.perf_event_paranoid lets all users open perf events");
        }
        assert_eq!(
            poll(collector.as_mut()).unwrap(),
            said([("rapl/package-0", 7.0)])
        );
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_pmu_that_is_no_use_falls_back_to_the_files() {
    let tree = Tree::new();
    tree.pmu();
    tree.write("devices/power/events/energy-pkg.unit", "Watts\n");
    tree.zone("intel-rapl:0", "package-0", "7000000");
    let mut collector = tree.detect().unwrap();
    assert_eq!(
        poll(collector.as_mut()).unwrap(),
        said([("rapl/package-0", 7.0)])
    );
}

/// A clock that leaps by 60 ms between the first look and the second: the thread lost its CPU.
struct Preempted(AtomicU64);

impl Clock for Preempted {
    fn now(&self) -> Timestamp {
        let looks = self.0.fetch_add(1, Ordering::Relaxed);
        let late = if looks > 0 { 60_000_000 } else { 0 };
        Timestamp::from_nanos(looks * 1000 + late)
    }

    fn anchor(&self) -> Anchor {
        Ticks::default().anchor()
    }
}

#[test]
fn a_value_whose_date_is_in_doubt_is_read_again() {
    let tree = Tree::new();
    tree.zone("intel-rapl:0", "package-0", "7000000");
    let mut collector = tree.detect().unwrap();
    let mut stamps = Vec::new();
    let clock = Preempted(AtomicU64::new(0));
    let mut take = |_, at: Timestamp, _| stamps.push(at);
    collector.poll(&clock, &mut take).unwrap();
    assert_eq!(stamps, [Timestamp::from_nanos(60_003_000)]);
    assert!(collector.dated_within().unwrap() < Duration::from_millis(60));
}

#[test]
fn a_package_is_held_to_its_own_limits_with_a_margin() {
    let tree = Tree::new();
    for (zone, name) in [
        ("0", "package-0"),
        ("0:0", "core"),
        ("0:1", "dram"),
        ("1", "package-1"),
    ] {
        tree.zone(&format!("intel-rapl:{zone}"), name, "7000000");
    }
    let limit = |zone: &str, file: &str, text: &str| {
        tree.write(
            &format!("class/powercap/intel-rapl:{zone}/constraint_{file}"),
            text,
        );
    };
    limit("0", "0_power_limit_uw", "125000000\n");
    limit("0", "1_power_limit_uw", "253000000\n");
    limit("0", "0_max_power_uw", "125000000\n");
    limit("1", "0_power_limit_uw", "nonsense\n");
    let watts = |tree: &Tree| -> Vec<(String, Option<f64>)> {
        let collector = tree.detect().unwrap();
        let names = names(collector.as_ref()).into_iter().enumerate();
        names
            .map(|(place, name)| {
                let largest = collector.largest(place).map(Watts::watts);
                (name.to_owned(), largest)
            })
            .collect()
    };
    let expected = |package: f64| {
        [
            ("rapl/package-0", Some(package)),
            ("rapl/package-0/core", Some(package)),
            ("rapl/package-0/dram", None),
            ("rapl/package-1", None),
        ]
        .map(|(name, watts)| (name.to_owned(), watts))
    };
    assert_eq!(watts(&tree), expected(1012.0));
    // A laptop that is held back today may be let go tomorrow.
    limit("0", "1_power_limit_uw", "0\n");
    limit("0", "0_power_limit_uw", "9000000\n");
    limit("0", "0_max_power_uw", "15000000\n");
    assert_eq!(watts(&tree), expected(400.0));
}
