//! All runs of a directory: good ones, killed ones, junk; measured and estimated ones apart.

use std::path::Path;
use std::time::Duration;

use ipw_reference::Script;
use ipw_store::Run;
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, questions, said, spawn, wait_until};
use crate::compare::{Energy, adding, metered, profiled, sums};

fn leaderboard(directory: &Path, more: &[&str]) -> Said {
    // Runs here are short; the least number of graded answers has a test of its own.
    let few = ["--min-graded", "1"];
    said(ipw().arg("leaderboard").arg(directory).args(few).args(more))
}

/// A run whose process is gone.
fn killed(place: &Place) {
    let dataset = place.jsonl("endless", questions(1000));
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--flush-every",
        "1",
        "--quiet",
    ];
    let mut child = spawn(&mut place.profile(&args));
    let rows = || Run::open(&place.run_of("endless")).and_then(|run| run.rows());
    wait_until("there is a row", || rows().is_ok_and(|rows| rows > 0));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_directory_of_all_kinds_of_runs_is_ranked_without_losing_one() {
    let place = adding(60, 4);
    let dataset = sums(&place, "sums", 1);
    let other = sums(&place, "others", 100);
    // One of the same name lies deeper.
    let deeper = |name: &str| place.runs().join(name);
    let estimated = profiled(&place, &dataset, Energy::Estimated, &[]);
    std::fs::create_dir_all(deeper("estimated")).unwrap();
    std::fs::rename(estimated, deeper("estimated/run")).unwrap();
    profiled(&place, &dataset, Energy::Measured, &[]);
    profiled(&place, &other, Energy::None, &[]);
    let hostile = "</td><img src=x onerror=alert(1)>";
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--max-queries",
        "12",
    ];
    let mut command = place.profile_at(&place.service.url(), hostile, &args);
    metered(&place, &mut command, Energy::Measured);
    let slow = Place::new(|_| Script {
        first_token: Duration::from_millis(5),
        ..Script::words(3)
    });
    killed(&slow);
    std::fs::rename(slow.run_of("endless"), deeper("killed")).unwrap();
    for (name, file) in [
        ("junk", "state.json"),
        ("old", "summary.json"),
        (".kept", "state.json"),
    ] {
        std::fs::create_dir_all(deeper(name)).unwrap();
        std::fs::write(deeper(name).join(file), "{\"no\": \"run\"").unwrap();
    }
    std::fs::write(deeper("notes.txt"), "junk").unwrap();

    let found: Value =
        serde_json::from_str(&leaderboard(&place.runs(), &["--format", "json"]).out).unwrap();
    ranked(found["sections"].as_array().unwrap());
    left_out(found["not_ranked"].as_array().unwrap());
    on_paper(&place, hostile);
    submitted(&place);
}

#[test]
fn runs_with_few_graded_answers_are_listed_apart() {
    let place = adding(5, 4);
    let dataset = sums(&place, "sums", 1);
    profiled(&place, &dataset, Energy::Measured, &[]);
    let asked = |more: &[&str]| {
        let args = [&["--format", "json"], more].concat();
        let told = said(ipw().arg("leaderboard").arg(place.runs()).args(args));
        let found: Value = serde_json::from_str(&told.out).unwrap();
        let section = &found["sections"][0];
        let count = |key: &str| section[key].as_array().unwrap().len();
        (count("runs"), count("too_few"))
    };
    assert_eq!(asked(&[]), (0, 1), "24 answers are fewer than 30");
    assert_eq!(asked(&["--min-graded", "24"]), (1, 0));
    let table = said(ipw().arg("leaderboard").arg(place.runs()));
    assert!(
        table.out.contains("too few graded answers"),
        "{}",
        table.out
    );
    assert!(
        table.out.contains("openai"),
        "the client is shown: {}",
        table.out
    );
}

fn ranked(sections: &[Value]) {
    let kinds: Vec<_> = sections
        .iter()
        .map(|section| {
            (
                section["dataset"].as_str().unwrap(),
                section["energy"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("others (jsonl)", "unknown"),
            ("sums (jsonl)", "measured"),
            ("sums (jsonl)", "estimated"),
        ]
    );
    let measured = &sections[1]["runs"];
    assert_eq!(measured.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&measured[0]["rank"], &measured[1]["rank"]),
        (&json!(1), &json!(2))
    );
    let ipw = |place: usize| measured[place]["metrics"]["ipw"]["value"].as_f64().unwrap();
    assert!(ipw(0) >= ipw(1));
    for run in measured.as_array().unwrap() {
        let metrics = &run["metrics"];
        assert_eq!(metrics["accuracy"]["value"], 0.75);
        let ratio = metrics["accuracy"]["value"].as_f64().unwrap()
            / metrics["watts"]["value"].as_f64().unwrap();
        let ipw = &metrics["ipw"];
        assert!((ipw["value"].as_f64().unwrap() - ratio).abs() < 1e-9);
        assert!(ipw["low"].as_f64() <= ipw["value"].as_f64());
        assert_eq!(run["basis"], json!(["cpu"]));
    }
    for metric in ["joules_per_query", "joules_per_correct", "watts", "ipw"] {
        let without = &sections[0]["runs"][0]["metrics"][metric];
        assert_eq!(
            without["value"],
            Value::Null,
            "{metric} is not known, not nought"
        );
    }
    // Each estimated run is first of its own.
    assert_eq!(sections[2]["runs"][0]["rank"], 1);
    assert_eq!(sections[0]["runs"][0]["rank"], Value::Null);
}

fn left_out(not_ranked: &[Value]) {
    let reasons: Vec<_> = not_ranked
        .iter()
        .map(|one| {
            let name = Path::new(one["directory"].as_str().unwrap());
            let name = name.file_name().unwrap().to_str().unwrap();
            (name.to_owned(), one["reason"].as_str().unwrap())
        })
        .collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert_eq!(reasons[0].0, "junk");
    assert!(
        reasons[1].0 == "killed" && reasons[1].1.contains("killed"),
        "{reasons:?}"
    );
    assert_eq!(reasons[2].0, "old");
}

fn on_paper(place: &Place, hostile: &str) {
    let table = leaderboard(&place.runs(), &[]);
    assert_eq!(table.code, Some(0), "{}", table.err);
    for words in [
        "4 runs, ranked by ipw",
        "sums (jsonl): energy measured",
        "sums (jsonl): energy estimated, not measured",
        "Not ranked:",
        "asked 12 queries",
    ] {
        assert!(table.out.contains(words), "{words}: {}", table.out);
    }
    let page = place.path().join("index.html");
    let said = leaderboard(&place.runs(), &["-o", page.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("script-src 'sha256-") && page.contains("<svg"));
    assert!(page.contains("&lt;/td&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert!(!page.contains(hostile) && !page.contains("<img"));
    let markdown = leaderboard(&place.runs(), &["--format", "md"]).out;
    assert!(markdown.contains("\\<img"), "{markdown}");
    assert!(!markdown.replace("\\<", "").contains('<'), "{markdown}");
    let filtered = leaderboard(
        &place.runs(),
        &["--filter", "dataset=others", "--sort", "accuracy"],
    );
    assert!(
        filtered.out.contains("1 run, ranked by accuracy")
            && filtered.out.contains("left out by `--filter`"),
        "{}",
        filtered.out
    );
    for bad in [
        ["--sort", "speed"],
        ["--filter", "modle=x"],
        ["--filter", "x"],
    ] {
        let said = leaderboard(&place.runs(), &bad);
        assert_eq!(said.code, Some(2), "{bad:?}");
        assert!(said.err.contains("help:"), "{}", said.err);
    }
    assert_eq!(
        leaderboard(&place.path().join("nowhere"), &[]).code,
        Some(2)
    );
    assert_eq!(
        leaderboard(&place.sysfs(), &[]).code,
        Some(2),
        "no run there"
    );
}

fn submitted(place: &Place) {
    let file = place.path().join("submission.json");
    let args = [
        "--filter",
        "model=reference,dataset=sums",
        "--submission",
        file.to_str().unwrap(),
    ];
    assert_eq!(leaderboard(&place.runs(), &args).code, Some(0));
    let all: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 2, "the measured and the estimated one");
    for (one, is_estimated) in all.iter().zip([false, true]) {
        assert_eq!(one["model_name"], "reference");
        assert_eq!(one["energy_is_estimated"], is_estimated);
        assert_eq!(one["organization"], Value::Null);
        let even = &one["categoryMetrics"]["even"];
        assert_eq!(even["accuracy"], 50.0);
        assert_eq!(one["categoryMetrics"]["odd"]["accuracy"], 100.0);
        assert!(even["avg_energy"].as_f64().unwrap() > 0.0);
        assert!(
            even["avg_latency"].as_f64().unwrap() >= 60.0,
            "in milliseconds"
        );
        assert_eq!(even["avg_compute"], Value::Null);
    }
}
