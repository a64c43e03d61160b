//! The files are those of the kernel's `hwmon/acpi_power_meter`; the names of the meters are what
//! NVIDIA's firmware gives them (`NVIDIA/edk2-nvidia`, `BpmpSsdtSocket0.asl` of TH500 in its
//! versions), and the tree is that of Alumet's tests (`alumet-dev/alumet`,
//! `plugins/grace-hopper/tests/tests.rs`).

use super::*;
use crate::PollError;
use crate::collectors::sysfs::tests::{Machine, NONSENSE, domains, names, poll, said};

/// `hwmon<number>/device` with a meter.
fn meter_at(machine: &Machine, number: u32, info: &str, microwatts: &str, millis: &str) {
    let files = [
        ("power1_oem_info", info),
        ("power1_average", microwatts),
        ("power1_average_interval", millis),
    ];
    machine.write_all(&format!("sys/class/hwmon/hwmon{number}/device"), &files);
}

fn superchip() -> Machine {
    let machine = Machine::new();
    meter_at(&machine, 1, "Module Power Socket 0", "80000000", "50");
    meter_at(&machine, 2, "Grace Power Socket 0", "62000000", "50");
    meter_at(&machine, 3, "CPU Power Socket 0", "42000000", "100");
    meter_at(&machine, 6, "SysIO Power Socket 0", "18000000", "77");
    machine
}

fn found(machine: &Machine) -> Box<dyn Collector> {
    let found = detect(&machine.options());
    found.map_err(|absent| absent.reason).unwrap().remove(0)
}

#[test]
fn a_superchip_shows_its_module_its_cpu_and_what_is_inside() {
    let machine = superchip();
    machine.write("sys/class/hwmon/hwmon0/name", "nvme\n");
    let mut collector = found(&machine);
    let expected = [
        Domain::Module,
        Domain::CpuPackage,
        Domain::CpuCore,
        Domain::CpuUncore,
    ];
    assert_eq!(domains(&*collector), expected.map(Some));
    let expected = said([
        ("grace/module-0", 80.0),
        ("grace/grace-0", 62.0),
        ("grace/cpu-0", 42.0),
        ("grace/sysio-0", 18.0),
    ]);
    assert_eq!(poll(&mut *collector).unwrap(), expected);
}

#[test]
fn a_meter_says_how_long_it_averages_and_fifty_milliseconds_stand_in() {
    let machine = superchip();
    for (millis, expected) in [
        ("1000", 1000),
        ("", 50),
        ("0", 50),
        ("-1", 50),
        ("soon", 50),
    ] {
        meter_at(&machine, 1, "Module Power Socket 0", "1", millis);
        let period = found(&machine).sources()[0].period;
        assert_eq!(period, Some(Duration::from_millis(expected)), "{millis:?}");
    }
    machine.remove("sys/class/hwmon/hwmon1/device/power1_average_interval");
    assert_eq!(found(&machine).sources()[0].period, Some(AVERAGING));
}

#[test]
fn both_sockets_count_and_the_same_meter_only_once() {
    let machine = superchip();
    meter_at(&machine, 4, "Grace Power Socket 1", "40000000", "50");
    // A kernel that shows the files beside `device`, and one that shows them in both places.
    let files = [
        ("power1_oem_info", "CPU Power Socket 1"),
        ("power1_average", "35000000"),
    ];
    machine.write_all("sys/class/hwmon/hwmon5", &files);
    let files = [
        ("power1_oem_info", "Grace Power Socket 1"),
        ("power1_average", "40000000"),
    ];
    machine.write_all("sys/class/hwmon/hwmon4", &files);
    let expected = [
        "grace/module-0",
        "grace/grace-0",
        "grace/cpu-0",
        "grace/grace-1",
        "grace/cpu-1",
        "grace/sysio-0",
    ];
    assert_eq!(names(&*found(&machine)), expected);
}

#[test]
fn early_firmware_has_other_names_for_two_of_them() {
    let grace = identity("Grace Power Socket 1");
    assert!(grace.is_some() && identity("TH500 Power Socket 1") == grace);
    let rail = identity("SysIO Power Socket 0");
    assert!(rail.is_some() && identity("SoC Power Socket 0") == rail);
}

#[test]
fn meters_of_other_machines_are_left_alone() {
    for info in [
        "",
        "Total Power",
        "GPU Power Socket 0",
        "CPU Power Socket x",
        " Power Socket 0",
    ] {
        assert_eq!(identity(info), None, "{info:?}");
    }
    let machine = Machine::new();
    meter_at(&machine, 0, "Intel(R) Power Meter", "80000000", "50");
    let absent = detect(&machine.options()).err().unwrap();
    assert!(!absent.is_here, "{absent:?}");
}

#[test]
fn nonsense_is_left_out_and_a_meter_that_vanishes_is_gone_until_it_is_back() {
    let machine = Machine::new();
    meter_at(&machine, 1, "Grace Power Socket 0", "62000000", "50");
    let mut collector = found(&machine);
    for nonsense in NONSENSE {
        machine.write("sys/class/hwmon/hwmon1/device/power1_average", nonsense);
        assert!(
            matches!(poll(&mut *collector), Err(PollError::Retry(_))),
            "{nonsense:?}"
        );
    }
    machine.remove("sys/class/hwmon/hwmon1");
    assert!(matches!(poll(&mut *collector), Err(PollError::Gone(_))));
    meter_at(&machine, 1, "Grace Power Socket 0", "55000000", "50");
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("grace/grace-0", 55.0)])
    );
}

#[test]
fn a_grace_without_meters_says_which_option_the_kernel_needs() {
    let machine = Machine::new();
    machine.write("sys/devices/soc0/soc_id", "jep106:036b:0241\n");
    let absent = detect(&machine.options()).err().unwrap();
    assert!(absent.is_here);
    for option in [
        "CONFIG_SENSORS_ACPI_POWER",
        "acpi_power_meter.force_cap_on=y",
    ] {
        assert!(absent.reason.contains(option), "{absent:?}");
    }
    assert!(absent.fix.unwrap().contains("modprobe acpi_power_meter"));
}

/// Others build servers around the same core: Graviton4, Axion.
#[test]
fn the_core_alone_makes_no_grace() {
    let machine = Machine::new();
    let cpu = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
    machine.write("proc/cpuinfo", cpu);
    let is_here = |machine: &Machine| detect(&machine.options()).err().unwrap().is_here;
    assert!(!is_here(&machine));
    machine.write("dev/nvidiactl", "");
    assert!(is_here(&machine), "with NVIDIA's driver it is one");
    machine.write("sys/devices/soc0/soc_id", "jep106:0a16:0001\n");
    assert!(
        !is_here(&machine),
        "what the chip says of itself counts most"
    );
}
