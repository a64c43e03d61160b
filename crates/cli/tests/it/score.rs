//! `ipw score`: verdicts of runs that are there, by scorers and by a judge that may be flaky.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipw_reference::{Fault, Received, Script};
use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::or_skip;
use serde_json::{Value, json};

use crate::common::{Place, Said, ipw, metrics, rows, said, spawn, summary, wait_until};
use crate::tls::front;

pub(crate) fn score(run: &Path, more: &[&str]) -> Said {
    said(ipw().arg("score").arg(run).args(more))
}

/// What the command says of itself.
pub(crate) fn scored(run: &Path, more: &[&str]) -> Value {
    let told = score(run, &[more, &["--json"]].concat());
    assert_eq!(told.code, Some(0), "{}", told.err);
    serde_json::from_str(&told.out).unwrap()
}

pub(crate) fn verdicts(run: &Path) -> Vec<Value> {
    let correct = |row: &Value| metrics(row)["lm_correctness"].clone();
    rows(run).iter().map(correct).collect()
}

/// Twelve answers, graded while they came; every third is wrong.
pub(crate) fn answered(place: &Place, scorer: &str) -> std::path::PathBuf {
    let dataset = place.jsonl(
        "d",
        (0..12).map(|n| {
            let right = if n % 3 == 0 { n + 1 } else { n };
            json!({
                "problem": format!("Say {n}"), "answer": right.to_string(), "scorer": scorer,
                "subject": if n % 2 == 0 { "even" } else { "odd" },
            })
        }),
    );
    let told = said(&mut place.profile(&["--dataset", dataset.to_str().unwrap()]));
    assert_eq!(told.code, Some(0), "{}", told.err);
    place.run_of("d")
}

pub(crate) fn prompt(received: &Received) -> String {
    let prompt = &received.body["messages"][0]["content"];
    prompt.as_str().unwrap_or_default().to_owned()
}

/// The number that is asked for.
pub(crate) fn saying() -> Place {
    Place::new(|received| {
        let number = prompt(received).replace("Say ", "");
        Script {
            tokens: [format!("I say {number}")].into(),
            ..Script::default()
        }
    })
}

#[test]
fn what_was_graded_as_it_came_is_graded_the_same_again() {
    let place = saying();
    let run = answered(&place, "numeric");
    let before = verdicts(&run);
    assert_eq!(
        before
            .iter()
            .filter(|verdict| **verdict == json!(true))
            .count(),
        8
    );
    let first = scored(&run, &[]);
    assert_eq!(
        (&first["graded"], &first["changed"]),
        (&json!(0), &json!(0))
    );
    let again = scored(&run, &["--again"]);
    assert_eq!(
        (&again["graded"], &again["changed"]),
        (&json!(12), &json!(0))
    );
    assert_eq!(verdicts(&run), before);

    // Another scorer says otherwise, and the summary says what it says.
    let exact = scored(&run, &["--scorer", "exact"]);
    assert_eq!(
        (&exact["graded"], &exact["changed"]),
        (&json!(12), &json!(8))
    );
    let told = summary(&run);
    assert_eq!(told["overview"]["verdicts"]["correct"], 0);
    assert_eq!(told["efficiency"]["accuracy"]["value"], 0.0);
    assert_eq!(told["scoring"]["scorer"], "exact");
    assert!(
        told["efficiency"]["derived"].is_object(),
        "{}",
        told["efficiency"]
    );
    let config = metrics(&rows(&run)[0])["evaluation"]["config"].clone();
    assert_eq!(config, "{\"scorer\":\"exact\"}");

    // Without a word it is the rows' own scorer again.
    let back = scored(&run, &[]);
    assert_eq!((&back["graded"], &back["changed"]), (&json!(12), &json!(8)));
    assert_eq!(verdicts(&run), before);
    if let Some(venv) = or_skip(hugging_face::newest()) {
        let loaded = hugging_face::load(&venv, &run, Rows::Included).unwrap();
        let loaded = loaded["data"].as_array().unwrap();
        let read: Vec<Value> = loaded
            .iter()
            .map(|row| metrics(row)["evaluation"]["is_correct"].clone())
            .collect();
        assert_eq!(read, before);
    }
}

#[test]
fn what_cannot_be_scored_is_told_and_changes_nothing() {
    let place = saying();
    let run = answered(&place, "numeric");
    let before = rows(&run);
    for (more, code, words) in [
        (&["--scorer", "numerc"][..], 2, "did you mean `numeric`?"),
        (
            &["--judge-base-url", "http://127.0.0.1:1"],
            2,
            "--judge-model",
        ),
        (
            &[
                "--scorer",
                "judge",
                "--judge-model",
                "m",
                "--judge-base-url",
                "http://127.0.0.1:1",
            ],
            3,
            "check the address of the judge",
        ),
        (
            &[
                "--judge-model",
                "m",
                "--judge-param",
                "api_key=sk-123456789012345678901234",
            ],
            2,
            "secret",
        ),
    ] {
        let told = score(&run, more);
        assert_eq!(told.code, Some(code), "{more:?}: {}", told.err);
        assert!(told.err.contains(words), "{more:?}: {}", told.err);
    }
    let nothing = score(place.path(), &[]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    assert_eq!(rows(&run), before);
}

/// A judge that compares numbers, and is as unreliable as real ones: every fifth request fails,
/// every seventh reply is no verdict.
fn judge(received: &Received) -> Script {
    let prompt = prompt(received);
    let part = |name: &str| {
        let (_, behind) = prompt.split_once(&format!("{name}:\n=====\n"))?;
        Some(behind.split_once("\n=====")?.0.to_owned())
    };
    let same = part("Answer")
        .zip(part("Reference"))
        .map(|(answer, reference)| answer.split_whitespace().last() == Some(reference.as_str()));
    let verdict = if same == Some(true) {
        "correct"
    } else {
        "wrong"
    };
    let text = match received.number % 7 {
        6 => "I would rather not say.".to_owned(),
        3 => format!("<think>Hm.</think>```json\n{{\"verdict\": \"{verdict}\"}}\n```"),
        _ => format!("{{\"reason\": \"compared\", \"verdict\": \"{verdict}\"}}"),
    };
    Script {
        tokens: [text].into(),
        fault: (received.number % 5 == 4).then(|| Fault::Status(503, "busy".to_owned())),
        ..Script::default()
    }
}

#[test]
fn a_flaky_judge_is_asked_until_it_states_a_verdict_and_no_verdict_is_asked_twice() {
    let place = saying();
    let run = answered(&place, "judge");
    assert!(verdicts(&run).iter().all(Value::is_null));
    let before = rows(&run);
    let waiting = scored(&run, &[]);
    assert_eq!(waiting["waiting_for_a_judge"], 12);
    let court = Place::new(judge);
    let url = court.service.url();
    let asked = ["--judge-base-url", &url, "--judge-model", "judge-1"];
    let first = scored(&run, &asked);
    assert_eq!(
        first["after"],
        json!({"correct": 8, "wrong": 4, "unscored": 0})
    );
    assert_eq!(first["judge"]["asked"], 12);
    assert!(first["judge"]["attempts"].as_u64().unwrap() > 12, "{first}");
    assert!(
        first["judge"]["output_tokens"].as_u64().unwrap() > 0,
        "{first}"
    );
    let requests = court.service.requests();
    let body = &court.service.log()[0].received.body;
    assert_eq!(body["temperature"], Value::Null, "it was not asked for");
    let rows = rows(&run);
    let evaluation = &metrics(&rows[1])["evaluation"];
    let config: Value = serde_json::from_str(evaluation["config"].as_str().unwrap()).unwrap();
    assert_eq!(
        config,
        json!({"scorer": "judge", "judge": {"model": "judge-1", "prompt": "correctness-1"}})
    );
    assert!(
        evaluation["metadata"]
            .as_str()
            .unwrap()
            .contains("raw_judge_output")
    );
    // What the judge took is the judge's.
    let told = summary(&run);
    assert_eq!(told["scoring"]["judge"]["joules"], Value::Null);
    let taken = |row: &Value| (row["headline"].clone(), row["energy"].clone());
    assert!(rows.iter().map(taken).eq(before.iter().map(taken)));

    // A second time: the judge is not asked, nothing changes.
    let again = scored(&run, &asked);
    assert_eq!(
        (&again["changed"], &again["judge"]["asked"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(court.service.requests(), requests);
    // Unless it is wished for, or another one judges.
    let other = [
        "--judge-base-url",
        &url,
        "--judge-model",
        "judge-2",
        "--judge-param",
        "temperature=0",
        "--again",
    ];
    assert_eq!(scored(&run, &other)["judge"]["asked"], 12);
    assert!(court.service.requests() > requests);
    let log = court.service.log();
    assert_eq!(log.last().unwrap().received.body["temperature"], 0);
}

#[test]
fn a_judge_without_verdicts_ends_it_and_one_that_is_killed_goes_on_where_it_was() {
    let place = saying();
    let run = answered(&place, "judge");
    let before = rows(&run);
    let mute = Place::new(|_| Script::words(3));
    let url = mute.service.url();
    let args = [
        "--judge-base-url",
        &url,
        "--judge-model",
        "mute",
        "--judge-retries",
        "0",
    ];
    let told = score(&run, &args);
    assert_eq!(told.code, Some(3), "{}", told.err);
    assert!(told.err.contains("no verdict"), "{}", told.err);
    assert_eq!(rows(&run), before);

    let slow = Arc::new(AtomicBool::new(true));
    let is_slow = Arc::clone(&slow);
    let court = Place::new(move |received| Script {
        first_token: Duration::from_millis(if is_slow.load(Ordering::Relaxed) {
            150
        } else {
            0
        }),
        tokens: ["{\"verdict\": \"correct\"}".to_owned()].into(),
        ..judge(received)
    });
    let url = court.service.url();
    let args = [
        "--judge-base-url",
        &url,
        "--judge-model",
        "j",
        "--judge-concurrency",
        "1",
    ];
    let mut child = spawn(ipw().arg("score").arg(&run).args(args));
    let file = run.join("verdicts.jsonl");
    let lines = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("\"model\":\"j\""))
            .count()
    };
    wait_until("some were judged", || lines() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        rows(&run),
        before,
        "nothing is in the rows before all of it is"
    );
    let kept = lines();
    // A line that was cut off.
    let text = std::fs::read(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 20]).unwrap();
    slow.store(false, Ordering::Relaxed);
    let done = scored(&run, &args);
    assert_eq!(done["judge"]["asked"], json!(12 - (kept - 1)));
    assert_eq!(done["after"]["correct"], 12);
}

#[test]
fn a_judge_behind_an_authority_and_a_gateway_gets_its_own_headers_and_no_others() {
    let place = saying();
    let run = answered(&place, "judge");
    let court = Place::new(judge);
    let front = front(&court, &["localhost"]);
    let headers = court.path().join("headers");
    std::fs::write(&headers, "X-Court: mine\n").unwrap();
    let url = format!("https://localhost:{}", front.port);
    let score = |more: &[&str]| {
        let mut command = ipw();
        command
            .arg("score")
            .arg(&run)
            .args(["--judge-model", "judge-1", "--judge-base-url", &url])
            .args(more)
            .arg("--ca-file")
            .arg(&front.roots)
            // What a run's service is told is not the judge's affair.
            .env("IPW_HEADER_ENV", "SERVICE_HEADER")
            .env("SERVICE_HEADER", "X-Service: not yours");
        said(&mut command)
    };
    let told = score(&["--http2"]);
    assert_eq!(told.code, Some(3), "{}", told.err);
    assert!(told.err.contains("does not speak HTTP/2"), "{}", told.err);
    assert!(told.err.contains("remove `--http2`"), "{}", told.err);
    let told = score(&["--header-file", headers.to_str().unwrap()]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(verdicts(&run).iter().all(Value::is_boolean));
    let log = court.service.log();
    assert!(!log.is_empty());
    for one in log {
        assert_eq!(one.received.header("x-court"), Some("mine"));
        assert_eq!(one.received.header("x-service"), None);
    }
}
