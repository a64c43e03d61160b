//! Going on with a run that was interrupted or killed.

use std::collections::BTreeSet;
use std::time::Duration;

use ipw_reference::{Fault, Script};
use ipw_testkit::{hugging_face, or_skip};
use serde_json::json;

use crate::common::{Place, ipw, no_other_load, questions, rows, said, spawn, summary, wait_until};

const CYCLES: u64 = 100;

#[test]
fn a_hundred_kills_and_resumes_lose_and_double_nothing() {
    // Processes that live a tenth of a second make progress only without other load.
    let _alone = no_other_load();
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(2),
        ..Script::words(3)
    });
    // More than the cycles will get through: the last resume finishes it.
    let dataset = place.jsonl("d", questions(3000));
    let first = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup",
        "1",
        "--quiet",
        "--flush-every",
        "5",
    ];
    let mut child = spawn(&mut place.profile(&first));
    wait_until("the run is there", || {
        place.run_of("d").join("summary.json").exists()
    });
    let run = place.run_of("d");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut seen, mut patience) = (0, 20);
    for cycle in 0..CYCLES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_millis(patience + random % 120));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = rows(&run).len();
        assert!(now >= seen, "cycle {cycle}: {now} rows, there were {seen}");
        // A life that got nowhere was too short for this machine.
        patience += if now == seen { 5 } else { 0 };
        seen = now;
        child = spawn(ipw().args(["profile", "--quiet", "--resume"]).arg(&run));
    }
    let last = child.wait_with_output().unwrap();
    assert!(
        last.status.success(),
        "{}",
        String::from_utf8_lossy(&last.stderr)
    );
    let rows = rows(&run);
    let indices: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!(
        (rows.len(), indices.len()),
        (3000, 3000),
        "none lost, none doubled"
    );
    assert!(rows.iter().all(|row| row["outcome"] == "complete"));
    let summary = summary(&run);
    assert_eq!(summary["status"], "complete");
    let parts: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["part"].as_u64().unwrap())
        .collect();
    let told: BTreeSet<u64> = summary["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["part"].as_u64().unwrap())
        .collect();
    assert!(parts.len() > 3, "{parts:?}");
    assert!(parts.is_subset(&told), "{parts:?} of {told:?}");
    if let Some(environment) = or_skip(hugging_face::newest()) {
        let loaded = hugging_face::load(&environment, &run, hugging_face::Rows::Counted).unwrap();
        assert_eq!(loaded["rows"], json!(3000));
    }
}

#[test]
fn failed_queries_are_sent_again_when_asked() {
    let place = Place::new(|received| Script {
        fault: (received.number <= 6 && received.number.is_multiple_of(2))
            .then(|| Fault::Status(503, "busy".to_owned())),
        ..Script::words(3)
    });
    let dataset = place.jsonl("d", questions(8));
    let args = ["--dataset", dataset.to_str().unwrap(), "--warmup", "0"];
    assert_eq!(said(&mut place.profile(&args)).code, Some(4));
    let run = place.run_of("d");
    let resume = |more: &[&str]| said(ipw().args(["profile", "--resume"]).arg(&run).args(more));
    let nothing = resume(&[]);
    assert_eq!(nothing.code, Some(4), "{}", nothing.err);
    assert!(nothing.err.contains("--retry-failed"), "{}", nothing.err);
    assert_eq!(rows(&run).len(), 8);
    // A summary that was lost does not make two parts one.
    std::fs::remove_file(run.join("summary.json")).unwrap();
    let retried = resume(&["--retry-failed"]);
    assert_eq!(retried.code, Some(0), "{}", retried.err);
    let rows = rows(&run);
    let indices: BTreeSet<u64> = rows
        .iter()
        .map(|row| row["query_index"].as_u64().unwrap())
        .collect();
    assert_eq!((rows.len(), indices.len()), (8, 8));
    // Every part's readings are there, each with sources of its own.
    let (sources, readings) = ipw_store::readings::read(&run).unwrap();
    let used: BTreeSet<_> = readings
        .iter()
        .map(|reading| usize::from(reading.source.0))
        .collect();
    assert_eq!(summary(&run)["parts"].as_array().unwrap().len(), 1);
    let numbers: BTreeSet<_> = rows
        .iter()
        .map(|row| row["part"].as_u64().unwrap())
        .collect();
    assert_eq!(
        numbers,
        BTreeSet::from([0, 1]),
        "the part in between has no rows"
    );
    let parts = 3;
    let each = sources.len() / parts;
    for part in 0..parts {
        let own = part * each..(part + 1) * each;
        assert!(
            used.iter().any(|source| own.contains(source)),
            "{part}: {used:?} of {}",
            sources.len()
        );
    }
    assert!(rows.iter().all(|row| row["outcome"] == "complete"));
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let place = Place::new(|_| Script::words(3));
    let missing = said(ipw().args(["profile", "--resume", "/nonexistent"]));
    assert_eq!(missing.code, Some(2), "{}", missing.err);
    let dataset = place.jsonl("d", questions(4));
    let args = ["--dataset", dataset.to_str().unwrap(), "--max-queries", "2"];
    assert_eq!(said(&mut place.profile(&args)).code, Some(0));
    let run = place.run_of("d");
    let other = said(
        ipw()
            .args(["profile", "--model", "other", "--warmup", "7", "--resume"])
            .arg(&run),
    );
    assert_eq!(other.code, Some(2), "{}", other.err);
    for difference in [
        "model: the plan has `\"reference\"`, now `\"other\"`",
        "load.warmup: the plan has `3`, now `7`",
    ] {
        assert!(other.err.contains(difference), "{}", other.err);
    }
    let same = said(
        ipw()
            .args(["profile", "--max-queries", "2", "--resume"])
            .arg(&run)
            .env("IPW_MODEL", "reference"),
    );
    assert_eq!(
        same.code,
        Some(0),
        "what says the same is no change: {}",
        same.err
    );
    let plan = run.join("plan.toml");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("id = \"jsonl\"", "id = \"stdin\"")).unwrap();
    let piped = said(ipw().args(["profile", "--resume"]).arg(&run));
    assert_eq!(piped.code, Some(2), "{}", piped.err);
    assert!(piped.err.contains("through a pipe"), "{}", piped.err);
    std::fs::write(&plan, text).unwrap();
    // The dataset has other columns now: its rows would not fit.
    place.jsonl("d", [json!({"problem": "a", "colour": "red"})]);
    let changed = said(ipw().args(["profile", "--resume"]).arg(&run));
    assert_eq!(changed.code, Some(6), "{}", changed.err);
    assert!(
        changed.err.contains("the dataset has changed"),
        "{}",
        changed.err
    );
    assert_eq!(rows(&run).len(), 2);
}

/// A disk of 256 kB, in a user and mount namespace of its own: no privilege is needed.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_with_what_is_saved_and_a_larger_one_goes_on() {
    let place = Place::new(|_| Script {
        first_token: Duration::from_millis(5),
        ..Script::words(3)
    });
    let dataset = place.jsonl("d", questions(400));
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = r#"
        mount -t tmpfs -o size=256k tmpfs "$1" || exit 90
        "$0" profile --client openai --client-base-url "$2" --model reference --dataset "$3" \
            --warmup 0 --flush-every 10 --output-dir "$1" --quiet
        first=$?
        mount -o remount,size=64m "$1" || exit 91
        run=$(echo "$1"/profile_*)
        "$0" show "$run"
        "$0" profile --quiet --resume "$run" || exit 92
        "$0" show --json "$run" | grep -o '"rows": 400' || exit 93
        exit $first
    "#;
    let ran = std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_ipw")])
        .arg(&disk)
        .arg(place.service.url())
        .arg(&dataset)
        .env_remove("HOME")
        .output();
    let missing = |why: String| ipw_testkit::Missing {
        what: "a small disk".to_owned(),
        why,
        how: "allow user namespaces and install `unshare` (util-linux)".to_owned(),
    };
    let ran = ran
        .map_err(|error| missing(error.to_string()))
        .map(crate::common::Said::from)
        .and_then(|said| match said.code {
            Some(90) => Err(missing(said.err)),
            _ if said.err.contains("unshare") => Err(missing(said.err)),
            _ => Ok(said),
        });
    let Some(said) = or_skip(ran) else { return };
    assert_eq!(said.code, Some(1), "{}\n{}", said.out, said.err);
    assert!(said.err.contains("No space left"), "{}", said.err);
    assert!(said.err.contains("--resume"), "{}", said.err);
    assert!(
        !said.err.contains(".new-"),
        "the name that people see: {}",
        said.err
    );
    assert!(
        said.out.contains("these are the rows so far"),
        "{}",
        said.out
    );
}
