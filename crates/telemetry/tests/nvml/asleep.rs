//! Boards that sleep are not woken.

use std::fs;

use ipw_telemetry::collectors::nvml;
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine};
use ipw_testkit::or_skip;

use crate::bench::{Bench, constant, error, on_bus, options};

#[test]
fn boards_that_all_sleep_are_not_even_asked() {
    let Some(fake) = or_skip(FakeNvml::new(&Machine::new(vec![Board::new(
        0,
        constant(200.0),
    )]))) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    on_bus(root.path(), "0000:1b:00.0", "suspended");
    let absent = nvml::detect(&options(&fake, root.path())).err().unwrap();
    assert!(absent.is_here, "{absent:?}");
    assert!(absent.reason.contains("`0000:1b:00.0`"), "{absent:?}");
    assert!(absent.fix.unwrap().contains("start the service"));
    assert_eq!(fake.calls(), [""; 0]);
}

#[test]
fn a_board_that_sleeps_among_others_is_left_alone() {
    let boards = (0..3).map(|number| Board::new(number, constant(200.0)));
    let machine = Machine::new(boards.collect());
    let root = tempfile::tempdir().unwrap();
    on_bus(root.path(), "0000:1b:00.0", "active");
    on_bus(root.path(), "0000:2b:00.0", "suspended");
    on_bus(root.path(), "0000:3b:00.0", "active");
    let Some(mut bench) = Bench::at(&machine, root, |_| {}) else {
        return;
    };
    let ids: Vec<_> = bench
        .devices
        .iter()
        .map(|device| device.id.clone())
        .collect();
    assert_eq!(ids, ["nvml/0", "nvml/2"]);
    assert!(bench.devices[0].notes[0].contains("`0000:2b:00.0` is suspended"));
    bench.live_until(3.0);
    let calls = bench.fake.calls();
    assert!(calls.iter().any(|call| call.ends_with(" 2")));
    assert!(!calls.iter().any(|call| call.ends_with(" 1")), "{calls:?}");
    assert!(
        !calls.iter().any(|call| call.contains("ByIndex")),
        "{calls:?}"
    );
}

#[test]
fn a_board_that_falls_asleep_is_not_polled_until_it_wakes() {
    let trace = constant(200.0);
    let machine = Machine::new(vec![Board::new(0, trace.clone())]);
    let root = tempfile::tempdir().unwrap();
    let status = on_bus(root.path(), "0000:1b:00.0", "active");
    let Some(mut bench) = Bench::at(&machine, root, |_| {}) else {
        return;
    };
    bench.live_until(3.0);
    fs::write(&status, "suspended\n").unwrap();
    bench.live_until(4.5);
    let asleep = bench.fake.calls().len();
    bench.live_until(10.0);
    assert_eq!(bench.fake.calls().len(), asleep, "it was woken");
    let faults = bench.session.faults();
    assert!(
        faults.iter().any(|fault| fault.contains("suspended")),
        "{faults:?}"
    );
    fs::write(&status, "active\n").unwrap();
    bench.live_until(12.0);
    let energy = bench.query(13.0, 16.0);
    assert!(error(&energy, trace.between(13.0, 16.0)).abs() < 0.01);
}
