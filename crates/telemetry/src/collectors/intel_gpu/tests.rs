//! The first tree is the one that the owner of an Arc Pro B70 describes (`aristocratos/btop#1457`:
//! labels, a cap and no power), with the temperatures of the kernel's
//! `ABI/testing/sysfs-driver-intel-xe-hwmon`; the second is an Arc A770 as
//! `ABI/testing/sysfs-driver-intel-i915-hwmon` has it.

use super::*;
use crate::PollError;
use crate::collectors::sysfs::tests::{Machine, domains, names, poll, said};

const CARD: &str = "sys/class/drm/card1";
const HWMON: &str = "sys/class/drm/card1/device/hwmon/hwmon7";

fn card(machine: &Machine, directory: &str, device: &str, pci: &str) {
    let uevent = format!("DRIVER=xe\nPCI_CLASS=30000\nPCI_SLOT_NAME={pci}");
    let files = [
        ("vendor", VENDOR),
        ("device", device),
        ("uevent", &*uevent),
        ("power/runtime_status", "active"),
    ];
    machine.write_all(&format!("{directory}/device"), &files);
}

fn b70() -> Machine {
    let machine = Machine::new();
    card(&machine, CARD, "0xe223", "0000:03:00.0");
    let files = [
        ("name", "xe"),
        ("energy1_label", "card"),
        ("energy1_input", "4140000000"),
        ("energy2_label", "pkg"),
        ("energy2_input", "2500000000"),
        ("power1_label", "card"),
        ("power1_cap", "275000000"),
        ("power1_crit", "550000000"),
        ("temp2_label", "pkg"),
        ("temp2_input", "48000"),
        ("temp3_label", "vram"),
        ("temp3_input", "60000"),
    ];
    machine.write_all(HWMON, &files);
    // What else there is of a card.
    machine.write("sys/class/drm/card1-DP-1/status", "connected\n");
    machine.write("sys/class/drm/renderD128/dev", "226:128\n");
    machine
}

fn found(machine: &Machine) -> Vec<Box<dyn Collector>> {
    let found = detect(&machine.options());
    found.map_err(|absent| absent.reason).unwrap()
}

fn refused(machine: &Machine) -> Absent {
    detect(&machine.options()).err().unwrap()
}

#[test]
fn a_board_counts_its_card_and_the_package_is_inside() {
    let machine = b70();
    let mut collectors = found(&machine);
    assert_eq!(
        domains(&*collectors[0]),
        [Some(Domain::Gpu), Some(Domain::Rail)]
    );
    let expected = said([("intel_gpu/0", 4140.0), ("intel_gpu/0/pkg", 2500.0)]);
    assert_eq!(poll(&mut *collectors[0]).unwrap(), expected);
    for source in collectors[0].sources() {
        let Quantity::Energy { rollover, .. } = source.quantity else {
            panic!("{source:?}");
        };
        assert_eq!(rollover, Rollover::Resets);
        assert!(source.is_measured_energy());
    }
}

#[test]
fn a_board_says_what_it_is() {
    let collectors = found(&b70());
    let devices = collectors[0].devices();
    let expected = Device {
        id: "intel_gpu/0".to_owned(),
        name: Some("Intel Arc Pro B70".to_owned()),
        vendor: Some("Intel".to_owned()),
        index: Some(0),
        device_type: Some("GPU".to_owned()),
        backend: Some("xe".to_owned()),
        pci: Some("0000:03:00.0".to_owned()),
        power_limit_watts: Some(275.0),
        ..Device::default()
    };
    assert_eq!(devices, [expected]);
    assert!(
        collectors[1].devices().is_empty(),
        "no device is there twice"
    );
}

#[test]
fn state_is_apart_and_the_limit_is_not_what_makes_it_cut_out() {
    let machine = b70();
    let mut collectors = found(&machine);
    assert_eq!(collectors.len(), 2);
    let expected = said([
        ("intel_gpu/0/temperature", 48.0),
        ("intel_gpu/0/power_limit", 275.0),
    ]);
    assert_eq!(poll(&mut *collectors[1]).unwrap(), expected);
    // Zero means that there is no limit.
    machine.write(&format!("{HWMON}/power1_max"), "0\n");
    let mut collectors = found(&machine);
    assert_eq!(collectors[0].devices()[0].power_limit_watts, None);
    let expected = said([("intel_gpu/0/temperature", 48.0)]);
    assert_eq!(poll(&mut *collectors[1]).unwrap(), expected);
}

#[test]
fn the_older_driver_has_one_counter_without_a_label() {
    let machine = Machine::new();
    card(&machine, "sys/class/drm/card0", "0x56a0", "0000:2f:00.0");
    let hwmon = "sys/class/drm/card0/device/hwmon/hwmon3";
    let files = [
        ("name", "i915"),
        ("energy1_input", "123456789"),
        ("in0_input", "650"),
        ("power1_max", "190000000"),
    ];
    machine.write_all(hwmon, &files);
    let mut collectors = found(&machine);
    let expected = said([("intel_gpu/0", 123.456_789)]);
    assert_eq!(poll(&mut *collectors[0]).unwrap(), expected);
    let device = &collectors[0].devices()[0];
    assert_eq!(device.name.as_deref(), Some("Intel Arc A770"));
    assert_eq!(device.power_limit_watts, Some(190.0));
    assert!(device.notes.is_empty());
}

#[test]
fn a_package_alone_stands_for_the_board_and_that_is_said() {
    let machine = b70();
    machine.remove(&format!("{HWMON}/energy1_input"));
    let collectors = found(&machine);
    assert_eq!(names(&*collectors[0]), ["intel_gpu/0"]);
    assert_eq!(domains(&*collectors[0]), [Some(Domain::Gpu)]);
    assert_eq!(collectors[0].devices()[0].notes.len(), 1);
    // Without labels the second counter is the package's.
    machine.remove(&format!("{HWMON}/energy2_label"));
    machine.write(&format!("{HWMON}/energy1_input"), "1\n");
    machine.remove(&format!("{HWMON}/energy1_label"));
    assert_eq!(
        names(&*found(&machine)[0]),
        ["intel_gpu/0", "intel_gpu/0/pkg"]
    );
}

#[test]
fn a_gpu_inside_a_cpu_is_left_to_rapl() {
    let machine = Machine::new();
    card(&machine, "sys/class/drm/card0", "0xa780", "0000:00:02.0");
    let absent = refused(&machine);
    assert!(
        absent.is_here && absent.reason.contains("RAPL"),
        "{absent:?}"
    );
    // A board of a driver that does not count is something else.
    machine.write(&format!("{HWMON}/name"), "xe\n");
    card(&machine, CARD, "0x56a0", "0000:03:00.0");
    let absent = refused(&machine);
    assert!(absent.reason.contains("energy1_input"), "{absent:?}");
}

#[test]
fn other_vendors_and_other_monitors_are_left_alone() {
    let machine = Machine::new();
    assert!(!refused(&machine).is_here);
    card(&machine, "sys/class/drm/card0", "0x744c", "0000:0a:00.0");
    machine.write("sys/class/drm/card0/device/vendor", "0x1002\n");
    assert!(!refused(&machine).is_here);
    let machine = b70();
    machine.write(&format!("{HWMON}/name"), "i915_gt0\n");
    assert!(detect(&machine.options()).is_err());
}

#[test]
fn a_board_that_sleeps_is_not_woken() {
    let machine = b70();
    let status = format!("{CARD}/device/power/runtime_status");
    machine.write(&status, "suspended\n");
    let mut collectors = found(&machine);
    assert_eq!(collectors[0].devices()[0].power_limit_watts, None);
    for collector in &mut collectors {
        assert_eq!(poll(&mut **collector).unwrap(), []);
    }
    machine.write(&status, "active\n");
    assert_eq!(poll(&mut *collectors[0]).unwrap().len(), 2);
}

#[test]
fn nonsense_in_one_counter_does_not_hide_the_other() {
    let machine = b70();
    let mut collectors = found(&machine);
    let energy = format!("{HWMON}/energy1_input");
    let largest = u64::MAX.to_string();
    for nonsense in ["", "\n", "N/A", "-5", "1.5", &largest, &"9".repeat(40)] {
        machine.write(&energy, nonsense);
        let heard = poll(&mut *collectors[0]).unwrap();
        assert_eq!(heard, said([("intel_gpu/0/pkg", 2500.0)]), "{nonsense:?}");
    }
    machine.write(&format!("{HWMON}/energy2_input"), "x");
    assert!(matches!(
        poll(&mut *collectors[0]),
        Err(PollError::Retry(_))
    ));
}

#[test]
fn a_board_that_vanishes_is_gone_until_it_is_back() {
    let machine = b70();
    let mut collectors = found(&machine);
    machine.remove(CARD);
    let error = poll(&mut *collectors[0]).unwrap_err();
    assert!(matches!(&error, PollError::Gone(words) if words.contains("energy1_input")));
    machine.write_all(HWMON, &[("energy1_input", "5000000")]);
    let expected = said([("intel_gpu/0", 5.0)]);
    assert_eq!(poll(&mut *collectors[0]).unwrap(), expected);
}

#[test]
fn boards_are_numbered_and_only_those_that_are_meant_are_read() {
    let machine = b70();
    card(&machine, "sys/class/drm/card0", "0xa780", "0000:00:02.0");
    card(&machine, "sys/class/drm/card2", "0x56a0", "0000:04:00.0");
    let second = "sys/class/drm/card2/device/hwmon/hwmon8";
    machine.write_all(second, &[("name", "xe"), ("energy1_input", "1")]);
    let ids = |named: &[&str]| -> Vec<String> {
        let mut options = machine.options();
        options.gpus.named = named.iter().map(|name| (*name).to_owned()).collect();
        let collectors = detect(&options).unwrap_or_default();
        let devices = collectors.iter().flat_map(|collector| collector.devices());
        devices.map(|device| device.id.clone()).collect()
    };
    assert_eq!(ids(&[]), ["intel_gpu/0", "intel_gpu/1"]);
    assert_eq!(ids(&["0000:04:00.0"]), ["intel_gpu/1"]);
    assert_eq!(ids(&["0"]), ["intel_gpu/0"]);
    assert_eq!(ids(&["intel_gpu/1", "GPU-x"]), ["intel_gpu/1"]);
    assert!(ids(&["7"]).is_empty());
}

/// Root may read everything, so a separate thread gives that right up.
#[cfg(target_os = "linux")]
#[test]
fn counters_that_may_not_be_read_are_absent_with_the_command_that_opens_them() {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let machine = b70();
    for number in [1, 2] {
        let file = machine.path(&format!("{HWMON}/energy{number}_input"));
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o200)).unwrap();
    }
    let without_rights = || {
        let mut sets = capabilities(None).unwrap();
        let rights = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        sets.effective.remove(rights);
        set_capabilities(None, sets).unwrap();
        refused(&machine)
    };
    let absent = std::thread::scope(|scope| scope.spawn(without_rights).join().unwrap());
    assert!(
        absent.is_here && absent.reason.contains("permission denied"),
        "{absent:?}"
    );
    assert!(absent.fix.unwrap().starts_with("sudo chmod a+r "));
}
