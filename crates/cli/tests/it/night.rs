//! A night in a minute: many queries, one in twenty goes wrong, and the process is killed now and
//! then. `IPW_NIGHT_QUERIES=200000` makes it a long one (`cargo xtask night`).

use std::collections::BTreeMap;
use std::process::Child;
use std::time::Duration;

use arrow_array::{Int64Array, StringArray};
use ipw_reference::{Fault, Script};
use ipw_store::Run;
use ipw_store::reader::column;
use ipw_testkit::fuzz::Random;
use serde_json::json;

use crate::common::{Place, all_cores, ipw, spawn, summary, wait_until};

/// One in twenty, of many kinds; those that take time are rare.
fn fault(number: u64) -> Option<Fault> {
    let mut random = Random::new(number);
    if random.below(2000) == 0 {
        return Some(Fault::HangAfter(1));
    }
    if random.below(20) != 0 {
        return None;
    }
    let busy = |status| Fault::Status(status, "busy".to_owned());
    Some(match random.below(10) {
        0 => busy(500),
        1 => busy(503),
        2 => busy(429),
        3 => Fault::ResetBeforeHead,
        4 => Fault::CloseAfter(1),
        5 => Fault::ResetAfter(1),
        6 => Fault::ErrorEventAfter(1, "lost".to_owned()),
        7 => Fault::Garbage,
        8 => Fault::Empty,
        _ => Fault::InvalidUtf8,
    })
}

/// Resident memory of a process in KiB.
fn resident(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

#[test]
#[cfg(target_os = "linux")]
fn after_a_bad_night_every_query_has_its_row_and_memory_is_flat() {
    let _busy = all_cores();
    let asked = std::env::var("IPW_NIGHT_QUERIES").ok();
    let queries: u64 = asked.and_then(|asked| asked.parse().ok()).unwrap_or(4000);
    let place = Place::new(|received| Script {
        fault: fault(received.number),
        ..Script::words(3)
    });
    let dataset = place.jsonl(
        "night",
        (0..queries).map(|n| json!({"problem": format!("q{n}")})),
    );
    let mut command = place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--quiet",
        "--no-report",
        "--request-timeout",
        "150ms",
    ]);
    let mut child = spawn(&mut command);
    wait_until("the run is there", || {
        place.run_of("night").join("summary.json").exists()
    });
    let run = place.run_of("night");
    let mut random = Random::new(42);
    let kills = 5;
    let answered = || place.service.completed();
    for kill in 0..kills {
        // Half of the night is disturbed, the other half is not.
        let until = queries / 2 * (kill + 1) / kills;
        wait_until_long(|| answered() >= until, &mut child);
        std::thread::sleep(Duration::from_millis(random.below(40) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        child = spawn(
            ipw()
                .args(["profile", "--quiet", "--no-report", "--resume"])
                .arg(&run),
        );
    }
    wait_until_long(|| answered() >= queries * 6 / 10, &mut child);
    let early = resident(&child).expect("the process is at work");
    let mut late = early;
    while child.try_wait().unwrap().is_none() {
        if answered() < queries * 95 / 100 {
            late = resident(&child).unwrap_or(late);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{text}");

    let opened = Run::open(&run).unwrap();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let mut seen = vec![false; usize::try_from(queries).unwrap()];
    for batch in opened.batches() {
        let batch = batch.unwrap();
        let indices = column::<Int64Array>(&batch, "query_index").unwrap();
        let words = column::<StringArray>(&batch, "outcome").unwrap();
        for row in 0..batch.num_rows() {
            let index = usize::try_from(indices.value(row)).unwrap();
            assert!(!seen[index], "query {index} has two rows");
            seen[index] = true;
            *outcomes.entry(words.value(row).to_owned()).or_default() += 1;
        }
    }
    assert!(seen.iter().all(|seen| *seen), "every query has a row");
    let complete = outcomes.get("complete").copied().unwrap_or(0);
    let failed = queries - complete;
    assert!(
        (queries * 3 / 100..queries * 8 / 100).contains(&failed),
        "{outcomes:?}"
    );
    assert!(outcomes.len() > 6, "{outcomes:?}");
    assert_eq!(summary(&run)["status"], "complete");
    assert_eq!(summary(&run)["total_queries"], json!(queries));
    assert!(
        late * 100 <= early * 120,
        "{early} KiB after six tenths, {late} KiB later"
    );
    // Shown by `cargo xtask night`.
    eprintln!("{queries} queries, {kills} kills: {outcomes:?}; {early} KiB, later {late} KiB");
}

/// Waits as long as the process lives.
fn wait_until_long(done: impl Fn() -> bool, child: &mut Child) {
    while !done() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the process ended before it was killed"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}
