use std::fs;
use std::path::Path;

use ipw_core::time::Anchor;

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

fn options(root: &Path) -> Options {
    Options {
        sysfs: root.join("sys"),
        proc: root.join("proc"),
        dev: root.join("dev"),
        estimate: true,
        cpu_tdp: None,
        ..Options::default()
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn full_host(root: &Path) {
    write(root, "proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n");
    write(
        root,
        "proc/meminfo",
        "MemTotal:  4096 kB\nMemFree:  1 kB\nMemAvailable:  1024 kB\n",
    );
    for (cpu, kilohertz) in [(0, "2000000"), (1, "3000000")] {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        write(root, &file, kilohertz);
    }
    for (chip, package) in [(0, "55000"), (3, "61500")] {
        let chip = format!("sys/class/hwmon/hwmon{chip}");
        write(root, &format!("{chip}/name"), "coretemp\n");
        write(root, &format!("{chip}/temp1_label"), "Package id 0\n");
        write(root, &format!("{chip}/temp1_input"), package);
        write(root, &format!("{chip}/temp2_label"), "Core 0\n");
        write(root, &format!("{chip}/temp2_input"), "99000\n");
    }
    write(root, "sys/class/hwmon/hwmon1/name", "nvme\n");
    write(root, "sys/class/hwmon/hwmon1/temp1_input", "90000\n");
}

fn poll(collector: &mut dyn Collector) -> Result<Vec<(String, f64)>, PollError> {
    let names: Vec<String> = collector
        .sources()
        .iter()
        .map(|source| source.name.clone())
        .collect();
    let mut found = Vec::new();
    collector.poll(&Still, &mut |place, _, value| {
        found.push((names[place].clone(), value));
    })?;
    Ok(found)
}

fn named(values: &[(&str, f64)]) -> Vec<(String, f64)> {
    values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

#[test]
fn every_gauge_is_read_in_its_unit_and_the_hottest_package_counts() {
    let root = tempfile::tempdir().unwrap();
    full_host(root.path());
    let mut host = detect(&options(root.path())).unwrap();
    let rest = [
        ("host/cpu_frequency", 2500.0),
        ("host/memory_used", 3.0),
        ("host/cpu_temperature", 61.5),
    ];
    assert_eq!(poll(&mut *host).unwrap(), named(&rest));

    write(root.path(), "proc/stat", "cpu  125 0 0 175 0 0 0 0 0 0\n");
    let with_use = [&[("host/cpu_use", 25.0)], rest.as_slice()].concat();
    assert_eq!(poll(&mut *host).unwrap(), named(&with_use));
}

#[test]
fn what_is_not_there_is_no_source_and_what_fails_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n");
    write(
        root.path(),
        "proc/meminfo",
        "MemTotal: 4096 kB\nMemAvailable: 1024 kB\n",
    );
    let mut host = detect(&options(root.path())).unwrap();
    let names: Vec<_> = host.sources().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["host/cpu_use", "host/memory_used"]);
    assert_eq!(
        poll(&mut *host).unwrap(),
        named(&[("host/memory_used", 3.0)])
    );

    write(root.path(), "proc/stat", "garbage");
    assert_eq!(
        poll(&mut *host).unwrap(),
        named(&[("host/memory_used", 3.0)])
    );
    fs::remove_file(root.path().join("proc/meminfo")).unwrap();
    assert!(matches!(poll(&mut *host), Err(PollError::Retry(_))));
}

#[test]
fn cpu_time_that_goes_backwards_gives_no_share_and_the_next_one_is_right() {
    let root = tempfile::tempdir().unwrap();
    let stat = |text: &str| write(root.path(), "proc/stat", text);
    stat("cpu  100 0 0 100\n");
    let mut host = detect(&options(root.path())).unwrap();
    poll(&mut *host).unwrap();
    stat("cpu  10 0 0 10\n");
    assert!(poll(&mut *host).is_err());
    stat("cpu  20 0 0 10\n");
    assert_eq!(poll(&mut *host).unwrap(), named(&[("host/cpu_use", 100.0)]));
}

#[test]
fn amd_prefers_the_die_to_the_control_value() {
    let root = tempfile::tempdir().unwrap();
    full_host(root.path());
    for chip in [0, 3] {
        fs::remove_dir_all(root.path().join(format!("sys/class/hwmon/hwmon{chip}"))).unwrap();
    }
    for (path, text) in [
        ("name", "k10temp"),
        ("temp1_label", "Tctl"),
        ("temp1_input", "95000"),
        ("temp2_label", "Tdie"),
        ("temp2_input", "68000"),
    ] {
        write(root.path(), &format!("sys/class/hwmon/hwmon5/{path}"), text);
    }
    let mut host = detect(&options(root.path())).unwrap();
    let values = poll(&mut *host).unwrap();
    assert!(values.contains(&("host/cpu_temperature".to_owned(), 68.0)));
}

#[test]
fn without_proc_it_is_absent_and_says_why() {
    let root = tempfile::tempdir().unwrap();
    let absent = detect(&options(root.path())).err().unwrap();
    assert!(absent.reason.contains("stat"), "{absent:?}");
}

#[test]
fn it_is_never_polled_faster_than_the_kernel_counts() {
    let root = tempfile::tempdir().unwrap();
    full_host(root.path());
    let host = detect(&options(root.path())).unwrap();
    let interval = |millis| host.interval(Duration::from_millis(millis)).as_millis();
    assert_eq!((interval(5), interval(250)), (100, 250));
}

#[test]
fn this_machine_says_what_it_is() {
    let real = Options {
        sysfs: "/sys".into(),
        proc: "/proc".into(),
        ..options(Path::new("/nowhere"))
    };
    let info = system_info(&real);
    println!("{info:?}");
    assert!(info.cpu_count.is_some());
    if let Ok(mut host) = detect(&real) {
        println!("{:?}", poll(&mut *host));
    }
}
