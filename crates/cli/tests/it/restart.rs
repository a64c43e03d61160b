//! A service that goes down in the middle of a run and comes back at the same address.

use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex, mpsc};

use ipw_core::time::Clock;
use ipw_reference::{Fault, Options, Received, Script, Service};
use ipw_runner::SystemClock;
use serde_json::Value;

use crate::common::{Place, Said, questions, rows, spawn, wait_until};

const QUESTIONS: usize = 50;
/// The query that is in flight when the service goes down.
const STRUCK: u64 = 10;

/// A place whose service can be taken away and brought back.
struct Shaky {
    place: Place,
    service: Option<Service>,
    options: Options,
    struck: mpsc::Receiver<()>,
}

impl Shaky {
    fn new() -> Self {
        let (strike, struck) = mpsc::channel();
        let strike = Mutex::new(strike);
        let service = start(Options::default(), move |received| {
            if received.number == STRUCK {
                let _ = strike.lock().unwrap().send(());
            }
            Script {
                fault: (received.number >= STRUCK).then_some(Fault::HangAfter(1)),
                ..Script::words(3)
            }
        });
        let options = Options {
            address: service.address(),
            ..Options::default()
        };
        Self {
            place: Place::new(|_| Script::default()),
            service: Some(service),
            options,
            struck,
        }
    }

    /// A run that keeps sending, with or without a service.
    fn profile(&self, more: &[&str]) -> Child {
        let dataset = self.place.jsonl("d", questions(QUESTIONS));
        let url = self.service.as_ref().unwrap().url();
        let mut command = self.place.profile_at(&url, "reference", more);
        command
            .args(["--warmup", "0", "--rate", "10", "--arrival", "constant"])
            .arg("--dataset")
            .arg(dataset);
        spawn(&mut command)
    }

    fn goes_down(&mut self) {
        self.struck.recv().unwrap();
        self.service = None;
    }

    fn comes_back(&mut self) {
        self.service = Some(start(self.options.clone(), |_| Script::words(3)));
    }

    /// The rows in the order in which they were due.
    fn rows(&self) -> Vec<Value> {
        let mut rows = rows(&self.place.run_of("d"));
        rows.sort_by_key(|row| row["query_index"].as_u64());
        rows
    }
}

fn start(
    options: Options,
    script: impl Fn(&Received) -> Script + Send + Sync + 'static,
) -> Service {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    Service::start_with(options, clock, script).unwrap()
}

fn outcome(row: &Value) -> &str {
    row["outcome"].as_str().unwrap()
}

fn has_failed_to_connect(run: &Path) -> bool {
    let is_there = run.join("state.json").exists();
    is_there && rows(run).iter().any(|row| outcome(row) == "failed:connect")
}

fn done(child: Child) -> Said {
    child.wait_with_output().unwrap().into()
}

#[test]
fn rows_in_between_fail_later_ones_are_complete_and_the_run_is_finished() {
    for (tolerance, code) in [("100%", 0), ("0", 4)] {
        let mut shaky = Shaky::new();
        let child = shaky.profile(&["--max-failed", tolerance]);
        shaky.goes_down();
        wait_until("a query found no service", || {
            has_failed_to_connect(&shaky.place.run_of("d"))
        });
        shaky.comes_back();
        let said = done(child);
        assert_eq!(said.code, Some(code), "{}", said.err);
        let rows = shaky.rows();
        assert_eq!(rows.len(), QUESTIONS);
        let failed: Vec<_> = rows
            .iter()
            .filter(|row| outcome(row) != "complete")
            .collect();
        for row in &failed {
            let kind = outcome(row);
            assert!(
                matches!(kind, "failed:connect" | "failed:reset" | "failed:closed"),
                "{kind}: {}",
                row["error"]
            );
            assert!(row["error"].is_string(), "{row}");
        }
        // The one in flight is the first; those after it found no service.
        assert_eq!(failed[0]["query_index"], STRUCK);
        assert!(failed.iter().any(|row| outcome(row) == "failed:connect"));
        let last = failed.last().unwrap()["query_index"].as_u64().unwrap();
        assert!(last + 1 < QUESTIONS as u64, "it came back in time");
        let behind = rows
            .iter()
            .filter(|row| row["query_index"].as_u64() > Some(last));
        assert!(
            behind.clone().count() > 0 && behind.into_iter().all(|row| outcome(row) == "complete")
        );
        let summary = crate::common::summary(&shaky.place.run_of("d"));
        assert_eq!(summary["status"], "complete", "{summary:#}");
    }
}

#[test]
fn with_retries_every_query_is_answered_in_the_end() {
    let mut shaky = Shaky::new();
    let child = shaky.profile(&["--retries", "12", "--max-failed", "0"]);
    shaky.goes_down();
    shaky.comes_back();
    let said = done(child);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let rows = shaky.rows();
    assert_eq!(rows.len(), QUESTIONS);
    assert!(
        rows.iter().all(|row| outcome(row) == "complete"),
        "{rows:#?}"
    );
    let attempts = |row: &Value| row["http"]["attempts"].as_u64().unwrap();
    let struck = rows
        .iter()
        .find(|row| row["query_index"] == STRUCK)
        .unwrap();
    assert!(attempts(struck) > 1, "{struck:#}");
    assert!(rows.iter().take(5).all(|row| attempts(row) == 1));
}

#[test]
fn a_quota_that_is_used_up_is_asked_as_often_as_told_and_the_run_ends() {
    const QUOTA: &str = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    for (retries, attempts) in [("0", 1), ("2", 3)] {
        let place = Place::new(|_| Script {
            fault: Some(Fault::Status(429, QUOTA.to_owned())),
            ..Script::default()
        });
        let dataset = place.jsonl("d", questions(2));
        let dataset = dataset.to_str().unwrap();
        let args = ["--dataset", dataset, "--warmup", "0", "--retries", retries];
        let said = done(spawn(&mut place.profile(&args)));
        assert_eq!(said.code, Some(4), "{}", said.err);
        for words in [
            "2 × failed:http_429",
            "exceeded your current quota",
            "request more quota",
        ] {
            assert!(said.out.contains(words), "{words}: {}", said.out);
        }
        let rows = rows(&place.run_of("d"));
        assert!(
            rows.iter().all(|row| row["http"]["attempts"] == attempts),
            "{rows:#?}"
        );
        assert_eq!(place.service.requests(), 2 * attempts);
    }
}
