//! One name, one number: every way out of a run tells the same value for the same metric.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_analysis::metric::Metric;
use ipw_reference::Script;
use ipw_testkit::fake_nvml::{Board, FakeNvml, Machine, Time};
use ipw_testkit::sensor::{Defects, PowerTrace};
use ipw_testkit::{fake_library, or_skip};
use serde_json::{Value, json};

use ipw_core::stats::mean;
use ipw_core::time::Clock as _;
use ipw_runner::SystemClock;

use crate::common::{Place, ipw, metrics, rows, said, summary};
use crate::compare::{Energy, adding, profiled, sums};
use crate::energy::Living;

fn json_of(args: &[&str], run: &Path) -> Value {
    let (command, rest) = args.split_first().unwrap();
    let said = said(ipw().arg(command).arg(run).args(rest));
    assert_eq!(said.code, Some(0), "{args:?}: {}", said.err);
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{args:?}: {}", said.out))
}

/// A value with the way on which it came out.
type Told = BTreeMap<&'static str, Vec<(&'static str, Option<f64>)>>;

fn told(run: &Path) -> Told {
    let summary = summary(run);
    let show = json_of(&["show", "--json"], run);
    let report = json_of(&["report", "--format", "json"], run);
    let efficiency = json_of(&["analyze", "--analysis", "efficiency", "--json"], run);
    let accuracy = json_of(&["analyze", "--analysis", "accuracy", "--json"], run);
    let energy = json_of(&["analyze", "--analysis", "energy", "--json"], run);
    let list = json_of(&["runs", "--json"], run);
    let board = json_of(
        &["leaderboard", "--format", "json", "--min-graded", "1"],
        run,
    );
    let every: Vec<&str> = Metric::ALL.map(Metric::name).into();
    let every = every.join(",");
    let compared = said(
        ipw()
            .arg("compare")
            .args([run, run])
            .args(["--format", "json", "--metric", &every]),
    );
    let compared: Value = serde_json::from_str(&compared.out).unwrap();
    let compared = compared["against"][0]["metrics"]
        .as_array()
        .unwrap()
        .clone();
    let mut all = Told::new();
    for metric in Metric::ALL {
        let id = metric.name();
        let found = all.entry(id).or_default();
        let mut put = |way: &'static str, value: &Value| found.push((way, value.as_f64()));
        put("summary.json", &summary["metrics"][id]);
        put("show", &show["metrics"][id]);
        put("report", &report["metrics"][id]);
        put("accuracy.json", &accuracy[0]["summary"]["metrics"][id]);
        put(
            "leaderboard",
            &board["sections"][0]["runs"][0]["metrics"][id]["value"],
        );
        let one = compared.iter().find(|one| one["metric"] == id);
        put("compare a", &one.unwrap()["a"]);
        put("compare b", &one.unwrap()["b"]);
        if let Some(sure) = efficiency[0]["data"].get(id) {
            put("efficiency.json", &sure["value"]);
        }
        if let Some(value) = energy[0]["data"]["per_token"].get(id) {
            put("energy.json", value);
        }
        if let Some(value) = list["runs"][0].get(id) {
            put("runs", value);
        }
    }
    also(&summary, &mut all);
    all
}

/// The same numbers where the summary has them under older or longer keys.
fn also(summary: &Value, all: &mut Told) {
    let mut alias = |id: &'static str, way: &'static str, value: &Value| {
        all.entry(id).or_default().push((way, value.as_f64()));
    };
    let block = &summary["efficiency"];
    alias("ipw", "efficiency block", &block["intelligence_per_watt"]);
    alias("ipj", "efficiency block", &block["intelligence_per_joule"]);
    alias("accuracy", "efficiency block", &block["accuracy"]["value"]);
    alias(
        "joules_per_correct",
        "efficiency block",
        &block["joules_per_correct_answer"],
    );
    let totals = &summary["overview"]["energy"];
    alias(
        "joules_per_query",
        "overview",
        &totals["joules_per_query"]["mean"],
    );
    alias(
        "joules_per_output_token",
        "overview",
        &totals["joules_per_output_token"],
    );
    let latency = &summary["load"]["latency"];
    for (id, pointer) in [
        ("ttft_p50", "/time_to_first_token_seconds/planned/p50/value"),
        (
            "sent_ttft_p99",
            "/time_to_first_token_seconds/sent/p99/value",
        ),
        ("latency_p99", "/total_seconds/planned/p99/value"),
        ("sent_latency_p50", "/total_seconds/sent/p50/value"),
        ("tpot_p50", "/per_output_token_seconds/p50/value"),
    ] {
        alias(
            id,
            "load.latency",
            latency.pointer(pointer).unwrap_or(&Value::Null),
        );
    }
    let steady = &summary["load"]["steady"];
    alias(
        "requests_per_second",
        "load.steady",
        &steady["requests_per_second"],
    );
    alias(
        "tokens_per_second",
        "load.steady",
        &steady["output_tokens_per_second"],
    );
}

/// The same from the rows as an export has them.
fn exported(place: &Place, run: &Path) -> BTreeMap<&'static str, f64> {
    let to = place.path().join("export").join(run.file_name().unwrap());
    let done = said(
        ipw()
            .arg("export")
            .arg(run)
            .args(["--format", "jsonl", "--overwrite"])
            .arg("-o")
            .arg(&to),
    );
    assert_eq!(done.code, Some(0), "{}", done.err);
    let file = std::fs::read_dir(&to)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let mut file = file.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let file: PathBuf = file
        .find(|path| !path.to_string_lossy().contains("readings"))
        .unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = f64::from(u32::try_from(rows.len()).unwrap());
    let sum = |get: &dyn Fn(&Value) -> Option<f64>| rows.iter().filter_map(get).sum::<f64>();
    let model = |row: &Value| {
        row["model_metrics"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .clone()
    };
    let energy = |row: &Value| row["headline"]["joules"].as_f64();
    let joules = sum(&energy);
    // A query that is too short for the counter has no energy, and is in no mean of it.
    let metered = sum(&|row| energy(row).map(|_| 1.0));
    let output = sum(&|row| energy(row).and(model(row)["token_metrics"]["output"].as_f64()));
    let is_right = |row: &Value| model(row)["lm_correctness"].as_bool();
    let right = sum(&|row| is_right(row).map(|right| f64::from(u8::from(right))));
    BTreeMap::from([
        ("joules_per_query", joules / metered),
        ("joules_per_output_token", joules / output),
        ("accuracy", right / count),
        ("joules_per_correct", joules / right),
        ("ipj", (right / count) / (joules / metered)),
    ])
}

#[test]
fn every_way_out_tells_the_same_value_for_the_same_name() {
    let place = adding(2, 4);
    let rows = (1..=400_u64).map(|n| {
        json!({
            "problem": format!("What comes after {n}?"),
            "answer": (n + 1).to_string(),
            "scorer": "numeric",
        })
    });
    let dataset = place.jsonl("many", rows);
    for load in [&[][..], &["--concurrency", "4"]] {
        let more = [&["--slo", "e2e=1s", "--overwrite"], load].concat();
        let run = profiled(&place, &dataset, Energy::Measured, &more);
        let all = told(&run);
        for (id, values) in &all {
            let (_, first) = values[0];
            // A phase of two milliseconds may be too short to tell.
            let is_phase = id.starts_with("prefill") || id.starts_with("decode");
            assert!(first.is_some() || is_phase, "{load:?} {id}");
            for (way, value) in values {
                let is_same = match (first, value) {
                    (Some(first), Some(value)) => (value - first).abs() <= 1e-9 * first.abs(),
                    (None, None) => true,
                    _ => false,
                };
                assert!(is_same, "{load:?} {id}: {way} says {value:?}: {values:?}");
            }
            assert!(values.len() >= 7, "{id}: {values:?}");
        }
        for (id, value) in exported(&place, &run) {
            let first = all[id][0].1.unwrap();
            assert!(
                (value - first).abs() <= 1e-9 * first.abs(),
                "{id}: export {value}, {first}"
            );
        }
    }
}

#[test]
fn queueing_does_not_change_ipw() {
    // Constant power, however many queries are in flight.
    let place = adding(40, 4);
    let dataset = sums(&place, "queue", 1);
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let sensor = Living::start(&place, &trace, Defects::default());
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "1",
        "--repeat",
        "3",
        "--sweep",
        "concurrency=1,2,4,16",
    ];
    let swept = said(place.profile(&args).env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(swept.code, Some(0), "{}", swept.err);
    drop(sensor);
    let directory = std::fs::read_dir(place.runs())
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let text = std::fs::read(directory.join("sweep.json")).unwrap();
    let sweep: Value = serde_json::from_slice(&text).unwrap();
    let points = sweep["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    let mut shares = Vec::new();
    for point in points {
        let run = PathBuf::from(point["directory"].as_str().unwrap());
        let found = &summary(&run)["metrics"];
        assert_eq!(
            point["ipw"], found["ipw"],
            "the sweep and the run say the same"
        );
        let (ipw, watts) = (
            found["ipw"].as_f64().unwrap(),
            found["watts"].as_f64().unwrap(),
        );
        // 3 of 4 answers are right, at 40 W.
        assert!(
            (ipw / (0.75 / 40.0) - 1.0).abs() < 0.02,
            "{} {ipw}",
            point["load"]
        );
        assert!(
            (watts / 40.0 - 1.0).abs() < 0.02,
            "{} {watts}",
            point["load"]
        );
        let own: Vec<f64> = rows(&run)
            .iter()
            .map(|row| row["headline"]["share_watts"].as_f64().unwrap())
            .collect();
        shares.push(mean(&own).unwrap());
    }
    assert!(shares.is_sorted_by(|more, less| more > less), "{shares:?}");
    assert!(shares[3] < shares[0] / 8.0, "{shares:?}");
    assert!(swept.out.contains("IPW"), "{}", swept.out);
}

/// A machine with a board of 300 W and a CPU of 100 W.
struct Machine400 {
    // Stops writing before its directory goes.
    _sensor: Living,
    place: Place,
    fake: FakeNvml,
}

impl Machine400 {
    /// `None` where the library cannot be built.
    fn start() -> Option<Self> {
        or_skip(fake_library("ipw-fake-nvml"))?;
        let place = Place::new(|_| Script {
            first_token: Duration::from_millis(60),
            tokens: ["The answer is ".to_owned(), "7".to_owned()].into(),
            ..Script::default()
        });
        let sensor = Living::start(
            &place,
            &PowerTrace::new(&[(1.0, 100.0)]),
            Defects::default(),
        );
        let began = SystemClock::start().anchor().monotonic_nanos;
        let board = Board::new(0, PowerTrace::new(&[(1.0, 300.0)]));
        let machine = Machine {
            time: Time::Monotonic(began),
            ..Machine::new(vec![board])
        };
        let fake = or_skip(FakeNvml::new(&machine))?;
        Some(Self {
            place,
            fake,
            _sensor: sensor,
        })
    }

    fn profile(&self, more: &[&str]) -> crate::common::Said {
        let rows = (0..24).map(|n| {
            json!({ "problem": format!("question {n}"), "answer": if n % 2 == 0 { "7" } else { "8" }, "scorer": "numeric" })
        });
        let dataset = self.place.jsonl("two", rows);
        let args = [
            &["--dataset", dataset.to_str().unwrap(), "--warmup", "1"],
            more,
        ]
        .concat();
        let mut command = self.place.profile(&args);
        command
            .env("IPW_NVML_LIB", self.fake.library())
            .env("IPW_SYSFS_ROOT", self.place.sysfs());
        said(&mut command)
    }
}

/// The flat table of a run on a basis has the joules of its metrics there.
fn the_flat_table_is_on(basis: &[&str], label: &str, run: &Path) {
    let shown = json_of(&[&["show", "--json"], basis].concat(), run);
    let flat = ["--tidy", "--format", "jsonl", "-o", "-"];
    let flat = said(ipw().arg("export").arg(run).args(flat).args(basis));
    assert_eq!(flat.code, Some(0), "{}", flat.err);
    let mut joules = Vec::new();
    for line in flat.out.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["basis"], label);
        joules.push(row["joules"].as_f64().unwrap());
    }
    let joules = mean(&joules).unwrap();
    let wanted = shown["metrics"]["joules_per_query"].as_f64().unwrap();
    assert!(
        (joules / wanted - 1.0).abs() < 1e-9,
        "{basis:?}: {joules} J"
    );
}

#[test]
fn the_basis_is_a_choice_when_a_run_is_made_and_when_it_is_looked_at() {
    let Some(machine) = Machine400::start() else {
        return;
    };
    let done = machine.profile(&["--name", "both"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let both = machine.place.run_of("two");
    let ipw_on = |basis: &[&str]| {
        let shown = json_of(&[&["show", "--json"], basis].concat(), &both);
        let watts = shown["metrics"]["watts"].as_f64().unwrap();
        let ipw = shown["metrics"]["ipw"].as_f64().unwrap();
        assert!((ipw * watts - 0.5).abs() < 1e-9, "{shown}");
        (shown["overview"]["energy"]["basis"][0].clone(), watts)
    };
    for (basis, label, wanted) in [
        (&[][..], "gpu+cpu", 400.0),
        (&["--basis", "all"], "gpu+cpu", 400.0),
        (&["--basis", "gpu"], "gpu", 300.0),
        (&["--basis", "cpu"], "cpu", 100.0),
    ] {
        let (found, watts) = ipw_on(basis);
        assert_eq!(found, label);
        assert!((watts / wanted - 1.0).abs() < 0.05, "{basis:?}: {watts} W");
        the_flat_table_is_on(basis, label, &both);
    }
    // A basis that the run does not have.
    let refused = said(ipw().arg("show").arg(&both).args(["--basis", "soc"]));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("all, gpu, cpu"), "{}", refused.err);
    let refused = machine.profile(&["--basis", "soc", "--name", "none"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("all, gpu, cpu"), "{}", refused.err);

    the_originals_figure_is_beside_ours(&both);

    // A run on another basis is another section, and not ranked with the first.
    let done = machine.profile(&["--name", "board", "--basis", "gpu"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let board = machine.place.run_of("two");
    assert_eq!(summary(&board)["basis"], "gpu");
    for row in rows(&board) {
        assert_eq!(row["energy"]["basis"], "gpu");
        let gpu = metrics(&row)["energy_metrics"]["per_query_joules"]
            .as_f64()
            .unwrap();
        assert!((row["headline"]["joules"].as_f64().unwrap() - gpu).abs() < 1e-9);
        assert!(metrics(&row)["energy_metrics"]["cpu_per_query_joules"].is_number());
    }
    let sections = |more: &[&str]| {
        let args = [
            &["leaderboard", "--format", "json", "--min-graded", "1"],
            more,
        ]
        .concat();
        let found = json_of(&args, &machine.place.runs());
        let sections = found["sections"].as_array().unwrap().clone();
        sections
            .iter()
            .map(|one| one["basis"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(sections(&[]), ["gpu", "gpu+cpu"]);
    assert_eq!(sections(&["--basis", "gpu"]), ["gpu"]);
    let compared = |more: &[&str]| {
        let args = [&["--format", "json", "--metric", "watts"], more].concat();
        let found = said(ipw().arg("compare").args([&both, &board]).args(args));
        let found: Value = serde_json::from_str(&found.out).unwrap();
        let doubts = found["against"][0]["doubts"].as_array().unwrap().clone();
        doubts.iter().any(|doubt| doubt["id"] == "other_basis")
    };
    assert!(compared(&[]), "different bases are a doubt");
    assert!(!compared(&["--basis", "gpu"]), "on one basis there is none");
}

/// The original counts the board alone, ours all.
fn the_originals_figure_is_beside_ours(both: &Path) {
    let accuracy = json_of(&["analyze", "--analysis", "accuracy", "--json"], both);
    let found = &accuracy[0]["summary"];
    let number = |value: &Value| value.as_f64().unwrap();
    assert_eq!(found["energy_basis"], "gpu");
    assert_eq!(found["metrics_basis"], "gpu+cpu");
    assert!(
        (number(&found["intelligence_per_watt"]) * 300.0 / 0.5 - 1.0).abs() < 0.1,
        "{found}"
    );
    assert!(
        (number(&found["metrics"]["ipw"]) * 400.0 / 0.5 - 1.0).abs() < 0.05,
        "{found}"
    );
    let data = &accuracy[0]["data"];
    for key in ["accuracy", "intelligence_per_watt", "telemetry_coverage"] {
        assert_eq!(data["per_model"]["reference"][key], found[key], "{key}");
    }
    assert_eq!(data["records"]["reference"].as_array().unwrap().len(), 24);
    let record = &data["records"]["reference"][0];
    assert_eq!(record["evaluation"]["is_correct"], true);
    assert_eq!(record["evaluation"]["config"]["scorer"], "numeric");
    assert_eq!(data["efficiency"]["reference"]["energy"]["count"], 24);
    assert_eq!(found["telemetry_coverage"]["records_checked"], 24);
}

#[test]
fn a_run_of_an_older_format_is_computed_again_and_says_so() {
    let place = adding(20, 4);
    let dataset = sums(&place, "old", 1);
    let run = profiled(&place, &dataset, Energy::Measured, &["--concurrency", "4"]);
    let before = summary(&run);
    let now = before["metrics"]["ipw"].as_f64().unwrap();
    let mut old = before.clone();
    old["format_version"] = json!(1);
    old.as_object_mut().unwrap().remove("metrics");
    old.as_object_mut().unwrap().remove("basis");
    old["efficiency"]["intelligence_per_watt"] = json!(now * 3.5);
    std::fs::write(run.join("summary.json"), old.to_string()).unwrap();
    let shown = said(ipw().arg("show").arg(&run));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("(format 1) says"), "{}", shown.out);
    let again = json_of(&["show", "--json"], &run);
    let again = again["metrics"]["ipw"].as_f64().unwrap();
    assert!((again / now - 1.0).abs() < 1e-9, "{again} {now}");
    // Grading it again renews the summary, and there is nothing to say any more.
    let scored = said(ipw().arg("score").arg(&run).arg("--again"));
    assert_eq!(scored.code, Some(0), "{}", scored.err);
    let shown = said(ipw().arg("show").arg(&run));
    assert!(!shown.out.contains("(format 1)"), "{}", shown.out);
}
