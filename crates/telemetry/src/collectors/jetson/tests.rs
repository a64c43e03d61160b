//! Trees as public sources show them: the Xavier NX of Alumet's plug-in (`alumet-dev/alumet`,
//! `plugins/nvidia-jetson/README.md`), the AGX Orin of two reports (`alumet-dev/alumet#212`, a dump
//! of its second chip whose channels cannot all be read; `rbonghi/jetson_stats#428`), the Nano of
//! Kepler's tests (`sustainable-computing-io/kepler`, `internal/device/testdata/sys/bus/iio`), the
//! places of the GPU's load (`rbonghi/jetson_stats#360`), and the kernel's `hwmon/ina3221`.

use super::*;
use crate::PollError;
use crate::collectors::sysfs::tests::{Machine, NONSENSE, domains, names, poll, said};

const CHIP: &str = "sys/bus/i2c/drivers/ina3221/7-0040/hwmon/hwmon6";

/// A chip of the kernel's driver: label, millivolts and milliamperes of each channel.
fn chip(machine: &Machine, directory: &str, rails: &[(&str, &str, &str)]) {
    machine.write(&format!("{directory}/name"), "ina3221\n");
    for (place, (label, volts, amperes)) in rails.iter().enumerate() {
        let number = place + 1;
        machine.write(
            &format!("{directory}/in{number}_label"),
            &format!("{label}\n"),
        );
        machine.write(
            &format!("{directory}/in{number}_input"),
            &format!("{volts}\n"),
        );
        machine.write(
            &format!("{directory}/curr{number}_input"),
            &format!("{amperes}\n"),
        );
    }
    machine.write(&format!("{directory}/in7_label"), "sum of shunt voltages\n");
    machine.write(&format!("{directory}/in7_input"), "4000\n");
    machine.write(&format!("{directory}/curr4_input"), "5000\n");
}

fn xavier_nx() -> Machine {
    let machine = Machine::new();
    let rails = [
        ("VDD_IN", "4960", "1200"),
        ("VDD_CPU_GPU_CV", "4960", "300"),
        ("VDD_SOC", "4952", "400"),
    ];
    chip(&machine, CHIP, &rails);
    machine.write(
        "proc/device-tree/model",
        "NVIDIA Jetson Xavier NX Developer Kit\0",
    );
    machine
}

fn found(machine: &Machine) -> Vec<Box<dyn Collector>> {
    let found = detect(&machine.options());
    found.map_err(|absent| absent.reason).unwrap()
}

fn energy(machine: &Machine) -> Box<dyn Collector> {
    found(machine).remove(0)
}

#[test]
fn the_input_is_the_board_and_shared_rails_have_no_owner() {
    let machine = xavier_nx();
    let mut collector = energy(&machine);
    assert_eq!(
        domains(&*collector),
        [Domain::Soc, Domain::Rail, Domain::Rail].map(Some)
    );
    let expected = said([
        ("jetson/VDD_IN", 5.952),
        ("jetson/VDD_CPU_GPU_CV", 1.488),
        ("jetson/VDD_SOC", 1.9808),
    ]);
    assert_eq!(poll(&mut *collector).unwrap(), expected);
    let device = &collector.devices()[0];
    assert_eq!(device.id, "jetson/0");
    assert_eq!(
        device.name.as_deref(),
        Some("NVIDIA Jetson Xavier NX Developer Kit")
    );
    assert_eq!(device.vendor.as_deref(), Some("NVIDIA"));
    assert_eq!(device.device_type.as_deref(), Some("SoC"));
}

#[test]
fn without_an_input_the_gpu_and_the_cpu_stand_for_themselves() {
    let machine = Machine::new();
    let first = [
        ("VDD_GPU_SOC", "19000", "126"),
        ("VDD_CPU_CV", "19000", "84"),
        ("VIN_SYS_5V0", "5000", "941"),
    ];
    let drivers = "sys/bus/i2c/drivers/ina3221";
    chip(&machine, &format!("{drivers}/1-0040/hwmon/hwmon3"), &first);
    let second = [
        ("NC", "0", "0"),
        ("VDDQ_VDD2_1V8AO", "5000", "80"),
        ("NC", "0", "0"),
    ];
    chip(&machine, &format!("{drivers}/1-0041/hwmon/hwmon2"), &second);
    machine.write(&format!("{drivers}/1-0041/hwmon/hwmon2/in3_enable"), "0\n");
    machine.write(&format!("{drivers}/bind"), "");
    let mut collector = energy(&machine);
    let expected = [
        ("jetson/VDD_GPU_SOC", Domain::Gpu),
        ("jetson/VDD_CPU_CV", Domain::CpuPackage),
        ("jetson/VIN_SYS_5V0", Domain::Rail),
        ("jetson/VDDQ_VDD2_1V8AO", Domain::Rail),
    ];
    assert_eq!(names(&*collector), expected.map(|(name, _)| name));
    assert_eq!(
        domains(&*collector),
        expected.map(|(_, domain)| Some(domain))
    );
    let heard = poll(&mut *collector).unwrap();
    assert_eq!(heard[0], ("jetson/VDD_GPU_SOC".to_owned(), 2.394));
    assert_eq!(collector.devices()[0].name, None);
}

#[test]
fn the_old_driver_says_milliwatts() {
    let machine = Machine::new();
    let rails = [
        ("rail_name_0", "POM_5V_IN"),
        ("in_power0_input", "2363"),
        ("rail_name_1", "POM_5V_GPU"),
        ("in_power1_input", "0"),
        ("rail_name_2", "POM_5V_CPU"),
        ("in_power2_input", "761"),
        ("in_voltage2_input", "4984"),
    ];
    machine.write_all("sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0", &rails);
    let mut collector = energy(&machine);
    let expected = [Domain::Soc, Domain::Gpu, Domain::CpuPackage];
    assert_eq!(domains(&*collector), expected.map(Some));
    let expected = said([
        ("jetson/POM_5V_IN", 2.363),
        ("jetson/POM_5V_GPU", 0.0),
        ("jetson/POM_5V_CPU", 0.761),
    ]);
    assert_eq!(poll(&mut *collector).unwrap(), expected);
}

/// TX2's developer kit measures the supply of a slot, too.
#[test]
fn the_supply_of_a_slot_is_not_the_board() {
    let labelled = |label: &str| Rail {
        label: label.to_owned(),
        value: Value::scaled(PathBuf::new(), 1.0, POWER),
        averaging: Duration::ZERO,
    };
    let total = |labels: &[&str]| {
        let rails: Vec<Rail> = labels.iter().map(|label| labelled(label)).collect();
        input(&rails)
    };
    let tx2 = ["VDD_SYS_GPU", "VDD_M2_IN", "VDD_IN", "VDD_SYS_CPU"];
    assert_eq!(total(&tx2).as_deref(), Some("VDD_IN"));
    assert_eq!(total(&["VDD_M2_IN", "VDD_SYS_GPU"]), None);
    assert_eq!(
        total(&["CARRIER_12V_IN", "GPU"]).as_deref(),
        Some("CARRIER_12V_IN")
    );
    assert_eq!(total(&["A_IN", "B_IN"]), None);
    assert_eq!(total(&["VIN_SYS_5V0", "SPIN"]), None);
}

#[test]
fn two_rails_of_the_gpu_are_added_and_not_one_taken_for_the_other() {
    use ipw_core::rollup::{Use, uses};
    let machine = Machine::new();
    chip(
        &machine,
        CHIP,
        &[("VDD_GPU", "1000", "1"), ("VDD_GPU_SRAM", "1000", "1")],
    );
    let collector = energy(&machine);
    let sources: Vec<&Source> = collector.sources().iter().collect();
    assert_eq!(uses(&sources, |_| false), [Use::Headline, Use::Headline]);
}

#[test]
fn a_chip_that_is_there_twice_is_read_once() {
    let machine = xavier_nx();
    fs::create_dir_all(machine.path("sys/class/hwmon")).unwrap();
    let link = machine.path("sys/class/hwmon/hwmon6");
    std::os::unix::fs::symlink(machine.path(CHIP), link).unwrap();
    assert_eq!(energy(&machine).sources().len(), 3);
    // And one that only its class shows is found.
    let machine = Machine::new();
    chip(
        &machine,
        "sys/class/hwmon/hwmon4",
        &[("VDD_IN", "5000", "1000")],
    );
    machine.write("sys/class/hwmon/hwmon1/name", "ina219\n");
    machine.write("sys/class/hwmon/hwmon1/in1_label", "VDD_OTHER\n");
    assert_eq!(names(&*energy(&machine)), ["jetson/VDD_IN"]);
}

#[test]
fn the_driver_says_how_long_it_averages() {
    let machine = xavier_nx();
    let quantity = |machine: &Machine| {
        let collector = energy(machine);
        let source = &collector.sources()[0];
        let ipw_core::source::Quantity::Power { averaging, .. } = source.quantity else {
            panic!("no power");
        };
        (averaging.as_millis(), source.period)
    };
    assert_eq!(quantity(&machine), (0, None));
    machine.write(&format!("{CHIP}/update_interval"), "140\n");
    assert_eq!(quantity(&machine), (140, Some(Duration::from_millis(140))));
    for nonsense in NONSENSE {
        machine.write(&format!("{CHIP}/update_interval"), nonsense);
        assert_eq!(quantity(&machine), (0, None), "{nonsense:?}");
    }
}

#[test]
fn the_gpu_says_how_warm_and_how_busy_it_is() {
    let machine = xavier_nx();
    machine.write_all(
        "sys/class/thermal/thermal_zone0",
        &[("type", "CPU-therm"), ("temp", "50000")],
    );
    machine.write_all(
        "sys/class/thermal/thermal_zone1",
        &[("type", "GPU-therm"), ("temp", "46030")],
    );
    machine.write("sys/devices/platform/gpu.0/load", "263\n");
    let mut collectors = found(&machine);
    assert_eq!(collectors.len(), 2);
    let expected = said([("jetson/0/temperature", 46.03), ("jetson/0/use", 26.3)]);
    assert_eq!(poll(&mut *collectors[1]).unwrap(), expected);
    assert!(
        collectors[1].devices().is_empty(),
        "no device is there twice"
    );
    machine.write("sys/devices/platform/gpu.0/load", "100000\n");
    machine.write("sys/class/thermal/thermal_zone1/temp", "-256000\n");
    assert!(matches!(
        poll(&mut *collectors[1]),
        Err(PollError::Retry(_))
    ));
}

#[test]
fn nonsense_on_one_rail_does_not_hide_the_others() {
    let machine = xavier_nx();
    let mut collector = energy(&machine);
    for nonsense in NONSENSE {
        machine.write(&format!("{CHIP}/curr1_input"), nonsense);
        let heard = poll(&mut *collector).unwrap();
        let names: Vec<&str> = heard.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["jetson/VDD_CPU_GPU_CV", "jetson/VDD_SOC"],
            "{nonsense:?}"
        );
    }
}

#[test]
fn a_chip_that_vanishes_is_gone_until_it_is_back() {
    let machine = xavier_nx();
    let mut collector = energy(&machine);
    machine.remove(CHIP);
    let error = poll(&mut *collector).unwrap_err();
    assert!(
        matches!(&error, PollError::Gone(words) if words.contains("in1_input")),
        "{error}"
    );
    chip(&machine, CHIP, &[("VDD_IN", "5000", "1000")]);
    assert_eq!(
        poll(&mut *collector).unwrap(),
        said([("jetson/VDD_IN", 5.0)])
    );
}

#[test]
fn it_is_absent_and_says_whether_this_is_a_jetson() {
    let machine = Machine::new();
    let absent = |machine: &Machine| detect(&machine.options()).err().unwrap();
    assert!(!absent(&machine).is_here);
    machine.write("proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0");
    assert!(!absent(&machine).is_here);
    machine.write(
        "proc/device-tree/model",
        "NVIDIA Jetson AGX Thor Developer Kit\0",
    );
    let jetson = absent(&machine);
    assert!(
        jetson.is_here && jetson.reason.contains("AGX Thor"),
        "{jetson:?}"
    );
    assert!(jetson.fix.is_some());
    // A chip with nothing connected is no source.
    chip(&machine, CHIP, &[("NC", "0", "0")]);
    machine.write(&format!("{CHIP}/in2_label"), "");
    assert!(absent(&machine).is_here);
}
