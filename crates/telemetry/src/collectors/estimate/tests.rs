use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use ipw_core::time::Anchor;

use super::*;

#[derive(Default)]
struct Hand(AtomicU64);

impl Hand {
    fn set(&self, seconds: u64) {
        self.0.store(seconds * 1_000_000_000, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

/// A machine in a directory.
struct Machine {
    root: tempfile::TempDir,
    options: Options,
}

const XEON: (&str, u32, u32, &str) = ("GenuineIntel", 6, 143, "Intel(R) Xeon(R) Platinum 8480+");
const HIDDEN: (&str, u32, u32, &str) = ("AuthenticAMD", 25, 1, "AMD EPYC");

impl Machine {
    fn new(cpus: u32, (vendor, family, model, name): (&str, u32, u32, &str), flags: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let options = Options {
            sysfs: root.path().join("sys"),
            proc: root.path().join("proc"),
            dev: root.path().join("dev"),
            estimate: true,
            cpu_tdp: None,
            ..Options::default()
        };
        let machine = Self { root, options };
        let cpu = |number: u32| {
            format!(
                "processor\t: {number}\nvendor_id\t: {vendor}\ncpu family\t: {family}\n\
                 model\t\t: {model}\nmodel name\t: {name}\nphysical id\t: {}\n\
                 flags\t\t: fpu {flags}\n\n",
                number % 2
            )
        };
        let all: Vec<String> = (0..cpus).map(cpu).collect();
        machine.write("proc/cpuinfo", &all.concat());
        machine.busy(0);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Busy ticks in several columns; the others are idle, waiting, stolen and guests.
    fn busy(&self, ticks: u64) {
        let (user, system) = (ticks / 2, ticks - ticks / 2);
        self.write(
            "proc/stat",
            &format!("cpu  {user} 0 {system} 77 88 0 0 99 {user} 0\n"),
        );
    }

    fn with_tdp(mut self, watts: f64) -> Self {
        self.options.cpu_tdp = Some(Watts::from_watts(watts));
        self
    }
}

fn poll(estimate: &mut Estimate, clock: &Hand) -> Result<f64, PollError> {
    let mut energy = None;
    estimate.poll(clock, &mut |place, instant, value| {
        assert_eq!((place, instant), (0, clock.now()));
        energy = Some(value);
    })?;
    Ok(energy.unwrap())
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn the_energy_is_that_of_the_model() {
    // 100 W and four CPUs, ten seconds: 4000 ticks are full load, 20 W idle.
    for (ticks, expected) in [(0, 200.0), (2000, 600.0), (4000, 1000.0)] {
        let machine = Machine::new(4, XEON, "").with_tdp(100.0);
        let mut estimate = detect(&machine.options).unwrap();
        let clock = Hand::default();
        machine.busy(500);
        clock.set(3);
        assert_near(poll(&mut estimate, &clock).unwrap(), 0.0);
        machine.busy(500 + ticks);
        clock.set(13);
        assert_near(poll(&mut estimate, &clock).unwrap(), expected);
    }
}

#[test]
fn polling_more_often_changes_nothing() {
    let machine = Machine::new(4, XEON, "").with_tdp(100.0);
    let mut estimate = detect(&machine.options).unwrap();
    let clock = Hand::default();
    let mut last = 0.0;
    for second in 0..=10 {
        machine.busy(second * 200);
        clock.set(second);
        last = poll(&mut estimate, &clock).unwrap();
    }
    assert_near(last, 600.0);
}

#[test]
fn a_known_name_counts_whole_packages_or_its_share_of_one() {
    let bare = Machine::new(8, XEON, "");
    let estimate = detect(&bare.options).unwrap();
    assert_eq!(
        estimate.explanation(),
        "`Intel(R) Xeon(R) Platinum 8480+`: 350 W × 2 packages = 700.0 W at full load, 140.0 W \
         idle, in proportion to CPU use; ± 41 %"
    );
    let guest = Machine::new(8, XEON, "hypervisor");
    let estimate = detect(&guest.options).unwrap();
    assert_eq!(
        estimate.explanation(),
        "`Intel(R) Xeon(R) Platinum 8480+`: 350 W × 8 CPUs ÷ 112 threads = 25.0 W at full load, \
         5.0 W idle, in proportion to CPU use; ± 41 %"
    );
}

#[test]
fn a_hidden_name_falls_back_to_the_generation_with_a_wider_sigma() {
    let machine = Machine::new(2, HIDDEN, "hypervisor");
    let estimate = detect(&machine.options).unwrap();
    assert!(estimate.explanation().contains("EPYC 7003 Milan"));
    let sigma = estimate.sources()[0].relative_sigma.unwrap();
    assert!((0.42..0.7).contains(&sigma), "{sigma}");
}

#[test]
fn the_users_word_counts_for_the_whole_machine() {
    let machine = Machine::new(2, HIDDEN, "hypervisor").with_tdp(65.0);
    let estimate = detect(&machine.options).unwrap();
    assert_eq!(
        estimate.explanation(),
        "`cpu_tdp`: 65.0 W at full load, 13.0 W idle, in proportion to CPU use; ± 40 %"
    );
    for nonsense in [0.0, -5.0, f64::NAN] {
        let machine = Machine::new(2, HIDDEN, "").with_tdp(nonsense);
        assert!(detect(&machine.options).is_err());
    }
}

#[test]
fn an_unknown_cpu_is_absent_and_says_what_would_help() {
    let machine = Machine::new(2, ("GenuineIntel", 6, 6, "QEMU Virtual CPU"), "hypervisor");
    let absent = detect(&machine.options).err().unwrap();
    assert!(absent.reason.contains("family 6 model 6"), "{absent:?}");
    assert_eq!(absent.fix.as_deref(), Some("cpu_tdp=WATTS"));
}

#[test]
fn it_never_stands_for_a_gpu_not_even_with_the_users_word() {
    for device in ["nvidia0", "nvidia3", "nvidiactl", "kfd", "nvgpu"] {
        let machine = Machine::new(2, XEON, "").with_tdp(65.0);
        machine.write(&format!("dev/{device}"), "");
        let absent = detect(&machine.options).err().unwrap();
        assert!(absent.reason.contains(device), "{absent:?}");
        assert!(absent.reason.contains("GPU"), "{absent:?}");
    }
}

#[test]
fn it_can_be_turned_off() {
    let mut machine = Machine::new(2, XEON, "");
    machine.options.estimate = false;
    let absent = detect(&machine.options).err().unwrap();
    assert_eq!(absent.reason, "turned off by `no_estimate`");
}

#[test]
fn garbage_is_retried_and_loses_nothing() {
    let machine = Machine::new(4, XEON, "").with_tdp(100.0);
    let mut estimate = detect(&machine.options).unwrap();
    let clock = Hand::default();
    poll(&mut estimate, &clock).unwrap();
    machine.write("proc/stat", "cpu  x y z\n");
    clock.set(5);
    assert!(matches!(
        poll(&mut estimate, &clock),
        Err(PollError::Retry(_))
    ));
    machine.busy(2000);
    clock.set(10);
    assert_near(poll(&mut estimate, &clock).unwrap(), 600.0);
}

#[test]
fn time_that_goes_backwards_begins_again_at_nought() {
    let machine = Machine::new(4, XEON, "").with_tdp(100.0);
    let mut estimate = detect(&machine.options).unwrap();
    let clock = Hand::default();
    machine.busy(1000);
    poll(&mut estimate, &clock).unwrap();
    machine.busy(2000);
    clock.set(5);
    assert!(poll(&mut estimate, &clock).unwrap() > 0.0);
    machine.busy(10);
    clock.set(10);
    assert!(matches!(
        poll(&mut estimate, &clock),
        Err(PollError::Retry(_))
    ));
    machine.busy(20);
    clock.set(15);
    assert_near(poll(&mut estimate, &clock).unwrap(), 0.0);
    machine.busy(420);
    clock.set(16);
    assert_near(poll(&mut estimate, &clock).unwrap(), 100.0);
}

#[test]
fn this_machine_is_estimated_or_says_why_not() {
    let real = Options {
        sysfs: "/sys".into(),
        proc: "/proc".into(),
        dev: "/dev".into(),
        estimate: true,
        cpu_tdp: None,
        ..Options::default()
    };
    match detect(&real) {
        Ok(estimate) => println!("{}", estimate.explanation()),
        Err(absent) => {
            println!("{absent:?}");
            assert!(!absent.reason.is_empty());
        }
    }
}
