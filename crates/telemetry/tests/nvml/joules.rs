//! Joules against the truth.

use std::time::Duration;

use ipw_core::energy::Reason;
use ipw_core::rollup::Use;
use ipw_core::source::{Domain, Method, Quantity, Source};
use ipw_testkit::fake_nvml::{Board, Machine};

use crate::bench::{Bench, constant, error, joules, uneven};

#[test]
fn short_windows_have_their_joules_in_the_mean() {
    let trace = uneven();
    let machine = Machine::new(vec![Board::new(0, trace.clone())]);
    let Some(mut bench) = Bench::new(&machine) else {
        return;
    };
    // Windows of 0.3 s inside steps of the trace, each at another phase of the counter.
    let mut errors = Vec::new();
    for round in 0..12_u32 {
        let start = f64::from(round) * 5.0 + 0.5 + f64::from(round) * 0.0371;
        for offset in [0.0, 2.0] {
            let (start, end) = (start + offset, start + offset + 0.3);
            let energy = bench.query(start, end);
            errors.push(error(&energy, trace.between(start, end)));
            let share = &energy.shares[0].energy;
            assert_eq!(share.reason, None, "{start} s: {share:?}");
        }
    }
    let count = f64::from(u32::try_from(errors.len()).unwrap());
    let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / count;
    assert!(mean < 0.03, "mean error {:.2} %: {errors:?}", mean * 100.0);
}

#[test]
fn long_windows_have_their_joules_whatever_happens_in_them() {
    for (length, allowed) in [(1.0, 0.05), (10.0, 0.01), (60.0, 0.002)] {
        let trace = uneven();
        let machine = Machine::new(vec![Board::new(0, trace.clone())]);
        let Some(mut bench) = Bench::new(&machine) else {
            return;
        };
        let (start, end) = (1.234, 1.234 + length);
        let energy = bench.query(start, end);
        let error = error(&energy, trace.between(start, end));
        assert!(error.abs() < allowed, "{length} s: {:+.2} %", error * 100.0);
        let share = &energy.shares[0];
        assert_eq!(
            (share.source.method, share.used),
            (Method::Counter, Use::Headline)
        );
        assert!((share.energy.coverage - 1.0).abs() < 1e-9);
        let power = &energy.shares[1];
        assert_eq!(
            (&*power.source.name, power.used),
            ("nvml/0/power", Use::Shown)
        );
        assert_eq!(energy.basis().unwrap().label(), "gpu");
    }
}

#[test]
fn eight_boards_stay_eight() {
    let watts = |number: u32| 100.0 + 50.0 * f64::from(number);
    let board = |number| Board::new(number, constant(watts(number)));
    let machine = Machine::new((0..8).map(board).collect());
    let Some(mut bench) = Bench::new(&machine) else {
        return;
    };
    assert_eq!(bench.devices.len(), 8);
    let energy = bench.query(1.0, 11.0);
    let sum: f64 = (0..8).map(|number| watts(number) * 10.0).sum();
    assert!(error(&energy, sum).abs() < 0.01, "{}", joules(&energy));
    for number in 0..8 {
        let name = format!("nvml/{number}");
        let share = energy
            .shares
            .iter()
            .find(|share| share.source.name == name)
            .unwrap();
        let own = share.energy.energy.unwrap().joules() / (watts(number) * 10.0);
        assert!((own - 1.0).abs() < 0.01, "{name}: {own}");
    }
    let memory = energy.gpu.memory.unwrap();
    assert!((memory.mean - 8.0 * 1024.0).abs() < 1.0, "memory is added");
    let ids: Vec<_> = bench
        .session
        .devices()
        .iter()
        .map(|device| &device.id)
        .collect();
    assert_eq!(ids[7], "nvml/7");
}

#[test]
fn a_board_without_a_counter_has_its_power_integrated() {
    let trace = uneven();
    let mut board = Board::new(0, trace.clone());
    board.has_energy = false;
    let Some(mut bench) = Bench::new(&Machine::new(vec![board.clone()])) else {
        return;
    };
    let energy = bench.query(1.234, 21.234);
    let off = error(&energy, trace.between(1.234, 21.234));
    assert!(off.abs() < 0.02, "{:+.2} %", off * 100.0);
    assert_eq!(energy.shares[0].source.method, Method::Integrated);
    let instant = Duration::ZERO;
    assert_eq!(averaging(&bench.sources()[0]), Some(instant));

    // No instant power either: the plain one, which is a mean over a second but for old boards.
    board.scopes.clear();
    for (capability, wanted) in [((9, 0), Duration::from_secs(1)), ((8, 0), instant)] {
        board.capability = capability;
        let Some(mut bench) = Bench::new(&Machine::new(vec![board.clone()])) else {
            return;
        };
        assert_eq!(averaging(&bench.sources()[0]), Some(wanted));
        let energy = bench.query(2.234, 22.234);
        let off = error(&energy, trace.between(2.234, 22.234));
        assert!(off.abs() < 0.02, "{capability:?}: {:+.2} %", off * 100.0);
    }
}

fn averaging(source: &Source) -> Option<Duration> {
    match source.quantity {
        Quantity::Power { averaging, .. } => Some(averaging),
        _ => None,
    }
}

#[test]
fn a_reset_costs_one_window_and_the_next_is_right() {
    let trace = uneven();
    let mut board = Board::new(0, trace.clone());
    board.resets = vec![6.0];
    let Some(mut bench) = Bench::new(&Machine::new(vec![board])) else {
        return;
    };
    let before = bench.query(2.0, 4.0);
    let hit = bench.query(5.5, 6.5);
    let after = bench.query(8.0, 12.0);
    assert!(error(&before, trace.between(2.0, 4.0)).abs() < 0.05);
    assert_eq!(
        (hit.of(Domain::Gpu), hit.reason),
        (None, Some(Reason::CounterReset))
    );
    assert!(error(&after, trace.between(8.0, 12.0)).abs() < 0.03);
    assert_eq!(bench.session.accounts()[0].1.resets, 1);
}

#[test]
fn a_board_that_is_lost_comes_back_with_a_new_handle() {
    let trace = uneven();
    let mut board = Board::new(0, trace.clone());
    board.lost = vec![(10.0, 13.0)];
    board.resets = vec![13.0];
    let other = Board::new(1, constant(200.0));
    let Some(mut bench) = Bench::new(&Machine::new(vec![board, other])) else {
        return;
    };
    let before = bench.query(2.0, 8.0);
    let hit = bench.query(9.0, 14.0);
    let after = bench.query(17.0, 23.0);
    let truth = |start, end| trace.between(start, end) + 200.0 * (end - start);
    assert!(error(&before, truth(2.0, 8.0)).abs() < 0.02);
    assert_eq!(hit.of(Domain::Gpu), None, "all boards or nothing");
    let other = hit
        .shares
        .iter()
        .find(|share| share.source.name == "nvml/1")
        .unwrap();
    let other = other.energy.energy.unwrap().joules();
    assert!(
        (other / 1000.0 - 1.0).abs() < 0.02,
        "the other counts on: {other}"
    );
    assert!(error(&after, truth(17.0, 23.0)).abs() < 0.02);
    let faults = bench.session.faults();
    assert!(
        faults
            .iter()
            .any(|fault| fault.contains("`nvml/0` is gone")),
        "{faults:?}"
    );
    let again = |call: &String| call.starts_with("nvmlDeviceGetHandleByUUID");
    assert!(bench.fake.calls().iter().any(again));
}

#[test]
fn numbers_that_stand_for_nothing_change_nothing() {
    let trace = constant(300.0);
    let mut board = Board::new(0, trace.clone());
    board.energy_values = vec![(5.0, 5.3, u64::MAX), (5.3, 5.4, u64::MAX / 2)];
    board.power_values = vec![
        (5.0, 5.2, 0),
        (5.2, 5.3, u64::from(u32::MAX)),
        (5.3, 5.4, u64::from(i32::MAX.unsigned_abs())),
    ];
    for has_energy in [true, false] {
        board.has_energy = has_energy;
        let Some(mut bench) = Bench::new(&Machine::new(vec![board.clone()])) else {
            return;
        };
        let energy = bench.query(4.0, 8.0);
        assert_eq!(energy.reason, None, "{energy:?}");
        assert!(error(&energy, trace.between(4.0, 8.0)).abs() < 0.01);
        assert!(
            bench
                .session
                .accounts()
                .iter()
                .all(|(_, account)| account.resets == 0)
        );
        let power = energy.shares.last().unwrap().energy.power.unwrap();
        assert!((power.max - 300.0).abs() < 1.0 && (power.min - 300.0).abs() < 1.0);
    }
    // A value that is missing from the start is not a source.
    board.has_energy = true;
    board.energy_values = vec![(0.0, 1e9, u64::MAX)];
    board.power_values = Vec::new();
    let Some(bench) = Bench::new(&Machine::new(vec![board])) else {
        return;
    };
    assert_eq!(bench.sources()[0].name, "nvml/0/power");
}

#[test]
fn a_module_is_kept_apart_from_its_gpu() {
    let trace = uneven();
    let mut board = Board::new(0, trace.clone());
    // As on a GH200: the counter is the module's.
    board.scopes = vec![("gpu", 0.6), ("module", 1.0)];
    board.averaged = vec![("memory", 0.1)];
    let Some(mut bench) = Bench::new(&Machine::new(vec![board.clone()])) else {
        return;
    };
    let domains: Vec<_> = bench
        .sources()
        .iter()
        .filter_map(|source| Some((source.name.clone(), source.domain()?)))
        .collect();
    let named = |name: &str, domain| (name.to_owned(), domain);
    assert_eq!(
        domains,
        [
            named("nvml/0", Domain::Module),
            named("nvml/0/power", Domain::Gpu),
            named("nvml/0/module_power", Domain::Module),
            named("nvml/0/memory_power", Domain::GpuMemory),
        ]
    );
    assert_eq!(averaging(&bench.sources()[3]), Some(Duration::from_secs(1)));
    let energy = bench.query(1.234, 21.234);
    let off = error(&energy, 0.6 * trace.between(1.234, 21.234));
    assert!(off.abs() < 0.02, "{:+.2} %", off * 100.0);
    assert_eq!(energy.basis().unwrap().label(), "gpu");
    assert!(bench.devices[0].notes[0].contains("module"));

    board.scopes = vec![("module", 1.0)];
    let Some(mut bench) = Bench::new(&Machine::new(vec![board])) else {
        return;
    };
    let energy = bench.query(1.234, 21.234);
    assert_eq!(energy.basis().unwrap().label(), "module");
    let off = energy.headline().unwrap().joules() / trace.between(1.234, 21.234) - 1.0;
    assert!(off.abs() < 0.01, "{:+.2} %", off * 100.0);
    assert!(bench.devices[0].notes[0].contains("energy covers the whole module"));
}
