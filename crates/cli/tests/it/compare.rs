//! Runs side by side: differences against what is known to differ, gates, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ipw_reference::{Received, Script};
use ipw_testkit::sensor::{Defects, PowerTrace};
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, rows, said};
use crate::energy::Living;

/// Queries of a run.
const QUERIES: u64 = 24;

/// A service that adds one: each query takes this long and somewhat more, and every so-many-th
/// answer is wrong.
pub(crate) fn adding(milliseconds: u64, wrong_every: u64) -> Place {
    Place::new(move |received| {
        let number = number(received);
        let is_wrong = number.is_multiple_of(wrong_every);
        let answer = number + if is_wrong { 2 } else { 1 };
        Script {
            first_token: Duration::from_millis(milliseconds * (4 + number % 3) / 4),
            tokens: ["The answer is ".to_owned(), answer.to_string()].into(),
            ..Script::default()
        }
    })
}

/// The number in the prompt; warm-up queries have none.
fn number(received: &Received) -> u64 {
    let prompt = received.body["messages"][0]["content"].as_str();
    let digits = prompt
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap_or(1)
}

/// Questions that the service knows.
pub(crate) fn sums(place: &Place, name: &str, from: u64) -> PathBuf {
    let rows = (from..from + QUERIES).map(|n| {
        let subject = if n % 2 == 0 { "even" } else { "odd" };
        json!({
            "problem": format!("What comes after {n}?"),
            "answer": (n + 1).to_string(),
            "scorer": "numeric",
            "subject": subject,
        })
    });
    place.jsonl(name, rows)
}

/// How a run's energy comes about.
#[derive(Clone, Copy)]
pub(crate) enum Energy {
    Measured,
    Estimated,
    None,
}

/// A run of this dataset.
pub(crate) fn profiled(place: &Place, dataset: &Path, energy: Energy, more: &[&str]) -> PathBuf {
    let mut args = vec!["--dataset", dataset.to_str().unwrap(), "--warmup", "1"];
    args.extend(match energy {
        Energy::Measured => &[][..],
        Energy::Estimated => &["--cpu-tdp", "100"],
        Energy::None => &["--no-estimate"],
    });
    args.extend_from_slice(more);
    metered(place, &mut place.profile(&args), energy);
    place.run_of(dataset.file_stem().unwrap().to_str().unwrap())
}

/// Runs the command on a tree that stands for `/sys`: 40 W, or nothing.
pub(crate) fn metered(place: &Place, command: &mut Command, energy: Energy) {
    let trace = PowerTrace::new(&[(1.0, 40.0)]);
    let sensor = matches!(energy, Energy::Measured)
        .then(|| Living::start(place, &trace, Defects::default()));
    let said = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    drop(sensor);
    // Whatever comes next has no sensor unless it brings one.
    std::fs::remove_dir_all(place.sysfs()).unwrap();
}

fn compare(runs: &[&Path], more: &[&str]) -> Said {
    said(ipw().arg("compare").args(runs).args(more))
}

fn as_json(runs: &[&Path], more: &[&str]) -> Value {
    let mut args = vec!["--format", "json"];
    args.extend_from_slice(more);
    let said = compare(runs, &args);
    serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"))
}

fn metric<'a>(found: &'a Value, name: &str) -> &'a Value {
    let metrics = found["against"][0]["metrics"].as_array().unwrap();
    let one = metrics.iter().find(|one| one["metric"] == name);
    one.unwrap_or_else(|| panic!("{name}: {found:#}"))
}

fn doubts(found: &Value) -> Vec<(&str, &str)> {
    let doubts = found["against"][0]["doubts"].as_array().unwrap();
    doubts
        .iter()
        .map(|doubt| {
            let text = |key: &str| doubt[key].as_str().unwrap();
            (text("id"), text("level"))
        })
        // A busy machine has doubts of its own.
        .filter(|(id, _)| *id != "quality")
        .collect()
}

/// Mean time of a query, by the run's own stamps.
fn seconds(run: &Path) -> f64 {
    let rows = rows(run);
    let took = |row: &Value| {
        let at = |name: &str| row["timing"][name].as_f64().unwrap();
        at("end_seconds") - at("start_seconds")
    };
    rows.iter().map(took).sum::<f64>() / f64::from(u32::try_from(rows.len()).unwrap())
}

#[test]
fn a_slower_run_is_found_worse_and_the_interval_holds_the_truth() {
    let (fast, slow) = (adding(60, 4), adding(90, 2));
    let dataset = sums(&fast, "sums", 1);
    let a = profiled(&fast, &dataset, Energy::Measured, &[]);
    let b = profiled(&slow, &dataset, Energy::Measured, &[]);
    let found = as_json(&[&a, &b], &[]);
    assert_eq!(found["against"][0]["queries"]["common"], json!(QUERIES));
    let joules = metric(&found, "joules_per_query");
    assert_eq!(joules["pairing"], "paired");
    assert_eq!(
        (&joules["verdict"], &joules["is_better"]),
        (&json!("higher"), &json!(false))
    );
    // At constant power, joules differ as times do; how long each took is known to the microsecond.
    let truth = seconds(&b) / seconds(&a) - 1.0;
    let end = |name: &str| joules["relative"][name].as_f64().unwrap();
    assert!(truth > 0.2, "{truth}");
    assert!(end("low") > 0.0 && end("low") < end("value") && end("value") < end("high"));
    // A stalled machine may shift a reading: one point is allowed for.
    assert!(
        end("low") - 0.01 <= truth && truth <= end("high") + 0.01,
        "{truth}: {joules}"
    );
    assert_eq!(metric(&found, "latency_p50")["verdict"], "higher");
    let accuracy = metric(&found, "accuracy");
    assert_eq!(accuracy["a"], json!(0.75));
    assert_eq!(accuracy["b"], json!(0.5));
    let points = &accuracy["absolute"];
    assert!(points["low"].as_f64() <= Some(-0.25) && points["high"].as_f64() >= Some(-0.25));
    assert!(
        metric(&found, "watts")["a"]
            .as_f64()
            .is_some_and(|watts| (watts - 40.0).abs() < 4.0)
    );
    assert_eq!(metric(&found, "goodput")["a"], Value::Null);
    assert!(!found.to_string().contains("NaN"));
    let sentence = joules["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("B uses ") && sentence.contains("% more energy per query (95 %: ")
    );

    written_in_every_way(&a, &b);

    // Turned round, the same difference has the other sign.
    let turned = as_json(&[&b, &a], &["--metric", "joules_per_query"]);
    assert_eq!(metric(&turned, "joules_per_query")["verdict"], "lower");
    assert_eq!(
        turned["against"][0]["metrics"].as_array().map(Vec::len),
        Some(1)
    );
    // Several: each against the first.
    let several = as_json(&[&a, &b, &a], &["--metric", "accuracy"]);
    let names: Vec<_> = several["against"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["run"])
        .collect();
    assert_eq!(names, ["B", "C"]);
}

fn written_in_every_way(a: &Path, b: &Path) {
    let table = compare(&[a, b], &[]);
    assert_eq!(table.code, Some(0), "{}", table.err);
    assert!(
        table
            .out
            .lines()
            .all(|line| line.chars().count() <= 80 || line.trim_start().starts_with('/')),
        "{}",
        table.out
    );
    for words in [
        "paired by query: 24 in both",
        "joules_per_query",
        "worse",
        "B uses ",
    ] {
        assert!(table.out.contains(words), "{words}: {}", table.out);
    }
    assert!(!table.out.contains('\u{1b}'));
    let markdown = compare(&[a, b], &["--format", "md"]).out;
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut in_table: Option<usize> = None;
    for line in markdown.lines() {
        if line.starts_with('|') {
            assert_eq!(*in_table.get_or_insert(bars(line)), bars(line), "{line}");
        } else {
            in_table = None;
        }
    }
    assert!(markdown.contains("| `joules_per_query` |"), "{markdown}");
    let page = a.parent().unwrap().join("compare.html");
    let said = compare(&[a, b], &["-o", page.to_str().unwrap()]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), ""),
        "{}",
        said.err
    );
    let page = std::fs::read_to_string(page).unwrap();
    for words in [
        "<!doctype html>",
        "Content-Security-Policy",
        "script-src 'none'",
        "<svg",
        "joules_per_query",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for never in ["<script", "src=", "href=\"http", "url(", " style="] {
        assert!(!page.contains(never), "{never}");
    }
}

#[test]
fn a_gate_decides_the_exit_code() {
    let (right, wrong) = (adding(0, 1000), adding(0, 2));
    let dataset = sums(&right, "sums", 1);
    let a = profiled(&right, &dataset, Energy::None, &[]);
    let b = profiled(&wrong, &dataset, Energy::None, &[]);
    let gated = |runs: [&Path; 2], more: &[&str]| compare(&runs, more);
    let passed = gated([&b, &a], &["--gate", "accuracy>=-1pp,failed<=0%"]);
    assert_eq!(passed.code, Some(0), "{}{}", passed.out, passed.err);
    assert!(passed.out.contains("gate passed"), "{}", passed.out);
    let failed = gated([&a, &b], &["--gate", "accuracy>=-1pp"]);
    assert_eq!(failed.code, Some(7), "{}", failed.out);
    assert!(
        failed.out.contains("FAIL: `accuracy` is -50pp"),
        "{}",
        failed.out
    );
    assert!(failed.out.contains("gate NOT passed"), "{}", failed.out);
    // What holds by what was measured may not hold for sure.
    let accuracy = "accuracy>=-5pp";
    assert_eq!(gated([&a, &a], &["--gate", accuracy]).code, Some(0));
    assert_eq!(
        gated([&a, &a], &["--gate", accuracy, "--strict"]).code,
        Some(7)
    );
    let unknown = gated([&a, &b], &["--gate", "joules_per_token<=+3%"]);
    assert_eq!(unknown.code, Some(7), "{}", unknown.out);
    assert!(
        unknown
            .out
            .contains("UNKNOWN: `joules_per_token` is unknown"),
        "{}",
        unknown.out
    );
    // In a file, the outcome is still said.
    let file = right.path().join("gate.json");
    let quiet = gated(
        [&a, &b],
        &["--gate", "accuracy>=-1pp", "-o", file.to_str().unwrap()],
    );
    assert_eq!(quiet.code, Some(7));
    assert!(
        quiet.out.is_empty() && quiet.err.contains("gate NOT passed"),
        "{quiet:?}"
    );
    let written: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(written["passed"], false);
    assert_eq!(written["against"][0]["gate"][0]["outcome"], "fail");
    let bad = gated([&a, &b], &["--gate", "accuracy>=-1pp,acuracy>=80%"]);
    assert_eq!(bad.code, Some(2), "{}", bad.err);
    for words in [
        "`acuracy>=80%` at character 16",
        "did you mean `accuracy`",
        "`joules_per_token`",
    ] {
        assert!(bad.err.contains(words), "{words}: {}", bad.err);
    }
    let bad = gated([&a, &b], &["--metric", "speed"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.err.contains("`tokens_per_second`"), "{}", bad.err);
    assert_eq!(
        compare(&[&a], &[]).code,
        Some(2),
        "one run is no comparison"
    );
    assert_eq!(compare(&[&a, right.path()], &[]).code, Some(2), "not a run");
}

#[test]
fn what_is_not_comparable_is_refused_and_what_is_doubtful_is_said() {
    let (place, other) = (adding(60, 4), adding(60, 4));
    let dataset = sums(&place, "sums", 1);
    let measured = profiled(&place, &dataset, Energy::Measured, &[]);
    let estimated = profiled(
        &other,
        &dataset,
        Energy::Estimated,
        &["--param", "temperature=0.5"],
    );
    let found = as_json(
        &[&measured, &estimated],
        &["--gate", "joules_per_query<=+50%"],
    );
    assert_eq!(
        doubts(&found)[..2],
        [
            ("estimated_against_measured", "refuse"),
            ("other_parameters", "warn")
        ]
    );
    let withheld = &found["against"][0]["withheld"];
    assert_eq!(withheld.as_array().map(Vec::len), Some(6), "{withheld}");
    assert!(metric(&found, "accuracy")["absolute"].is_object());
    let gate = &found["against"][0]["gate"][0];
    assert_eq!(gate["outcome"], "unknown");
    assert!(
        gate["reason"].as_str().unwrap().contains("estimated"),
        "{gate}"
    );
    let said = compare(&[&measured, &estimated], &[]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .contains("refused: A's energy is measured and B's is estimated"),
        "{}",
        said.out
    );
    let forced = compare(&[&measured, &estimated], &["--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    assert!(forced.out.contains("NOT COMPARABLE"), "{}", forced.out);
    assert!(
        forced.out.contains("~ estimated, not measured"),
        "{}",
        forced.out
    );

    // Other questions under the same ids are other questions.
    let elsewhere = adding(0, 4);
    let other_sums = sums(&elsewhere, "other", 500);
    let others = profiled(&elsewhere, &other_sums, Energy::None, &[]);
    let refused = compare(&[&measured, &others], &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(
        refused
            .err
            .contains("no question in common (`sums`, `other`)")
            && refused.err.contains("--force"),
        "{}",
        refused.err
    );
    let forced = as_json(&[&measured, &others], &["--force"]);
    assert_eq!(metric(&forced, "accuracy")["pairing"], "unpaired");
    assert_eq!(forced["against"][0]["is_forced"], true);
}

#[test]
fn part_of_the_queries_and_a_changed_dataset_are_said() {
    let (place, fewer, changed) = (adding(0, 4), adding(0, 4), adding(0, 4));
    let dataset = sums(&place, "sums", 1);
    let all = profiled(&place, &dataset, Energy::None, &[]);
    let part = profiled(&fewer, &dataset, Energy::None, &["--max-queries", "20"]);
    let found = as_json(&[&all, &part], &["--metric", "accuracy"]);
    assert_eq!(doubts(&found), [("other_queries", "warn")]);
    assert_eq!(metric(&found, "accuracy")["queries_a"], 20);
    let few = profiled(
        &fewer,
        &dataset,
        Energy::None,
        &["--max-queries", "4", "--overwrite"],
    );
    let found = as_json(&[&all, &few], &["--metric", "accuracy"]);
    assert_eq!(metric(&found, "accuracy")["pairing"], "unpaired");
    // The same ids and the same name, but half of the prompts are others.
    let text = std::fs::read_to_string(&dataset).unwrap();
    let text = text.replace("after 1", "behind 1");
    let again = changed.path().join("sums.jsonl");
    std::fs::write(&again, text).unwrap();
    let changed = profiled(&changed, &again, Energy::None, &[]);
    let found = as_json(&[&all, &changed], &["--metric", "accuracy"]);
    assert_eq!(
        doubts(&found),
        [("other_prompts", "warn"), ("other_queries", "warn")]
    );
    assert_eq!(found["against"][0]["queries"]["same_id_other_prompt"], 11);
}

#[test]
fn other_scorers_weights_and_idle_power_are_said() {
    let (place, other) = (adding(30, 4), adding(30, 4));
    let dataset = sums(&place, "sums", 1);
    let few = ["--max-queries", "8"];
    let a = profiled(&place, &dataset, Energy::Measured, &few);
    let b = profiled(&other, &dataset, Energy::Measured, &few);
    let ours = |found: &Value| -> Vec<String> {
        let ids = doubts(found).into_iter().map(|(id, _)| id.to_owned());
        ids.filter(|id| ["other_scorer", "other_weights", "other_idle"].contains(&id.as_str()))
            .collect()
    };
    assert!(ours(&as_json(&[&a, &b], &[])).is_empty());
    let told = said(ipw().arg("score").arg(&b).args(["--scorer", "contains"]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    let found = as_json(&[&a, &b], &[]);
    assert_eq!(ours(&found), ["other_scorer"]);
    assert_eq!(found["runs"][1]["scorers"], json!(["contains"]));
    let told = compare(&[&a, &b], &[]).out.replace("\n  ", " ");
    for words in [
        "warning: 8 of 8 queries in both were graded by different scorers",
        "A was graded by `numeric` and B by `contains`",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let back = said(ipw().arg("score").arg(&b).args(["--use", "1"]));
    assert_eq!(back.code, Some(0), "{}", back.err);

    let attribute = |run: &Path, more: &[&str]| {
        let told = said(ipw().arg("attribute").arg(run).args(more));
        assert_eq!(told.code, Some(0), "{}", told.err);
    };
    attribute(&a, &["--idle", "10"]);
    attribute(&b, &["--idle", "10", "--weights", "tokens"]);
    assert_eq!(ours(&as_json(&[&a, &b], &[])), ["other_weights"]);
    attribute(&b, &["--idle", "20"]);
    let found = as_json(&[&a, &b], &[]);
    assert_eq!(ours(&found), ["other_idle"]);
    assert_eq!(found["runs"][1]["idle"][0]["watts"], 20.0);
    assert_eq!(found["runs"][1]["weights"], "equal");
    attribute(&b, &["--idle", "10"]);
    assert!(ours(&as_json(&[&a, &b], &[])).is_empty());
}
