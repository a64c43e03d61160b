//! `ipw analyze` and `ipw plot`: every analysis and every figure of a real run, of one without
//! rows, and of one that was cut off.

use std::path::{Path, PathBuf};

use ipw_reference::Script;
use serde_json::Value;

use crate::common::{Place, Said, ipw, said};
use crate::compare::{adding, sums};

const ANALYSES: [&str; 8] = [
    "regression",
    "latency",
    "energy",
    "accuracy",
    "efficiency",
    "timeline",
    "quality",
    "outliers",
];

fn profiled(place: &Place) -> PathBuf {
    let told = said(&mut place.profile(&["--max-queries", "24", "--dataset", "starter"]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    place.run()
}

fn look(command: &str, run: &Path, more: &[&str]) -> Said {
    said(ipw().arg(command).arg(run).args(more))
}

fn found(run: &Path, id: &str) -> Value {
    let path = run.join("analysis").join(format!("{id}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_analysis_is_written_and_says_what_the_rows_say() {
    let place = Place::new(|_| Script::words(8));
    let run = profiled(&place);
    let told = look("analyze", &run, &[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    for id in ANALYSES {
        let found = found(&run, id);
        assert_eq!(found["analysis"], id);
        assert_eq!(found["summary"]["rows"], 24, "{id}");
        assert!(told.out.contains(&format!("{id}: ")), "{}", told.out);
    }
    let regression = found(&run, "regression");
    assert_eq!(regression["summary"]["total_samples"], 24);
    let fits = regression["data"]["regressions"].as_object().unwrap();
    let names: Vec<_> = fits.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "input_tokens_vs_ttft",
            "total_tokens_vs_energy",
            "total_tokens_vs_latency",
            "total_tokens_vs_power",
            "total_tokens_vs_power_log"
        ]
    );
    for key in ["count", "slope", "intercept", "r2", "avg_y"] {
        assert!(fits["total_tokens_vs_latency"].get(key).is_some(), "{key}");
    }
    let latency = found(&run, "latency");
    let total = &latency["data"]["total_seconds"]["sent"];
    assert_eq!(total["count"], 24);
    let summary = crate::common::summary(&run);
    let stored = &summary["load"]["latency"]["total_seconds"]["sent"];
    assert_eq!(total["p50"], stored["p50"]);
    let timeline = found(&run, "timeline");
    assert!(timeline["data"]["seconds"].as_f64().unwrap() > 0.0);

    let json = look("analyze", &run, &["--analysis", "outliers", "--json"]);
    let all: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(all[0]["analysis"], "outliers");
    assert_eq!(all.as_array().unwrap().len(), 1);
}

#[test]
fn what_is_asked_wrongly_names_what_there_is() {
    let place = Place::new(|_| Script::words(3));
    let run = profiled(&place);
    for (command, more, words) in [
        (
            "analyze",
            ["--analysis", "latencies"],
            "did you mean `latency`?",
        ),
        ("analyze", ["--option", "most"], "has no `=`"),
        ("analyze", ["--option", "must=3"], "did you mean `most`?"),
        ("analyze", ["--option", "most=few"], "not a whole number"),
        ("plot", ["--plot", "timelines"], "did you mean `timeline`?"),
    ] {
        let told = look(command, &run, &more);
        assert_eq!(told.code, Some(2), "{more:?}: {}", told.err);
        assert!(told.err.contains(words), "{words}: {}", told.err);
    }
    for command in ["analyze", "plot"] {
        let told = look(command, place.path(), &[]);
        assert_eq!(told.code, Some(2), "{}", told.err);
        assert!(told.err.contains("ipw profile"), "{}", told.err);
    }
}

#[test]
fn every_figure_with_something_in_it_is_drawn() {
    // Replies of different lengths: of one length there is no distribution.
    let place =
        Place::new(|received| Script::words(4 + usize::try_from(received.number % 5).unwrap()));
    let run = profiled(&place);
    let told = look("plot", &run, &[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    for id in [
        "ttft",
        "latency",
        "completion_tokens_kde",
        "timeline",
        "latency_ecdf",
        "subjects",
    ] {
        let plots = run.join("plots");
        let svg = std::fs::read_to_string(plots.join(format!("{id}.svg")));
        let svg = svg.unwrap_or_else(|error| panic!("{id}: {error}: {}", told.err));
        assert!(svg.starts_with("<svg"), "{id}");
        assert!(
            svg.contains("<title") && svg.contains("reference on "),
            "{id}"
        );
        let png = std::fs::read(plots.join(format!("{id}.png"))).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n", "{id}");
    }
    // Queries of a few milliseconds may have no joules; then that is said.
    for id in ["energy", "power"] {
        let is_drawn = run.join("plots").join(format!("{id}.png")).exists();
        let is_said = told.err.contains(&format!("no data for `{id}`"));
        assert!(is_drawn != is_said, "{id}: {}", told.err);
    }
    let elsewhere = place.path().join("elsewhere");
    let more = ["--plot", "ttft", "--format", "svg", "-o"];
    let told = said(ipw().arg("plot").arg(&run).args(more).arg(&elsewhere));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let names: Vec<_> = std::fs::read_dir(&elsewhere)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["ttft.svg"]);
}

#[test]
fn a_run_without_rows_or_without_its_readings_is_looked_at_all_the_same() {
    let place = Place::new(|_| Script::words(3));
    let empty = place.path().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let told = said(&mut place.profile(&["--dataset", empty.to_str().unwrap()]));
    assert_eq!(told.code, Some(1), "{}", told.err);
    let mut looked = 0;
    for entry in std::fs::read_dir(place.runs()).into_iter().flatten() {
        let run = entry.unwrap().path();
        for command in ["analyze", "plot", "report"] {
            let told = look(command, &run, &[]);
            assert_eq!(told.code, Some(0), "{command}: {}", told.err);
            looked += 1;
        }
    }
    let run = profiled(&place);
    std::fs::remove_dir_all(run.join("readings")).unwrap();
    for command in ["analyze", "plot", "report"] {
        let told = look(command, &run, &[]);
        assert_eq!(told.code, Some(0), "{command}: {}", told.err);
        looked += 1;
    }
    assert_eq!(looked, 6);
}

#[test]
fn a_sweep_and_several_runs_have_figures_of_their_own() {
    let place = adding(10, 4);
    let dataset = sums(&place, "sums", 1);
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--cpu-tdp",
        "100",
        "--sweep",
        "concurrency=1,2,4",
    ];
    let told = said(&mut place.profile(&args));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let sweep = std::fs::read_dir(place.runs())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.join("sweep.json").exists())
        .unwrap();
    let told = look("plot", &sweep, &["--format", "svg"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let drawn = std::fs::read_to_string(sweep.join("plots/sweep.svg")).unwrap();
    for text in [
        "Queries in flight",
        "Time of a query",
        "p50",
        "Output tokens",
    ] {
        assert!(drawn.contains(text), "{text}");
    }
    let pareto = place.path().join("pareto");
    let step = |load: u32| {
        let step = sweep.join(format!("concurrency_{load}"));
        let mut runs = std::fs::read_dir(step).unwrap();
        runs.next().unwrap().unwrap().path()
    };
    let more = [
        step(2).into_os_string().into_string().unwrap(),
        "--plot=pareto".to_owned(),
        format!("--output={}", pareto.display()),
    ];
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let told = look("plot", &step(1), &more);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let drawn = std::fs::read_to_string(pareto.join("pareto.svg")).unwrap();
    assert!(drawn.contains("Accuracy") && drawn.contains("Energy per query"));
    assert!(pareto.join("pareto.png").exists());
    // One run has nothing to stand beside, and says so.
    let told = look("plot", &step(1), &["--plot=pareto"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.err.contains("no data for `pareto`"), "{}", told.err);
}

#[test]
fn questions_that_are_asked_again_belong_together() {
    // A model that is right the first time and wrong the second.
    let place = Place::new(|received| Script {
        tokens: [if received.number < 20 { "7" } else { "8" }.to_owned()].into(),
        ..Script::default()
    });
    let rows = (0..16).map(|n| {
        let subject = if n < 4 { "few" } else { "many" };
        serde_json::json!({
            "problem": format!("Say seven ({n})"), "answer": "7", "scorer": "numeric",
            "subject": subject,
        })
    });
    let dataset = place.jsonl("d", rows);
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--repeat",
        "2",
        "--warmup",
        "0",
    ];
    let told = said(&mut place.profile(&args));
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.out.contains("few"), "{}", told.out);
    let run = place.run_of("d");
    look("analyze", &run, &["--analysis", "accuracy"]);
    let found = found(&run, "accuracy");
    assert_eq!(found["summary"]["correct"], 20);
    assert_eq!(found["summary"]["incorrect"], 12);
    assert_eq!(found["summary"]["total_scored"], 32);
    assert_eq!(found["summary"]["accuracy"], 0.625);
    let repeats = &found["data"]["repeats"];
    assert_eq!(repeats["questions"], 16, "{repeats}");
    assert_eq!(
        (&repeats["fewest"], &repeats["most"]),
        (&2.into(), &2.into())
    );
    // Four are right both times, twelve once.
    assert_eq!(repeats["undecided"], 12);
    assert_eq!(repeats["agreement"], 0.25);
    assert_eq!(found["data"]["subjects"]["few"]["graded"], 8);
}
