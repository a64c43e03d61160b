//! Runs on their way elsewhere: every format against what `datasets` reads, the queries of
//! `docs/sql.md` in the tools that they are for, and what stands in the way.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ipw_reference::Script;
use ipw_testkit::{Missing, ScriptFailed, Venv, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, Said, all_cores, ipw, questions, rows, said, spawn, wait_until};

const SAME: &str = include_str!("export/same.py");
const BLOCKS: &str = include_str!("export/blocks.py");

/// What would like to be more than a text in a table.
const TEXTS: [&str; 12] = [
    "two\nlines\r\nand \"quotes\", commas; tabs\t",
    "=cmd|'/C calc'!A0",
    "+49 30 123",
    "-5",
    "-2+3+cmd",
    "@SUM(A1:A9)",
    "\tindented",
    "\rreturned",
    "'=not guarded before",
    "a\0b",
    "\u{202e}שלום\u{2066} 👩🏽‍💻 é 日本語",
    " \u{2028}\u{85}blank? ",
];

fn tables() -> Result<Venv, Missing> {
    Venv::ensure("tables", &["datasets", "duckdb", "polars"])
}

pub(crate) fn export(runs: &[PathBuf], more: &[&str]) -> Said {
    said(ipw().arg("export").args(runs).args(more))
}

/// A place whose service answers with what it was asked.
fn echo() -> Place {
    Place::new(|received| {
        let asked = received.body["messages"][0]["content"].as_str();
        Script {
            tokens: [asked.unwrap_or_default().to_owned()].into(),
            reasoning: ["hm, ".to_owned(), asked.unwrap_or_default().to_owned()].into(),
            ..Script::default()
        }
    })
}

/// A run over rows whose every text is hostile.
fn hostile(place: &Place) -> PathBuf {
    let row = |(number, text): (usize, &&str)| {
        json!({
            "problem": text, "answer": text, "subject": text, "scorer": "exact", "text": text,
            "nested": {"a,b": [text, null], "c": number}, "big": i64::MAX, "small": 5e-324,
            "flag": number % 2 == 0, "sometimes": (number > 3).then_some(0.1),
        })
    };
    let dataset = place.jsonl("d", TEXTS.iter().enumerate().map(row));
    let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
    let mut command = place.profile(&args);
    let ran = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    place.run_of("d")
}

pub(crate) fn name(run: &Path) -> &str {
    run.file_name().unwrap().to_str().unwrap()
}

fn python(venv: &Venv, script: &str, args: &[&Path]) -> String {
    match venv.run(script, args) {
        Ok(printed) => printed,
        Err(ScriptFailed::Ended { stderr, .. }) => panic!("{stderr}"),
        Err(other) => panic!("{other}"),
    }
}

/// The rows of a Parquet file, by the reader that datasets come in through.
pub(crate) fn packed(path: &Path) -> Vec<Value> {
    let rows = ipw_store::tables::parquet(path).unwrap();
    rows.flat_map(Result::unwrap).map(Value::Object).collect()
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn hostile_texts_and_exact_numbers_come_back_from_every_format() {
    let place = echo();
    let run = hostile(&place);
    let out = place.path().join("out");
    for format in ["parquet", "csv", "jsonl"] {
        let more = ["--format", format, "-o", out.to_str().unwrap()];
        let exported = export(std::slice::from_ref(&run), &more);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        let first = exported.out.lines().next().unwrap();
        assert!(
            first.contains(&format!("{}.{format}: 12 rows, ", name(&run))),
            "{first}"
        );
    }
    // The same numbers by our own reader.
    let expected = rows(&run);
    let printed = export(
        std::slice::from_ref(&run),
        &["--format", "jsonl", "-o", "-"],
    );
    assert_eq!(lines(&printed.out), expected);
    for (row, text) in expected.iter().zip(TEXTS) {
        assert_eq!(row["problem"], text);
        assert_eq!(row["reasoning"], format!("hm, {text}"));
    }
    let Some(venv) = or_skip(tables()) else {
        return;
    };
    let seen = python(&venv, SAME, &[&run, &out, Path::new(name(&run))]);
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["rows"], 12);
    assert!(seen["columns"].as_u64().unwrap() > 100, "{seen}");
}

/// Two graded runs with energy, of two models under two loads.
pub(crate) fn graded() -> (Place, Vec<PathBuf>) {
    let place = Place::new(|received| {
        let is_large = received.body["model"] == "large";
        let answer = if is_large { "four" } else { "4" };
        Script {
            // Long enough for the estimate, which is read every 50 ms.
            first_token: Duration::from_millis(120),
            gap: Duration::from_millis(20),
            tokens: [answer.to_owned(), " ".to_owned(), String::from(" ")].into(),
            ..Script::default()
        }
    });
    let questions = (0..12).map(|number| {
        let answer = if number % 3 == 0 { "four" } else { "4" };
        let subject = if number % 2 == 0 { "sums" } else { "words" };
        json!({"problem": format!("{number}?"), "answer": answer, "subject": subject,
            "scorer": "exact", "id": format!("q{number}")})
    });
    let dataset = place.jsonl("graded", questions);
    let mut runs = Vec::new();
    for (model, concurrency) in [("large", "4"), ("small", "1")] {
        let dataset = dataset.to_str().unwrap();
        let more = [
            "--dataset",
            dataset,
            "--concurrency",
            concurrency,
            "--cpu-tdp",
            "65",
        ];
        let mut command = place.profile_at(&place.service.url(), model, &more);
        let ran = said(command.env("IPW_SYSFS_ROOT", place.sysfs()));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        runs.push(place.run_of_model(model, "graded"));
    }
    (place, runs)
}

#[test]
fn every_query_of_the_page_runs_and_finds_something() {
    let _busy = all_cores();
    let (place, runs) = graded();
    let out = place.path().join("export");
    let exported = export(&runs, &["--together", "-o", out.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert!(
        exported.out.contains("runs.parquet: 24 rows"),
        "{}",
        exported.out
    );
    assert!(
        out.join("runs.readings.parquet").exists(),
        "{}",
        exported.out
    );
    let tidy = export(
        &runs,
        &["--together", "--tidy", "-o", out.to_str().unwrap()],
    );
    assert_eq!(tidy.code, Some(0), "{}", tidy.err);
    let written = "runs.tidy.parquet: 24 rows";
    assert!(tidy.out.contains(written), "{}", tidy.out);
    assert_eq!(tidy.out.lines().count(), 1, "{}", tidy.out);
    let Some(venv) = or_skip(tables()) else {
        return;
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let inside = format!("import os; os.chdir({:?})\n{BLOCKS}", out.to_str().unwrap());
    let seen = lines(&python(&venv, &inside, &[&page]));
    let of = |language: &str| seen.iter().filter(|it| it["language"] == language).count();
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(of("sql"), text.matches("\n```sql\n").count());
    assert_eq!(of("python"), text.matches("\n```python\n").count());
    assert!(of("sql") >= 10 && of("python") >= 4, "{seen:?}");
    for (number, block) in seen.iter().enumerate() {
        assert!(
            block["rows"].as_u64().unwrap() > 0,
            "block {number}: {block}"
        );
    }
}

/// Two runs over datasets whose columns differ.
fn unlike() -> (Place, [PathBuf; 2]) {
    let place = Place::new(|_| Script::words(3));
    let one = json!({"problem": "p", "level": 3, "tags": ["a"], "n": 1});
    let two = json!({"problem": "q", "level": "high", "who": {"is": "me"}, "n": 0.5});
    let runs = [("one", one), ("two", two)].map(|(name, row)| {
        let dataset = place.jsonl(name, [row]);
        let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
        let ran = said(&mut place.profile(&args));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        place.run_of(name)
    });
    (place, runs)
}

#[test]
fn runs_together_have_all_columns_and_say_whose_rows_they_are() {
    let (place, runs) = unlike();
    let out = place.path().join("out");
    for format in ["parquet", "csv", "jsonl"] {
        let more = [
            "--together",
            "--format",
            format,
            "-o",
            out.to_str().unwrap(),
        ];
        let exported = export(&runs, &more);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
    }
    let seen = lines(&std::fs::read_to_string(out.join("runs.jsonl")).unwrap());
    assert_eq!(seen.len(), 2);
    for (row, run) in seen.iter().zip(&runs) {
        let keys: Vec<_> = row.as_object().unwrap().keys().take(3).collect();
        assert_eq!(keys, ["run", "model", "problem"]);
        assert_eq!(row["run"], name(run));
        assert_eq!(row["model"], "reference");
        // No level for the model.
        assert_eq!(row["model_metrics"]["token_metrics"]["output"], 3);
        assert_eq!(row["model_answers"], "word0 word1 word2");
    }
    let expected = [
        json!({"row": 0, "level": "3", "tags": ["a"], "n": 1.0, "who": {"is": null}}),
        json!({"row": 0, "level": "high", "tags": null, "n": 0.5, "who": {"is": "me"}}),
    ];
    for (row, expected) in seen.iter().zip(&expected) {
        assert_eq!(row["dataset_metadata"], *expected);
    }
    assert_eq!(packed(&out.join("runs.parquet")), seen);
    let table = std::fs::read_to_string(out.join("runs.csv")).unwrap();
    assert!(
        table.starts_with("run,model,problem,answer,dataset_metadata."),
        "{table}"
    );
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn runs_of_one_name_are_told_apart_by_the_way_to_them() {
    let (place, [run, _]) = unlike();
    let twin = place.path().join("elsewhere").join(name(&run));
    std::fs::create_dir_all(twin.parent().unwrap()).unwrap();
    let copied = Command::new("cp").arg("-r").args([&run, &twin]).status();
    assert!(copied.unwrap().success());
    let pair = [run, twin];
    let more = ["--format", "jsonl", "-o", "-", "--columns", "run,part"];
    let printed = export(&pair, &[&["--together"], &more[..]].concat());
    let expected = pair.iter();
    let expected = expected.map(|run| json!({"run": run, "model": "reference", "part": 0}));
    assert_eq!(lines(&printed.out), expected.collect::<Vec<_>>());
    let clash = export(&pair, &["-o", place.path().join("new").to_str().unwrap()]);
    assert_eq!(clash.code, Some(2), "{}", clash.err);
    let words = "two runs would be written to";
    assert!(clash.err.contains(words), "{}", clash.err);
}

#[test]
fn columns_are_chosen_by_name_group_and_pattern() {
    let place = echo();
    let run = hostile(&place);
    let chosen = |format: &str, columns: &str| {
        let more = ["--format", format, "-o", "-", "--columns", columns];
        export(std::slice::from_ref(&run), &more)
    };
    let head = |said: &Said| said.out.lines().next().unwrap_or_default().to_owned();
    let csv = chosen(
        "csv",
        "query_index,headline,model_metrics.latency_metrics.total_*",
    );
    assert_eq!(
        head(&csv),
        "model_metrics.latency_metrics.total_query_seconds,query_index,headline.joules,\
         headline.sigma_joules,headline.share_watts,headline.above_idle_joules,headline.energy_delay_joule_seconds"
    );
    assert_eq!(csv.out.lines().count(), 1 + TEXTS.len());
    let nested = chosen("jsonl", "model_metrics.reference.lm_correctness,part");
    let expected = json!({"model_metrics": {"reference": {"lm_correctness": true}}, "part": 0});
    assert_eq!(lines(&nested.out)[3], expected);
    // A column of nulls is still a line for each row.
    assert_eq!(
        chosen("csv", "error").out,
        format!("error\n{}", "\"\"\n".repeat(TEXTS.len()))
    );
    let unknown = chosen("csv", "part,timing.end_second");
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    for words in [
        "there is no column `timing.end_second`",
        "`timing.end_seconds`",
        "help:",
    ] {
        assert!(unknown.err.contains(words), "{}", unknown.err);
    }
    assert_eq!(unknown.out, "");
}

#[test]
fn without_texts_nothing_that_was_said_goes_out() {
    let place = Place::new(|_| Script {
        tokens: ["SECRET answer".to_owned()].into(),
        reasoning: ["SECRET thought".to_owned()].into(),
        ..Script::default()
    });
    let row = json!({"problem": "SECRET prompt", "answer": "SECRET", "scorer": "exact",
        "hint": "SECRET", "choices": ["SECRET"], "deep": {"er": "SECRET", "n": 3}, "level": 7});
    let dataset = place.jsonl("d", [row]);
    let ran = said(&mut place.profile(&["--dataset", dataset.to_str().unwrap(), "--warmup", "0"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let runs = [place.run_of("d")];
    assert!(
        export(&runs, &["--format", "csv", "-o", "-"])
            .out
            .contains("SECRET")
    );
    let out = place.path().join("out");
    for format in ["csv", "jsonl", "parquet"] {
        let exported = export(
            &runs,
            &["--format", format, "--no-text", "-o", out.to_str().unwrap()],
        );
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        if format == "parquet" {
            continue;
        }
        let text =
            std::fs::read_to_string(out.join(format!("{}.{format}", name(&runs[0])))).unwrap();
        assert!(!text.contains("SECRET"), "{text}");
    }
    let packed = packed(&out.join(format!("{}.parquet", name(&runs[0]))));
    let row = &packed[0];
    assert!(!row.to_string().contains("SECRET"), "{row}");
    assert_eq!(
        row["dataset_metadata"],
        json!({"row": 0, "deep": {"n": 3}, "level": 7})
    );
    assert_eq!(row["model_metrics"]["reference"]["lm_correctness"], false);
    let nothing = export(
        &runs,
        &[
            "--no-text",
            "--columns",
            "problem",
            "-o",
            out.to_str().unwrap(),
        ],
    );
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    assert!(nothing.err.contains("no column is left"), "{}", nothing.err);
}

#[test]
fn a_run_that_goes_on_and_one_that_was_killed_are_exported() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(5),
        ..Script::words(3)
    });
    let dataset = place.jsonl("d", questions(50_000));
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "0",
        "--quiet",
    ];
    let mut child = spawn(&mut place.profile(&args));
    let is_begun = || place.run_of("d").join("state.json").exists();
    wait_until("the run is there", is_begun);
    let run = place.run_of("d");
    let mut last = 0;
    wait_until("rows are exported while it goes on", || {
        let said = export(
            std::slice::from_ref(&run),
            &["--format", "jsonl", "-o", "-"],
        );
        assert_eq!(said.code, Some(0), "{}", said.err);
        let seen = lines(&said.out);
        assert!(seen.len() >= last, "{} after {last}", seen.len());
        for (place, row) in seen.iter().enumerate() {
            assert_eq!(row["query_index"], place);
        }
        last = seen.len();
        last > 5
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let out = place.path().join("out");
    let exported = export(std::slice::from_ref(&run), &["-o", out.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let packed = packed(&out.join(format!("{}.parquet", name(&run))));
    assert!(packed.len() >= last);
    assert_eq!(packed, rows(&run));
}

#[test]
fn a_run_that_ends_meanwhile_is_exported_all_the_same() {
    let place = Place::new(|_| Script::words(3));
    let dataset = place.jsonl("d", questions(400));
    let args = ["--dataset", dataset.to_str().unwrap(), "--quiet"];
    let mut child = spawn(place.profile(&args).args(["--flush-every", "1"]));
    wait_until("the run is there", || {
        place.run_of("d").join("state.json").exists()
    });
    let run = place.run_of("d");
    let exported = || {
        let more = ["--format", "csv", "--columns", "query_index", "-o", "-"];
        let said = export(std::slice::from_ref(&run), &more);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let rows = said.out.lines().count() - 1;
        let expected = (0..rows).map(|index| index.to_string());
        assert!(said.out.lines().skip(1).eq(expected), "{}", said.out);
        rows
    };
    wait_until("the run is over", || {
        exported();
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(exported(), 400);
}

#[test]
fn readings_go_out_with_their_sources_names() {
    let (place, runs) = graded();
    let out = place.path().join("out");
    let more = ["--format", "jsonl", "-o", out.to_str().unwrap()];
    let exported = export(&runs[1..], &more);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let text = out.join(format!("{}.readings.jsonl", name(&runs[1])));
    let seen = lines(&std::fs::read_to_string(text).unwrap());
    let (sources, readings) = ipw_store::readings::read(&runs[1]).unwrap();
    assert_eq!(seen.len(), readings.len());
    assert!(!seen.is_empty());
    for (row, reading) in seen.iter().zip(&readings) {
        let source = &sources[usize::from(reading.source.0)];
        assert_eq!(row["name"], source.name);
        assert_eq!(row["unit"], source.unit());
        assert_eq!(row["value"], reading.value);
        assert_eq!(row["nanos"], reading.at.nanos());
        assert_eq!(row["seconds"], reading.at.seconds());
        assert_eq!(row["domain"].is_null(), source.domain().is_none(), "{row}");
        assert_eq!(row["gauge"].is_null(), source.domain().is_some(), "{row}");
    }
    let more = [&more[..], &["--overwrite", "--no-readings"]].concat();
    let exported = export(&runs[1..], &more);
    assert_eq!(exported.out.lines().count(), 1, "{}", exported.out);
}

#[test]
fn nothing_is_replaced_unasked_and_bad_input_is_named() {
    let place = Place::new(|_| Script::words(3));
    let ran = said(&mut place.profile(&["--max-queries", "2", "--warmup", "0"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let runs = [place.run()];
    let out = place.path().join("out");
    let out = out.to_str().unwrap();
    let file = Path::new(out).join(format!("{}.csv", name(&runs[0])));
    let more = ["--format", "csv", "--no-readings", "-o", out];
    assert_eq!(export(&runs, &more).code, Some(0));
    std::fs::write(&file, "mine").unwrap();
    let refused = export(&runs, &more);
    assert_eq!(refused.code, Some(6), "{}", refused.err);
    assert!(
        refused.err.contains("exists") && refused.err.contains("--overwrite"),
        "{}",
        refused.err
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(
        export(&runs, &[&more[..], &["--overwrite"]].concat()).code,
        Some(0)
    );
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("problem,answer,")
    );
    let left: Vec<_> = std::fs::read_dir(out).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing else is left: {left:?}");

    let nowhere = place.path().join("nowhere");
    let sweep = place.path().join("sweep_x");
    std::fs::create_dir(&sweep).unwrap();
    std::fs::write(sweep.join("sweep.json"), "{}").unwrap();
    let plain = place.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    let plain = plain.to_str().unwrap();
    let twice = [place.run(), place.runs().join(".").join(name(&runs[0]))];
    let one = &runs[..];
    for (runs, more, code, words) in [
        (&[nowhere][..], &[][..], 2, "is not a run directory"),
        (&[sweep], &[], 2, "this is a sweep"),
        (&[], &[], 2, "RUN"),
        (
            one,
            &["--format", "xlsx"],
            2,
            "possible values: parquet, csv, jsonl",
        ),
        (one, &["-o", "-"], 2, "--format csv"),
        (&twice, &["--format", "csv", "-o", "-"], 2, "--together"),
        (&twice, &["--together"], 2, "is named twice"),
        (one, &["-o", plain], 1, "-o DIR"),
    ] {
        let refused = export(runs, more);
        assert_eq!(refused.code, Some(code), "{more:?}: {}", refused.err);
        assert!(refused.err.contains(words), "{more:?}: {}", refused.err);
        assert_eq!(refused.out, "", "{more:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_that_leaves_nothing_and_a_closed_pipe_is_none() {
    let place = Place::new(|_| Script::words(3));
    let dataset = place.jsonl("d", questions(300));
    let ran = said(&mut place.profile(&["--dataset", dataset.to_str().unwrap(), "--warmup", "0"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let run = place.run_of("d");
    for format in ["csv", "jsonl"] {
        let printing = |out: Stdio| {
            let mut command = ipw();
            command
                .arg("export")
                .arg(&run)
                .args(["--format", format, "-o", "-"]);
            command.stdout(out).stderr(Stdio::piped());
            command
        };
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let refused: Said = printing(full.into()).output().unwrap().into();
        assert_eq!(refused.code, Some(1), "{}", refused.err);
        assert!(
            refused.err.contains("cannot write `standard output`"),
            "{}",
            refused.err
        );
        assert!(refused.err.contains("No space left"), "{}", refused.err);
        let mut child = printing(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{format}");
    }
    // A limit on files stands for the end of the disk.
    let out = place.path().join("out");
    for format in ["parquet", "csv", "jsonl"] {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f 8; exec \"$@\"")
            .arg("sh");
        let export = ipw();
        shell.arg(export.get_program()).arg("export").arg(&run);
        shell.args(["--format", format]).arg("-o").arg(&out);
        let refused = said(&mut shell);
        assert_eq!(refused.code, Some(1), "{format}: {}", refused.err);
        for words in ["cannot write", "File too large", "free some space"] {
            assert!(refused.err.contains(words), "{format}: {}", refused.err);
        }
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "{format}");
    }
}
