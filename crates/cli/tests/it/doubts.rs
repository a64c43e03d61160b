//! Numbers that must not be believed in silence: each is refused or set apart, and told.

use std::path::Path;
use std::time::Duration;

use ipw_reference::Script;
use ipw_testkit::sensor::{Defects, PowerTrace};
use serde_json::{Value, json};

use crate::common::{Place, events, ipw, metrics, rows, said, spawn, summary, wait_until};
use crate::energy::{Living, paced};

/// What `quality` of a run doubts, by id.
fn doubts(run: &Path) -> Vec<String> {
    let summary = summary(run);
    let notes = summary["quality"].as_array().unwrap().iter();
    notes
        .map(|note| note["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_counter_that_jumps_costs_a_step_and_is_told_everywhere() {
    let place = paced(300);
    let trace = PowerTrace::new(&[(0.7, 25.0), (0.5, 80.0)]);
    let defects = Defects {
        jumps: (10..60).map(|n| (f64::from(n) * 0.25, 3900.0)).collect(),
        ..Defects::default()
    };
    let _sensor = Living::start(&place, &trace, defects);
    let mut command = place.profile(&["--max-queries", "10", "--warmup", "6"]);
    let told = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(
        told.out.contains("by more than its device can use"),
        "{}",
        told.out
    );
    let run = place.run();
    let live = summary(&run);
    let source = live["telemetry"]["sources"].as_array().unwrap().iter();
    let source = source
        .into_iter()
        .find(|source| source["about"]["name"] == "rapl/package-0")
        .unwrap();
    assert!(source["implausible"].as_u64().unwrap() > 2, "{source}");
    assert!(doubts(&run).contains(&"implausible".to_owned()));
    let hit = rows(&run);
    let hit: Vec<_> = hit
        .iter()
        .filter(|row| row["energy"]["shares"][0]["reason"] == "implausible")
        .collect();
    assert!(!hit.is_empty());
    let joules = live["overview"]["energy"]["joules"].as_f64().unwrap();
    assert!(joules < 10.0 * 0.5 * 80.0, "{joules} J for at most 400 J");
    let again = said(ipw().arg("attribute").arg(&run));
    assert_eq!(again.code, Some(0), "{}", again.err);
    let later = summary(&run)["overview"]["energy"]["joules"]
        .as_f64()
        .unwrap();
    assert!((later / joules - 1.0).abs() < 0.02, "{later} and {joules}");
}

#[test]
fn parts_with_and_without_the_counter_are_not_added() {
    let place = paced(60);
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    let sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "30", "--cpu-tdp", "100", "--quiet"]);
    let mut child = spawn(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    wait_until("rows are there", || {
        place.run().join("state.json").exists() && rows(&place.run()).len() >= 5
    });
    child.kill().unwrap();
    child.wait().unwrap();
    drop(sensor);
    let run = place.run();
    let bare = place.path().join("bare");
    std::fs::create_dir_all(&bare).unwrap();
    let mut resume = ipw();
    resume.args(["profile", "--resume"]).arg(&run);
    let told = said(resume.env("IPW_SYSFS_ROOT", &bare));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let rows = rows(&run);
    let sum = |basis: &str| -> (usize, f64) {
        let own = rows.iter().filter(|row| row["energy"]["basis"] == basis);
        let own: Vec<f64> = own
            .filter_map(|row| row["headline"]["joules"].as_f64())
            .collect();
        (own.len(), own.iter().sum())
    };
    let ((measured, joules), (estimated, others)) = (sum("cpu"), sum("cpu_estimated"));
    assert!(measured > 0 && estimated > 0, "{measured}, {estimated}");
    let summary = summary(&run);
    let energy = &summary["overview"]["energy"];
    let near = |found: &Value, wanted: f64| {
        let found = found.as_f64().unwrap();
        assert!((found - wanted).abs() < 1e-6 * wanted, "{found}, {wanted}");
    };
    assert_eq!(energy["basis"], json!(["cpu"]));
    assert_eq!(energy["rows"], measured);
    near(&energy["joules"], joules);
    assert_eq!(energy["by_basis"][1]["basis"], "cpu_estimated");
    near(&energy["by_basis"][1]["joules"], others);
    assert_eq!(energy["reasons"]["other_basis"], estimated);
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let mean = joules / measured as f64;
    near(&summary["metrics"]["joules_per_query"], mean);
    assert!(doubts(&run).contains(&"mixed_bases".to_owned()));
    assert!(told.out.contains("not added"), "{}", told.out);
    let shown = said(ipw().arg("show").arg(&run)).out;
    assert!(shown.contains("not added"), "{shown}");
    let report = said(ipw().args(["report", "--format", "md"]).arg(&run));
    assert_eq!(report.code, Some(0), "{}", report.err);
}

#[test]
fn another_number_of_packages_is_another_basis() {
    let place = paced(60);
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    let _first = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "30", "--quiet"]);
    let mut child = spawn(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    wait_until("rows are there", || {
        place.run().join("state.json").exists() && rows(&place.run()).len() >= 5
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let _second = Living::package(&place, 1, &trace, Defects::default());
    let run = place.run();
    let mut resume = ipw();
    resume.args(["profile", "--quiet", "--resume"]).arg(&run);
    let told = said(resume.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let energy = summary(&run)["overview"]["energy"].clone();
    let bases = energy["by_basis"].as_array().unwrap();
    assert_eq!(bases.len(), 2, "{bases:?}");
    assert!(bases.iter().all(|basis| basis["basis"] == "cpu"));
    let analysed = said(ipw().args(["analyze", "--analysis", "energy"]).arg(&run));
    assert_eq!(analysed.code, Some(0), "{}", analysed.err);
    let text = std::fs::read(run.join("analysis/energy.json")).unwrap();
    let analysed: Value = serde_json::from_slice(&text).unwrap();
    let found = analysed
        .pointer("/data/headline/joules")
        .and_then(Value::as_f64);
    let (found, total) = (found.unwrap(), energy["joules"].as_f64().unwrap());
    assert!((found / total - 1.0).abs() < 1e-9, "{found} and {total}");
    let rows = bases.iter().map(|basis| basis["rows"].as_u64().unwrap());
    assert_eq!(rows.max(), energy["rows"].as_u64());
    assert!(doubts(&run).contains(&"mixed_bases".to_owned()));
}

#[test]
fn a_package_that_freezes_is_told_with_the_rows_that_it_costs() {
    let place = paced(150);
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    let sensor = Living::start(&place, &trace, Defects::default());
    let mut command = place.profile(&["--max-queries", "30"]);
    let mut child = spawn(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    wait_until("rows are there", || {
        place.run().join("state.json").exists() && rows(&place.run()).len() >= 8
    });
    drop(sensor);
    assert!(child.wait().unwrap().success());
    let run = place.run();
    let found = doubts(&run);
    for id in ["stood_still", "rows_without_energy"] {
        assert!(found.contains(&id.to_owned()), "{id}: {found:?}");
    }
}

#[test]
fn a_time_in_which_we_were_stopped_is_told_with_the_queries_in_flight() {
    let place = paced(400);
    let mut command = place.profile(&["--max-queries", "4", "--concurrency", "2"]);
    let mut child = spawn(command.args(["--telemetry", "none"]));
    wait_until("rows are there", || {
        place.run().join("state.json").exists() && !rows(&place.run()).is_empty()
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert!(child.wait().unwrap().success());
    let run = place.run();
    assert!(doubts(&run).contains(&"paused".to_owned()));
    let pause = summary(&run)["telemetry"]["pauses"][0].clone();
    assert!(pause["seconds"].as_f64().unwrap() > 1.4, "{pause}");
    assert!(pause["queries"].as_u64().unwrap() >= 1, "{pause}");
}

#[test]
fn token_counts_that_cannot_be_are_claims_and_in_no_figure() {
    let place = Place::new(|_| Script {
        extra_output_tokens: 1_000_000_000_000,
        ..Script::words(5)
    });
    let told = said(&mut place.profile(&["--max-queries", "3"]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(
        told.out
            .contains("an impossible number of tokens in 3 rows"),
        "{}",
        told.out
    );
    let run = place.run();
    for row in rows(&run) {
        assert_eq!(
            row["token_details"]["claimed_output"],
            1_000_000_000_005_u64
        );
        assert_eq!(metrics(&row)["token_metrics"]["output"], 5);
        assert_eq!(row["token_source"], "chunks");
    }
    let summary = summary(&run);
    assert_eq!(summary["overview"]["tokens"]["output"], 15);
    assert_eq!(
        summary["overview"]["tokens"]["rows_with_impossible_claims"],
        3
    );
    assert!(doubts(&run).contains(&"token_claims".to_owned()));
}

#[test]
#[cfg(target_os = "linux")]
fn two_runs_at_once_count_each_other_s_joules_and_say_so() {
    let place = paced(200);
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    let _sensor = Living::start(&place, &trace, Defects::default());
    let profile = |name: &str, queries: &str| {
        let mut command = place.profile(&["--max-queries", queries, "--name", name]);
        command
            .env("IPW_SYSFS_ROOT", place.sysfs())
            .env_remove("IPW_MACHINE_ID");
        command
    };
    let named = |name: &str| {
        let made = std::fs::read_dir(place.runs()).into_iter();
        let mut made = made.flatten().flatten().map(|entry| entry.path());
        made.find(|path| path.to_string_lossy().ends_with(&format!("_{name}")))
    };
    let mut first = spawn(&mut profile("first", "20"));
    wait_until("rows are there", || {
        let run = named("first").filter(|run| run.join("state.json").exists());
        run.is_some_and(|run| !rows(&run).is_empty())
    });
    let second = said(&mut profile("second", "3"));
    assert_eq!(second.code, Some(0), "{}", second.err);
    assert!(first.wait().unwrap().success());
    assert!(
        second.out.contains("1 other run of `ipw` measured"),
        "{}",
        second.out
    );
    for name in ["first", "second"] {
        let run = named(name).unwrap();
        let told = &summary(&run)["telemetry"]["other_runs"];
        assert_eq!(told["most"], 1, "{name}: {told}");
        assert!(told["seconds"].as_f64().unwrap() > 0.0, "{name}: {told}");
        assert!(doubts(&run).contains(&"other_runs".to_owned()), "{name}");
        let warned = events(&run).iter().any(|event| {
            event["event"] == "warning" && event.to_string().contains("1 other run of `ipw` on")
        });
        assert_eq!(
            warned,
            name == "second",
            "the first one was alone at its start"
        );
    }
    // A beacon ends with its process.
    let third = said(&mut profile("third", "2"));
    assert_eq!(third.code, Some(0), "{}", third.err);
    let run = named("third").unwrap();
    assert_eq!(
        summary(&run)["telemetry"]["other_runs"],
        json!({"most": 0, "seconds": 0.0})
    );
    assert!(!doubts(&run).contains(&"other_runs".to_owned()));
}

/// Processes that are ended with the test.
#[cfg(target_os = "linux")]
struct Ended(Vec<std::process::Child>);

#[cfg(target_os = "linux")]
impl Drop for Ended {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn load_by_others_is_told_when_the_service_is_reached_over_http() {
    let _cores = crate::common::all_cores();
    let place = paced(200);
    let sh = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).spawn().unwrap()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy: Vec<_> = (0..=cores / 16)
        .map(|_| sh("while :; do :; done"))
        .collect();
    let busy = Ended(busy);
    // It stands for a service whose work is done elsewhere.
    let idle = Ended(vec![sh("exec sleep 600")]);
    let profiled = |name: &str, pids: &[&Ended]| {
        let pids = pids.iter().flat_map(|ended| &ended.0);
        let pids: Vec<String> = pids.map(|child| child.id().to_string()).collect();
        let mut command = place.profile(&["--max-queries", "10", "--name", name]);
        if !pids.is_empty() {
            command.args(["--service-pid", &pids.join(",")]);
        }
        let told = said(&mut command);
        assert_eq!(told.code, Some(0), "{}", told.err);
        let made = std::fs::read_dir(place.runs()).unwrap().flatten();
        let mut made = made.map(|entry| entry.path());
        made.find(|path| path.to_string_lossy().ends_with(&format!("_{name}")))
            .unwrap()
    };
    let seconds = |run: &Path, name: &str| {
        let cpu = &summary(run)["telemetry"]["cpu"];
        let seconds = cpu[name].as_f64();
        seconds.unwrap_or_else(|| panic!("{name}: {cpu}"))
    };
    let other = profiled("other", &[&idle]);
    assert!(doubts(&other).contains(&"other_load".to_owned()));
    let plan = std::fs::read_to_string(other.join("plan.toml")).unwrap();
    assert!(
        plan.contains(&format!("service_pids = [{}]", idle.0[0].id())),
        "{plan}"
    );
    let own = profiled("own", &[&busy, &idle]);
    assert!(
        seconds(&own, "service_seconds") > 10.0 * seconds(&other, "service_seconds"),
        "the work is the service's where it is named"
    );
    for name in ["own_seconds", "machine_seconds", "capacity_seconds"] {
        assert!(seconds(&own, name) > 0.0, "{name}");
    }
    // By its port: the reference service is this very process.
    let found = profiled("found", &[]);
    let cpu = summary(&found)["telemetry"]["cpu"].clone();
    assert!(seconds(&found, "service_seconds") > 0.0, "{cpu}");
    assert!(cpu["service_processes"].as_u64().unwrap() >= 1, "{cpu}");
    assert_eq!(cpu["service_unknown"], Value::Null);
    let mut missing = place.profile(&["--service-pid", "4194999"]);
    let told = said(&mut missing);
    assert_eq!(told.code, Some(2), "{}", told.err);
    assert!(
        told.err.contains("process 4194999 is not running"),
        "{}",
        told.err
    );
}
