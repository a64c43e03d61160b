//! The kill loop: `kill -9` at random moments; every run opens, and nothing is lost that was there
//! for a second.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Place, no_other_load, questions, rows, spawn};
use ipw_reference::{Script, SendKind};
use ipw_store::Run;
use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::or_skip;
use serde_json::{Value, json};

const KILLS: u64 = 50;
const WARMUP: usize = 2;
/// What may be lost: rows that were not yet a second old, and those whose commit was under way.
const GRACE: Duration = Duration::from_millis(1100);

/// One killed run.
struct Killed {
    place: Place,
    run: PathBuf,
    /// Rows that must be there.
    owed: usize,
}

/// Numbers that look random and are the same in every test run.
fn scattered(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

fn kill_one(number: u64) -> Killed {
    let random = scattered(number);
    let place = Place::new(move |received| Script {
        first_token: Duration::from_micros(scattered(received.number ^ random) % 4000),
        ..Script::words(8)
    });
    // Every fifth run is short, so that the kill may meet its end: compaction and the switch.
    let size = if number.is_multiple_of(5) {
        150
    } else {
        50_000
    };
    let dataset = place.jsonl("d", questions(size));
    let flush_every = ["1", "7", "100"][usize::try_from(number % 3).unwrap()];
    let warmup = WARMUP.to_string();
    let mut child = spawn(&mut place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--flush-every",
        flush_every,
        "--warmup",
        &warmup,
        "--quiet",
    ]));
    std::thread::sleep(Duration::from_millis(30 + random % 2600));
    child.kill().unwrap();
    let killed = place.clock.now();
    child.wait().unwrap();
    let old_enough = |exchange: &&ipw_reference::Exchange| {
        let done = exchange.of(SendKind::Done).last();
        exchange.completed && done.is_some_and(|done| killed.since(done.written) >= GRACE)
    };
    let log = place.service.log();
    let owed = log.iter().skip(WARMUP).filter(old_enough).count();
    let run = place.run_of("d");
    Killed { place, run, owed }
}

#[test]
fn fifty_kills_lose_nothing_that_is_older_than_a_second() {
    let alone = no_other_load();
    let numbers: Vec<u64> = (0..KILLS).collect();
    let killed: Vec<Killed> = std::thread::scope(|scope| {
        let lanes: Vec<_> = numbers
            .chunks(usize::try_from(KILLS).unwrap().div_ceil(3))
            .map(|lane| {
                scope.spawn(|| {
                    lane.iter()
                        .map(|number| kill_one(*number))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        lanes
            .into_iter()
            .flat_map(|lane| lane.join().unwrap())
            .collect()
    });

    drop(alone);

    let mut counts = Vec::new();
    for (number, Killed { run, owed, place }) in killed.iter().enumerate() {
        if !run.exists() {
            assert_eq!(*owed, 0, "run {number} is not there");
            continue;
        }
        let rows = rows(run);
        assert!(
            rows.len() >= *owed,
            "run {number}: {} rows, {owed} owed",
            rows.len()
        );
        let sent = usize::try_from(place.service.requests())
            .unwrap()
            .saturating_sub(WARMUP);
        assert!(
            rows.len() <= sent,
            "run {number}: {} rows of {sent} requests",
            rows.len()
        );
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(
                row["query_index"],
                json!(index),
                "run {number}: none lost, none doubled"
            );
            assert_eq!(row["outcome"], "complete");
        }
        counts.push((run.clone(), rows.len()));
    }
    let with_rows = counts.iter().filter(|(_, rows)| *rows > 0).count();
    assert!(
        with_rows >= 30,
        "only {with_rows} of {KILLS} runs got far enough to say anything"
    );

    let Some(environments) = or_skip(hugging_face::environments()) else {
        return;
    };
    let runs: Vec<PathBuf> = counts.iter().map(|(run, _)| run.clone()).collect();
    for venv in environments {
        let seen = hugging_face::load_all(&venv, &runs, Rows::Counted).unwrap();
        for ((run, rows), seen) in counts.iter().zip(seen) {
            assert_eq!(seen.get("error"), None, "{}: {seen}", run.display());
            assert_eq!(seen["rows"], json!(rows), "{}", run.display());
        }
    }
}

#[test]
fn datasets_of_every_age_read_the_same_rows_with_the_same_types() {
    let Some(environments) = or_skip(hugging_face::environments()) else {
        return;
    };
    let place = Place::new(|_| Script {
        reasoning: ipw_reference::words(2),
        ..Script::words(5)
    });
    let dataset = place.jsonl(
        "mixed",
        [
            json!({"question": "a", "answer": 4, "level": 1, "tags": ["x"], "deep": {"a": [1, 2]}}),
            json!({"question": "b", "answer": "5", "level": "hard", "choices": ["A", "B"]}),
            json!({"question": "c", "level": null, "deep": {"b": true}, "id": "third", "row": 9}),
        ],
    );
    let mut command = place.profile(&["--dataset", dataset.to_str().unwrap()]);
    let said = crate::common::said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run_of("mixed");
    let ours = rows(&run);
    let empty = place.jsonl("empty", []);
    crate::common::said(&mut place.profile(&["--dataset", empty.to_str().unwrap()]));
    for venv in environments {
        let seen = hugging_face::load(&venv, &run, Rows::Included).unwrap();
        let data = seen["data"].as_array().unwrap();
        assert_eq!(data.len(), 3);
        for (theirs, ours) in data.iter().zip(&ours) {
            same(theirs, ours, "");
        }
        assert_eq!(seen["features"]["dataset_metadata"]["level"], "string");
        assert_eq!(
            seen["features"]["timing"]["chunk_seconds"],
            json!(["float64"])
        );
        assert_eq!(
            seen["features"]["energy"]["shares"][0]["sigma_joules"],
            "float64"
        );
        assert_eq!(seen["features"]["part"], "int32");
        assert_eq!(
            data[0]["dataset_metadata"]["deep"],
            json!({"a": [1, 2], "b": null})
        );
        assert_eq!(data[2]["dataset_metadata"]["source_row"], 9);
        assert_eq!(data[2]["query_id"], "third");
        assert_eq!(data[0]["reasoning"], "word0 word1");
        let nothing = hugging_face::load(&venv, &place.run_of("empty"), Rows::Included).unwrap();
        assert_eq!(nothing["rows"], 0);
    }
    assert_eq!(Run::open(&run).unwrap().rows().unwrap(), 3);
}

/// Equal as JSON, numbers as numbers.
fn same(left: &Value, right: &Value, path: &str) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            assert_eq!(
                left.keys().collect::<Vec<_>>(),
                right.keys().collect::<Vec<_>>(),
                "{path}"
            );
            for (name, value) in left {
                same(value, &right[name], &format!("{path}.{name}"));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            assert_eq!(left.len(), right.len(), "{path}");
            for (left, right) in left.iter().zip(right) {
                same(left, right, &format!("{path}[]"));
            }
        }
        (Value::Number(left), Value::Number(right)) => {
            assert_eq!(left.as_f64(), right.as_f64(), "{path}");
        }
        _ => assert_eq!(left, right, "{path}"),
    }
}
