//! `ipw calibrate`: it loses nothing, shows what there is to show, keeps the result, and a run on
//! the same machine quotes it. Whether the times pass is the machine's affair and not asserted.

use std::path::Path;
use std::process::Command;

use ipw_reference::Script;
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, no_other_load, said, summary};

fn calibrate(cache: &Path, more: &[&str]) -> Said {
    let mut command = ipw();
    command.env("IPW_CACHE", cache).arg("calibrate").args(more);
    said(&mut command)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The check of that id.
fn check<'a>(calibration: &'a Value, id: &str) -> &'a Value {
    let checks = calibration["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["id"] == id);
    found.unwrap_or_else(|| panic!("no check `{id}` in {calibration:#}"))
}

fn value(calibration: &Value, id: &str) -> f64 {
    check(calibration, id)["value"].as_f64().unwrap()
}

/// A profile of three questions with that cache.
fn profile(place: &Place, cache: &Path) -> Command {
    let mut command = place.profile(&["--max-queries", "3", "--overwrite"]);
    command.env("IPW_CACHE", cache);
    command
}

#[test]
fn a_calibration_is_whole_kept_and_quoted_by_later_runs() {
    let alone = no_other_load();
    let place = Place::new(|_| Script::words(3));
    let (cache, copy) = (place.path().join("cache"), place.path().join("copy.json"));
    let before = said(&mut profile(&place, &cache));
    assert_eq!(before.code, Some(0), "{}", before.err);
    assert!(!before.out.contains("calibrated on"), "{}", before.out);
    assert_eq!(summary(&place.run())["calibration"], Value::Null);

    let args = ["--quick", "--json", "--output", copy.to_str().unwrap()];
    let told = calibrate(&cache, &args);
    drop(alone);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    assert_checks(&found, &told);
    let stored = read(&cache.join("calibration.json"));
    assert_eq!((&stored, &read(&copy)), (&found, &found));

    let after = said(&mut profile(&place, &cache));
    assert_eq!(after.code, Some(0), "{}", after.err);
    let quoted = &summary(&place.run())["calibration"];
    assert_eq!(quoted, &found);
    let shown = said(ipw().arg("show").arg(place.run()));
    for text in [&after.out, &shown.out] {
        let line = text.lines().find(|line| line.starts_with("calibrated on "));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(
            line.contains("with ipw ") && line.contains(" (p99)"),
            "{line}"
        );
        assert!(text.contains("joules off by "), "{text}");
    }

    // What is of other hardware or damaged is as good as none.
    let mut other = found.clone();
    other["hardware_label"] = json!("SOMETHING_ELSE");
    for text in [other.to_string(), "{\"format_version\": 1".to_owned()] {
        std::fs::write(cache.join("calibration.json"), text).unwrap();
        let said = said(&mut profile(&place, &cache));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(!said.out.contains("calibrated on"), "{}", said.out);
        assert_eq!(summary(&place.run())["calibration"], Value::Null);
    }
}

fn assert_checks(found: &Value, told: &Said) {
    let checks = found["checks"].as_array().unwrap();
    assert!(checks.len() > 20, "{found:#}");
    for check in checks {
        assert!(!check["at_least"].is_null() || !check["at_most"].is_null());
        let Some(value) = check["value"].as_f64() else {
            // A sampler that got no time leaves queries without energy: no number, and no pass.
            let id = check["id"].as_str().unwrap();
            assert!(id.contains("joules") || id.contains("sigma"), "{check:#}");
            assert_eq!(check["passed"], json!(false), "{check:#}");
            continue;
        };
        assert!(value.is_finite(), "{check:#}");
        let least = check["at_least"].as_f64();
        let most = check["at_most"].as_f64();
        let is_within =
            least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most);
        assert_eq!(check["passed"], json!(is_within), "{check:#}");
    }
    let passed = checks.iter().all(|check| check["passed"] == json!(true));
    assert_eq!(found["passed"], json!(passed));
    let code = if passed { 0 } else { 7 };
    assert_eq!(told.code, Some(code), "{}", told.err);

    for id in ["lost", "doubled", "unanswered", "ragged"] {
        let id = format!("all.rows_{id}");
        assert!(value(found, &id).abs() < 0.5, "{:#}", check(found, &id));
    }
    assert!(value(found, "all.stamps_early").abs() < 0.5);
    let stall = check(found, "stall.planned_p99");
    assert_eq!(stall["passed"], json!(true), "{stall:#}");
    let least = stall["at_least"].as_f64().unwrap();
    assert!(least > 0.5, "a stall of a second was to be seen: {least}");
    assert!(value(found, "ceiling.rate") > 0.0);
    assert!(value(found, "sequential.stamp_late_p99") > 0.0);
    assert_eq!(found["quick"], json!(true));
    assert!(found["calibrated_at"].as_f64().unwrap() > 1.6e9);
    assert!(!found["hardware_label"].as_str().unwrap().is_empty());
}

#[test]
fn without_a_place_for_the_result_nothing_is_measured() {
    let mut command = ipw();
    command
        .env("IPW_CACHE", "relative")
        .args(["calibrate", "--quick"]);
    let told = said(&mut command);
    assert_eq!(
        (told.code, told.out.as_str()),
        (Some(2), ""),
        "{}",
        told.err
    );
    assert!(
        told.err.contains("`IPW_CACHE` is `relative`"),
        "{}",
        told.err
    );
}

#[test]
fn a_calibration_that_is_stopped_keeps_nothing() {
    let place = Place::new(|_| Script::words(3));
    let cache = place.path().join("cache");
    let mut command = ipw();
    command
        .env("IPW_CACHE", &cache)
        .env("TMPDIR", place.path())
        .args(["calibrate", "--quick"]);
    let child = crate::common::spawn(&mut command);
    // The first scenario has its run by now, or will have: either way it is stopped.
    crate::common::wait_until("it has begun", || {
        let made = std::fs::read_dir(place.path()).unwrap().flatten();
        made.into_iter().any(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(".tmp") && entry.path().join("sequential").exists()
        })
    });
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let told: Said = child.wait_with_output().unwrap().into();
    assert_eq!(told.code, Some(130), "{}", told.err);
    assert!(!cache.exists());
    let left = std::fs::read_dir(place.path()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with(".tmp")),
        "{left:?}"
    );
}
