//! Files made from the rows of a run: none shows old numbers after the rows have changed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ipw_reference::{Fault, Script};
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, rows, said};
use crate::score::{answered, saying, scored};

/// `ipw COMMAND RUN …`, which must succeed.
fn done(command: &str, run: &Path, more: &[&str]) -> Said {
    let told = said(ipw().arg(command).arg(run).args(more));
    assert_eq!(told.code, Some(0), "{command} {more:?}: {}", told.err);
    told
}

fn read(run: &Path, name: &str) -> String {
    std::fs::read_to_string(run.join(name)).unwrap()
}

fn json_in(run: &Path, name: &str) -> Value {
    serde_json::from_str(&read(run, name)).unwrap()
}

/// Puts something else in the place of each file, so that a test sees which are made again.
fn spoil(run: &Path, names: &[&str]) {
    for name in names {
        std::fs::create_dir_all(run.join(name).parent().unwrap()).unwrap();
        std::fs::write(run.join(name), "old").unwrap();
    }
}

const FILES: [&str; 3] = ["report.html", "analysis/energy.json", "plots/latency.svg"];

fn assert_made_again(run: &Path) {
    for name in FILES {
        assert_ne!(read(run, name), "old", "{name}");
    }
    assert!(read(run, "report.html").contains("ipw-data"));
    assert!(json_in(run, "analysis/energy.json")["data"].is_object());
    assert!(read(run, "plots/latency.svg").contains("<svg"));
    // Only what was there.
    assert!(!run.join("analysis/accuracy.json").exists());
    assert!(!run.join("plots/latency.png").exists());
}

#[test]
fn grading_again_makes_the_files_again_that_are_there() {
    let place = saying();
    let run = answered(&place, "numeric");
    std::fs::remove_file(run.join("report.html")).unwrap();
    let alone = scored(&run, &["--scorer", "exact"]);
    assert_eq!(alone["files"], json!({"rewritten": [], "removed": []}));
    assert!(!run.join("report.html").exists());
    scored(&run, &["--use", "1"]);

    done("report", &run, &["--redact"]);
    done(
        "analyze",
        &run,
        &["--analysis", "accuracy", "--option", "seed=7"],
    );
    done("plot", &run, &["--plot", "subjects", "--format", "svg"]);
    spoil(
        &run,
        &["plots/pareto.svg", "plots/mine.txt", "analysis/mine.json"],
    );
    let before = json_in(&run, "analysis/accuracy.json");
    assert_eq!(before["summary"]["correct"], 8);
    let figure = read(&run, "plots/subjects.svg");
    let told = scored(&run, &["--scorer", "exact"]);
    let rewritten = [
        "report.html",
        "analysis/accuracy.json",
        "plots/subjects.svg",
    ];
    assert_eq!(told["files"]["rewritten"], json!(rewritten));
    // A figure over several runs cannot be drawn from one of them.
    assert_eq!(told["files"]["removed"], json!(["plots/pareto.svg"]));
    assert!(!run.join("plots/pareto.svg").exists());
    assert_eq!(read(&run, "plots/mine.txt"), "old");
    assert_eq!(read(&run, "analysis/mine.json"), "old");
    let after = json_in(&run, "analysis/accuracy.json");
    assert_eq!(after["summary"]["correct"], 0);
    assert_eq!(after["options"], json!({"seed": 7}));
    assert_ne!(read(&run, "plots/subjects.svg"), figure);
    let page = read(&run, "report.html");
    assert!(page.contains("Redacted:"), "it stays redacted");
    assert!(!page.contains("I say"), "a reply is in the page");

    // Back again, and in words.
    let told = done("score", &run, &["--use", "1"]);
    assert!(
        told.out.contains("rewritten report.html, analysis/acc"),
        "{}",
        told.out
    );
    assert_eq!(json_in(&run, "analysis/accuracy.json"), before);
    assert_eq!(read(&run, "plots/subjects.svg"), figure);
    // A page that was not redacted is not redacted now.
    done("report", &run, &[]);
    scored(&run, &["--again"]);
    assert!(read(&run, "report.html").contains("I say"));
}

#[test]
fn energy_computed_again_makes_the_files_again() {
    let place = saying();
    let run = answered(&place, "numeric");
    spoil(&run, &FILES);
    let told = done("attribute", &run, &["--json"]);
    assert_made_again(&run);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["files"]["rewritten"], json!(FILES));

    // What cannot be written again is removed, or called old.
    spoil(&run, &FILES);
    let elsewhere = place.path().join("elsewhere");
    std::fs::write(&elsewhere, "precious").unwrap();
    for name in ["analysis/energy.json", "report.html"] {
        std::fs::remove_file(run.join(name)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, run.join(name)).unwrap();
    }
    let told = done("attribute", &run, &[]);
    assert!(told.err.contains("warning: no report"), "{}", told.err);
    assert!(
        told.err.contains("removed `report.html`") && told.err.contains("removed `analysis/energy"),
        "{}",
        told.err
    );
    assert!(!run.join("report.html").exists() && !run.join("analysis/energy.json").exists());
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
    assert_ne!(read(&run, "plots/latency.svg"), "old");
}

#[test]
fn a_resumed_run_makes_the_files_again() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let place = Place::new(move |_| Script {
        fault: is_broken
            .load(Ordering::Relaxed)
            .then(|| Fault::Status(400, "no".to_owned())),
        ..Script::words(3)
    });
    said(&mut place.profile(&["--warmup", "0", "--max-queries", "4"]));
    let run = place.run();
    assert_eq!(rows(&run)[0]["outcome"], "failed:http_400");
    done("report", &run, &["--redact"]);
    spoil(&run, &FILES[1..]);
    broken.store(false, Ordering::Relaxed);
    let resume = |more: &[&str]| {
        let told = said(ipw().arg("profile").arg("--resume").arg(&run).args(more));
        assert_eq!(told.code, Some(0), "{}", told.err);
        told
    };
    let told = resume(&["--retry-failed", "--quiet"]);
    assert_eq!(told.out, "");
    assert_eq!(rows(&run)[0]["outcome"], "complete");
    assert_made_again(&run);
    assert!(read(&run, "report.html").contains("Redacted:"));
    spoil(&run, &FILES);
    resume(&[]);
    assert_made_again(&run);
    let told = resume(&["--no-report"]);
    assert!(told.err.contains("removed `report.html`"), "{}", told.err);
    assert!(!run.join("report.html").exists());
}
