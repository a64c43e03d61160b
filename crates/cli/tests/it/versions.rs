//! Runs of every version of the format: stored as they were written then, each opens in every command.
//!
//! `tests/fixtures/runs/README.md` says where they come from.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Said, ipw, rows, said};

/// A stored run.
struct Version {
    name: &'static str,
    format: u64,
}

const VERSIONS: [Version; 3] = [
    Version {
        name: "format_1_first",
        format: 1,
    },
    Version {
        name: "format_1_last",
        format: 1,
    },
    Version {
        name: "format_2",
        format: 2,
    },
];

/// What the rows of each say: energy of all of them, and IPW by the power of the service.
const JOULES: f64 = 34.651_375_822_922_86;
const IPW: f64 = 0.014_577_009_804_353_346;
const ROWS: usize = 8;
const RIGHT: u64 = 7;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

impl Version {
    /// A copy that may be changed.
    fn copied(&self, place: &Path) -> PathBuf {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs");
        let run = place.join(self.name);
        copy(&stored.join(self.name), &run);
        run
    }
}

fn done(args: &[&str], runs: &[&Path]) -> Said {
    let told = said(ipw().args(args).args(runs));
    assert_eq!(told.code, Some(0), "{args:?} {runs:?}: {}", told.err);
    told
}

fn json_of(args: &[&str], run: &Path) -> Value {
    serde_json::from_str(&done(args, &[run]).out).unwrap()
}

fn close(value: &Value, expected: f64) -> bool {
    let value = value.as_f64().unwrap_or(f64::NAN);
    (value - expected).abs() <= 1e-12 * expected.abs()
}

/// The figures of a fixture, to the last digits.
fn assert_figures(run: &Path) {
    let shown = json_of(&["show", "--json"], run);
    let overview = &shown["overview"];
    assert_eq!(overview["rows"], ROWS);
    assert_eq!(overview["outcomes"], json!({"complete": ROWS}));
    assert_eq!(overview["verdicts"]["correct"], RIGHT);
    assert_eq!(overview["verdicts"]["wrong"], ROWS as u64 - RIGHT);
    assert_eq!(overview["tokens"]["output"], 32);
    assert!(close(&overview["energy"]["joules"], JOULES), "{overview:#}");
    assert_eq!(shown["metrics"]["accuracy"], 0.875);
    assert!(close(&shown["metrics"]["ipw"], IPW), "{shown:#}");
}

#[test]
fn every_version_is_shown_analysed_drawn_reported_and_exported() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    for version in &VERSIONS {
        let run = &version.copied(place.path());
        assert_eq!(
            crate::common::summary(run)["format_version"],
            version.format
        );
        done(&["show"], &[run]);
        assert_figures(run);
        for command in ["analyze", "plot", "report"] {
            done(&[command], &[run]);
        }
        for format in ["md", "json", "csv"] {
            let told = done(&["report", "--format", format, "-o", "-"], &[run]);
            assert!(told.out.lines().count() > ROWS, "{}", told.out);
        }
        for format in ["parquet", "csv", "jsonl"] {
            let more = ["export", "--format", format, "-o", out.to_str().unwrap()];
            let told = done(&more, &[run]).out;
            assert!(told.contains(&format!(".{format}: 8 rows")), "{told}");
            assert!(told.contains(&format!(".readings.{format}")), "{told}");
        }
    }
    let listed = json_of(&["runs", "--json"], place.path());
    assert_eq!(listed["runs"].as_array().unwrap().len(), VERSIONS.len());
    assert_eq!(listed["damaged"], json!([]));
    let board = ["leaderboard", "--min-graded", "1", "--format", "json"];
    let board = json_of(&board, place.path());
    assert_eq!(board["not_ranked"], json!([]), "{board:#}");
}

#[test]
fn every_version_is_compared_with_every_other() {
    let place = tempfile::tempdir().unwrap();
    let runs = VERSIONS.map(|version| version.copied(place.path()));
    let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    for first in 0..runs.len() {
        let mut order = runs.clone();
        order.swap(0, first);
        done(&["compare", "--force"], &order);
    }
}

#[test]
fn every_version_is_attributed_and_graded_again() {
    let place = tempfile::tempdir().unwrap();
    for version in &VERSIONS {
        let run = &version.copied(place.path());
        let before = rows(run);
        done(&["attribute"], &[run]);
        let told = json_of(&["score", "--again", "--json"], run);
        assert_eq!((&told["graded"], &told["changed"]), (&json!(8), &json!(0)));
        done(&["score", "--list"], &[run]);
        let after = rows(run);
        assert_eq!(after.len(), ROWS);
        for (row, old) in after.iter().zip(&before) {
            assert_eq!(row["timing"], old["timing"]);
            assert!(
                row["headline"]["joules"]
                    .as_f64()
                    .is_some_and(|joules| joules > 0.0)
            );
        }
        // Live, a neighbour in flight is dated some microseconds early.
        let energy = &json_of(&["show", "--json"], run)["overview"]["energy"];
        let joules = energy["joules"].as_f64().unwrap();
        assert!((joules / JOULES - 1.0).abs() < 1e-3, "{energy:#}");
    }
}
