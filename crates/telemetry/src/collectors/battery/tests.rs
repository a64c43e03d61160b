//! Files and units are those of the kernel's `ABI/testing/sysfs-class-power`; the values of the
//! first tree are a Lenovo Legion Go S's (`emerytech/couchside`, `tests/test_box_battery.py`), those
//! of the second a Dell's with a current only.

use super::*;
use crate::collectors::sysfs::tests::{Machine, NONSENSE, domains, names, poll, said};

const BAT0: &str = "sys/class/power_supply/BAT0";

fn legion() -> Machine {
    let machine = Machine::new();
    let files = [
        ("type", "Battery"),
        ("status", "Discharging"),
        ("present", "1"),
        ("voltage_now", "11705000"),
        ("power_now", "22543000"),
        ("energy_now", "32350000"),
    ];
    machine.write_all(BAT0, &files);
    machine.write_all(
        "sys/class/power_supply/ACAD",
        &[("type", "Mains"), ("online", "0")],
    );
    machine
}

fn found(machine: &Machine) -> Box<dyn Collector> {
    let found = detect(&machine.options());
    found.map_err(|absent| absent.reason).unwrap().remove(0)
}

fn refused(machine: &Machine) -> Absent {
    detect(&machine.options()).err().unwrap()
}

#[test]
fn a_battery_that_feeds_the_machine_says_what_all_of_it_draws() {
    let machine = legion();
    let mut collector = found(&machine);
    assert_eq!(domains(&*collector), [Some(Domain::Platform)]);
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0", 22.543)])
    );
    let interval = |millis| {
        collector
            .interval(Duration::from_millis(millis))
            .as_millis()
    };
    assert_eq!((interval(10), interval(2000)), (500, 2000));
}

#[test]
fn volts_and_amperes_do_as_well_and_out_may_be_negative() {
    let machine = Machine::new();
    let files = [
        ("type", "Battery"),
        ("status", "Discharging"),
        ("voltage_now", "11712000"),
        ("current_now", "1621000"),
    ];
    machine.write_all(BAT0, &files);
    let mut collector = found(&machine);
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0", 18.985_152)])
    );
    machine.write(&format!("{BAT0}/current_now"), "-1621000\n");
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0", 18.985_152)])
    );
}

#[test]
fn on_the_mains_it_says_nothing_and_that_is_no_fault() {
    let machine = legion();
    let mut collector = found(&machine);
    for status in ["Charging", "Full", "Not charging", "Unknown", ""] {
        machine.write(&format!("{BAT0}/status"), status);
        assert_eq!(poll(&mut *collector).unwrap(), [], "{status:?}");
    }
    machine.write(&format!("{BAT0}/status"), "Discharging\n");
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0", 22.543)])
    );
}

#[test]
fn a_battery_on_the_mains_is_here_and_the_fix_is_to_unplug_it() {
    let machine = legion();
    machine.write(&format!("{BAT0}/status"), "Charging\n");
    let absent = refused(&machine);
    assert!(
        absent.is_here && absent.reason.contains("`BAT0` is `Charging`"),
        "{absent:?}"
    );
    assert_eq!(absent.fix.as_deref(), Some("unplug the charger"));
}

#[test]
fn two_batteries_are_one_machine() {
    let machine = legion();
    let second = "sys/class/power_supply/BAT1";
    let files = [
        ("type", "Battery"),
        ("status", "Not charging"),
        ("power_now", "0"),
    ];
    machine.write_all(second, &files);
    let mut collector = found(&machine);
    assert_eq!(names(&*collector), ["battery/BAT0+BAT1"]);
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0+BAT1", 22.543)])
    );
    machine.write_all(
        second,
        &[("status", "Discharging"), ("power_now", "1457000")],
    );
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0+BAT1", 24.0)])
    );
    machine.write(&format!("{second}/power_now"), "");
    assert!(
        poll(&mut *collector).is_err(),
        "one of two would pass for both"
    );
}

#[test]
fn a_mouse_is_no_machine() {
    let machine = Machine::new();
    let mouse = [
        ("type", "Battery"),
        ("scope", "Device"),
        ("status", "Discharging"),
        ("power_now", "1000"),
    ];
    machine.write_all("sys/class/power_supply/hidpp_battery_0", &mouse);
    assert!(!refused(&machine).is_here);
    machine.write_all(
        "sys/class/power_supply/BAT9",
        &[("type", "Battery"), ("present", "0")],
    );
    assert!(!refused(&machine).is_here);
}

#[test]
fn a_battery_without_power_is_here_and_cannot_be_read() {
    let machine = Machine::new();
    machine.write_all(BAT0, &[("type", "Battery"), ("status", "Discharging")]);
    let absent = refused(&machine);
    assert!(absent.is_here && absent.fix.is_none(), "{absent:?}");
}

#[test]
fn nonsense_is_left_out_and_a_battery_that_is_taken_out_is_gone_until_it_is_back() {
    let machine = legion();
    let mut collector = found(&machine);
    // Negative is a direction here.
    for nonsense in NONSENSE.iter().filter(|text| **text != "-1000") {
        machine.write(&format!("{BAT0}/power_now"), nonsense);
        assert!(
            matches!(poll(&mut *collector), Err(PollError::Retry(_))),
            "{nonsense:?}"
        );
    }
    machine.remove(BAT0);
    assert!(matches!(poll(&mut *collector), Err(PollError::Gone(_))));
    let files = [("status", "Discharging"), ("power_now", "9000000")];
    machine.write_all(BAT0, &files);
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("battery/BAT0", 9.0)])
    );
}
