//! `ipw attribute`: the energy of rows once more, against what they were given live.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::or_skip;
use ipw_testkit::sensor::{Defects, PowerTrace};
use serde_json::{Value, json};

use crate::common::{Place, ipw, no_other_load, rows, said, spawn, summary, wait_until};
use crate::energy::{Living, paced};

/// Columns that energy makes, and those below the model's metrics.
const TOP: [&str; 3] = ["energy", "headline", "phases"];
const BELOW: [&str; 4] = [
    "energy_metrics",
    "power_metrics",
    "phase_metrics",
    "efficiency",
];

fn living(place: &Place) -> Living {
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    Living::start(place, &trace, Defects::default())
}

/// Queries with pauses between them: a live row dates the begin of a neighbour that is still in
/// flight some microseconds early.
const APART: [&str; 4] = ["--rate", "5", "--arrival", "constant"];

/// Live, a neighbour is dated by the moment at which it was seen: up to a millisecond before its
/// start when the machine is busy, of queries that take 60.
const SEEN: f64 = 2e-2;

fn profile(place: &Place, more: &[&str]) -> Command {
    let mut args = vec!["--warmup", "1", "--quiet"];
    if !more.contains(&"--idle") {
        args.extend(["--idle", "600ms"]);
    }
    if !more.contains(&"--concurrency") {
        args.extend(APART);
    }
    args.extend_from_slice(more);
    let mut command = place.profile(&args);
    command
        .env_remove("IPW_IDLE")
        .env("IPW_SYSFS_ROOT", place.sysfs());
    command
}

/// A run on a tree with one package.
fn profiled(place: &Place, more: &[&str]) -> PathBuf {
    // A sensor or sampler that gets no time leaves live rows without readings that come later.
    let _alone = no_other_load();
    let _sensor = living(place);
    let said = said(&mut profile(place, more));
    assert_eq!(said.code, Some(0), "{}", said.err);
    place.run()
}

fn attribute(run: &Path, more: &[&str]) -> Value {
    let said = said(ipw().arg("attribute").arg(run).arg("--json").args(more));
    assert_eq!(said.code, Some(0), "{}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

/// A row without what energy makes.
fn bare(row: &Value) -> Value {
    let mut row = row.clone();
    for name in TOP {
        row.as_object_mut().unwrap().remove(name).unwrap();
    }
    let metrics = row["model_metrics"]["reference"].as_object_mut().unwrap();
    for name in BELOW {
        metrics.remove(name).unwrap();
    }
    row
}

/// The same numbers to `slack` of themselves; sigma is told by what is known by then.
fn same(left: &Value, right: &Value, slack: f64, path: &str) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            assert_eq!(left.len(), right.len(), "{path}");
            for (name, value) in left.iter().filter(|(name, _)| *name != "sigma_joules") {
                same(value, &right[name], slack, &format!("{path}.{name}"));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            assert_eq!(left.len(), right.len(), "{path}");
            for (left, right) in left.iter().zip(right) {
                same(left, right, slack, &format!("{path}[]"));
            }
        }
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            // A phase is a small part of a query: what the dating of a neighbour moves is more of it.
            let slack = if path.contains("phase") {
                4.0 * slack
            } else {
                slack
            };
            let most = slack * (1.0 + left.abs().max(right.abs()));
            assert!((left - right).abs() <= most, "{path}: {left} and {right}");
        }
        _ => assert_eq!(left, right, "{path}"),
    }
}

fn same_rows(left: &[Value], right: &[Value], slack: f64) {
    assert_eq!(left.len(), right.len());
    for (number, (left, right)) in left.iter().zip(right).enumerate() {
        assert_eq!(bare(left), bare(right), "all else stays");
        same(left, right, slack, &number.to_string());
    }
}

/// Whether every query was over two steps of the sensor before the next began.
fn are_apart(rows: &[Value]) -> bool {
    let at = |row: &Value, name: &str| row["timing"][name].as_f64().unwrap();
    rows.windows(2)
        .all(|pair| at(&pair[1], "start_seconds") - at(&pair[0], "end_seconds") > 0.02)
}

fn joules(rows: &[Value]) -> f64 {
    let of = |row: &Value| row["headline"]["joules"].as_f64().unwrap();
    rows.iter().map(of).sum()
}

#[test]
fn a_finished_run_gets_the_same_shares_and_nothing_else_is_touched() {
    let place = paced(120);
    let run = profiled(&place, &["--max-queries", "12"]);
    let (live, told) = (rows(&run), summary(&run));
    assert_eq!(told["attribution"]["weights"], "equal");
    assert_eq!(told["attribution"]["rows_with_energy"], 12);
    assert_eq!(told["attribution"]["idle"][0]["from"], "recorded");
    // A key that this version does not know.
    let mut more = told.clone();
    more["later"] = json!({"than": "us"});
    std::fs::write(run.join("summary.json"), more.to_string()).unwrap();
    let plan = std::fs::read(run.join("plan.toml")).unwrap();

    let done = attribute(&run, &[]);
    assert_eq!(done["rows"], 12);
    assert_eq!(done["before"]["rows"], 12);
    // A machine that stalls lets one query run into the next.
    if are_apart(&live) {
        assert_eq!(done["rows_changed"], 0);
        same_rows(&live, &rows(&run), 1e-9);
    } else {
        same_rows(&live, &rows(&run), SEEN);
    }
    assert!(
        live[3]["phases"]["kind"] == "alone",
        "{}",
        live[3]["phases"]
    );
    let now = summary(&run);
    assert_eq!(now["later"], more["later"]);
    for key in [
        "parts",
        "telemetry",
        "load",
        "status",
        "versions",
        "generated_at",
    ] {
        assert_eq!(now[key], told[key], "{key}");
    }
    let watts = |summary: &Value| summary["attribution"]["idle"][0]["watts"].as_f64().unwrap();
    assert!((watts(&now) - watts(&told)).abs() < 1e-9);
    assert_eq!(now["attribution"]["method"], told["attribution"]["method"]);
    same(&now["overview"], &told["overview"], 1e-9, "overview");
    same(&now["marginal"], &told["marginal"], 1e-9, "marginal");
    let marginal = &now["marginal"]["sources"][0];
    assert_eq!(marginal["source"], "rapl/package-0", "{now:#}");
    assert_eq!(std::fs::read(run.join("plan.toml")).unwrap(), plan);
    assert!(!run.join(".lock").exists());
    // Going back gives the same values again, to the bit.
    let again = rows(&run);
    attribute(&run, &[]);
    assert_eq!(rows(&run), again);
    if let Some(venv) = or_skip(hugging_face::newest()) {
        let seen = hugging_face::load(&venv, &run, Rows::Included).unwrap();
        assert_eq!(seen["rows"], 12);
        let total = &seen["data"][5]["headline"]["joules"];
        assert_eq!(total, &again[5]["headline"]["joules"]);
    }
    let text = said(ipw().arg("attribute").arg(&run));
    for words in [
        "before    12 rows with energy",
        "now       12",
        "as measured in the run",
    ] {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
}

#[test]
fn a_killed_run_gets_the_same_shares_for_its_rows_and_so_does_a_resumed_one() {
    let place = paced(60);
    let _sensor = living(&place);
    let mut child = spawn(&mut profile(&place, &["--max-queries", "40"]));
    wait_until("rows are there", || {
        place.run().join("state.json").exists() && rows(&place.run()).len() >= 20
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run();
    let live = rows(&run);
    assert!(live.len() < 40, "{} rows", live.len());
    assert_eq!(summary(&run)["status"], "running");
    attribute(&run, &[]);
    // The readings of the last half second are lost with the process, the rows before are not.
    let now = rows(&run);
    let known = now.len() - 6;
    same_rows(&live[..known], &now[..known], 1e-9);
    for (live, now) in live.iter().zip(&now) {
        assert_eq!(bare(live), bare(now));
    }

    let mut resume = ipw();
    resume
        .args(["profile", "--quiet", "--resume"])
        .arg(&run)
        .env_remove("IPW_IDLE")
        .env("IPW_SYSFS_ROOT", place.sysfs());
    let resumed = said(&mut resume);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let live = rows(&run);
    assert_eq!(live.len(), 40);
    let done = attribute(&run, &[]);
    let now = rows(&run);
    same_rows(&live[..known], &now[..known], 1e-9);
    let second = live.iter().position(|row| row["part"] == 1).unwrap();
    assert!(second > known && second < 40);
    same_rows(&live[second..], &now[second..], 1e-9);
    let idle = done["attribution"]["idle"].as_array().unwrap();
    assert_eq!(idle.len(), 2, "{idle:?}");
    assert!(idle.iter().all(|idle| idle["from"] == "recorded"));
}

#[test]
fn back_to_back_shares_differ_by_the_dating_of_neighbours_alone() {
    let place = paced(60);
    let run = profiled(&place, &["--max-queries", "20", "--concurrency", "1"]);
    let live = rows(&run);
    attribute(&run, &[]);
    let now = rows(&run);
    same_rows(&live, &now, SEEN);
    let (left, right) = (joules(&live), joules(&now));
    assert!((left / right - 1.0).abs() < 1e-3, "{left} and {right}");
}

#[test]
fn neighbours_share_as_they_did_and_tokens_share_the_same_joules_otherwise() {
    let place = paced(160);
    let run = profiled(&place, &["--max-queries", "16", "--concurrency", "2"]);
    let live = rows(&run);
    attribute(&run, &[]);
    let equal = rows(&run);
    same_rows(&live, &equal, SEEN);
    assert_eq!(equal[4]["phases"]["kind"], "wait_and_prefill");
    let done = attribute(&run, &["--weights", "tokens"]);
    assert_eq!(done["attribution"]["weights"], "tokens");
    assert!(done["rows_changed"].as_u64().unwrap() > 8, "{done}");
    let tokens = rows(&run);
    let (left, right) = (joules(&equal), joules(&tokens));
    assert!((left / right - 1.0).abs() < 1e-9, "{left} and {right}");
    for (left, right) in equal.iter().zip(&tokens) {
        assert_eq!(bare(left), bare(right));
    }
    attribute(&run, &["--weights", "equal"]);
    assert_eq!(rows(&run), equal);
}

#[test]
fn idle_may_be_given_and_moves_what_is_above_it() {
    let place = paced(120);
    let run = profiled(&place, &["--max-queries", "8"]);
    let found = summary(&run)["attribution"]["idle"][0]["watts"]
        .as_f64()
        .unwrap();
    let live = rows(&run);
    let less = format!("{}", found - 10.0);
    let done = attribute(&run, &["--idle", &less]);
    assert_eq!(done["attribution"]["idle"][0]["from"], "given");
    for (before, after) in live.iter().zip(rows(&run)) {
        assert_eq!(bare(before), bare(&after));
        let number = |row: &Value, name: &str| row["headline"][name].as_f64().unwrap();
        let seconds = |name: &str| before["timing"][name].as_f64().unwrap();
        let time = seconds("end_seconds") - seconds("start_seconds");
        let above = number(&after, "above_idle_joules") - number(before, "above_idle_joules");
        // Alone, ten watts over its own steps, which stick out a little.
        assert!(
            (10.0 * time..10.0 * (time + 0.06)).contains(&above),
            "{above} J in {time} s"
        );
        let total = number(&after, "joules") - number(before, "joules");
        assert!(
            (0.0..0.6).contains(&total),
            "only what the steps stick out: {total} J"
        );
    }
    let named = attribute(&run, &["--idle", &format!("rapl/package-0={found}")]);
    assert_eq!(named["attribution"]["idle"][0]["watts"], json!(found));
    same_rows(&live, &rows(&run), 1e-9);
    for (idle, words) in [
        ("rapl/package-7=3", "rapl/package-0"),
        ("-1", "watts"),
        ("x=y", "watts"),
    ] {
        let wrong = said(
            ipw()
                .arg("attribute")
                .arg(&run)
                .arg(format!("--idle={idle}")),
        );
        assert_eq!(wrong.code, Some(2), "{idle}");
        assert!(wrong.err.contains(words), "{}", wrong.err);
    }
}

#[test]
fn with_two_packages_idle_needs_a_name_and_without_idle_quiet_steps_tell() {
    let place = paced(60);
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let _sensors: Vec<_> = (0..2)
        .map(|number| Living::package(&place, number, &trace, Defects::default()))
        .collect();
    let mut command = profile(&place, &["--max-queries", "10", "--idle", "0"]);
    let ran = said(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let run = place.run();
    assert_eq!(rows(&run)[0]["headline"]["above_idle_joules"], Value::Null);
    let unclear = said(ipw().arg("attribute").arg(&run).args(["--idle", "30"]));
    assert_eq!(unclear.code, Some(2), "{}", unclear.err);
    assert!(
        unclear.err.contains("`rapl/package-0`, `rapl/package-1`")
            && unclear.err.contains("--idle rapl/package-0=30"),
        "{}",
        unclear.err
    );
    let done = attribute(&run, &["--idle", "rapl/package-1=30"]);
    let idle = &done["attribution"]["idle"];
    assert_eq!(idle[1]["from"], "given");
    assert_eq!(idle[0]["from"], "between_queries", "{done:#}");
    let watts = idle[0]["watts"].as_f64().unwrap();
    assert!((watts / 40.0 - 1.0).abs() < 0.1, "{watts}");
    assert!(rows(&run)[0]["headline"]["above_idle_joules"].is_number());
}

#[test]
fn what_cannot_be_used_is_refused_and_left_alone() {
    let place = paced(40);
    let run = profiled(&place, &["--max-queries", "4"]);
    let live = rows(&run);
    let listed = || {
        let entries = std::fs::read_dir(&run).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let files = listed();
    let refused = |code: i32, words: &str| {
        let refused = said(ipw().arg("attribute").arg(&run));
        assert_eq!(refused.code, Some(code), "{}", refused.err);
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
        assert_eq!(rows(&run), live);
    };
    let sources = run.join("readings/sources.json");
    let sound = std::fs::read(&sources).unwrap();
    std::fs::write(&sources, "[{").unwrap();
    refused(2, "is damaged");
    let mut fewer: Vec<Value> = serde_json::from_slice(&sound).unwrap();
    fewer.truncate(1);
    std::fs::write(&sources, json!(fewer).to_string()).unwrap();
    refused(2, "which `sources.json` does not describe");
    assert_eq!(listed(), files, "nothing is left behind");
    std::fs::write(&sources, &sound).unwrap();
    let aside = run.join("elsewhere");
    std::fs::rename(run.join("readings"), &aside).unwrap();
    refused(2, "the run has no readings");
    std::fs::rename(&aside, run.join("readings")).unwrap();
    let lock = std::fs::File::create(run.join(".lock")).unwrap();
    lock.lock().unwrap();
    refused(6, "is being written by another process");
    drop(lock);
    let nowhere = said(ipw().arg("attribute").arg(place.path().join("nowhere")));
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    // Entries of an earlier version: no meter, no idle; the summary knows.
    let mut older: Vec<Value> = serde_json::from_slice(&sound).unwrap();
    for entry in &mut older {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("meter").unwrap();
        entry.remove("idle").unwrap();
    }
    std::fs::write(&sources, json!(older).to_string()).unwrap();
    let done = attribute(&run, &[]);
    assert_eq!(done["rows_changed"], 0);
    same_rows(&live, &rows(&run), 1e-9);
}

#[test]
fn a_kill_in_the_middle_leaves_the_run_whole() {
    let place = paced(20);
    let run = profiled(&place, &["--max-queries", "40"]);
    attribute(&run, &[]);
    let known = rows(&run);
    for delay in 0..12 {
        let mut child = spawn(ipw().arg("attribute").arg(&run));
        std::thread::sleep(Duration::from_millis(delay * 3));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(rows(&run), known, "after {delay}");
    }
    attribute(&run, &[]);
    assert_eq!(rows(&run), known);
}

#[test]
fn a_service_elsewhere_stays_elsewhere() {
    let place = paced(20);
    let run = profiled(&place, &["--max-queries", "3", "--service-host", "remote"]);
    let live = rows(&run);
    let done = attribute(&run, &[]);
    assert_eq!(done["after"]["joules"], Value::Null);
    assert_eq!(rows(&run), live);
    assert_eq!(rows(&run)[0]["energy"]["reason"], "remote_service");
}
