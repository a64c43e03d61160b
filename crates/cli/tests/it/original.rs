//! Runs of the Python original, and runs of ours in the hands of its tools.
//!
//! Python's own `datasets` makes the runs (`original/original.py`), so that their types are those of a
//! machine with the original on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_reference::{Fault, Script};
use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::sensor::{Defects, PowerTrace};
use ipw_testkit::{ScriptFailed, Venv, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, metrics, no_other_load, rows, said, summary};
use crate::energy::{Living, paced};

const SCRIPT: &str = include_str!("original/original.py");

/// Rows of each run, and what they sum to.
const ROWS: usize = 5;
const JOULES: f64 = 435.0;

/// A run of the original before and after its accuracy pass.
struct Original {
    kind: String,
    model: String,
    ungraded: PathBuf,
    graded: PathBuf,
}

impl Original {
    fn both(&self) -> [(&Path, bool); 2] {
        [(&self.ungraded, false), (&self.graded, true)]
    }

    fn has_energy(&self) -> bool {
        self.kind != "plain"
    }
}

fn python(venv: &Venv, command: &str, path: &Path) -> String {
    match venv.run(SCRIPT, &[command.as_ref(), path.as_os_str()]) {
        Ok(printed) => printed,
        Err(ScriptFailed::Ended { stderr, .. }) => panic!("{stderr}"),
        Err(other) => panic!("{other}"),
    }
}

/// Runs with the energy of a GPU, with that of a whole chip, and without any.
fn originals(directory: &Path) -> Option<Vec<Original>> {
    let venv = or_skip(hugging_face::newest())?;
    let printed = python(&venv, "make", directory);
    let made = printed.lines().map(|line| {
        let told: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| told[key].as_str().unwrap().to_owned();
        Original {
            kind: text("kind"),
            model: text("model"),
            ungraded: text("ungraded").into(),
            graded: text("graded").into(),
        }
    });
    Some(made.collect())
}

fn done(args: &[&str], run: &Path) -> Said {
    let told = said(ipw().args(args).arg(run));
    assert_eq!(
        told.code,
        Some(0),
        "{args:?} {}: {}",
        run.display(),
        told.err
    );
    told
}

fn json_of(args: &[&str], run: &Path) -> Value {
    serde_json::from_str(&done(args, run).out).unwrap()
}

/// The content of every file below a directory, by its name.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).unwrap())
    };
    files.map(file).collect()
}

/// A service that fails two queries of the first six.
fn flaky() -> Place {
    Place::new(|received| Script {
        fault: [2, 4]
            .contains(&received.number)
            .then(|| Fault::Status(503, "busy".to_owned())),
        first_token: Duration::from_millis(20),
        ..Script::words(5)
    })
}

/// A run with joules of a counter.
fn measured(place: &Place, more: &[&str], code: i32) -> PathBuf {
    let _alone = no_other_load();
    let trace = PowerTrace::new(&[(0.07, 25.0), (0.05, 80.0)]);
    let _sensor = Living::start(place, &trace, Defects::default());
    let first = ["--quiet", "--warmup", "0"];
    let mut command = place.profile(&[&first[..], more].concat());
    let told = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(told.code, Some(code), "{}", told.err);
    place.run()
}

/// Sends what failed once more.
fn resume(place: &Place, run: &Path) {
    let mut command = ipw();
    command.args(["profile", "--quiet", "--retry-failed", "--resume"]);
    let told = said(command.arg(run).env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(told.code, Some(0), "{}", told.err);
}

fn joules(run: &Path) -> Vec<Value> {
    let joules = |row: &Value| row["headline"]["joules"].clone();
    rows(run).iter().map(joules).collect()
}

/// What `attribute` may not change, since the readings are the same.
fn is_close(left: &[Value], right: &[Value]) -> bool {
    let near = |left: &Value, right: &Value| match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => (left - right).abs() <= 1e-9 * right.abs(),
        (left, right) => left == right,
    };
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| near(left, right))
}

#[test]
fn readings_and_summary_survive_the_originals_accuracy_pass() {
    let place = paced(40);
    let run = measured(&place, &["--max-queries", "6"], 0);
    done(&["analyze"], &run);
    let Some(venv) = or_skip(hugging_face::newest()) else {
        return;
    };
    json_of(&["attribute", "--json"], &run);
    let (before, readings) = (joules(&run), content(&run.join("readings")));
    let (told, plan) = (summary(&run), content(&run)["plan.toml"].clone());
    assert!(before.iter().all(Value::is_f64), "{before:?}");
    assert!(!readings.contains_key("dataset_info.json"));

    python(&venv, "accuracy", &run);
    assert_eq!(content(&run.join("readings")), readings);
    assert_eq!(summary(&run), told);
    assert_eq!(content(&run)["plan.toml"], plan);
    assert_eq!(joules(&run), before);
    let graded = rows(&run);
    assert_eq!(graded.len(), 6);
    for row in &graded {
        let own = metrics(row);
        // The original's provider grades what our scorers left open, and the other way round.
        assert_eq!(own["lm_correctness"], own["evaluation"]["is_correct"]);
        assert_eq!(own["evaluation"]["config"], Value::Null);
        assert_eq!(own["gpu_info"]["name"], Value::Null);
    }

    let shown = json_of(&["show", "--json"], &run);
    assert_eq!(shown["overview"]["rows"], 6);
    assert_eq!(shown["overview"]["energy"]["rows"], 6);
    done(&["show"], &run);
    let again = json_of(&["attribute", "--json"], &run);
    assert_eq!(again["rows"], 6, "{again:#}");
    assert!(is_close(&joules(&run), &before), "{:?}", joules(&run));
    for command in ["report", "analyze", "plot"] {
        done(&[command], &run);
    }
    done(&["score", "--scorer", "exact", "--again"], &run);
    // What we wrote over it opens in Python, with types in every column.
    for venv in [Some(venv), or_skip(hugging_face::oldest())]
        .into_iter()
        .flatten()
    {
        let seen = hugging_face::load(&venv, &run, Rows::Included).unwrap();
        assert_eq!(seen["rows"], 6);
        assert_eq!(seen["features"]["error"], "string");
        let own = &seen["features"]["model_metrics"]["reference"];
        assert_eq!(own["gpu_info"]["device_id"], "int64");
        assert_eq!(own["evaluation"]["config"], "string");
    }
}

#[test]
fn a_run_that_the_original_graded_is_resumed() {
    let place = flaky();
    let run = measured(&place, &["--max-queries", "6"], 4);
    let Some(venv) = or_skip(hugging_face::newest()) else {
        return;
    };
    let before = rows(&run);
    python(&venv, "accuracy", &run);
    resume(&place, &run);
    let after = rows(&run);
    let parts = |part: u64| after.iter().filter(|row| row["part"] == part).count();
    assert_eq!((after.len(), parts(0), parts(1)), (6, 4, 2));
    let kept = before.iter().filter(|row| row["outcome"] == "complete");
    for (row, old) in after.iter().zip(kept) {
        for column in ["query_index", "headline", "energy", "timing", "tokens"] {
            assert_eq!(row[column], old[column], "{column}");
        }
    }
    let seen = hugging_face::load(&venv, &run, Rows::Counted).unwrap();
    assert_eq!(seen["rows"], 6);
    done(&["show"], &run);
    done(&["attribute"], &run);
}

/// Earlier versions made `readings/` a dataset of its own.
#[test]
fn readings_with_a_dataset_info_are_read_resumed_attributed_and_exported() {
    let place = flaky();
    let run = measured(&place, &["--max-queries", "6"], 4);
    let old = run.join("readings/dataset_info.json");
    let info = json!({"citation": "", "description": "", "homepage": "", "license": ""});
    std::fs::write(&old, info.to_string()).unwrap();
    done(&["attribute"], &run);
    let out = place.path().join("out");
    let more = ["export", "--format", "csv", "-o", out.to_str().unwrap()];
    let told = done(&more, &run).out;
    assert!(told.contains(".readings.csv"), "{told}");
    assert!(old.exists(), "no command but --resume touches it");
    let count = || ipw_store::readings::read(&run).unwrap().1.len();
    let before = count();
    resume(&place, &run);
    assert!(!old.exists(), "it would cost the readings");
    assert!(count() > before);
    done(&["attribute"], &run);
    assert_eq!(rows(&run).len(), 6);
}

#[test]
fn rows_of_the_original_have_our_types_and_our_nulls() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    for original in &made {
        for (run, is_graded) in original.both() {
            let rows = rows(run);
            assert_eq!(rows.len(), ROWS);
            let own = |row: &Value| row["model_metrics"][&original.model].clone();
            let verdicts: Vec<Value> = rows
                .iter()
                .map(|row| own(row)["lm_correctness"].clone())
                .collect();
            let expected = if is_graded {
                [
                    json!(true),
                    json!(false),
                    json!(true),
                    json!(true),
                    Value::Null,
                ]
            } else {
                [const { Value::Null }; ROWS]
            };
            assert_eq!(verdicts, expected, "{}", run.display());
            assert_eq!(rows[0]["answer"], "2");
            assert_eq!(
                (&rows[4]["answer"], &rows[4]["subject"]),
                (&Value::Null, &Value::Null)
            );
            let first = own(&rows[0]);
            assert_eq!(first["token_metrics"]["output"], 4);
            assert_eq!(first["cost"]["total_cost_usd"], Value::Null);
            let device = &first["gpu_info"];
            assert_eq!(device["device_id"].is_null(), !original.has_energy());
            let basis = &first["energy_metrics"]["basis"];
            assert_eq!(
                *basis,
                match original.kind.as_str() {
                    "plain" => Value::Null,
                    kind => json!(kind),
                }
            );
        }
    }
}

#[test]
fn runs_of_the_original_are_exported_in_every_format() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    let out = place.path().join("out");
    for original in &made {
        for (run, _) in original.both() {
            for format in ["parquet", "csv", "jsonl"] {
                let more = ["export", "--format", format, "-o", out.to_str().unwrap()];
                let told = done(&more, run);
                assert!(told.out.contains("5 rows"), "{}", told.out);
            }
            let name = run.file_name().unwrap().to_string_lossy().into_owned();
            let packed = ipw_store::tables::parquet(&out.join(format!("{name}.parquet"))).unwrap();
            let packed: Vec<_> = packed.flat_map(Result::unwrap).collect();
            assert_eq!(packed.len(), ROWS);
            let lines = std::fs::read_to_string(out.join(format!("{name}.jsonl"))).unwrap();
            let lines: Vec<Value> = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            for (line, row) in lines.iter().zip(rows(run)) {
                for column in ["problem", "answer", "subject", "model_answers"] {
                    assert_eq!(line[column], row[column]);
                }
                let of =
                    |row: &Value| row["model_metrics"][&original.model]["latency_metrics"].clone();
                assert_eq!(of(line), of(&row));
            }
            let csv = std::fs::read_to_string(out.join(format!("{name}.csv"))).unwrap();
            assert_eq!(csv.lines().count(), ROWS + 1);
        }
    }
    // One table over all of them, whatever Python made of their types.
    let runs: Vec<&Path> = made
        .iter()
        .flat_map(|original| original.both().map(|(run, _)| run))
        .collect();
    let mut command = ipw();
    command
        .args(["export", "--together", "-o"])
        .arg(&out)
        .args(&runs);
    let told = said(&mut command);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.out.contains("30 rows"), "{}", told.out);
}

#[test]
fn runs_of_the_original_are_listed() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    done(&["runs"], place.path());
    let listed = json_of(&["runs", "--json"], place.path());
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * made.len(), "{listed:#}");
    assert_eq!(listed["damaged"], json!([]));
    let models: Vec<&str> = runs
        .iter()
        .filter_map(|run| run["model"].as_str())
        .collect();
    for original in &made {
        assert_eq!(
            models
                .iter()
                .filter(|model| **model == original.model)
                .count(),
            2
        );
    }
}

#[test]
fn a_run_of_the_original_has_nothing_to_attribute() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    for original in &made {
        let before = content(&original.graded);
        let told = said(ipw().arg("attribute").arg(&original.graded));
        assert_eq!(told.code, Some(2), "{}", told.err);
        assert!(told.err.contains("the run has no readings"), "{}", told.err);
        assert_eq!(content(&original.graded), before);
    }
}

/// What `show --json` says of each: what the run does not have is null, and it is said.
#[test]
fn runs_of_the_original_are_shown() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    for original in &made {
        for (run, is_graded) in original.both() {
            let text = done(&["show"], run).out;
            assert!(
                text.contains("the Python original wrote this run: it has no outcomes"),
                "{text}"
            );
            assert!(text.contains(&original.model), "{text}");
            let shown = json_of(&["show", "--json"], run);
            let overview = &shown["overview"];
            assert_eq!(overview["rows"], 5);
            assert_eq!(overview["outcomes"], json!({"complete": 5}));
            assert_eq!(overview["tokens"]["input"], 60);
            assert_eq!(overview["tokens"]["output"], 33);
            assert_eq!(overview["elapsed_seconds"], Value::Null, "no instants");
            assert_eq!(overview["total_query_seconds"]["max"], 2.0);
            assert_eq!(overview["time_to_first_token_seconds"]["min"], 0.125);
            let (correct, wrong) = if is_graded { (3, 1) } else { (0, 0) };
            let verdicts = &overview["verdicts"];
            assert_eq!(
                (&verdicts["correct"], &verdicts["wrong"]),
                (&json!(correct), &json!(wrong))
            );
            let energy = &overview["energy"];
            if original.has_energy() {
                assert_eq!(energy["joules"], JOULES);
                assert_eq!(energy["sigma_joules"], Value::Null, "it does not say");
                assert_eq!(energy["basis"], json!([original.kind]));
                assert_eq!(energy["rows"], 5);
            } else {
                assert_eq!(energy["joules"], Value::Null);
            }
            let accuracy = &shown["metrics"]["accuracy"];
            assert_eq!(*accuracy, if is_graded { json!(0.75) } else { Value::Null });
        }
    }
}

#[test]
fn runs_of_the_original_are_analysed_drawn_and_reported() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    for original in &made {
        for (run, _) in original.both() {
            for command in ["analyze", "plot", "report"] {
                done(&[command], run);
            }
            assert!(run.join("analysis/regression.json").exists());
            assert!(std::fs::read_dir(run.join("plots")).unwrap().count() > 0);
            let page = std::fs::read_to_string(run.join("report.html")).unwrap();
            assert!(page.contains("the Python original wrote this run: it has no outcomes"));
            for format in ["md", "csv"] {
                let told = done(&["report", "--format", format, "-o", "-"], run);
                assert!(told.out.lines().count() > ROWS, "{}", told.out);
            }
            let told = json_of(&["report", "--format", "json", "-o", "-"], run);
            assert_eq!(
                told["queries"]["lines"].as_array().map(Vec::len),
                Some(ROWS)
            );
        }
    }
}

#[test]
fn runs_of_the_original_are_compared_with_each_other_and_with_ours() {
    let place = paced(20);
    let ours = measured(&place, &["--max-queries", "6"], 0);
    let Some(made) = originals(&place.path().join("theirs")) else {
        return;
    };
    let compared = |runs: &[&Path]| {
        let mut command = ipw();
        let told = said(
            command
                .args(["compare", "--force", "--format", "json"])
                .args(runs),
        );
        assert_eq!(told.code, Some(0), "{runs:?}: {}", told.err);
        serde_json::from_str::<Value>(&told.out).unwrap()
    };
    for original in &made {
        compared(&[&original.ungraded, &original.graded]);
        compared(&[&original.graded, &ours]);
        compared(&[&ours, &original.graded]);
    }
    compared(&[&made[0].graded, &made[1].graded]);
}

#[test]
fn a_run_of_the_original_is_graded() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    let venv = or_skip(hugging_face::newest()).unwrap();
    for original in &made {
        let run = &original.ungraded;
        let before = rows(run);
        let told = json_of(&["score", "--scorer", "contains", "--json"], run);
        assert_eq!(told["graded"], 5, "{told:#}");
        let verdicts = |run: &Path| -> Vec<Value> {
            let own = |row: &Value| row["model_metrics"][&original.model].clone();
            rows(run)
                .iter()
                .map(|row| own(row)["lm_correctness"].clone())
                .collect()
        };
        let expected = [
            json!(true),
            json!(false),
            json!(true),
            json!(true),
            Value::Null,
        ];
        assert_eq!(verdicts(run), expected);
        for (row, old) in rows(run).iter().zip(&before) {
            assert_eq!(row["problem"], old["problem"]);
            let of = |row: &Value| row["model_metrics"][&original.model]["energy_metrics"].clone();
            assert_eq!(of(row), of(old));
        }
        // Python opens it, and the original's pass goes over it once more.
        let seen = hugging_face::load(&venv, run, Rows::Included).unwrap();
        let own = &seen["data"][0]["model_metrics"][&original.model];
        assert_eq!(own["evaluation"]["is_correct"], true);
        python(&venv, "accuracy", run);
        assert_eq!(verdicts(run), expected);
        // A run that the original graded keeps its verdicts as a set.
        let told = json_of(
            &["score", "--scorer", "exact", "--again", "--json"],
            &original.graded,
        );
        assert!(told["graded"].as_u64().unwrap() > 0, "{told:#}");
        done(&["score", "--list"], &original.graded);
    }
}

#[test]
fn runs_of_the_original_are_on_the_leaderboard() {
    let place = tempfile::tempdir().unwrap();
    let Some(made) = originals(place.path()) else {
        return;
    };
    for format in ["table", "md", "html"] {
        done(
            &["leaderboard", "--min-graded", "1", "--format", format],
            place.path(),
        );
    }
    let board = json_of(
        &["leaderboard", "--min-graded", "1", "--format", "json"],
        place.path(),
    );
    let text = board.to_string();
    for original in &made {
        assert!(text.contains(&original.model), "{board:#}");
    }
    assert!(!text.contains("is missing or of another type"), "{board:#}");
}
