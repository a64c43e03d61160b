//! Boards as the kernel shows them, in trees of our own.
//!
//! Layout, names and units: `Documentation/gpu/amdgpu/thermal.rst` of the kernel, which is made from
//! `drivers/gpu/drm/amd/pm/amdgpu_pm.c`. Values of the RX 7800 XT: the capture in
//! `tests/data/rx7800xt` of ilya-zlobintsev/amdgpu-sysfs-rs; of the Ryzen 7840U ("phoenix", with
//! both files of power) and of the RX 5500 XT: `lact-daemon/src/tests/data/amd` of
//! ilya-zlobintsev/LACT. What those captures leave out is made up in the form of the documents.

mod absent;

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ipw_core::hardware::Device;
use ipw_core::source::{Domain, Quantity, Source};
use ipw_core::time::{Clock as _, Timestamp};
use ipw_testkit::ManualClock;
use proptest::prelude::*;

use super::*;
use crate::collector::PollError;

/// A `/sys` and a `/dev` of our own.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let file = self.0.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.0.path().join(file)).unwrap();
    }

    /// A card with its files, linked as the kernel links them, with a connector beside it.
    fn card(&self, number: u32, pci: &str, model: &str, files: &[(&str, &str)]) -> String {
        let device = format!("sys/devices/pci0000:00/{pci}");
        self.write(&format!("{device}/vendor"), "0x1002\n");
        self.write(&format!("{device}/device"), format!("0x{model}\n"));
        let uevent = format!(
            "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:{}\nPCI_SLOT_NAME={pci}\n",
            model.to_uppercase()
        );
        self.write(&format!("{device}/uevent"), uevent);
        self.write(&format!("{device}/power/runtime_status"), "active\n");
        for (file, content) in files {
            self.write(&format!("{device}/{file}"), content);
        }
        let root = self.0.path();
        fs::create_dir_all(root.join("sys/bus/pci/drivers/amdgpu")).unwrap();
        symlink(
            "../../../bus/pci/drivers/amdgpu",
            root.join(&device).join("driver"),
        )
        .unwrap();
        for entry in [format!("card{number}"), format!("card{number}-DP-1")] {
            let entry = root.join("sys/class/drm").join(entry);
            fs::create_dir_all(&entry).unwrap();
            symlink(root.join(&device), entry.join("device")).unwrap();
        }
        device
    }

    /// The card that most tests use.
    fn radeon(&self) -> String {
        self.card(0, "0000:2f:00.0", "747e", &RADEON)
    }

    fn options(&self) -> Options {
        Options {
            sysfs: self.0.path().join("sys"),
            proc: self.0.path().join("proc"),
            dev: self.0.path().join("dev"),
            amdsmi: Some(self.0.path().join("libamd_smi.so")),
            ..Options::default()
        }
    }

    fn detect(&self) -> Result<Vec<Box<dyn Collector>>, Absent> {
        detect(&self.options())
    }
}

const RADEON: [(&str, &str); 15] = [
    ("gpu_busy_percent", "37\n"),
    ("mem_busy_percent", "12\n"),
    ("mem_info_vram_used", "2415919104\n"),
    ("mem_info_vram_total", "17163091968\n"),
    ("unique_id", "b6b7f2a1c0ffee01\n"),
    ("hwmon/hwmon4/name", "amdgpu\n"),
    ("hwmon/hwmon4/power1_average", "16000000\n"),
    ("hwmon/hwmon4/power1_cap", "212000000\n"),
    ("hwmon/hwmon4/freq1_input", "2405000000\n"),
    ("hwmon/hwmon4/freq2_input", "1218000000\n"),
    ("hwmon/hwmon4/temp1_label", "edge\n"),
    ("hwmon/hwmon4/temp1_input", "51000\n"),
    ("hwmon/hwmon4/temp2_label", "junction\n"),
    ("hwmon/hwmon4/temp2_input", "64000\n"),
    ("hwmon/hwmon4/temp3_label", "mem\n"),
];

/// Names and values from one poll of all collectors, and the faults.
fn poll(collectors: &mut [Box<dyn Collector>]) -> (Vec<(String, f64)>, Vec<PollError>) {
    let (mut heard, mut errors) = (Vec::new(), Vec::new());
    for collector in collectors {
        let mut places = Vec::new();
        let clock = ManualClock::default();
        let polled = collector.poll(&clock, &mut |place, at, value| {
            assert_eq!(at, clock.now());
            places.push((place, value));
        });
        errors.extend(polled.err());
        let name = |place: usize| collector.sources()[place].name.clone();
        heard.extend(
            places
                .into_iter()
                .map(|(place, value)| (name(place), value)),
        );
    }
    (heard, errors)
}

fn heard(collectors: &mut [Box<dyn Collector>]) -> Vec<(String, f64)> {
    let (heard, errors) = poll(collectors);
    assert_eq!(errors, []);
    heard
}

fn said(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
    let named = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    named.collect()
}

fn sources(collectors: &[Box<dyn Collector>]) -> Vec<&Source> {
    let sources = collectors.iter().flat_map(|collector| collector.sources());
    sources.collect()
}

fn devices(collectors: &[Box<dyn Collector>]) -> Vec<&Device> {
    let devices = collectors.iter().flat_map(|collector| collector.devices());
    devices.collect()
}

fn absent(found: Result<Vec<Box<dyn Collector>>, Absent>) -> Absent {
    match found {
        Ok(collectors) => panic!("found {} collectors", collectors.len()),
        Err(absent) => absent,
    }
}

#[test]
fn a_board_tells_of_power_and_state_in_our_units() {
    let tree = Tree::new();
    tree.radeon();
    tree.write("sys/module/amdgpu/version", "6.12.12\n");
    let mut collectors = tree.detect().unwrap();
    assert_eq!(
        heard(&mut collectors),
        said(&[
            ("amd/0/power", 16.0),
            ("amd/0/use", 37.0),
            ("amd/0/memory_use", 12.0),
            ("amd/0/memory_used", 2304.0),
            ("amd/0/temperature", 64.0),
            ("amd/0/clock", 2405.0),
            ("amd/0/memory_clock", 1218.0),
            ("amd/0/power_limit", 212.0),
        ])
    );
    let sources = sources(&collectors);
    assert_eq!(sources[0].domain(), Some(Domain::Gpu));
    assert!(
        sources
            .iter()
            .all(|source| source.device.as_deref() == Some("amd/0"))
    );
    let wanted = std::time::Duration::from_millis(10);
    let intervals = collectors
        .iter()
        .map(|collector| collector.interval(wanted));
    let intervals: Vec<u128> = intervals.map(|interval| interval.as_millis()).collect();
    assert_eq!(intervals, [50, 500]);
    let [device] = devices(&collectors)[..] else {
        panic!("one device");
    };
    assert_eq!(device.id, "amd/0");
    assert_eq!(device.name.as_deref(), Some("AMD Device 747e (1002:747e)"));
    assert_eq!(device.pci.as_deref(), Some("0000:2f:00.0"));
    assert_eq!(device.uuid.as_deref(), Some("b6b7f2a1c0ffee01"));
    assert_eq!(device.driver_version.as_deref(), Some("6.12.12"));
    assert_eq!(device.device_type.as_deref(), Some("GPU"));
    assert_eq!(
        device.memory_total_mib,
        Some(17_163_091_968.0 / 1024.0 / 1024.0)
    );
    assert_eq!(device.power_limit_watts, Some(212.0));
    let notes = device.notes.join("; ");
    assert!(
        notes.contains("power is integrated: cannot find `"),
        "{notes}"
    );
    assert!(notes.contains("libamd_smi.so`"), "{notes}");
}

#[test]
fn other_vendors_and_other_drivers_are_no_boards() {
    let tree = Tree::new();
    let other = tree.card(0, "0000:01:00.0", "56a0", &RADEON);
    tree.write(&format!("{other}/vendor"), "0x8086\n");
    assert!(
        !absent(detect(&Options {
            amdsmi: None,
            ..tree.options()
        }))
        .is_here
    );
    let tree = Tree::new();
    let old = tree.card(1, "0000:01:00.0", "6818", &RADEON);
    tree.remove(&format!("{old}/driver"));
    tree.write(&format!("{old}/uevent"), "DRIVER=radeon\n");
    let absent = absent(tree.detect());
    assert!(absent.is_here);
    assert!(
        absent.reason.contains("card1` uses the driver `radeon`"),
        "{}",
        absent.reason
    );
}

#[test]
fn a_product_name_is_preferred_to_numbers() {
    let tree = Tree::new();
    let device = tree.radeon();
    tree.write(&format!("{device}/product_name"), "AMD Radeon PRO W7700\n");
    let collectors = tree.detect().unwrap();
    let name = devices(&collectors)[0].name.as_deref();
    assert_eq!(name, Some("AMD Radeon PRO W7700"));
}

#[test]
fn the_average_of_power_is_preferred_where_there_are_two_files() {
    let files = [
        ("hwmon/hwmon6/name", "amdgpu\n"),
        ("hwmon/hwmon6/power1_average", "3103000\n"),
        ("hwmon/hwmon6/power1_input", "3142000\n"),
    ];
    for (without, milliwatts) in [(None, 3103.0), (Some("power1_average"), 3142.0)] {
        let tree = Tree::new();
        let device = tree.card(1, "0000:64:00.0", "15bf", &files);
        if let Some(file) = without {
            tree.remove(&format!("{device}/hwmon/hwmon6/{file}"));
        }
        let heard = heard(&mut tree.detect().unwrap());
        assert_eq!(heard[0].0, "amd/0/power");
        assert!((heard[0].1 * 1000.0 - milliwatts).abs() < 1e-6, "{heard:?}");
    }
}

#[test]
fn a_gpu_inside_a_cpu_tells_of_the_whole_chip_and_is_not_added_to_the_cpu() {
    let tree = Tree::new();
    let files = [
        ("hwmon/hwmon6/name", "amdgpu\n"),
        ("hwmon/hwmon6/power1_average", "3103000\n"),
        ("hwmon/hwmon6/in1_input", "799\n"),
    ];
    tree.card(1, "0000:64:00.0", "15bf", &files);
    let collectors = tree.detect().unwrap();
    assert_eq!(sources(&collectors)[0].domain(), Some(Domain::Platform));
    let device = devices(&collectors)[0];
    assert_eq!(device.device_type.as_deref(), Some("Integrated GPU"));
    assert!(device.notes[0].contains("CPU included"));
}

/// Values that mean "unknown", or are impossible.
const NONSENSE: [&str; 10] = [
    "",
    "\n",
    "65535\n",
    "4294967295\n",
    "18446744073709551615\n",
    "18446744073709551616\n",
    "-1\n",
    "n/a\n",
    "1.5\n",
    "\u{fffd}\n",
];

#[test]
fn what_is_not_known_is_never_a_number() {
    for nonsense in NONSENSE {
        let tree = Tree::new();
        let device = tree.radeon();
        let mut collectors = tree.detect().unwrap();
        let [power, uses] = [
            format!("{device}/hwmon/hwmon4/power1_average"),
            format!("{device}/gpu_busy_percent"),
        ];
        tree.write(&power, nonsense);
        tree.write(&uses, nonsense);
        let (heard, errors) = poll(&mut collectors);
        assert_eq!(heard.len(), 6, "{nonsense:?}: {heard:?}");
        assert!(
            errors
                .iter()
                .all(|error| matches!(error, PollError::Retry(_))),
            "{nonsense:?}: {errors:?}"
        );
        assert_eq!(errors.len(), 2, "{nonsense:?}");
        // From the start: no source of it, and without power no collector.
        tree.write(&power, "16000000\n");
        let found = tree.detect().unwrap();
        let names: Vec<&str> = sources(&found).iter().map(|source| &*source.name).collect();
        assert!(!names.contains(&"amd/0/use"), "{nonsense:?}: {names:?}");
        tree.write(&power, nonsense);
        let absent = absent(tree.detect());
        assert!(absent.is_here, "{nonsense:?}");
    }
}

#[test]
fn impossible_values_are_left_out() {
    let tree = Tree::new();
    let device = tree.radeon();
    let mut collectors = tree.detect().unwrap();
    for (file, value) in [
        ("hwmon/hwmon4/power1_average", "0"),
        ("hwmon/hwmon4/power1_cap", "0"),
        ("hwmon/hwmon4/temp2_input", "300000"),
        ("gpu_busy_percent", "101"),
        ("mem_busy_percent", "255"),
        ("hwmon/hwmon4/freq1_input", "900000000000"),
    ] {
        tree.write(&format!("{device}/{file}"), value);
    }
    let (heard, _) = poll(&mut collectors);
    let expected = [
        ("amd/0/memory_used", 2304.0),
        ("amd/0/memory_clock", 1218.0),
    ];
    assert_eq!(heard, said(&expected));
    // 65535 W, as a metric of the firmware that is not known would come out.
    tree.write(
        &format!("{device}/hwmon/hwmon4/power1_average"),
        "65535000000",
    );
    let (heard, _) = poll(&mut collectors);
    assert!(heard.iter().all(|(name, _)| name != "amd/0/power"));
}

#[test]
fn without_a_junction_the_edge_is_taken_and_else_the_first() {
    let sensors = [
        (&[("1", "edge"), ("2", "junction"), ("3", "mem")][..], 2.0),
        (&[("1", "edge"), ("3", "mem")][..], 1.0),
        (&[("2", "junction"), ("3", "mem")][..], 2.0),
        (&[("3", "mem")][..], 3.0),
    ];
    for (labels, expected) in sensors {
        let tree = Tree::new();
        let device = tree.card(0, "0000:03:00.0", "744c", &RADEON[5..7]);
        for (number, label) in labels {
            let file = format!("{device}/hwmon/hwmon4/temp{number}");
            tree.write(&format!("{file}_label"), format!("{label}\n"));
            tree.write(&format!("{file}_input"), format!("{number}000\n"));
        }
        let heard = heard(&mut tree.detect().unwrap());
        assert_eq!(heard[1], ("amd/0/temperature".to_owned(), expected));
    }
}

#[test]
fn a_suspended_board_is_left_asleep_and_heard_when_it_wakes() {
    let tree = Tree::new();
    let device = tree.radeon();
    let status = format!("{device}/power/runtime_status");
    tree.write(&status, "suspended\n");
    let mut collectors = tree.detect().unwrap();
    let found = devices(&collectors)[0].clone();
    assert_eq!(
        (found.memory_total_mib, found.power_limit_watts),
        (None, None)
    );
    assert_eq!(found.uuid.as_deref(), Some("b6b7f2a1c0ffee01"));
    let notes = found.notes.join("; ");
    assert!(notes.contains("suspended: not read"), "{notes}");
    assert!(
        notes.contains("amd-smi would wake `0000:2f:00.0`"),
        "{notes}"
    );
    let (heard_asleep, errors) = poll(&mut collectors);
    assert_eq!(heard_asleep, []);
    for error in errors {
        let PollError::Gone(words) = error else {
            panic!("{error:?}");
        };
        assert!(words.contains("`amd/0` is suspended"), "{words}");
    }
    tree.write(&status, "active\n");
    assert_eq!(heard(&mut collectors).len(), 8);
    tree.write(&status, "suspended\n");
    assert_eq!(poll(&mut collectors).0, []);
}

#[test]
fn a_driver_that_is_loaded_again_is_found_under_its_new_number() {
    let tree = Tree::new();
    let device = tree.radeon();
    let mut collectors = tree.detect().unwrap();
    let chip = |number: u32| tree.0.path().join(format!("{device}/hwmon/hwmon{number}"));
    fs::rename(chip(4), chip(9)).unwrap();
    assert_eq!(heard(&mut collectors).len(), 8);
    fs::remove_dir_all(chip(9)).unwrap();
    let (_, errors) = poll(&mut collectors);
    assert!(matches!(&errors[0], PollError::Gone(_)), "{errors:?}");
}

#[test]
fn the_second_die_of_a_package_has_no_energy_of_its_own() {
    for (model, has_two) in [("740c", true), ("7408", true), ("740f", false)] {
        let tree = Tree::new();
        for (number, bus) in ["d6", "c1", "d1", "c6"].iter().enumerate() {
            let number = u32::try_from(number).unwrap();
            tree.card(number, &format!("0000:{bus}:00.0"), model, &RADEON);
        }
        let collectors = tree.detect().unwrap();
        let powers = sources(&collectors)
            .iter()
            .filter(|source| matches!(source.quantity, Quantity::Power { .. }))
            .map(|source| source.name.clone())
            .collect::<Vec<_>>();
        let devices = devices(&collectors);
        assert_eq!(devices.len(), 4, "each device once");
        if has_two {
            assert_eq!(powers, ["amd/0/power", "amd/2/power"]);
            assert!(devices[3].notes[0].contains("`amd/2` reports the energy of both"));
            assert!(devices[2].notes[0].contains("both dies"));
        } else {
            assert_eq!(powers.len(), 4);
        }
    }
}

#[test]
fn boards_are_chosen_by_number_place_or_identity_and_else_by_the_environment() {
    let tree = Tree::new();
    for (number, (bus, id)) in [("83", "cc03"), ("03", "aa01"), ("43", "bb02")]
        .iter()
        .enumerate()
    {
        let number = u32::try_from(number).unwrap();
        let device = tree.card(number, &format!("0000:{bus}:00.0"), "744c", &RADEON);
        tree.write(&format!("{device}/unique_id"), id);
    }
    let table: [(&[&str], Option<&str>, &[&str]); 17] = [
        (&[], None, &["03", "43", "83"]),
        (&["1"], None, &["43"]),
        (&["2", "0", "2"], None, &["03", "83"]),
        (&["amd/2"], None, &["83"]),
        (&["0000:43:00.0"], None, &["43"]),
        (&["43:00.0", "03:00.0"], None, &["03", "43"]),
        (&["bb02"], None, &["43"]),
        (&["GPU-CC03"], None, &["83"]),
        (&["0xaa01"], None, &["03"]),
        (&["0", "9", "GPU-nvidia"], None, &["03"]),
        (&["9"], None, &[]),
        (&["1"], Some(""), &["43"]),
        (&[], Some("2,0"), &["03", "83"]),
        (&[], Some(" GPU-bb02 , 0"), &["03", "43"]),
        (&[], Some("0,-1,1"), &["03"]),
        (&[], Some("-1"), &[]),
        (&[], Some(""), &[]),
    ];
    for (named, visible, expected) in table {
        let gpus = Gpus {
            named: named.iter().map(|name| (*name).to_owned()).collect(),
            cuda_visible: Some("0".to_owned()),
            rocm_visible: visible.map(str::to_owned),
        };
        let found = detect(&Options {
            gpus,
            ..tree.options()
        });
        let buses: Vec<String> = match &found {
            Ok(collectors) => devices(collectors)
                .iter()
                .map(|device| device.pci.as_ref().unwrap()[5..7].to_owned())
                .collect(),
            Err(absent) => {
                assert!(absent.is_here);
                assert!(
                    absent.reason.contains("1 (`0000:43:00.0`)"),
                    "{}",
                    absent.reason
                );
                Vec::new()
            }
        };
        assert_eq!(buses, expected, "gpu {named:?} with {visible:?}");
    }
}

#[test]
fn a_board_keeps_its_number_whichever_are_chosen() {
    let tree = Tree::new();
    tree.card(0, "0000:03:00.0", "744c", &RADEON);
    tree.card(1, "0000:43:00.0", "744c", &RADEON);
    let gpus = Gpus {
        named: vec!["1".to_owned()],
        ..Gpus::default()
    };
    let collectors = detect(&Options {
        gpus,
        ..tree.options()
    })
    .unwrap();
    assert!(
        sources(&collectors)
            .iter()
            .all(|source| source.name.starts_with("amd/1/"))
    );
}

/// The files of a card that a driver could fill with anything.
const FILES: [&str; 12] = [
    "vendor",
    "device",
    "uevent",
    "unique_id",
    "product_name",
    "power/runtime_status",
    "gpu_busy_percent",
    "mem_info_vram_used",
    "hwmon/hwmon4/name",
    "hwmon/hwmon4/power1_average",
    "hwmon/hwmon4/power1_cap",
    "hwmon/hwmon4/temp2_input",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_files_say_nothing_breaks_and_no_number_is_impossible(
        contents in prop::collection::vec(
            prop::option::of(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..24),
                any::<i64>().prop_map(|number| number.to_string().into_bytes()),
            ]),
            FILES.len(),
        ),
    ) {
        let tree = Tree::new();
        let device = tree.radeon();
        let mut collectors = tree.detect().unwrap();
        for (file, content) in FILES.iter().zip(&contents) {
            if let Some(content) = content {
                tree.write(&format!("{device}/{file}"), content);
            }
        }
        let mut all = poll(&mut collectors).0;
        if let Ok(mut again) = tree.detect() {
            all.extend(poll(&mut again).0);
        }
        for (name, value) in all {
            prop_assert!(value.is_finite() && value >= 0.0, "{name}: {value}");
            let is_power = name.ends_with("power");
            prop_assert!(!is_power || (value > 0.0 && value <= LARGEST_WATTS), "{name}: {value}");
        }
    }
}

#[test]
fn a_directory_or_a_dead_link_in_the_place_of_a_file_is_no_fault_of_ours() {
    let tree = Tree::new();
    let device = tree.radeon();
    let path = |file: &str| -> PathBuf { tree.0.path().join(&device).join(file) };
    fs::remove_file(path("gpu_busy_percent")).unwrap();
    fs::create_dir(path("gpu_busy_percent")).unwrap();
    fs::remove_file(path("hwmon/hwmon4/power1_cap")).unwrap();
    symlink("/nowhere/at/all", path("hwmon/hwmon4/power1_cap")).unwrap();
    let heard = heard(&mut tree.detect().unwrap());
    assert_eq!(heard.len(), 6, "{heard:?}");
    assert_eq!(Timestamp::ZERO, ManualClock::default().now());
}
