use serde_json::{Value, json};

use super::*;

fn of(telemetry: Value) -> Vec<Doubt> {
    let facts = Facts {
        telemetry: serde_json::from_value(telemetry).unwrap(),
        ..Facts::default()
    };
    notes(&facts).into_iter().map(|note| note.id).collect()
}

fn counter(more: &Value) -> Value {
    let mut source = json!({
        "about": {"name": "rapl/package-0", "quantity": {"kind": "energy"}},
        "joules": 5.0, "gaps": 0, "resets": 0, "values": null,
        "idle": {"before": null, "after": null},
        "self_test": {"start": null, "end": {"against_power": null}},
    });
    for (key, value) in more.as_object().unwrap() {
        source[key] = value.clone();
    }
    json!({ "sources": [source], "faults": [] })
}

fn gauge(kind: &str, values: &Value) -> Value {
    json!({"sources": [{
        "about": {"name": "nvml/0", "quantity": {"kind": "gauge", "gauge": kind}},
        "values": values,
    }]})
}

#[test]
fn a_good_run_leaves_nothing_to_say() {
    assert_eq!(of(counter(&json!({}))), []);
    assert_eq!(of(json!({})), []);
    assert_eq!(
        of(gauge(
            "gpu_temperature",
            &json!({"first": 40.0, "last": 50.0, "max": 54.0})
        )),
        []
    );
    assert_eq!(
        of(gauge(
            "throttle",
            &json!({"first": 0.0, "last": 0.0, "max": 0.0})
        )),
        []
    );
    assert_eq!(
        of(json!({"cpu": {"service_seconds": 9.5, "machine_seconds": 10.0}})),
        []
    );
    assert_eq!(
        of(json!({"cpu": {"service_seconds": null, "machine_seconds": 10.0}})),
        []
    );
    let drawn = json!({"idle": {"before": {"watts": 50.0}, "after": {"watts": 54.0}}});
    assert_eq!(of(counter(&drawn)), []);
}

#[test]
fn each_doubt_has_its_note() {
    assert_eq!(of(counter(&json!({"gaps": 2}))), [Doubt::Gaps]);
    assert_eq!(of(counter(&json!({"resets": 1}))), [Doubt::Resets]);
    assert_eq!(
        of(counter(&json!({"implausible": 4}))),
        [Doubt::Implausible]
    );
    let still = |seconds: f64| json!({"still_seconds": seconds, "change_interval_seconds": 0.01});
    assert_eq!(of(counter(&still(20.0))), [Doubt::StoodStill]);
    assert_eq!(of(counter(&still(1.0))), []);
    let coarse = json!({"still_seconds": 20.0, "change_interval_seconds": 36.0});
    assert_eq!(of(counter(&coarse)), []);
    assert_eq!(of(counter(&json!({"joules": null}))), [Doubt::NeverMoved]);
    let paused = json!({"pauses": [{"seconds": 20.0, "queries": 4}]});
    assert_eq!(of(paused), [Doubt::Paused]);
    let against = json!({"self_test": {"end": {"against_power": 0.8}}});
    assert_eq!(of(counter(&against)), [Doubt::CounterAgainstPower]);
    let drawn = json!({"idle": {"before": {"watts": 50.0}, "after": {"watts": 60.0}}});
    assert_eq!(of(counter(&drawn)), [Doubt::IdleDrift]);
    let values =
        |first: f64, last: f64, max: f64| json!({"first": first, "last": last, "max": max});
    assert_eq!(
        of(gauge("throttle", &values(0.0, 0.0, 4.0))),
        [Doubt::Throttled]
    );
    assert_eq!(
        of(gauge("power_limit", &values(700.0, 500.0, 700.0))),
        [Doubt::PowerLimit]
    );
    assert_eq!(
        of(gauge("cpu_temperature", &values(40.0, 50.0, 80.0))),
        [Doubt::Temperature]
    );
    assert_eq!(
        of(gauge("processes", &values(1.0, 1.0, 3.0))),
        [Doubt::OtherLoad]
    );
    let busy = json!({"cpu": {"service_seconds": 5.0, "machine_seconds": 10.0}});
    assert_eq!(of(busy), [Doubt::OtherLoad]);
    let runs = json!({"other_runs": {"most": 1, "seconds": 2.5}});
    assert_eq!(of(runs), [Doubt::OtherRuns]);
    assert_eq!(of(json!({"faults": ["rapl: gone"]})), [Doubt::Fault]);
}

#[test]
fn load_of_others_is_what_neither_the_service_nor_we_used() {
    let cpu = |service: f64, own: f64, machine: f64, capacity: f64| {
        of(json!({"cpu": {
            "service_seconds": service, "own_seconds": own,
            "machine_seconds": machine, "capacity_seconds": capacity,
        }}))
    };
    assert_eq!(cpu(8.0, 1.5, 10.0, 40.0), []);
    assert_eq!(cpu(5.0, 1.0, 10.0, 40.0), [Doubt::OtherLoad]);
    // A machine that waits for its GPU: the system's chores are no load.
    assert_eq!(cpu(0.5, 0.5, 2.0, 400.0), []);
    // A run too short for ticks.
    assert_eq!(cpu(0.1, 0.1, 0.5, 2.0), []);
    assert_eq!(of(json!({"other_runs": {"most": 0, "seconds": 0.0}})), []);
    assert_eq!(of(json!({"other_runs": null})), []);
}

#[test]
fn a_clock_elsewhere_is_a_matter_of_how_long_queries_are() {
    let source = |name: &str, steps: u64| {
        json!({
            "about": {"name": name, "host": "gpu1", "quantity": {"kind": "energy"}},
            "joules": 5.0, "clock": {"bound_seconds": 0.004, "steps": steps},
        })
    };
    let telemetry = json!({"sources": [source("gpu1/nvml/0", 1), source("gpu1/nvml/1", 1)]});
    let said = |median: Option<f64>| -> Vec<Doubt> {
        let facts = Facts {
            median_query_seconds: median,
            telemetry: serde_json::from_value(telemetry.clone()).unwrap(),
            ..Facts::default()
        };
        notes(&facts).iter().map(|note| note.id).collect()
    };
    assert_eq!(said(Some(0.05)), [Doubt::WideClock, Doubt::ClockSet]);
    assert_eq!(said(Some(1.0)), [Doubt::ClockSet]);
    assert_eq!(said(None), [Doubt::ClockSet]);
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
    let said: Vec<String> = notes(&facts).iter().map(Note::to_string).collect();
    for (note, words) in
        said.iter()
            .zip(["estimated", "2 rows", "3 queries", "while 2", "takes 368"])
    {
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
        notes(&facts)
            .iter()
            .map(Note::to_string)
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
    let said = notes(&facts);
    assert_eq!(said[0].id, Doubt::MixedBases);
    let words = said[0].to_string();
    assert!(
        words.contains("278.3 J") && words.contains("24.3 J"),
        "{words}"
    );
    let one = Facts {
        bases: vec![part("cpu", 5, 278.3)],
        ..Facts::default()
    };
    assert_eq!(notes(&one), []);
}
