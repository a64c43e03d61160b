//! Prompts that are more than a text: messages as they stand, and conversations turn by turn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipw_reference::{Fault, Received, Script};
use serde_json::{Value, json};

use crate::common::{Place, ipw, rows, said, spawn, wait_until};

fn messages(received: &Received) -> &[Value] {
    let list = received.body["messages"].as_array();
    list.map_or(&[], Vec::as_slice)
}

fn last(received: &Received) -> String {
    let last = messages(received).last();
    let text = last.and_then(|message| message["content"].as_str());
    text.unwrap_or_default().to_owned()
}

/// A reply from which one can tell to what.
fn heard(text: &str) -> String {
    format!("heard {text}")
}

fn echo(received: &Received) -> Script {
    Script {
        tokens: Arc::from([heard(&last(received))]),
        first_token: Duration::from_millis(5),
        ..Script::words(1)
    }
}

/// The texts of a list of messages.
fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|message| message["content"].as_str().unwrap())
        .collect()
}

fn sent(row: &Value) -> Value {
    serde_json::from_str(row["messages"].as_str().unwrap()).unwrap()
}

/// What a turn must have been asked with, when every reply is an echo.
fn expected(row: &Value) -> Vec<String> {
    let conversation = row["conversation_id"].as_str().unwrap();
    let turn = row["turn"].as_u64().unwrap();
    let asked = |turn: u64| format!("{conversation} turn {turn}");
    let before = (1..turn).flat_map(|turn| [asked(turn), heard(&asked(turn))]);
    before.chain([asked(turn)]).collect()
}

/// Conversations of three turns without replies.
fn talks(place: &Place, count: usize) -> std::path::PathBuf {
    let talk = |number: usize| {
        let turns: Vec<_> = (1..=3)
            .map(|turn| format!("talk{number} turn {turn}"))
            .collect();
        json!({"id": format!("talk{number}"), "turns": turns})
    };
    place.jsonl("d", (0..count).map(talk))
}

fn by_id(run: &Path) -> BTreeMap<String, Value> {
    let rows = rows(run).into_iter();
    rows.map(|row| (row["query_id"].as_str().unwrap().to_owned(), row))
        .collect()
}

#[test]
fn messages_tools_and_formats_go_out_as_they_stand() {
    let place = Place::new(echo);
    let tool = json!({"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}});
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let asked = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "And in Rome?"}], "name": "ann"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "sun"},
    ]);
    let format = json!({"type": "json_schema", "json_schema": {"name": "w", "schema": {}}});
    let dataset = place.jsonl(
        "d",
        [
            json!({"id": "a", "messages": asked, "tools": [tool], "response_format": format, "level": 1}),
            json!({"id": "b", "problem": "plain?", "level": 2}),
        ],
    );
    let done = said(&mut place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup=0",
        "--param=temperature=0",
    ]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let log = place.service.log();
    let body = &log[0].received.body;
    let mut sent_on = asked.clone();
    // What has no value is left out.
    sent_on[2].as_object_mut().unwrap().remove("content");
    assert_eq!(body["messages"], sent_on);
    assert_eq!(body["tools"], json!([tool]));
    assert_eq!(body["response_format"], format);
    assert_eq!(body["temperature"], json!(0));
    let rows = by_id(&place.run_of("d"));
    let row = &rows["a"];
    assert_eq!(sent(row), sent_on);
    assert_eq!(row["problem"], "And in Rome?");
    assert_eq!(
        (&row["conversation_id"], &row["turn"]),
        (&json!("a"), &json!(2))
    );
    let parameters: Value = serde_json::from_str(row["parameters"].as_str().unwrap()).unwrap();
    assert_eq!(
        parameters,
        json!({"tools": [tool], "response_format": format})
    );
    assert_eq!(row["dataset_metadata"], json!({"row": 0, "level": 1}));
    for column in ["messages", "conversation_id", "turn", "parameters"] {
        assert_eq!(rows["b"][column], Value::Null, "{column}");
    }
    let system = said(&mut place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup=0",
        "--max-queries=1",
        "--system=Be long.",
        "--overwrite",
    ]));
    assert_eq!(system.code, Some(0), "{}", system.err);
    let log = place.service.log();
    let body = &log.last().unwrap().received.body;
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be long."})
    );
    assert_eq!(body["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn each_turn_waits_for_the_reply_before_it_and_is_asked_with_it() {
    for load in [&["--concurrency=4"][..], &["--rate=400"], &[]] {
        let place = Place::new(echo);
        let dataset = talks(&place, 8);
        let mut args = vec!["--dataset", dataset.to_str().unwrap(), "--warmup=0"];
        args.extend(load);
        let done = said(&mut place.profile(&args));
        assert_eq!(done.code, Some(0), "{load:?}: {}", done.err);
        let rows = by_id(&place.run_of("d"));
        assert_eq!((rows.len(), place.service.requests()), (24, 24), "{load:?}");
        for (id, row) in &rows {
            assert_eq!(row["outcome"], "complete", "{id}");
            assert_eq!(texts(&sent(row)), expected(row), "{load:?} {id}");
            let turn = row["turn"].as_u64().unwrap();
            if turn > 1 {
                let talk = row["conversation_id"].as_str().unwrap();
                let before = &rows[&format!("{talk}#{}", turn - 1)]["timing"]["end_seconds"];
                let due = &row["timing"]["due_seconds"];
                assert!(
                    due.as_f64() >= before.as_f64(),
                    "{id}: {due} before {before}"
                );
            }
        }
    }
}

#[test]
fn recorded_replies_need_no_waiting_and_are_the_references() {
    let place = Place::new(echo);
    let said_so = |role: &str, text: &str| json!({"role": role, "content": text});
    let talk = |number: usize| {
        json!({"messages": [
            said_so("user", &format!("a{number}")), said_so("assistant", "A"),
            said_so("user", &format!("b{number}")), said_so("assistant", "B"),
        ]})
    };
    let dataset = place.jsonl("d", (0..4).map(talk));
    let dataset = dataset.to_str().unwrap();
    let done = said(&mut place.profile(&["--dataset", dataset, "--warmup=0", "--unique-prefix"]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let rows = by_id(&place.run_of("d"));
    assert_eq!(rows.len(), 8);
    assert_eq!(texts(&sent(&rows["2#2"])), ["a2", "A", "b2"]);
    assert_eq!(rows["2#2"]["answer"], "B");
    let log = place.service.log();
    let first = messages(&log[0].received)[0]["content"].as_str().unwrap();
    assert!(first.starts_with('[') && first.ends_with("] a0"), "{first}");
    let live = said(&mut place.profile(&[
        "--dataset",
        dataset,
        "--warmup=0",
        "--dataset-param=history=live",
        "--overwrite",
    ]));
    assert_eq!(live.code, Some(0), "{}", live.err);
    let rows = by_id(&place.run_of("d"));
    assert_eq!(texts(&sent(&rows["2#2"])), ["a2", "heard a2", "b2"]);
    assert_eq!(rows["2#2"]["answer"], "B");
}

#[test]
fn turns_behind_a_failure_are_rows_and_are_asked_when_it_is_tried_again() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let place = Place::new(move |received| Script {
        fault: (!well.load(Ordering::Relaxed) && last(received) == "talk1 turn 2")
            .then(|| Fault::Status(500, "oh".to_owned())),
        ..echo(received)
    });
    let dataset = talks(&place, 3);
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup=0",
        "--concurrency=2",
    ];
    let done = said(&mut place.profile(&args));
    assert_eq!(done.code, Some(4), "{}", done.err);
    let run = place.run_of("d");
    let failed = by_id(&run);
    assert_eq!(failed.len(), 9);
    assert_eq!(failed["talk1#2"]["outcome"], "failed:http_500");
    let third = &failed["talk1#3"];
    assert_eq!(third["outcome"], "failed:history");
    assert_eq!(
        third["error"],
        "turn 2 of the conversation was not answered"
    );
    assert_eq!(third["timing"]["sent_seconds"], Value::Null);
    assert_eq!(place.service.requests(), 8, "the third turn was not sent");
    assert!(done.out.contains("failed:history") || done.err.contains("failed:history"));

    is_well.store(true, Ordering::Relaxed);
    let again = said(
        ipw()
            .args(["profile", "--retry-failed", "--resume"])
            .arg(&run),
    );
    assert_eq!(again.code, Some(0), "{}", again.err);
    let rows = by_id(&run);
    assert_eq!((rows.len(), place.service.requests()), (9, 10));
    for row in rows.values() {
        assert_eq!(texts(&sent(row)), expected(row));
    }
}

#[test]
fn a_killed_conversation_goes_on_with_what_was_recorded() {
    let is_open = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&is_open);
    let place = Place::new(move |received| Script {
        fault: (!open.load(Ordering::Relaxed) && last(received).ends_with("turn 3"))
            .then_some(Fault::HangBeforeHead),
        ..echo(received)
    });
    let dataset = talks(&place, 5);
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup=0",
        "--concurrency=2",
    ];
    let mut more = args.to_vec();
    more.push("--flush-every=1");
    let mut child = spawn(&mut place.profile(&more));
    let run = || {
        let runs = std::fs::read_dir(place.runs()).ok()?;
        let mut runs = runs.flatten().map(|run| run.path());
        runs.find(|run| run.join("state.json").exists())
    };
    wait_until("four turns have their rows", || {
        run().is_some_and(|run| {
            ipw_store::Run::open(&run).is_ok_and(|run| run.rows().unwrap_or(0) >= 4)
        })
    });
    child.kill().unwrap();
    child.wait().unwrap();
    is_open.store(true, Ordering::Relaxed);
    let run = place.run_of("d");
    let resumed = said(ipw().args(["profile", "--resume"]).arg(&run));
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let rows = by_id(&run);
    assert_eq!(rows.len(), 15);
    for (id, row) in &rows {
        assert_eq!(texts(&sent(row)), expected(row), "{id}");
    }
    let parts: Vec<_> = rows
        .values()
        .map(|row| row["part"].as_u64().unwrap())
        .collect();
    assert!(parts.contains(&0) && parts.contains(&1), "{parts:?}");
}

#[test]
fn an_api_of_one_text_says_so() {
    let place = Place::new(echo);
    let dataset = place.jsonl(
        "d",
        [json!({"messages": [{"role": "user", "content": "a"}]})],
    );
    let done = said(&mut place.profile(&[
        "--dataset",
        dataset.to_str().unwrap(),
        "--warmup=0",
        "--api=completions",
    ]));
    assert_eq!(done.code, Some(4), "{}", done.err);
    let rows = rows(&place.run_of("d"));
    assert_eq!(rows[0]["outcome"], "failed:parameter");
    let error = rows[0]["error"].as_str().unwrap();
    assert!(error.contains("--api chat"), "{error}");
    assert_eq!(place.service.requests(), 0);
}
