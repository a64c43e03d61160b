//! Joules beside the rows: the binary on a tree that stands for `/sys`, against the tree's truth.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ipw_core::reading::Window;
use ipw_core::time::{Anchor, Clock, Timestamp};
use ipw_reference::Script;
use ipw_runner::SystemClock;
use ipw_telemetry::collectors::replay::Replay;
use ipw_telemetry::{Role, Session, Setup};
use ipw_testkit::sensor::{Defects, PowerTrace, SimulatedRapl};
use serde_json::{Value, json};

use crate::common::{Place, ipw, metrics, rows, said, summary};

/// A sensor that lives in real time, on the machine's monotonic clock.
pub(crate) struct Living {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    trace: PowerTrace,
    /// The monotonic clock at the trace's beginning, in nanoseconds.
    began: u64,
}

impl Living {
    pub(crate) fn start(place: &Place, trace: &PowerTrace, defects: Defects) -> Self {
        Self::package(place, 0, trace, defects)
    }

    pub(crate) fn package(
        place: &Place,
        number: u32,
        trace: &PowerTrace,
        defects: Defects,
    ) -> Self {
        Self::at(&place.sysfs(), number, trace, defects)
    }

    /// A package in a tree of its own.
    pub(crate) fn at(sysfs: &Path, number: u32, trace: &PowerTrace, defects: Defects) -> Self {
        let sensor = SimulatedRapl::create(sysfs, number, trace.clone(), defects);
        let sensor = sensor.unwrap();
        let clock = SystemClock::start();
        let began = clock.anchor().monotonic_nanos;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                sensor.update(clock.now().seconds()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            stop,
            thread: Some(thread),
            trace: trace.clone(),
            began,
        }
    }

    /// What a row should have cost.
    fn truth(&self, row: &Value, reference: u64) -> f64 {
        // The run began after the sensor did.
        let shift = Duration::from_nanos(reference - self.began).as_secs_f64();
        let instant = |name: &str| row["timing"][name].as_f64().unwrap() + shift;
        self.trace
            .between(instant("start_seconds"), instant("end_seconds"))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn paced(milliseconds: u64) -> Place {
    Place::new(move |_| Script {
        first_token: Duration::from_millis(milliseconds / 2),
        gap: Duration::from_millis(milliseconds / 8),
        ..Script::words(5)
    })
}

fn reference(place: &Place) -> u64 {
    summary(&place.run())["parts"][0]["monotonic_nanos"]
        .as_u64()
        .unwrap()
}

#[test]
fn joules_of_300_ms_queries_match_the_trees_truth() {
    let place = paced(300);
    let trace = PowerTrace::new(&[(0.7, 25.0), (0.5, 80.0)]);
    let sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "20", "--warmup", "1"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("measured by counter (cpu)") && !said.out.contains("estimated"),
        "{}",
        said.out
    );
    let reference = reference(&place);
    let mut errors: Vec<f64> = Vec::new();
    for row in rows(&place.run()) {
        let share = &row["energy"]["shares"][0];
        assert_eq!(
            (&share["name"], &share["method"]),
            (&json!("rapl/package-0"), &json!("counter"))
        );
        assert_eq!(row["energy"]["basis"], "cpu");
        let joules = metrics(&row)["energy_metrics"]["cpu_per_query_joules"]
            .as_f64()
            .unwrap();
        assert_eq!(share["total_joules"].as_f64(), Some(joules));
        assert_eq!(row["headline"]["joules"].as_f64(), Some(joules));
        assert!(share["coverage"].as_f64().unwrap() > 0.99, "{share}");
        errors.push((joules / sensor.truth(&row, reference) - 1.0).abs());
        let watts = &metrics(&row)["power_metrics"]["cpu"]["per_query_watts"];
        assert!(watts["max"].as_f64() >= watts["avg"].as_f64());
        assert!(watts["avg"].as_f64() >= watts["min"].as_f64());
        let per_token = metrics(&row)["energy_metrics"]["energy_per_output_token_joules"].as_f64();
        assert!((per_token.unwrap() - joules / 5.0).abs() < 1e-9);
        let per_watt = metrics(&row)["efficiency"]["throughput_per_watt"]
            .as_f64()
            .unwrap();
        let rate = metrics(&row)["latency_metrics"]["throughput_tokens_per_sec"]
            .as_f64()
            .unwrap();
        let watts = row["headline"]["share_watts"].as_f64().unwrap();
        assert!((per_watt - rate / watts).abs() < 1e-9);
    }
    errors.sort_by(f64::total_cmp);
    eprintln!("relative errors: {errors:.4?}");
    assert!(
        errors[errors.len() / 2] < 0.03,
        "median error {:.4}",
        errors[errors.len() / 2]
    );
    // A test machine that stalls the sensor's thread is not the collector's fault.
    assert!(errors[errors.len() * 9 / 10 - 1] < 0.10, "{errors:?}");
}

#[test]
fn readings_are_on_disk_with_their_sources_and_python_opens_them() {
    let place = paced(50);
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "10"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let readings = place.run().join("readings");
    let sources: Value =
        serde_json::from_slice(&std::fs::read(readings.join("sources.json")).unwrap()).unwrap();
    let names: Vec<_> = sources
        .as_array()
        .unwrap()
        .iter()
        .map(|source| &source["about"]["name"])
        .collect();
    assert!(
        names.contains(&&json!("rapl/package-0")) && names.contains(&&json!("host/memory_used"))
    );
    assert_eq!(sources[0]["unit"], "J");
    let telemetry = &summary(&place.run())["telemetry"];
    let package = &telemetry["sources"][0];
    assert!(package["joules"].as_f64().unwrap() > 0.0);
    assert!(package["covered_seconds"].as_f64().unwrap() > 0.3);
    let (_, recorded) = ipw_store::readings::read(&place.run()).unwrap();
    let of_package = recorded
        .iter()
        .filter(|reading| reading.source.0 == 0)
        .count();
    assert_eq!(
        package["readings"],
        json!(of_package),
        "what was counted is what is on disk"
    );
    assert!(telemetry["sampler_cpu_share"].as_f64().unwrap() > 0.0);
    let Some(venv) = ipw_testkit::or_skip(ipw_testkit::hugging_face::newest()) else {
        return;
    };
    let seen = ipw_testkit::hugging_face::load(
        &venv,
        &readings,
        ipw_testkit::hugging_face::Rows::Included,
    )
    .unwrap();
    let data = seen["data"].as_array().unwrap();
    assert_eq!(
        seen["columns"],
        json!(["source", "nanos", "previous_nanos", "value"])
    );
    let package: Vec<f64> = data
        .iter()
        .filter(|reading| reading["source"] == 0)
        .map(|reading| reading["value"].as_f64().unwrap())
        .collect();
    assert!(
        package.len() > 20 && package.is_sorted(),
        "{} readings",
        package.len()
    );
}

/// Everything can be computed again: the recorded readings, played through a session, give each
/// row the joules that it was given live.
#[test]
fn a_recorded_run_gives_the_same_joules_when_it_is_replayed() {
    let place = paced(60);
    let trace = PowerTrace::new(&[(0.3, 25.0), (0.2, 80.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "10"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (sources, readings) = ipw_store::readings::read(&place.run()).unwrap();
    assert_eq!(sources[0].name, "rapl/package-0");
    let last = readings.iter().map(|reading| reading.at).max().unwrap();
    let setup = Setup {
        collectors: vec![Box::new(Replay::new(sources, readings))],
        interval: Duration::from_millis(10),
        role: Role::Service,
        absent: None,
    };
    let (session, mut pollers) =
        Session::new(setup, Arc::new(Stopped(last.after(Duration::from_secs(9)))));
    let rows = rows(&place.run());
    let instant = |row: &Value, name: &str| {
        let seconds = row["timing"][name].as_f64().unwrap();
        Timestamp::ZERO.after(Duration::from_secs_f64(seconds))
    };
    let tickets: Vec<_> = rows
        .iter()
        .map(|row| session.open(instant(row, "start_seconds")))
        .collect();
    for ticket in &tickets {
        session.landed(*ticket);
    }
    for poller in &mut pollers {
        poller.poll();
    }
    for (row, ticket) in rows.iter().zip(tickets) {
        let window =
            Window::new(instant(row, "start_seconds"), instant(row, "end_seconds")).unwrap();
        let again = session.window_energy(window);
        let live = row["energy"]["shares"][0]["total_joules"].as_f64().unwrap();
        let replayed = again.shares[0].energy.energy.unwrap().joules();
        assert!(
            (live - replayed).abs() < 1e-6 * live,
            "live {live} J, replayed {replayed} J"
        );
        session.close(ticket, window);
    }
}

/// A clock that stands still.
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }
}

#[test]
fn an_estimate_is_called_one_everywhere() {
    let place = paced(50);
    let mut command = place.profile(&["--max-queries", "4", "--cpu-tdp", "100"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out.contains("estimated, not measured (cpu_estimated)"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("energy is estimated, not measured"),
        "{}",
        said.err
    );
    for row in rows(&place.run()) {
        assert_eq!(row["energy"]["basis"], "cpu_estimated");
        assert_eq!(metrics(&row)["energy_metrics"]["basis"], "cpu_estimated");
        let share = &row["energy"]["shares"][0];
        assert_eq!(share["method"], "estimated");
        let (joules, sigma) = (&share["total_joules"], &share["sigma_joules"]);
        assert!(
            sigma.as_f64().unwrap() > 0.2 * joules.as_f64().unwrap(),
            "{share}"
        );
    }
    let text = crate::common::said(ipw().arg("show").arg(place.run())).out;
    assert!(text.contains("(estimated)"), "{text}");
}

#[test]
fn without_an_estimate_energy_is_null_with_the_reason() {
    let place = paced(20);
    let mut command = place.profile(&["--max-queries", "2", "--no-estimate"]);
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for row in rows(&place.run()) {
        assert_eq!(
            row["energy"],
            json!({"shares": [], "basis": null, "reason": "no_source"})
        );
        assert_eq!(
            metrics(&row)["energy_metrics"]["cpu_per_query_joules"],
            Value::Null
        );
        let headline = row["headline"].as_object().unwrap();
        assert_eq!(headline.len(), 5);
        assert!(headline.values().all(Value::is_null), "{headline:?}");
        let memory = &metrics(&row)["memory_metrics"]["cpu_mb"]["avg"];
        assert!(
            memory.as_f64().unwrap() > 0.0,
            "memory is known all the same"
        );
    }
    assert!(
        said.out.contains("unknown (no_source: 2 rows)"),
        "{}",
        said.out
    );
}

#[test]
fn energy_that_is_required_and_not_there_is_exit_5_before_the_first_request() {
    let place = paced(20);
    for more in [
        &["--require-energy"][..],
        &["--require-energy", "--cpu-tdp", "100"],
    ] {
        let said = said(place.profile(more).env("IPW_SYSFS_ROOT", place.sysfs()));
        assert_eq!(said.code, Some(5), "an estimate does not do: {}", said.err);
        assert!(
            said.err.contains("energy is required") && said.err.contains("help:"),
            "{}",
            said.err
        );
    }
    assert_eq!(place.service.requests(), 0);
    assert!(!place.runs().exists(), "nothing was written");
}

#[test]
fn a_service_elsewhere_is_not_billed_for_our_joules() {
    let place = paced(20);
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "2", "--service-host", "remote"]);
    let remote = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(remote.code, Some(0), "{}", remote.err);
    assert!(
        remote.err.contains("runs on another machine"),
        "{}",
        remote.err
    );
    for row in rows(&place.run()) {
        assert_eq!(
            row["energy"],
            json!({"shares": [], "basis": null, "reason": "remote_service"})
        );
    }
    let package = &summary(&place.run())["telemetry"]["sources"][0];
    assert_eq!(package["role"], "client");
    assert!(
        package["joules"].as_f64().is_some(),
        "our own joules are kept"
    );
    let mut required = place.profile(&[
        "--require-energy",
        "--service-host",
        "remote",
        "--overwrite",
    ]);
    assert_eq!(
        said(required.env("IPW_SYSFS_ROOT", place.sysfs())).code,
        Some(5)
    );
}

#[test]
fn the_doctor_says_what_is_here_and_what_would_help() {
    let place = paced(20);
    let nothing = said(ipw().arg("doctor").env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(nothing.code, Some(0), "{}", nothing.err);
    for words in [
        "Not read",
        "rapl",
        "What the energy of a run here would mean",
    ] {
        assert!(nothing.out.contains(words), "{words}: {}", nothing.out);
    }
    assert!(
        nothing.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        nothing.out
    );
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let something = said(
        ipw()
            .args(["doctor", "--json"])
            .env("IPW_SYSFS_ROOT", place.sysfs()),
    );
    let findings: Value = serde_json::from_str(&something.out).unwrap();
    assert_eq!(findings["energy"], "measured");
    let package = &findings["sources"][0];
    assert_eq!(package["about"]["name"], "rapl/package-0");
    assert_eq!(package["self_test"]["moves"], true);
    assert_eq!(package["self_test"]["monotone"], true);
    let watts = package["self_test"]["watts"].as_f64().unwrap();
    assert!((30.0..50.0).contains(&watts), "{watts}");
}

#[test]
fn idle_is_measured_before_and_after_and_phases_and_neighbours_have_their_shares() {
    let place = paced(300);
    let trace = PowerTrace::new(&[(1.0, 50.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let run = |more: &[&str]| {
        let mut args = vec!["--max-queries", "6", "--warmup", "0", "--overwrite"];
        args.extend_from_slice(more);
        let mut command = place.profile(&args);
        command.env_remove("IPW_IDLE");
        let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
        assert_eq!(said.code, Some(0), "{}", said.err);
        rows(&place.run())
    };
    // Nothing but idle: what is above it is nothing, and the phases add up.
    for row in run(&["--idle", "1s"]) {
        let number = |name: &str| row["headline"][name].as_f64().unwrap();
        assert!(
            number("above_idle_joules").abs() < 0.05 * number("joules"),
            "{row}"
        );
        assert_eq!(row["phases"]["kind"], "alone");
        let phases = &metrics(&row)["phase_metrics"];
        let phase = |name: &str| phases[name].as_f64().unwrap();
        let sum = phase("prefill_energy_j") + phase("decode_energy_j");
        // From the start to the send is in neither.
        assert!((sum / number("joules") - 1.0).abs() < 0.05, "{sum}: {row}");
        assert!(
            (phase("prefill_power_avg_w") / 50.0 - 1.0).abs() < 0.1,
            "{phases}"
        );
        assert!(phase("decode_energy_per_output_token_j") > 0.0);
    }
    let telemetry = &summary(&place.run())["telemetry"];
    let source = &telemetry["sources"][0];
    for moment in ["before", "after"] {
        let watts = source["idle"][moment]["watts"].as_f64().unwrap();
        assert!((watts / 50.0 - 1.0).abs() < 0.05, "{moment}: {watts}");
    }
    let balance = &source["balance"];
    let part = |name: &str| balance[name].as_f64().unwrap();
    let sum = part("queries_joules") + part("nobody_joules") + part("lost_joules");
    assert!(
        (sum / part("measured_joules") - 1.0).abs() < 1e-6,
        "{balance}"
    );
    // Three at a time: each has a share, and what is before the first token has waiting in it.
    let shared = run(&["--idle", "1s", "--concurrency", "3"]);
    let total: f64 = shared
        .iter()
        .map(|row| row["headline"]["joules"].as_f64().unwrap())
        .sum();
    let (mut first, mut last) = (f64::MAX, 0.0_f64);
    for row in &shared {
        assert_eq!(row["phases"]["kind"], "wait_and_prefill");
        assert!(metrics(row)["phase_metrics"]["prefill_energy_j"].is_null());
        first = first.min(row["timing"]["start_seconds"].as_f64().unwrap());
        last = last.max(row["timing"]["end_seconds"].as_f64().unwrap());
    }
    let truth = 50.0 * (last - first);
    assert!((total / truth - 1.0).abs() < 0.1, "{total} of {truth}");
}
