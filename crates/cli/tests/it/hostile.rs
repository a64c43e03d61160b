//! Texts, names and run directories that would like to do more than to be read.

use std::path::{Component, Path};

use ipw_reference::Script;
use serde_json::{Value, json};

use crate::common::{Place, all_cores, ipw, rows, said, summary};

/// Escape and control sequences, marks that turn the writing, NUL, what a shell or a path would
/// take for something else.
const TEXTS: [&str; 8] = [
    "\u{1b}[2J\u{1b}[31mred",
    "\u{1b}]0;title\u{7}\u{1b}]52;c;aGk=\u{7}",
    "\u{9b}2J\u{90}q\u{9c}",
    "\u{202e}txt.exe\u{2066}\u{2069}\u{200f}",
    "a\0b",
    "back\u{8}\u{8}space\r\rreturn\u{7f}",
    "$(touch x) `id` '; rm -rf /' \"quoted\" ../../..",
    "<script>alert(1)</script> =1+1 {{ 7*7 }}",
];

fn is_dangerous(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (character.is_control() && character != '\n') || turns
}

fn nothing_raw(text: &str, what: &str) {
    assert!(!text.contains(is_dangerous), "{what}: {text:?}");
}

#[test]
fn hostile_prompts_and_replies_are_kept_and_never_shown_raw() {
    let place = Place::new(|received| {
        let place = usize::try_from(received.number).unwrap() % TEXTS.len();
        Script {
            tokens: [TEXTS[place].to_owned()].into(),
            ..Script::default()
        }
    });
    let dataset = place.jsonl(
        "d",
        TEXTS
            .iter()
            .map(|text| json!({"problem": text, "answer": text, "subject": text, "x": text})),
    );
    let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
    let ran = said(&mut place.profile(&args));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let run = place.run_of("d");
    let rows = rows(&run);
    assert_eq!(rows.len(), TEXTS.len());
    for (row, text) in rows.iter().zip(TEXTS) {
        assert_eq!(row["problem"], json!(text));
        assert_eq!(row["subject"], json!(text));
        assert_eq!(row["dataset_metadata"]["x"], json!(text));
        let answer = row["model_answers"]["reference"].as_str().unwrap();
        assert!(TEXTS.contains(&answer), "{answer:?}");
    }
    let shown = said(ipw().arg("show").arg(&run));
    for text in [&ran.out, &ran.err, &shown.out, &shown.err] {
        nothing_raw(text, "the screen");
    }
    let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    for text in TEXTS {
        let told = events.lines().any(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event.to_string().contains(&json!(text).to_string())
        });
        assert!(!told, "no prompt and no reply is in the log: {text:?}");
    }
}

#[test]
fn ten_megabytes_in_a_prompt_and_in_a_reply_are_a_row() {
    let _busy = all_cores();
    let place = Place::new(|_| Script {
        tokens: ["y".repeat(10 << 20)].into(),
        ..Script::default()
    });
    let dataset = place.jsonl("d", [json!({"problem": "x".repeat(10 << 20)})]);
    let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
    let ran = said(&mut place.profile(&args));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = rows(&place.run_of("d"));
    let answer = rows[0]["model_answers"]["reference"].as_str().unwrap();
    assert_eq!(rows[0]["problem"].as_str().unwrap().len(), 10 << 20);
    assert_eq!(answer.len(), 10 << 20);
    assert!(ran.out.len() + ran.err.len() < 10_000);
}

/// What lies in a directory, all the way down.
fn inside(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(inside(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

#[test]
fn names_of_models_and_datasets_stay_inside_the_output() {
    let place = Place::new(|_| Script::words(3));
    let long = "m".repeat(300);
    let names = [
        "../../../escape",
        "/etc/passwd",
        "a/b\\c:d",
        "with \"quotes\" and 'more' $(id)",
        "..",
        " .hidden ",
        "\u{1b}[31mred\u{202e}",
        "模型 7b é",
        &long,
    ];
    for name in names {
        let dataset = place.path().join("in").join(name.replace(['/', '\0'], "_"));
        let dataset = dataset.to_string_lossy().into_owned();
        // The dataset's name is its file's, which cannot be longer than a name can be.
        let dataset: String = dataset
            .chars()
            .take(place.path().to_string_lossy().len() + 120)
            .collect();
        let dataset = format!("{dataset}.jsonl");
        std::fs::create_dir_all(Path::new(&dataset).parent().unwrap()).unwrap();
        std::fs::write(&dataset, "{\"problem\":\"p\"}\n").unwrap();
        let mut command = place.profile_at(
            &place.service.url(),
            name,
            &["--warmup", "0", "--overwrite", "--dataset", &dataset],
        );
        let ran = said(&mut command);
        assert_eq!(ran.code, Some(0), "{name:?}: {}", ran.err);
        for text in [&ran.out, &ran.err] {
            nothing_raw(text, name);
        }
    }
    let runs = place.runs();
    let outside: Vec<_> = inside(place.path())
        .into_iter()
        .filter(|path| !path.starts_with(&runs) && !path.starts_with(place.path().join("in")))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
    for run in std::fs::read_dir(&runs).unwrap().flatten() {
        let name = run.file_name();
        let only = Path::new(&name).components().collect::<Vec<_>>();
        assert!(matches!(only[..], [Component::Normal(_)]), "{name:?}");
        nothing_raw(&name.to_string_lossy(), "a directory's name");
        assert!(!name.to_string_lossy().starts_with('.'), "{name:?}");
        assert_eq!(summary(&run.path())["status"], "complete");
    }
}

/// A finished run with a page, an analysis and a figure.
fn finished(place: &Place) -> std::path::PathBuf {
    let ran = said(&mut place.profile(&["--max-queries", "2", "--warmup", "0"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let run = place.run();
    for command in ["analyze", "plot"] {
        let ran = said(ipw().arg(command).arg(&run));
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
    }
    run
}

#[test]
fn a_run_that_names_a_file_elsewhere_deletes_nothing() {
    let place = Place::new(|_| Script::words(3));
    let run = finished(&place);
    let precious = place.path().join("other.arrow");
    for name in [precious.to_str().unwrap(), "../../other.arrow", ""] {
        let state = json!({"_data_files": [{"filename": name}], "_fingerprint": "f"});
        for directory in [run.join("readings"), run.clone()] {
            std::fs::write(&precious, "precious").unwrap();
            let own = std::fs::read(directory.join("state.json")).unwrap();
            std::fs::write(directory.join("state.json"), state.to_string()).unwrap();
            let ran = said(ipw().arg("attribute").arg(&run));
            assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
            assert!(ran.err.contains("state.json"), "{}", ran.err);
            assert!(ran.err.contains(&format!("`{name}`")), "{}", ran.err);
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
            std::fs::write(directory.join("state.json"), own).unwrap();
        }
    }
    assert_eq!(rows(&run).len(), 2, "the run itself is as it was");
}

#[test]
fn links_in_a_run_are_errors_and_their_targets_stay() {
    let place = Place::new(|_| Script::words(3));
    let run = finished(&place);
    let target = place.path().join("precious");
    // Which command meets which link; `false`: the name is not ours any more and is left alone.
    for (name, command, is_refused) in [
        (".report.html.new", "report", false),
        (".summary.json.new", "attribute", false),
        (".state.json.new", "attribute", false),
        ("analysis/.energy.json.new", "analyze", false),
        ("plots/.ttft.svg.new", "plot", false),
        (".lock", "attribute", true),
        ("report.html", "report", true),
        ("summary.json", "report", true),
        ("state.json", "show", true),
        ("plan.toml", "profile", true),
        ("events.jsonl", "profile", true),
        ("readings/sources.json", "attribute", true),
        ("readings/state.json", "attribute", true),
        ("analysis/energy.json", "analyze", true),
        ("plots/ttft.svg", "plot", true),
        ("analysis", "analyze", true),
        ("plots", "plot", true),
        ("readings", "attribute", true),
    ] {
        let path = run.join(name);
        let kept = path.with_file_name("kept");
        let is_there = path.exists();
        if is_there {
            std::fs::rename(&path, &kept).unwrap();
        }
        // A directory is replaced by a link to a directory.
        let is_directory = kept.is_dir();
        if is_directory {
            std::fs::create_dir(&target).unwrap();
        } else {
            std::fs::write(&target, "precious").unwrap();
        }
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let mut command = match command {
            "profile" => {
                let mut resume = ipw();
                resume.args(["profile", "--resume"]);
                resume
            }
            command => {
                let mut other = ipw();
                other.arg(command);
                other
            }
        };
        let ran = said(command.arg(&run));
        let wanted = if is_refused { Some(2) } else { Some(0) };
        assert_eq!(ran.code, wanted, "{name}: {}", ran.err);
        assert_eq!(
            ran.err.contains("symbolic link"),
            is_refused,
            "{name}: {}",
            ran.err
        );
        if is_directory {
            assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{name}");
            std::fs::remove_dir(&target).unwrap();
        } else {
            assert_eq!(
                std::fs::read_to_string(&target).unwrap(),
                "precious",
                "{name}"
            );
            std::fs::remove_file(&target).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        if is_there {
            std::fs::rename(&kept, &path).unwrap();
        }
    }
}

#[test]
fn a_link_out_of_the_root_is_not_a_run_of_it() {
    let place = Place::new(|_| Script::words(3));
    let run = finished(&place);
    let root = place.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::os::unix::fs::symlink(&run, root.join("linked")).unwrap();
    for command in ["runs", "leaderboard"] {
        let ran = said(ipw().arg(command).arg(&root));
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.out);
        assert!(ran.err.contains("no run below"), "{command}: {}", ran.err);
    }
}
