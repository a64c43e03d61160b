use std::time::Duration;

use ipw_core::alignment::{AlignmentMethod, ClockOffset};
use ipw_core::attribution::Idle;
use ipw_core::counter::Rollover;
use ipw_core::source::{Domain, Method, Source};
use ipw_core::telemetry::{CpuTime, IdlePower, OtherRuns, Pause, SelfTest, SelfTests};
use ipw_core::units::Watts;
use ipw_core::warning::Kind;
use serde_json::json;

use super::*;

fn kinds(facts: &Facts<'_>) -> Vec<RunKind> {
    let kinds = warnings(facts).into_iter().map(|warning| warning.kind);
    kinds
        .map(|kind| match kind {
            Kind::Run(kind) => kind,
            other => panic!("{other:?} is not about a run"),
        })
        .collect()
}

fn of(telemetry: &Telemetry) -> Vec<RunKind> {
    let facts = Facts {
        telemetry: Some(telemetry),
        ..Facts::default()
    };
    kinds(&facts)
}

fn source(name: &str, quantity: Quantity) -> SourceReport {
    SourceReport::of(Source {
        name: name.to_owned(),
        collector: "any".into(),
        host: None,
        device: None,
        quantity,
        method: Method::Counter,
        period: None,
        privilege: "none".into(),
        relative_sigma: None,
    })
}

fn energy() -> Quantity {
    Quantity::Energy {
        domain: Domain::CpuPackage,
        rollover: Rollover::Resets,
    }
}

/// Warnings about a counter.
fn counter(change: impl FnOnce(&mut SourceReport)) -> Vec<RunKind> {
    let mut source = SourceReport {
        joules: Some(5.0),
        gaps: Some(0),
        resets: Some(0),
        ..source("rapl/package-0", energy())
    };
    change(&mut source);
    of(&Telemetry {
        sources: vec![source],
        ..Telemetry::default()
    })
}

/// Warnings about a gauge with this first, last and largest value.
fn gauge(gauge: Gauge, first: f64, last: f64, max: f64) -> Vec<RunKind> {
    let values = json!({"first": first, "last": last, "min": 0.0, "max": max, "mean": first});
    of(&Telemetry {
        sources: vec![SourceReport {
            values: serde_json::from_value(values).unwrap(),
            ..source("nvml/0", Quantity::Gauge { gauge })
        }],
        ..Telemetry::default()
    })
}

/// Warnings about CPU time.
fn cpu(cpu: CpuTime) -> Vec<RunKind> {
    of(&Telemetry {
        cpu: Some(cpu),
        ..Telemetry::default()
    })
}

fn other_runs(most: u64, seconds: f64) -> Vec<RunKind> {
    of(&Telemetry {
        other_runs: Some(OtherRuns { most, seconds }),
        ..Telemetry::default()
    })
}

fn idle(before: f64, after: f64) -> IdlePower {
    let drawn = |watts: f64| {
        Some(Idle {
            power: Watts::from_watts(watts),
            sigma: Watts::ZERO,
        })
    };
    IdlePower {
        before: drawn(before),
        after: drawn(after),
    }
}

fn against_power(ratio: Option<f64>) -> SelfTests {
    SelfTests {
        start: None,
        end: Some(SelfTest {
            readings: 9,
            moves: true,
            monotone: None,
            change_interval_seconds: None,
            resolution: None,
            watts: None,
            against_power: ratio,
            last: None,
        }),
    }
}

#[test]
fn a_good_run_leaves_nothing_to_say() {
    assert_eq!(counter(|_| {}), []);
    assert_eq!(counter(|source| source.self_test = against_power(None)), []);
    assert_eq!(of(&Telemetry::default()), []);
    assert_eq!(gauge(Gauge::GpuTemperature, 40.0, 50.0, 54.0), []);
    assert_eq!(gauge(Gauge::Throttle, 0.0, 0.0, 0.0), []);
    let used = |service: Option<f64>| CpuTime {
        service_seconds: service,
        machine_seconds: Some(10.0),
        ..CpuTime::default()
    };
    assert_eq!(cpu(used(Some(9.5))), []);
    assert_eq!(cpu(used(None)), []);
    assert_eq!(counter(|source| source.idle = idle(50.0, 54.0)), []);
}

#[test]
fn each_doubt_has_its_warning() {
    assert_eq!(counter(|source| source.gaps = Some(2)), [RunKind::Gaps]);
    assert_eq!(counter(|source| source.resets = Some(1)), [RunKind::Resets]);
    let implausible = counter(|source| source.implausible = Some(4));
    assert_eq!(implausible, [RunKind::Implausible]);
    let still = |seconds: f64, usual: f64| {
        counter(|source| {
            source.still_seconds = Some(seconds);
            source.change_interval_seconds = Some(usual);
        })
    };
    assert_eq!(still(20.0, 0.01), [RunKind::StoodStill]);
    assert_eq!(still(1.0, 0.01), []);
    assert_eq!(still(20.0, 36.0), []);
    assert_eq!(
        counter(|source| source.joules = None),
        [RunKind::NeverMoved]
    );
    let paused = of(&Telemetry {
        pauses: vec![Pause {
            start_seconds: 1.0,
            seconds: 20.0,
            queries: 4,
        }],
        ..Telemetry::default()
    });
    assert_eq!(paused, [RunKind::Paused]);
    let against = counter(|source| source.self_test = against_power(Some(0.8)));
    assert_eq!(against, [RunKind::CounterAgainstPower]);
    let drift = counter(|source| source.idle = idle(50.0, 60.0));
    assert_eq!(drift, [RunKind::IdleDrift]);
    assert_eq!(gauge(Gauge::Throttle, 0.0, 0.0, 4.0), [RunKind::Throttled]);
    assert_eq!(
        gauge(Gauge::PowerLimit, 700.0, 500.0, 700.0),
        [RunKind::PowerLimit]
    );
    assert_eq!(
        gauge(Gauge::CpuTemperature, 40.0, 50.0, 80.0),
        [RunKind::Temperature]
    );
    assert_eq!(gauge(Gauge::Processes, 1.0, 1.0, 3.0), [RunKind::OtherLoad]);
    let busy = cpu(CpuTime {
        service_seconds: Some(5.0),
        machine_seconds: Some(10.0),
        ..CpuTime::default()
    });
    assert_eq!(busy, [RunKind::OtherLoad]);
    assert_eq!(other_runs(1, 2.5), [RunKind::OtherRuns]);
    let fault = of(&Telemetry {
        faults: vec!["rapl: gone".to_owned()],
        ..Telemetry::default()
    });
    assert_eq!(fault, [RunKind::Fault]);
}

#[test]
fn load_of_others_is_what_neither_the_service_nor_we_used() {
    let cpu = |service: f64, own: f64, machine: f64, capacity: f64| {
        cpu(CpuTime {
            service_seconds: Some(service),
            own_seconds: Some(own),
            machine_seconds: Some(machine),
            capacity_seconds: Some(capacity),
            ..CpuTime::default()
        })
    };
    assert_eq!(cpu(8.0, 1.5, 10.0, 40.0), []);
    assert_eq!(cpu(5.0, 1.0, 10.0, 40.0), [RunKind::OtherLoad]);
    // On a machine that waits for its GPU, system tasks are not other load.
    assert_eq!(cpu(0.5, 0.5, 2.0, 400.0), []);
    // A run too short for ticks.
    assert_eq!(cpu(0.1, 0.1, 0.5, 2.0), []);
    assert_eq!(other_runs(0, 0.0), []);
}

#[test]
fn a_clock_elsewhere_is_a_matter_of_how_long_queries_are() {
    let report = |name: &str| {
        let mut report = source(name, energy());
        report.about.host = Some("gpu1".to_owned());
        report.joules = Some(5.0);
        report.clock = Some(ClockOffset {
            how: AlignmentMethod::Exchange,
            shift_nanos: 0,
            bound: Duration::from_millis(4),
            drift_ppm: None,
            drift_bound_ppm: None,
            looks: 1,
            steps: 1,
        });
        report
    };
    let telemetry = Telemetry {
        sources: vec![report("gpu1/nvml/0"), report("gpu1/nvml/1")],
        ..Telemetry::default()
    };
    let said = |median: Option<f64>| -> Vec<RunKind> {
        let facts = Facts {
            median_query_seconds: median,
            telemetry: Some(&telemetry),
            ..Facts::default()
        };
        kinds(&facts)
    };
    assert_eq!(said(Some(0.05)), [RunKind::WideClock, RunKind::ClockSet]);
    assert_eq!(said(Some(1.0)), [RunKind::ClockSet]);
    assert_eq!(said(None), [RunKind::ClockSet]);
}

#[test]
fn rows_and_queries_have_theirs() {
    let facts = Facts {
        rows_thinly_covered: 2,
        rows_too_short: 3,
        rows_delayed: 2,
        is_estimated: true,
        p99_needs: Some(368),
        answered: 160,
        ..Facts::default()
    };
    let said: Vec<String> = warnings(&facts).iter().map(Warning::to_string).collect();
    for (note, words) in said.iter().zip([
        "estimated",
        "2 rows",
        "3 queries",
        "while 2",
        "368 are needed",
    ]) {
        assert!(note.contains(words), "{words}: {note}");
    }
    assert_eq!(said.len(), 5);
}

#[test]
fn rows_without_energy_beside_rows_with_it_are_a_doubt() {
    let said = |with: u64, reasons: &[(&str, u64)]| {
        let facts = Facts {
            rows_with_energy: with,
            rows_without_energy: reasons
                .iter()
                .map(|(reason, rows)| ((*reason).to_owned(), *rows))
                .collect(),
            ..Facts::default()
        };
        warnings(&facts)
            .iter()
            .map(Warning::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(said(4, &[]), [""; 0]);
    assert_eq!(said(0, &[("no_source", 9)]), [""; 0], "the screen says so");
    let some = said(4, &[("gap", 1), ("partial", 5)]);
    assert!(
        some[0].contains("6 of 10 rows have no energy (60 %; gap: 1, partial: 5)"),
        "{some:?}"
    );
}

#[test]
fn different_bases_are_told_apart_with_their_joules() {
    let part = |basis: &str, rows: u64, joules: f64| Part {
        basis: basis.to_owned(),
        sources: vec!["rapl/package-0".to_owned()],
        rows,
        joules,
    };
    let facts = Facts {
        bases: vec![part("cpu", 5, 278.3), part("cpu_estimated", 7, 24.3)],
        ..Facts::default()
    };
    let said = warnings(&facts);
    assert_eq!(said[0].kind, Kind::Run(RunKind::MixedBases));
    let words = said[0].to_string();
    assert!(
        words.contains("278.3 J") && words.contains("24.3 J"),
        "{words}"
    );
    let one = Facts {
        bases: vec![part("cpu", 5, 278.3)],
        ..Facts::default()
    };
    assert_eq!(warnings(&one), []);
}
