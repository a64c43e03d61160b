//! AMD's boards through a `libamd_smi.so` that follows a script (`crates/fake-amdsmi`), loaded as
//! the real one would be. Time is that of a file which the test moves, for the library and the
//! session alike.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod machine;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::energy::Reason;
use ipw_core::source::{Domain, Method};
use ipw_telemetry::collectors::amd;
use ipw_telemetry::{Gpus, Options, PollError};
use machine::{Machine, STEPS, devices, joules, names, poll, sources, trace, value};

#[test]
fn the_counter_times_its_resolution_is_joules_and_power_is_watts_in_every_version() {
    for (version, spelled) in [(24, "24.7.3.0"), (25, "25.25.3.0"), (26, "26.1.0")] {
        for field in ["current", "average"] {
            let script = format!(
                "version {version}\nboard 0000:0c:00.0 AMD Instinct MI300X\n\
                 steps 1:500\nresolution 15.259\ncount 4000000000\npower {field}\n"
            );
            let Some(machine) = Machine::with(&script) else {
                return;
            };
            let mut collectors = machine.detect().unwrap();
            assert_eq!(names(&collectors), ["amd/0", "amd/0/power"]);
            let methods: Vec<Method> = sources(&collectors)
                .iter()
                .map(|source| source.method)
                .collect();
            assert_eq!(methods, [Method::Counter, Method::Integrated]);
            machine.set(2.0);
            let (heard, errors) = poll(&mut collectors);
            assert_eq!(errors, []);
            let expected = 4e9 * f64::from(15.259_f32) * 1e-6 + 2.0 * 500.0;
            let off = value(&heard, "amd/0") - expected;
            assert!(off.abs() < 1e-3, "version {version}: off by {off} J");
            assert_eq!(
                heard[1],
                ("amd/0/power".to_owned(), 500.0),
                "version {version}"
            );
            let device = devices(&collectors)[0];
            assert_eq!(device.name.as_deref(), Some("AMD Instinct MI300X"));
            assert_eq!(device.pci.as_deref(), Some("0000:0c:00.0"));
            let note = format!("amd-smi {spelled}");
            assert!(device.notes.contains(&note), "{:?}", device.notes);
        }
    }
}

#[test]
fn windows_from_a_second_to_a_minute_have_their_joules() {
    for (length, allowed) in [(1.0, 0.05), (10.0, 0.006), (60.0, 0.001)] {
        let Some(machine) = Machine::with(&format!("board 0000:0c:00.0\n{STEPS}")) else {
            return;
        };
        let mut bench = machine.bench();
        let (start, end) = (1.234, 1.234 + length);
        let energy = bench.query(start, end);
        let truth = trace().between(start, end);
        let error = joules(&energy) / truth - 1.0;
        assert!(error.abs() < allowed, "{length} s: {:+.3} %", error * 100.0);
        let sigma = energy.headline_sigma().unwrap().joules();
        let off = (joules(&energy) - truth).abs();
        assert!(
            off < 4.0 * sigma,
            "{length} s: off by {off} J, sigma {sigma} J"
        );
        assert_eq!(energy.basis().unwrap().label(), "gpu");
        let tests = bench.session.self_tests();
        let against = tests[0].against_power.unwrap();
        assert!((against - 1.0).abs() < 0.05, "{against}");
    }
}

#[test]
fn a_counter_that_stands_still_leaves_its_place_to_the_power() {
    let Some(machine) = Machine::with(&format!("board 0000:0c:00.0\n{STEPS}\nfrozen")) else {
        return;
    };
    let mut bench = machine.bench();
    let energy = bench.query(3.0, 13.0);
    let used: Vec<&str> = energy
        .shares
        .iter()
        .filter(|share| share.energy.energy.is_some())
        .map(|share| &*share.source.name)
        .collect();
    assert_eq!(used, ["amd/0/power"]);
    let error = joules(&energy) / trace().between(3.0, 13.0) - 1.0;
    assert!(error.abs() < 0.03, "{:+.2} %", error * 100.0);
}

#[test]
fn a_counter_at_the_wrong_rate_shows_against_the_power() {
    let Some(machine) = Machine::with(&format!("board 0000:0c:00.0\n{STEPS}\nrate 0.5")) else {
        return;
    };
    let mut bench = machine.bench();
    bench.live_until(10.0);
    let against = bench.session.self_tests()[0].against_power.unwrap();
    assert!((against - 0.5).abs() < 0.03, "{against}");
}

#[test]
fn a_reset_costs_one_window_and_nothing_else() {
    let Some(machine) = Machine::with(&format!("board 0000:0c:00.0\n{STEPS}\nreset 6.0")) else {
        return;
    };
    let mut bench = machine.bench();
    let before = bench.query(1.0, 4.0);
    let hit = bench.query(5.5, 7.5);
    let after = bench.query(9.0, 12.0);
    assert!((joules(&before) / trace().between(1.0, 4.0) - 1.0).abs() < 0.03);
    assert_eq!(
        (hit.headline(), hit.reason),
        (None, Some(Reason::CounterReset))
    );
    assert!((joules(&after) / trace().between(9.0, 12.0) - 1.0).abs() < 0.03);
    assert_eq!(bench.session.accounts()[0].1.resets, 1);
}

#[test]
fn a_board_that_is_lost_is_a_gap_and_comes_back() {
    let script = format!("board 0000:0c:00.0\n{STEPS}\nlost 5.0 8.0");
    let Some(machine) = Machine::with(&script) else {
        return;
    };
    let mut collectors = machine.detect().unwrap();
    machine.set(6.0);
    let (heard, errors) = poll(&mut collectors);
    assert_eq!(heard, []);
    let PollError::Gone(words) = &errors[0] else {
        panic!("{errors:?}");
    };
    assert!(words.contains("AMDSMI_STATUS_NOT_FOUND"), "{words}");
    drop(collectors);
    machine.set(0.0);
    let mut bench = machine.bench();
    let hit = bench.query(3.0, 9.0);
    assert_eq!(hit.shares[0].energy.reason, Some(Reason::Gap));
    let later = bench.query(11.0, 14.0);
    assert!((joules(&later) / trace().between(11.0, 14.0) - 1.0).abs() < 0.03);
    assert!(!bench.session.faults().is_empty());
}

#[test]
fn a_counter_that_cannot_be_one_is_left_out_and_said_so() {
    for (lines, note) in [
        ("frozen\ncount 0", "reads 0: left out"),
        (
            "frozen\ncount 18446744073709551615",
            "reads 18446744073709551615",
        ),
        ("resolution 0", "counts in 0 µJ: left out"),
        ("resolution -15.3", "counts in -15.3 µJ"),
        ("resolution inf", "counts in inf µJ"),
        ("resolution NaN", "counts in NaN µJ"),
        ("resolution 1e7", "counts in 10000000 µJ"),
        ("status energy_count 2", "AMDSMI_STATUS_NOT_SUPPORTED"),
    ] {
        let Some(machine) = Machine::with(&format!("board 0000:0c:00.0\n{lines}")) else {
            return;
        };
        let collectors = machine.detect().unwrap();
        assert_eq!(names(&collectors), ["amd/0/power"], "{lines}");
        let notes = devices(&collectors)[0].notes.join("; ");
        assert!(notes.contains(note), "{lines}: {notes}");
    }
}

#[test]
fn the_kernel_and_the_library_tell_of_one_board() {
    // amd-smi's order is not that of the bus, and each of the two knows one board that the other
    // does not.
    let script = "board 0000:83:00.0 Eighty\nsteps 1:80\nboard 0000:03:00.0 Three\nsteps 1:30\n\
                  board 0000:c3:00.0 Unseen\nsteps 1:190";
    let Some(machine) = Machine::with(script) else {
        return;
    };
    machine.card(0, "0000:03:00.0", "744c", "31000000\n");
    machine.card(1, "0000:43:00.0", "744c", "43000000\n");
    machine.card(2, "0000:83:00.0", "744c", "83000000\n");
    let mut collectors = machine.detect().unwrap();
    let (heard, errors) = poll(&mut collectors);
    assert_eq!(errors, []);
    let powers = |number: u32| value(&heard, &format!("amd/{number}/power"));
    assert_eq!(
        (powers(0), powers(1), powers(2), powers(3)),
        (31.0, 43.0, 83.0, 190.0),
        "the kernel's power where there is one, else the library's"
    );
    let names = names(&collectors);
    let counters: Vec<&&str> = names
        .iter()
        .filter(|name| name.matches('/').count() == 1)
        .collect();
    assert_eq!(counters, [&"amd/0", &"amd/2", &"amd/3"]);
    let devices = devices(&collectors);
    let called: Vec<&str> = devices
        .iter()
        .map(|device| device.name.as_deref().unwrap())
        .collect();
    assert_eq!(
        called,
        ["Three", "AMD Device 744c (1002:744c)", "Eighty", "Unseen"]
    );
    let notes = devices[1].notes.join("; ");
    assert!(notes.contains("amd-smi does not list it"), "{notes}");
    // The counter of the board at 83 moves at 80 W: it is not another board's.
    machine.set(10.0);
    let (later, _) = poll(&mut collectors);
    for (name, watts) in [("amd/0", 30.0), ("amd/2", 80.0), ("amd/3", 190.0)] {
        let moved = (value(&later, name) - value(&heard, name)) / 10.0;
        assert!((moved - watts).abs() < 0.01, "{name}: {moved} W");
    }
}

#[test]
fn the_second_die_of_an_mi250x_has_no_energy_and_says_whose_it_is() {
    let mut script = String::new();
    for bus in ["c1", "c6", "c9", "ce"] {
        let name = "AMD INSTINCT MI250X (MCM) OAM AC MBA";
        writeln!(script, "board 0000:{bus}:00.0 {name}\npower average").unwrap();
    }
    let Some(machine) = Machine::with(&script) else {
        return;
    };
    let collectors = machine.detect().unwrap();
    assert_eq!(
        names(&collectors),
        ["amd/0", "amd/0/power", "amd/2", "amd/2/power"]
    );
    let devices = devices(&collectors);
    assert_eq!(devices.len(), 4);
    assert!(devices[0].notes[0].contains("both dies"));
    assert!(devices[1].notes[0].contains("`amd/0` reports the energy of both"));
    assert!(devices[3].notes[0].contains("`amd/2` reports the energy of both"));
}

#[test]
fn partitions_of_a_board_are_one_board() {
    let script = "board 0000:0c:00.0 AMD Instinct MI300X\nboard 0000:0c:00.1\nboard 0000:0c:00.2\n\
                  board 0000:22:00.0 AMD Instinct MI300X";
    let Some(machine) = Machine::with(script) else {
        return;
    };
    let collectors = machine.detect().unwrap();
    let devices = devices(&collectors);
    let divided: Vec<Option<bool>> = devices.iter().map(|device| device.mig_enabled).collect();
    assert_eq!(divided, [Some(true), Some(false)]);
    assert!(devices[0].notes[0].contains("split into 3 partitions"));
}

#[test]
fn boards_of_the_library_are_chosen_too() {
    let script = "board 0000:03:00.0\nboard 0000:43:00.0";
    for (named, visible, expected) in [
        (&["0000:43:00.0"][..], None, &["amd/1", "amd/1/power"][..]),
        (&["0"], Some("1"), &["amd/0", "amd/0/power"]),
        (&[], Some("1"), &["amd/1", "amd/1/power"]),
    ] {
        let Some(machine) = Machine::with(script) else {
            return;
        };
        let gpus = Gpus {
            named: named.iter().map(|name| (*name).to_owned()).collect(),
            cuda_visible: None,
            rocm_visible: visible.map(str::to_owned),
        };
        let collectors = amd::detect(&Options {
            gpus,
            ..machine.options()
        });
        assert_eq!(names(&collectors.unwrap()), expected);
    }
}

#[test]
fn what_keeps_the_library_from_working_is_said_with_what_helps() {
    let join = Some("sudo usermod -aG render,video \"$USER\"");
    for (script, reason, fix) in [
        (
            "status init 10",
            "cannot start amd-smi: AMDSMI_STATUS_NO_PERM",
            join,
        ),
        (
            "status init 18",
            "cannot start amd-smi: AMDSMI_STATUS_UNKNOWN",
            None,
        ),
        ("this is no script", "AMDSMI_STATUS_NOT_FOUND", None),
        (
            "version 27\nboard 0000:03:00.0",
            "is version 27.1.0; ipw supports versions 24 to 26",
            None,
        ),
        ("version 26", "amd-smi lists no GPU", None),
        ("status socket_handles 10", "AMDSMI_STATUS_NO_PERM", join),
        (
            "board 0000:03:00.0\nstatus energy_count 2\npower none",
            "`0000:03:00.0` reports no power; amd-smi has no energy counter for it: \
             AMDSMI_STATUS_NOT_SUPPORTED: Command not supported (status 2); this is a virtual \
             machine: its host may not expose the counters",
            None,
        ),
    ] {
        let Some(machine) = Machine::with(script) else {
            return;
        };
        machine.write("proc/cpuinfo", "flags\t: hypervisor\n");
        let absent = machine.absent();
        assert!(absent.is_here, "{script}");
        assert!(
            absent.reason.contains(reason),
            "{script}: {}",
            absent.reason
        );
        assert_eq!(absent.fix.as_deref(), fix, "{script}");
        // With power in the kernel's files it is a note, and power is integrated.
        machine.card(0, "0000:05:00.0", "744c", "31000000\n");
        let collectors = machine.detect().unwrap();
        assert!(
            names(&collectors)
                .iter()
                .any(|name| name.ends_with("/power")),
            "{script}"
        );
    }
}

#[test]
fn a_library_that_is_another_one_is_told_apart() {
    let Some(machine) = Machine::with("board 0000:03:00.0") else {
        return;
    };
    let own = std::env::current_exe().unwrap();
    let machine_of_tests = fs::read(&own).unwrap();
    // A program is no library: the loader says so in its own words.
    fs::write(machine.path("libamd_smi.so"), machine_of_tests).unwrap();
    let absent = machine.absent();
    assert!(absent.reason.contains("cannot load"), "{}", absent.reason);
    assert_eq!(absent.fix, None);
}

/// Every function of the library reports when another one is at work.
fn overlapping(machine: &Machine) -> PathBuf {
    let marker = machine.path("overlap");
    let script = machine.path("libamd_smi.so.script");
    let text = fs::read_to_string(&script).unwrap();
    let head = format!("overlap {}\nslow 1\n", marker.display());
    fs::write(script, head + &text).unwrap();
    marker
}

const FOUR: &str = "board 0000:03:00.0\nboard 0000:23:00.0\nboard 0000:43:00.0\nboard 0000:63:00.0";

#[test]
fn calls_never_overlap_however_many_threads_poll() {
    let Some(machine) = Machine::with(FOUR) else {
        return;
    };
    let marker = overlapping(&machine);
    let bench = machine.bench();
    assert_eq!(bench.pollers.len(), 4);
    std::thread::scope(|scope| {
        for mut poller in bench.pollers {
            scope.spawn(move || {
                for _ in 0..25 {
                    poller.poll();
                }
            });
        }
    });
    assert_eq!(bench.session.faults(), [] as [&str; 0]);
    assert!(!marker.exists(), "two calls were on their way at once");
}

/// The test above proves something only if the marker would have been there.
#[test]
fn calls_past_the_lock_would_have_been_noticed() {
    let Some(machine) = Machine::with(FOUR) else {
        return;
    };
    let marker = overlapping(&machine);
    call_at_once(&machine.path("libamd_smi.so"));
    assert!(marker.exists());
}

#[expect(unsafe_code, reason = "the library is called past the collector")]
fn call_at_once(library: &Path) {
    type Init = unsafe extern "C" fn(u64) -> u32;
    type Sockets = unsafe extern "C" fn(*mut u32, *mut *mut std::ffi::c_void) -> u32;
    // SAFETY: our own library, with these functions.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let init = library.get::<Init>(b"amdsmi_init\0").unwrap();
        assert_eq!(init(2), 0);
        let sockets = *library
            .get::<Sockets>(b"amdsmi_get_socket_handles\0")
            .unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..25 {
                        let mut count = 0;
                        assert_eq!(sockets(&raw mut count, std::ptr::null_mut()), 0);
                        assert_eq!(count, 4);
                    }
                });
            }
        });
    }
}

#[test]
fn a_suspended_board_keeps_the_library_from_being_started() {
    let Some(machine) = Machine::with("board 0000:03:00.0") else {
        return;
    };
    machine.card(0, "0000:03:00.0", "744c", "31000000\n");
    let status = "sys/class/drm/card0/device/power/runtime_status";
    machine.write(status, "suspended\n");
    let collectors = machine.detect().unwrap();
    assert_eq!(names(&collectors), ["amd/0/power", "amd/0/use"]);
    machine.write(status, "active\n");
    let collectors = machine.detect().unwrap();
    assert_eq!(names(&collectors), ["amd/0", "amd/0/power", "amd/0/use"]);
    assert_eq!(sources(&collectors)[0].domain(), Some(Domain::Gpu));
}

#[test]
fn the_fake_counts_on_the_systems_own_clock_too() {
    let Some(machine) = Machine::with("") else {
        return;
    };
    let script = "board 0000:03:00.0\nsteps 1:400\n";
    fs::write(machine.path("libamd_smi.so.script"), script).unwrap();
    let mut collectors = machine.detect().unwrap();
    let (early, _) = poll(&mut collectors);
    std::thread::sleep(Duration::from_millis(20));
    let (late, _) = poll(&mut collectors);
    assert!(value(&late, "amd/0") - value(&early, "amd/0") >= 0.019 * 400.0);
}
