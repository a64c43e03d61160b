//! Detected boards, their sources, and the reasons for absent ones.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ipw_core::hardware::Device;
use ipw_core::source::{Gauge, Quantity, Source};
use ipw_telemetry::collectors::nvml;
use ipw_telemetry::{Absent, Gpus, Options};
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine};
use ipw_testkit::or_skip;

use crate::bench::{Bench, constant, detect, devices, names, options};

#[test]
fn the_library_is_initialised_once_and_everything_is_given_back() {
    let boards = (0..2).map(|number| Board::new(number, constant(300.0)).with_state("tensor", 5.0));
    let Some(mut bench) = Bench::new(&Machine::new(boards.collect())) else {
        return;
    };
    bench.live_until(5.0);
    let Bench {
        fake,
        session,
        pollers,
        ..
    } = bench;
    drop((session, pollers));
    let calls = fake.calls();
    let count = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
    assert_eq!((count("nvmlInit_v2"), count("nvmlShutdown")), (1, 1));
    assert_eq!(calls.last().unwrap(), "nvmlShutdown -");
    assert!(count("nvmlGpmSampleAlloc") > 10);
    assert_eq!(count("nvmlGpmSampleAlloc"), count("nvmlGpmSampleFree"));
    assert_eq!(count("nvmlDeviceGetHandleBy"), 2, "handles are kept");
}

#[test]
fn a_library_without_some_functions_costs_only_what_needs_them() {
    let all = [
        "nvml/0",
        "nvml/0/power",
        "nvml/0/temperature",
        "nvml/0/memory_used",
        "nvml/0/use",
        "nvml/0/memory_use",
        "nvml/0/clock",
        "nvml/0/memory_clock",
        "nvml/0/power_limit",
        "nvml/0/throttle",
        "nvml/0/processes",
    ];
    let cases: [(&[&str], &[&str]); 8] = [
        (&[], &[]),
        (&["nvmlDeviceGetTotalEnergyConsumption"], &["nvml/0"]),
        (&["nvmlDeviceGetFieldValues"], &["nvml/0/power"]),
        (&["nvmlDeviceGetMemoryInfo_v2"], &["nvml/0/memory_used"]),
        (
            &["nvmlDeviceGetUtilizationRates"],
            &["nvml/0/use", "nvml/0/memory_use"],
        ),
        (
            &["nvmlDeviceGetComputeRunningProcesses_v3"],
            &["nvml/0/processes"],
        ),
        (
            &["nvmlDeviceGetCurrentClocksThrottleReasons"],
            &["nvml/0/throttle"],
        ),
        // Facts about the board are not sources.
        (
            &[
                "nvmlDeviceGetPciInfo_v3",
                "nvmlDeviceGetMigMode",
                "nvmlDeviceGetEccMode",
                "nvmlDeviceGetIndex",
                "nvmlDeviceGetCudaComputeCapability",
            ],
            &[],
        ),
    ];
    let mut machine = Machine::new(vec![Board::new(0, constant(300.0))]);
    let root = tempfile::tempdir().unwrap();
    for (missing, lost) in cases {
        machine.missing = missing.to_vec();
        let Some(fake) = or_skip(FakeNvml::new(&machine)) else {
            return;
        };
        let found = names(&detect(&options(&fake, root.path())));
        let wanted: Vec<_> = all.iter().filter(|name| !lost.contains(name)).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{missing:?}");
    }
}

#[test]
fn a_board_that_tells_nothing_of_energy_is_still_a_board() {
    let mut board = Board::new(0, constant(300.0));
    board.has_energy = false;
    board.has_power = false;
    board.scopes.clear();
    let root = tempfile::tempdir().unwrap();
    for state in [board.state.clone(), Vec::new()] {
        board.state = state;
        let Some(fake) = or_skip(FakeNvml::new(&Machine::new(vec![board.clone()]))) else {
            return;
        };
        let collectors = detect(&options(&fake, root.path()));
        assert_eq!(collectors.len(), 1);
        let devices = devices(&collectors);
        assert_eq!(devices.len(), 1);
        assert!(devices[0].notes[0].contains("neither energy nor power"));
        let sources = collectors[0].sources();
        assert!(sources.iter().all(|source| source.domain().is_none()));
    }
}

#[test]
fn the_state_of_a_board_goes_beside_its_energy() {
    // Idle, clocks set by the user, the power cap, heat: two of these slow work down.
    let board = Board::new(0, constant(300.0))
        .with_state("throttle", f64::from(1 | 2 | 4 | 64))
        .with_state("tensor", 41.5);
    let Some(mut bench) = Bench::new(&Machine::new(vec![board])) else {
        return;
    };
    let energy = bench.query(2.0, 5.0);
    let mean = |spread: Option<ipw_core::energy::Spread>| spread.unwrap().mean;
    for (found, wanted) in [
        (mean(energy.gpu.memory), 1024.0),
        (mean(energy.gpu.temperature), 45.0),
        (mean(energy.gpu.compute), 87.0),
        (mean(energy.gpu.memory_bus), 31.0),
        (mean(energy.gpu.tensor), 41.5),
    ] {
        assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
    }
    let last = |wanted: Gauge| {
        let accounts = bench.session.accounts();
        let is_wanted = |source: &Source| source.quantity == Quantity::Gauge { gauge: wanted };
        let (_, account) = accounts
            .iter()
            .find(|(source, _)| is_wanted(source))
            .unwrap();
        account.values.unwrap().last
    };
    for (gauge, wanted) in [
        (Gauge::Throttle, 68.0),
        (Gauge::PowerLimit, 700.0),
        (Gauge::GpuClock, 1980.0),
        (Gauge::GpuMemoryClock, 2619.0),
        (Gauge::Processes, 1.0),
    ] {
        assert!(
            (last(gauge) - wanted).abs() < 1e-6,
            "{gauge:?}: {}",
            last(gauge)
        );
    }
}

#[test]
fn a_board_is_described_once() {
    let mut board = Board::new(2, constant(300.0));
    board.mig = Some(true);
    let machine = Machine::new(vec![board.clone()]);
    let root = tempfile::tempdir().unwrap();
    let Some(fake) = or_skip(FakeNvml::new(&machine)) else {
        return;
    };
    let collectors = detect(&options(&fake, root.path()));
    assert_eq!(collectors.len(), 2);
    assert_eq!(
        devices(&collectors),
        [Device {
            id: "nvml/0".to_owned(),
            name: Some("NVIDIA H100 80GB HBM3".to_owned()),
            vendor: Some("NVIDIA".to_owned()),
            index: Some(0),
            device_type: Some("GPU".to_owned()),
            backend: Some("nvml".to_owned()),
            uuid: Some(board.uuid),
            pci: Some("0000:3b:00.0".to_owned()),
            driver_version: Some("580.95.05".to_owned()),
            memory_total_mib: Some(81_559.0),
            power_limit_watts: Some(700.0),
            mig_enabled: Some(true),
            ecc_enabled: Some(true),
            notes: vec!["energy is measured for the whole board, not per MIG instance".to_owned()],
        }]
    );
    for collector in &collectors {
        assert_eq!(collector.id(), "nvml");
        for source in collector.sources() {
            assert_eq!(source.device.as_deref(), Some("nvml/0"));
        }
    }
    let wanted = Duration::from_millis(10);
    assert_eq!(collectors[0].interval(wanted), Duration::from_millis(50));
    assert_eq!(collectors[1].interval(wanted), Duration::from_millis(500));
}

#[test]
fn the_boards_that_are_meant_are_taken_and_no_others() {
    let mut boards: Vec<_> = (0..4)
        .map(|number| Board::new(number, constant(200.0)))
        .collect();
    boards[3].mig = Some(true);
    boards[3].instances = vec!["MIG-5a5a5a5a-0000".to_owned()];
    let Some(fake) = or_skip(FakeNvml::new(&Machine::new(boards))) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let look = |named: &[&str], cuda: Option<&str>| -> Result<Vec<String>, Absent> {
        let gpus = Gpus {
            named: named.iter().map(|name| (*name).to_owned()).collect(),
            cuda_visible: cuda.map(str::to_owned),
            ..Gpus::default()
        };
        let options = Options {
            gpus,
            ..options(&fake, root.path())
        };
        let collectors = nvml::detect(&options)?;
        Ok(devices(&collectors)
            .into_iter()
            .map(|device| device.id)
            .collect())
    };
    let cases: [(&[&str], Option<&str>, &[&str]); 9] = [
        (&[], None, &["nvml/0", "nvml/1", "nvml/2", "nvml/3"]),
        (&["2"], None, &["nvml/2"]),
        (&["GPU-1"], None, &["nvml/1"]),
        (&["0000:2b:00.0", "0"], None, &["nvml/0", "nvml/1"]),
        (&["MIG-5a5a5a5a-0000"], None, &["nvml/3"]),
        (&["1"], Some("0"), &["nvml/1"]),
        (&[], Some("3,0"), &["nvml/0", "nvml/3"]),
        (&[], Some("1,7,2"), &["nvml/1"]),
        (&[], Some("MIG-5a5a5a5a-0000"), &["nvml/3"]),
    ];
    for (named, cuda, wanted) in cases {
        assert_eq!(look(named, cuda).unwrap(), wanted, "{named:?} {cuda:?}");
    }
    for (named, cuda) in [
        (&["9"][..], None),
        (&["GPU-"], None),
        (&[], Some("")),
        (&[], Some("-1")),
    ] {
        let absent = look(named, cuda).unwrap_err();
        assert!(absent.is_here && absent.fix.is_some(), "{absent:?}");
        for part in ["GPU-0f1e2d3c", "0000:4b:00.0"] {
            assert!(absent.reason.contains(part), "{absent:?}");
        }
    }
}

#[test]
fn a_library_that_is_of_no_use_says_why_and_what_to_do() {
    let mut machine = Machine::new(vec![Board::new(0, constant(200.0))]);
    let Some(fake) = or_skip(FakeNvml::new(&machine)) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let mut options = options(&fake, root.path());
    fs::create_dir_all(&options.dev).unwrap();
    fs::write(options.dev.join("nvidiactl"), "").unwrap();
    for (code, reason, fix) in [
        (9, "driver is not loaded", "sudo modprobe nvidia"),
        (4, "permission denied", "sudo chmod a+rw"),
        (18, "does not match the version", "sudo reboot"),
        (999, "cannot initialise", "nvidia-smi"),
        (4321, "cannot initialise", "nvidia-smi"),
    ] {
        machine.init = code;
        fake.act_as(&machine).unwrap();
        let absent = nvml::detect(&options).err().unwrap();
        assert!(absent.is_here, "{absent:?}");
        assert!(absent.reason.contains(reason), "{absent:?}");
        assert!(absent.fix.unwrap().contains(fix), "{code}");
    }
    let library = |name: &str, change: fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(fake.library()).unwrap();
        change(&mut bytes);
        let path = root.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    for (path, reason) in [
        (root.path().join("nothing.so"), "cannot find"),
        (
            library("32bit.so", |bytes| bytes[4] = 1),
            "another architecture",
        ),
        (
            library("text.so", |bytes| bytes.fill(b'x')),
            "another architecture",
        ),
        (PathBuf::from("libm.so.6"), "too old or not NVIDIA's"),
    ] {
        options.nvml = Some(path);
        let absent = nvml::detect(&options).err().unwrap();
        assert!(absent.is_here && absent.fix.is_some(), "{absent:?}");
        assert!(absent.reason.contains(reason), "{absent:?}");
    }
}

#[test]
fn a_machine_without_boards_has_nothing_to_mend() {
    let Some(fake) = or_skip(FakeNvml::new(&Machine::new(Vec::new()))) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let absent = nvml::detect(&options(&fake, root.path())).err().unwrap();
    assert!(!absent.is_here, "{absent:?}");
    assert_eq!(absent.reason, "NVIDIA's driver lists no GPU");
}
