//! Names and tags of runs, their directories, and the list of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use ipw_reference::Script;
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, said, summary};

const ONE: [&str; 4] = ["--max-queries", "1", "--warmup", "0"];

fn place() -> Place {
    Place::new(|_| Script::words(2))
}

/// `ipw profile` of one query.
fn one(place: &Place, more: &[&str]) -> Command {
    let mut command = place.profile(&ONE);
    command.args(more);
    command
}

fn assert_done(command: &mut Command) {
    let told = said(command);
    assert_eq!(told.code, Some(0), "{}", told.err);
}

/// What follows the dataset in the names of the directories, sorted.
fn endings(place: &Place) -> Vec<String> {
    let made = std::fs::read_dir(place.runs()).unwrap();
    let names = made.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let ending = |name: String| name.split_once("_reference_starter").unwrap().1.to_owned();
    let mut endings: Vec<String> = names.map(ending).collect();
    endings.sort();
    endings
}

fn runs(directory: &Path, more: &[&str]) -> Said {
    said(ipw().arg("runs").arg(directory).args(more))
}

fn listed(directory: &Path, more: &[&str]) -> Value {
    let told = runs(directory, &[&["--json"], more].concat());
    assert_eq!(told.code, Some(0), "{}", told.err);
    serde_json::from_str(&told.out).unwrap()
}

/// Names of the listed runs, in order; null for those without.
fn names(listed: &Value) -> Vec<Value> {
    let runs = listed["runs"].as_array().unwrap();
    runs.iter().map(|run| run["name"].clone()).collect()
}

#[test]
fn runs_that_differ_in_load_or_client_have_directories_of_their_own() {
    let place = place();
    let trace = place.path().join("tuesday.txt");
    std::fs::write(&trace, "0\n").unwrap();
    for more in [
        &[] as &[&str],
        &["--concurrency", "4"],
        &["--rate", "50"],
        &[
            "--rate",
            "50",
            "--arrival",
            "constant",
            "--concurrency",
            "2",
        ],
        &["--trace", trace.to_str().unwrap()],
        &["--client", "vllm"],
    ] {
        let mut command = ipw();
        command.args(["profile", "--model", "reference", "--client-base-url"]);
        command.arg(place.service.url()).args(ONE).args(more);
        assert_done(command.arg("--output-dir").arg(place.runs()));
    }
    assert_eq!(
        endings(&place),
        [
            "_openai",
            "_openai_c4",
            "_openai_r50",
            "_openai_r50_constant_c2",
            "_openai_trace_tuesday",
            "_vllm"
        ]
    );
    let again = said(&mut one(&place, &["--concurrency", "4"]));
    assert_eq!(again.code, Some(6), "{}", again.err);
    assert_done(&mut one(&place, &["--concurrency", "4", "--overwrite"]));
}

#[test]
fn a_name_and_tags_are_in_the_plan_the_summary_and_the_directory() {
    let place = place();
    let file = place.path().join("ipw.toml");
    std::fs::write(
        &file,
        "[profile]\nname = \"of the file\"\n[profile.tag]\nhost = \"gpu1\"\ndriver = \"1\"\n",
    )
    .unwrap();
    let flags = [
        "--name",
        "My baseline",
        "--tag",
        "driver=550",
        "--tag",
        "a=b=c",
    ];
    let mut command = one(&place, &flags);
    command
        .arg("--config")
        .arg(&file)
        .env("IPW_NAME", "of the environment");
    assert_done(&mut command);
    assert_eq!(endings(&place), ["_My_baseline"]);
    let run = place.run();
    let told = summary(&run);
    assert_eq!(told["name"], "My baseline");
    let tags = json!({"driver": "550", "a": "b=c", "host": "gpu1"});
    assert_eq!(told["tags"], tags);
    let plan = std::fs::read_to_string(run.join("plan.toml")).unwrap();
    let plan: toml::Table = plan.parse().unwrap();
    assert_eq!(plan["name"].as_str(), Some("My baseline"));
    assert_eq!(plan["tags"]["host"].as_str(), Some("gpu1"));
    let shown = said(ipw().arg("show").arg(&run)).out;
    assert!(shown.contains("name      My baseline"), "{shown}");
    assert!(shown.contains("driver=550"), "{shown}");

    // The same plan runs under another name; a resumed run keeps its own.
    let mut again = ipw();
    again.args([
        "profile",
        "--name",
        "again",
        "--tag",
        "driver=560",
        "--plan",
    ]);
    assert_done(again.arg(run.join("plan.toml")));
    assert_eq!(endings(&place), ["_My_baseline", "_again"]);
    assert_eq!(summary(&place.run())["tags"]["driver"], "560");
    assert_done(ipw().args(["profile", "--resume"]).arg(&run));
    assert_eq!(summary(&run)["name"], "My baseline");
    let renamed = said(ipw().args(["profile", "--name", "x", "--resume"]).arg(&run));
    assert_eq!(renamed.code, Some(2), "{}", renamed.err);
    assert!(renamed.err.contains("My baseline"), "{}", renamed.err);
}

#[test]
fn a_run_without_a_name_says_so_and_variables_name_one() {
    let place = place();
    assert_done(&mut one(&place, &[]));
    let told = summary(&place.run());
    assert_eq!((&told["name"], &told["tags"]), (&Value::Null, &json!({})));
    let mut command = one(&place, &[]);
    assert_done(command.env("IPW_NAME", "nightly").env("IPW_TAG", "a=1,b=2"));
    let told = summary(&place.run());
    assert_eq!(told["name"], "nightly");
    assert_eq!(told["tags"], json!({"a": "1", "b": "2"}));
}

#[test]
fn what_cannot_be_a_name_or_a_tag_is_refused_before_anything_happens() {
    let place = place();
    for (flags, reason) in [
        (&["--name", ""] as &[&str], "empty"),
        (&["--name", "  "], "empty"),
        (&["--name", "a/b"], "slash"),
        (&["--name", ".hidden"], "dot"),
        (&["--name", "a\u{1b}[2Jb"], "control character"),
        (&["--name", "two\nlines"], "control character"),
        (&["--tag", "a=1", "--tag", "a=2"], "twice"),
        (&["--tag", "alone"], "NAME=VALUE"),
        (&["--tag", "=x"], "NAME=VALUE"),
        (&["--tag", "a=1\n2"], "control character"),
        (&["--tag", "api_key=sk-abcdefghijklmnopqrstuvwx"], "secret"),
    ] {
        let told = said(&mut one(&place, flags));
        assert_eq!(told.code, Some(2), "{flags:?}: {}", told.err);
        assert!(told.err.contains(reason), "{flags:?}: {}", told.err);
        assert!(!told.err.contains('\u{1b}'), "{flags:?}: {}", told.err);
    }
    let file = place.path().join("ipw.toml");
    for text in ["name = \"a/b\"", "tag = { \"\" = \"x\" }", "tag = \"a=b\""] {
        std::fs::write(&file, format!("[profile]\n{text}\n")).unwrap();
        let told = said(one(&place, &[]).arg("--config").arg(&file));
        assert_eq!(told.code, Some(2), "{text}: {}", told.err);
    }
    assert!(!place.runs().exists());
}

/// Three runs: `first`, `second` with a tag, and one deeper without a name.
fn three(place: &Place) -> PathBuf {
    assert_done(&mut one(place, &["--name", "first"]));
    let second = ["--name", "second", "--tag", "gpu=4", "--concurrency", "2"];
    assert_done(&mut one(place, &second));
    let deeper = place.runs().join("deeper");
    assert_done(&mut one(place, &[]));
    let run = place.run();
    std::fs::create_dir(&deeper).unwrap();
    std::fs::rename(&run, deeper.join(run.file_name().unwrap())).unwrap();
    deeper
}

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let place = place();
    let _ = three(&place);
    let all = listed(&place.runs(), &[]);
    assert_eq!(names(&all), [Value::Null, json!("second"), json!("first")]);
    let second = &all["runs"][1];
    for (key, wanted) in [
        ("model", json!("reference")),
        ("client", json!("openai")),
        ("load", json!("2 at a time")),
        ("queries", json!(1)),
        ("tags", json!({"gpu": "4"})),
        ("status", json!("complete")),
    ] {
        assert_eq!(second[key], wanted, "{key}");
    }
    assert!(second["age_seconds"].as_f64().unwrap() < 600.0);
    for (filter, wanted) in [
        ("name=sec", vec!["second"]),
        ("tag.gpu=4", vec!["second"]),
        ("tag.gpu=", vec!["second"]),
        ("tag.gpu=40", vec![]),
        ("name=", vec!["second", "first"]),
        ("name=first,client=openai", vec!["first"]),
        ("status=running", vec![]),
    ] {
        let found = listed(&place.runs(), &["--filter", filter]);
        assert_eq!(names(&found), wanted, "{filter}");
        let left_out = 3 - wanted.len();
        assert_eq!(found["filtered_out"], left_out, "{filter}");
    }
    let board = said(ipw().arg("leaderboard").arg(place.runs()).args([
        "--format",
        "json",
        "--filter",
        "tag.gpu=4",
    ]));
    let board: Value = serde_json::from_str(&board.out).unwrap();
    assert_eq!(board["filtered_out"], 2);
    assert_eq!(board["sections"][0]["too_few"][0]["run_name"], "second");
    let wrong = runs(&place.runs(), &["--filter", "nmae=x"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert!(wrong.err.contains("did you mean `name`"), "{}", wrong.err);
}

#[test]
fn the_list_fits_eighty_columns_and_show_of_a_directory_is_the_same() {
    let place = place();
    let deeper = three(&place);
    let told = runs(&place.runs(), &[]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    for line in told.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in [
        "run",
        "status",
        "first",
        "second",
        "complete",
        "starter_openai",
    ] {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    let count = |told: &Said| told.out.matches("complete").count();
    let shown = said(ipw().arg("show").arg(place.runs()));
    assert_eq!((shown.code, count(&shown)), (Some(0), 3), "{}", shown.out);
    let json = said(ipw().args(["show", "--json"]).arg(&deeper)).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(names(&json), [Value::Null]);
    let priced = said(ipw().args(["show", "--price-per-kwh", "0.3"]).arg(&deeper));
    assert_eq!(priced.code, Some(2), "{}", priced.err);
    // Without a directory: the one that runs are made in.
    let here = said(ipw().arg("runs").current_dir(place.path()));
    assert_eq!((here.code, count(&here)), (Some(0), 3), "{}", here.err);
    let there = said(ipw().arg("runs").env("IPW_OUTPUT_DIR", &deeper));
    assert_eq!((there.code, count(&there)), (Some(0), 1), "{}", there.err);
}

#[test]
fn summaries_are_enough_and_what_is_damaged_or_running_is_listed() {
    let place = place();
    let _ = three(&place);
    let first = place.run_of("starter_first");
    let change = |run: &Path, change: &dyn Fn(&mut Value)| {
        let mut told = summary(run);
        change(&mut told);
        std::fs::write(run.join("summary.json"), told.to_string()).unwrap();
    };
    // No row says so: the summary was read.
    change(&first, &|told| told["overview"]["rows"] = json!(12345));
    let second = place.run_of("starter_second");
    change(&second, &|told| {
        told["overview"] = Value::Null;
        told["load"] = Value::Null;
        told["status"] = json!("running");
        told["total_queries"] = json!(77);
    });
    let broken = place.runs().join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("summary.json"), "{").unwrap();
    let all = listed(&place.runs(), &[]);
    let find = |name: &str| {
        let runs = all["runs"].as_array().unwrap();
        runs.iter().find(|run| run["name"] == name).unwrap()
    };
    assert_eq!(find("first")["queries"], 12345);
    let running = find("second");
    assert_eq!(running["status"], "running");
    assert_eq!(running["queries"], 77);
    assert_eq!(running["load"], "2 at a time", "from the plan");
    assert_eq!(running["accuracy"], Value::Null);
    let damaged = all["damaged"].as_array().unwrap();
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    assert!(
        damaged[0]["reason"]
            .as_str()
            .unwrap()
            .contains("state.json")
    );
    let table = runs(&place.runs(), &[]);
    assert_eq!(table.code, Some(0), "{}", table.err);
    assert!(table.out.contains("Damaged:"), "{}", table.out);
    assert!(table.out.contains("running"), "{}", table.out);
}

#[test]
fn a_directory_without_runs_is_an_error_that_helps() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for (command, path) in [
        ("runs", "empty"),
        ("runs", "nowhere"),
        ("show", "empty"),
        ("show", "nowhere"),
    ] {
        let told = said(ipw().arg(command).arg(place.path().join(path)));
        assert_eq!(told.code, Some(2), "{command} {path}: {}", told.err);
        assert!(
            told.err.contains("help: "),
            "{command} {path}: {}",
            told.err
        );
    }
}

#[test]
fn a_sweep_names_the_model_that_it_found_and_is_shown_as_its_table() {
    let place = place();
    let file = place.path().join("ipw.toml");
    let output = place.runs().display().to_string();
    std::fs::write(&file, format!("[profile]\noutput_dir = {output:?}\n")).unwrap();
    let mut command = ipw();
    command.args(["profile", "--sweep", "concurrency=1,2", "--client-base-url"]);
    command.arg(place.service.url()).args(ONE);
    assert_done(command.arg("--config").arg(&file));
    let sweep = place
        .runs()
        .join("sweep_reference_starter_concurrency_openai");
    let swept = std::fs::read(sweep.join("sweep.json")).unwrap();
    let swept: Value = serde_json::from_slice(&swept).unwrap();
    let step = swept["points"][1]["directory"].as_str().unwrap();
    assert!(step.ends_with("_reference_starter_openai_c2"), "{step}");
    let shown = said(ipw().arg("show").arg(&sweep));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("concurrency"), "{}", shown.out);
    assert!(shown.out.contains("tokens/s"), "{}", shown.out);
    let json = said(ipw().args(["show", "--json"]).arg(&sweep)).out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), swept);
    // A second one under a name of its own does not touch the first.
    let mut named = ipw();
    named.args(["profile", "--sweep", "concurrency=1", "--name", "late"]);
    named
        .args(ONE)
        .arg("--client-base-url")
        .arg(place.service.url());
    assert_done(named.arg("--config").arg(&file));
    let second = place
        .runs()
        .join("sweep_reference_starter_concurrency_late");
    assert!(second.join("sweep.json").exists());
}
