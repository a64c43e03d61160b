//! Energy of windows compared with the power that drives the counter.

use proptest::prelude::*;

use super::*;
use crate::rollup::uses;
use crate::source::{Method, Quantity, Source, SourceIndex};
use crate::time::Timestamp;

const MS: u64 = 1_000_000;

fn at(milliseconds: u64) -> Timestamp {
    Timestamp::from_nanos(milliseconds * MS)
}

fn window(start: u64, end: u64) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

/// Readings of a counter polled every `poll` ms: changes only, as the sampler stores them.
fn readings(poll: u64, values: impl IntoIterator<Item = f64>) -> Vec<Reading> {
    let mut kept: Vec<Reading> = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        let index = index as u64;
        let same = kept
            .last()
            .is_some_and(|last| last.value.to_bits() == value.to_bits());
        if !same {
            let previous = index.checked_sub(1).map(|index| at(index * poll));
            kept.push(Reading {
                source: SourceIndex(0),
                at: at(index * poll),
                previous,
                value,
            });
        }
    }
    kept
}

fn meter(rollover: Rollover) -> Meter {
    Meter {
        kind: Kind::Counter(rollover),
        period: None,
        relative_sigma: None,
        longest_silence: Duration::from_millis(500),
        clock_bound: Duration::ZERO,
        largest: LARGEST_POWER,
        dated_within: None,
    }
}

fn joules(energy: WindowEnergy) -> f64 {
    energy.energy.unwrap().joules()
}

#[test]
fn constant_power_gives_power_times_time() {
    let trace = readings(10, (0..200).map(|poll| f64::from(poll) * 0.2));
    let energy = meter(Rollover::Resets).energy(&trace, window(333, 1234));
    assert!((joules(energy) - 20.0 * 0.901).abs() < 1e-9);
    assert_eq!((energy.coverage, energy.reason), (1.0, None));
    let power = energy.power.unwrap();
    assert!((power.mean - 20.0).abs() < 1e-6 && (power.median - 20.0).abs() < 1e-6);
    assert!(energy.sigma.unwrap().joules() < 0.15);
}

#[test]
fn a_wrap_is_energy_and_a_reset_is_not() {
    let range = 5.0;
    let wrapping = readings(10, (0..100).map(|poll| f64::from(poll) * 0.2 % range));
    let energy =
        meter(Rollover::Wraps(Joules::from_joules(range))).energy(&wrapping, window(100, 900));
    assert!((joules(energy) - 16.0).abs() < 1e-9);
    let resetting = readings(10, (0..100).map(|poll| f64::from(poll % 50) * 0.2 + 1.0));
    let reset = meter(Rollover::Resets);
    let inside = reset.energy(&resetting, window(300, 700));
    assert_eq!(
        (inside.energy, inside.reason),
        (None, Some(Reason::CounterReset))
    );
    assert!(
        (joules(reset.energy(&resetting, window(550, 900))) - 7.0).abs() < 1e-9,
        "right again"
    );
}

#[test]
fn nonsense_inside_the_window_is_null_and_outside_it_nothing() {
    for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
        let values = (0..100).map(|poll| {
            if poll == 50 {
                nonsense
            } else {
                f64::from(poll) * 0.2
            }
        });
        let trace = readings(10, values);
        let meter = meter(Rollover::Resets);
        assert_eq!(
            meter.energy(&trace, window(400, 600)).energy,
            None,
            "{nonsense}"
        );
        assert!((joules(meter.energy(&trace, window(600, 900))) - 6.0).abs() < 1e-9);
    }
}

#[test]
fn missing_readings_lower_the_coverage_and_are_no_energy() {
    let mut trace = readings(10, (0..400).map(|poll| f64::from(poll) * 0.2));
    trace.retain(|reading| !(at(1000)..at(1700)).contains(&reading.at));
    let after = trace
        .iter()
        .position(|reading| reading.at >= at(1700))
        .unwrap();
    trace[after].previous = Some(at(990));
    let energy = meter(Rollover::Resets).energy(&trace, window(0, 3900));
    assert_eq!(energy.reason, Some(Reason::Gap));
    assert!(
        (energy.coverage - 3190.0 / 3900.0).abs() < 1e-9,
        "{}",
        energy.coverage
    );
    assert!((joules(energy) - 20.0 * 3.19).abs() < 1e-6);
    let mostly_lost = meter(Rollover::Resets).energy(&trace, window(950, 1750));
    assert_eq!(
        (mostly_lost.energy, mostly_lost.reason),
        (None, Some(Reason::Gap))
    );
}

#[test]
fn readings_that_end_too_early_are_partial_and_none_at_all_is_null() {
    let trace = readings(10, (0..100).map(|poll| f64::from(poll) * 0.2));
    let meter = meter(Rollover::Resets);
    let partial = meter.energy(&trace, window(500, 1200));
    assert_eq!(partial.reason, Some(Reason::Partial));
    assert!((partial.coverage - 0.7).abs() < 0.01);
    for (trace, window) in [
        (&trace[..], window(2000, 3000)),
        (&[], window(0, 10)),
        (&trace[..1], window(0, 10)),
    ] {
        let nothing = meter.energy(trace, window);
        assert_eq!(
            (nothing.energy, nothing.reason),
            (None, Some(Reason::NoReading))
        );
    }
    assert_eq!(
        meter.energy(&trace, window(50, 50)).energy,
        None,
        "no time, no energy"
    );
}

#[test]
fn a_reading_that_nothing_connects_with_the_last_is_a_gap() {
    let mut trace = readings(10, (0..100).map(|poll| f64::from(poll) * 0.2));
    trace[50].previous = None;
    let meter = meter(Rollover::Resets);
    let across = meter.energy(&trace, window(400, 600));
    assert_eq!(across.reason, Some(Reason::Gap));
    assert!((across.coverage - 0.95).abs() < 1e-9);
    assert!((joules(meter.energy(&trace, window(500, 600))) - 2.0).abs() < 1e-9);
}

#[test]
fn a_slow_staircase_is_dated_between_its_polls() {
    // 100 ms steps polled every 10 ms: the change is 5 ms before the poll on average.
    let trace = readings(
        10,
        (0..100).map(|poll: u32| f64::from(poll.saturating_sub(1) / 10) * 2.0),
    );
    let energy = meter(Rollover::Resets).energy(&trace, window(210, 810));
    assert!((joules(energy) - 12.0).abs() < 0.01, "{energy:?}");
}

#[test]
fn power_is_held_and_dated_back_by_half_of_what_it_averages() {
    let trace: Vec<Reading> = (0..40_u64)
        .map(|index| Reading {
            source: SourceIndex(0),
            at: at(index * 50),
            previous: index.checked_sub(1).map(|before| at(before * 50)),
            value: if (10..20).contains(&index) {
                300.0
            } else {
                100.0
            },
        })
        .collect();
    let power = |averaging| Meter {
        kind: Kind::Power(Duration::from_millis(averaging)),
        ..meter(Rollover::Resets)
    };
    // 300 W from 500 ms to 1 s, from an instantaneous sensor.
    let energy = power(0).energy(&trace, window(400, 1100));
    assert!((joules(energy) - (20.0 + 150.0)).abs() < 1e-9, "{energy:?}");
    assert_eq!((energy.coverage, energy.reason), (1.0, None));
    // The reading of a sensor that averages over 200 ms is delayed by 100 ms.
    let energy = power(200).energy(&trace, window(400, 900));
    assert!((joules(energy) - 150.0).abs() < 1e-9, "{energy:?}");
    let mut broken = trace.clone();
    broken[12].value = f64::NAN;
    let energy = power(0).energy(&broken, window(400, 1100));
    assert_eq!(
        (energy.energy, energy.reason),
        (None, Some(Reason::CounterReset))
    );
}

#[test]
fn a_gauge_holds_until_the_next_reading_but_not_for_ever() {
    let reading = |ms, value| Reading {
        source: SourceIndex(0),
        at: at(ms),
        previous: None,
        value,
    };
    let trace = [
        reading(0, 10.0),
        reading(100, 30.0),
        reading(150, f64::NAN),
        reading(200, 20.0),
    ];
    let spread = gauge_spread(&trace, window(50, 250), Duration::from_millis(500)).unwrap();
    assert!((spread.mean - (10.0 * 50.0 + 30.0 * 50.0 + 20.0 * 50.0) / 150.0).abs() < 1e-9);
    assert_eq!((spread.min, spread.max, spread.median), (10.0, 30.0, 20.0));
    assert_eq!(
        gauge_spread(&trace, window(5000, 6000), Duration::from_millis(500)),
        None
    );
}

fn share(domain: Domain, method: Method, joules: Option<f64>) -> Share {
    let energy = match joules {
        Some(value) => WindowEnergy {
            energy: Some(Joules::from_joules(value)),
            above_idle: None,
            sigma: Some(Joules::from_joules(0.1)),
            power: None,
            coverage: 1.0,
            reason: None,
        },
        None => WindowEnergy::unknown(Reason::NoReading),
    };
    let source = Source {
        name: format!("{domain:?}"),
        collector: "test".into(),
        host: None,
        device: None,
        quantity: Quantity::Energy {
            domain,
            rollover: Rollover::Resets,
        },
        method,
        period: None,
        privilege: "none".into(),
        relative_sigma: None,
    };
    Share {
        source: Arc::new(source),
        domain,
        used: Use::Shown,
        energy,
    }
}

/// Shares with the uses of the source tree.
fn query_energy(mut shares: Vec<Share>) -> QueryEnergy {
    let sources: Vec<&Source> = shares.iter().map(|share| &*share.source).collect();
    let used = uses(&sources, |_| false);
    for (share, used) in shares.iter_mut().zip(used) {
        share.used = used;
    }
    QueryEnergy {
        shares,
        ..QueryEnergy::default()
    }
}

fn basis(energy: &QueryEnergy) -> String {
    energy
        .basis()
        .map(|basis| basis.label().into_owned())
        .unwrap_or_default()
}

#[test]
fn nested_domains_are_never_added() {
    let energy = query_energy(vec![
        share(Domain::CpuPackage, Method::Counter, Some(10.0)),
        share(Domain::CpuCore, Method::Counter, Some(7.0)),
        share(Domain::CpuUncore, Method::Counter, Some(1.0)),
        share(Domain::CpuPackage, Method::Counter, Some(20.0)),
        share(Domain::Dram, Method::Counter, Some(3.0)),
        share(Domain::Platform, Method::Counter, Some(50.0)),
        share(Domain::CpuPackage, Method::Estimated, Some(99.0)),
    ]);
    assert_eq!(basis(&energy), "cpu+dram");
    assert_eq!(
        energy.of(Domain::CpuPackage),
        Some(Joules::from_joules(30.0))
    );
    assert_eq!(energy.headline(), Some(Joules::from_joules(33.0)));
}

#[test]
fn one_unknown_package_makes_the_sum_unknown_and_an_estimate_does_not_stand_in() {
    let energy = query_energy(vec![
        share(Domain::CpuPackage, Method::Counter, Some(10.0)),
        share(Domain::CpuPackage, Method::Counter, None),
        share(Domain::CpuPackage, Method::Estimated, Some(5.0)),
    ]);
    assert_eq!(
        (energy.of(Domain::CpuPackage), energy.headline()),
        (None, None)
    );
    let estimated = query_energy(vec![share(
        Domain::CpuPackage,
        Method::Estimated,
        Some(5.0),
    )]);
    assert_eq!(basis(&estimated), "cpu_estimated");
    assert_eq!(estimated.headline(), Some(Joules::from_joules(5.0)));
}

proptest! {
    /// Cutting a window in two changes nothing, and neither does wrapping. Energy is never negative
    /// nor above the counter's total.
    #[test]
    fn windows_add_up_and_wrapping_changes_nothing(
        steps in prop::collection::vec(0u32..2000, 20..200),
        cut in 0u64..100,
        range in 3.0f64..50.0,
    ) {
        let mut total = 0.0;
        let values: Vec<f64> = steps.iter().map(|step| { total += f64::from(*step) * 1e-3; total }).collect();
        let end = (values.len() as u64 - 1) * 10;
        let middle = end * cut / 100;
        let plain = readings(10, values.iter().copied());
        let wrapped = readings(10, values.iter().map(|value| value % range));
        let wraps = meter(Rollover::Wraps(Joules::from_joules(range)));
        let resets = meter(Rollover::Resets);
        let of = |meter: &Meter, trace: &[Reading], start, end| {
            meter.energy(trace, window(start, end)).energy.map_or(0.0, Joules::joules)
        };
        let whole = of(&resets, &plain, 0, end);
        let parts = of(&resets, &plain, 0, middle) + of(&resets, &plain, middle, end);
        let counted = values.last().unwrap() - values[0];
        prop_assert!(whole >= 0.0 && whole <= counted + 1e-9);
        // A part of less than half a step is null rather than a number.
        prop_assert!(parts <= whole + 1e-6);
        let unwrapped = of(&wraps, &wrapped, 0, end);
        prop_assert!((unwrapped - whole).abs() < 1e-6 * (1.0 + whole), "{unwrapped} and {whole}");
    }

    #[test]
    fn no_double_count_in_any_tree(
        domains in prop::collection::vec((0usize..5, prop::bool::ANY, 0.0f64..100.0), 0..12),
    ) {
        const ALL: [Domain; 5] = [Domain::CpuPackage, Domain::CpuCore, Domain::CpuUncore, Domain::Dram, Domain::Platform];
        let shares: Vec<_> = domains.iter().map(|(domain, measured, joules)| {
            let method = if *measured { Method::Counter } else { Method::Estimated };
            share(ALL[*domain], method, Some(*joules))
        }).collect();
        let measured: f64 = domains.iter().filter(|(domain, measured, _)| *measured && matches!(ALL[*domain], Domain::CpuPackage | Domain::Dram)).map(|(_, _, joules)| joules).sum();
        let energy = query_energy(shares);
        if matches!(&*basis(&energy), "cpu" | "cpu+dram" | "dram") {
            prop_assert!((energy.headline().unwrap().joules() - measured).abs() < 1e-9);
        }
    }
}
