//! The whole, for real: the binary against a llama.cpp server with a small model, and the run
//! opened with the newest Hugging Face `datasets`.
//!
//! The server's prompt cache is off. With it, part of a prompt is computed in another batch than
//! without, rounding differs, and at temperature 0 an answer may end some tokens earlier or later:
//! the same question asked again would not have the same count.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use ipw_testkit::hugging_face::{self, Rows};
use ipw_testkit::{LlamaServer, MODEL_NAME, Missing, or_skip};
use serde_json::{Value, json};

const STARTER: &str = include_str!("../../../datasets/src/starter.jsonl");
const QUERIES: usize = 8;

/// One run that all tests look at.
struct Lab {
    server: LlamaServer,
    run: PathBuf,
    /// What `datasets` sees in it.
    seen: Value,
}

impl Lab {
    fn make() -> Result<Self, Missing> {
        let datasets = hugging_face::newest()?;
        // One thread: two spin for each other, and crawl where the cores have other work too.
        let _busy = crate::common::all_cores();
        let server = LlamaServer::start(1)?;
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama");
        if output.exists() {
            std::fs::remove_dir_all(&output).unwrap();
        }
        let done = ipw(&[
            "profile",
            "--client=openai",
            &format!("--client-base-url={}", server.url()),
            &format!("--model={MODEL_NAME}"),
            &format!("--max-queries={QUERIES}"),
            "--warmup=1",
            "--param=cache_prompt=false",
            &format!("--output-dir={}", output.display()),
        ]);
        let talk = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{talk}");
        assert!(!talk.contains("warning"), "{talk}");
        let runs: Vec<_> = output.read_dir().unwrap().flatten().collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        let run = runs[0].path();
        let seen = hugging_face::load(&datasets, &run, Rows::Included).unwrap();
        Ok(Self { server, run, seen })
    }

    fn rows(&self) -> &[Value] {
        self.seen["data"].as_array().unwrap()
    }
}

fn lab() -> Option<&'static Lab> {
    static LAB: OnceLock<Result<Lab, Missing>> = OnceLock::new();
    or_skip(LAB.get_or_init(Lab::make).as_ref().map_err(Clone::clone))
}

fn ipw(args: &[&str]) -> Output {
    crate::common::ipw().args(args).output().unwrap()
}

fn starter() -> impl Iterator<Item = Value> {
    let rows = STARTER.lines().take(QUERIES);
    rows.map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn datasets_sees_the_six_columns_of_the_original_and_then_ours() {
    let Some(lab) = lab() else { return };
    let columns: Vec<_> = lab.seen["columns"].as_array().unwrap().iter().collect();
    let first = [
        "problem",
        "answer",
        "dataset_metadata",
        "subject",
        "model_answers",
        "model_metrics",
        "query_index",
        "query_id",
        "part",
        "outcome",
        "error",
        "token_source",
        "timing",
        "energy",
    ];
    assert_eq!(columns[..first.len()], first);
    assert_eq!(lab.seen["rows"], QUERIES);
}

/// llama.cpp counts what it generated; so do we.
#[test]
fn what_the_server_says_of_itself_is_beside_the_rows_and_agrees_with_them() {
    let Some(lab) = lab() else { return };
    let told = &crate::common::summary(&lab.run)["server_metrics"];
    assert!(
        told["pages"].as_u64().unwrap() >= 2 && told["failed"] == 0,
        "{told:#}"
    );
    let grown = told["metrics"]["output_tokens"]["grown"].as_f64().unwrap();
    let output = |row: &Value| {
        let metrics = &row["model_metrics"][MODEL_NAME]["token_metrics"];
        metrics["output"].as_f64().unwrap()
    };
    let counted: f64 = lab.rows().iter().map(output).sum();
    // The warm-up is in the server's count, too.
    assert!(
        grown >= counted && grown < counted + 400.0,
        "{grown} of {counted}"
    );
    let datasets = or_skip(hugging_face::newest()).unwrap();
    let seen = hugging_face::load(&datasets, &lab.run.join("server_metrics"), Rows::Included);
    let seen = seen.unwrap();
    let rows = seen["data"].as_array().unwrap();
    let named = rows.iter().filter(|row| row["name"] == "output_tokens");
    assert!(named.count() >= 2, "{rows:#?}");
    assert!(
        rows.iter()
            .any(|row| row["metric"] == "llamacpp:tokens_predicted_total")
    );
}

#[test]
fn datasets_sees_the_types_that_we_promise() {
    let Some(lab) = lab() else { return };
    let features = &lab.seen["features"];
    for name in ["problem", "answer", "subject", "query_id", "outcome"] {
        assert_eq!(features[name], "string", "{name}");
    }
    // In these rows `error` is null throughout, and typed all the same.
    assert_eq!(features["error"], "string");
    assert_eq!(features["token_source"], "string");
    assert_eq!(features["query_index"], "int64");
    assert_eq!(features["part"], "int32");
    assert_eq!(features["model_answers"], json!({ MODEL_NAME: "string" }));
    let metrics = &features["model_metrics"][MODEL_NAME];
    let tokens = json!({ "input": "int64", "output": "int64", "total": "int64" });
    assert_eq!(metrics["token_metrics"], tokens);
    assert_eq!(metrics["latency_metrics"]["total_query_seconds"], "float64");
    assert_eq!(metrics["energy_metrics"]["per_query_joules"], "float64");
    let timing = &features["timing"];
    assert_eq!(timing["chunk_seconds"], json!(["float64"]));
    for name in [
        "due",
        "start",
        "connected",
        "sent",
        "first_byte",
        "first_token",
        "end",
    ] {
        assert_eq!(timing[format!("{name}_seconds")], "float64", "{name}");
    }
    assert_eq!(features["energy"]["shares"][0]["total_joules"], "float64");
    assert_eq!(features["energy"]["basis"], "string");
}

#[test]
fn each_prompt_is_a_row_in_order_with_an_answer() {
    let Some(lab) = lab() else { return };
    assert_eq!(lab.rows().len(), QUERIES);
    for ((index, row), asked) in lab.rows().iter().enumerate().zip(starter()) {
        assert_eq!(row["query_index"], index);
        assert_eq!(row["query_id"], asked["id"]);
        assert_eq!(row["problem"], asked["problem"]);
        assert_eq!(row["answer"], asked["answer"]);
        assert_eq!(row["subject"], asked["subject"]);
        let outcome = row["outcome"].as_str().unwrap();
        assert!(["complete", "truncated"].contains(&outcome), "{outcome}");
        assert_eq!(row["error"], Value::Null);
        assert_eq!(row["token_source"], "usage");
        let answer = row["model_answers"][MODEL_NAME].as_str().unwrap();
        assert!(!answer.is_empty(), "{row}");
    }
}

#[test]
fn the_instants_of_a_row_are_in_the_order_in_which_they_happened() {
    let Some(lab) = lab() else { return };
    for row in lab.rows() {
        let timing = &row["timing"];
        let at = |name: &str| timing[format!("{name}_seconds")].as_f64().unwrap();
        let instants = ["due", "start", "sent", "first_byte", "first_token", "end"].map(at);
        assert!(instants.is_sorted(), "{timing}");
        let chunks = timing["chunk_seconds"].as_array().unwrap();
        let chunks: Vec<f64> = chunks.iter().map(|at| at.as_f64().unwrap()).collect();
        assert!(chunks.is_sorted(), "{timing}");
        let of_a_token = at("first_token")..=at("end");
        assert!(chunks.iter().all(|at| of_a_token.contains(at)), "{timing}");
        let output = row["model_metrics"][MODEL_NAME]["token_metrics"]["output"].as_u64();
        assert!(!chunks.is_empty() && chunks.len() as u64 <= output.unwrap());
    }
    let ends = lab.rows().windows(2).all(|pair| {
        let instant = |row: &Value, name: &str| row["timing"][name].as_f64().unwrap();
        instant(&pair[0], "end_seconds") <= instant(&pair[1], "start_seconds")
    });
    assert!(ends, "one query at a time");
}

#[test]
fn token_counts_are_those_of_the_server() {
    let Some(lab) = lab() else { return };
    for (row, asked) in lab.rows().iter().zip(starter()) {
        let mut body = json!({
            "model": MODEL_NAME,
            "messages": [{ "role": "user", "content": asked["problem"] }],
            "cache_prompt": false,
        });
        let parameters = asked["parameters"].as_object().unwrap().clone();
        assert_eq!(parameters["temperature"], 0);
        body.as_object_mut().unwrap().extend(parameters);
        let reply = lab.server.post("/v1/chat/completions", &body).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        let reply = reply.json().unwrap();
        let usage = &reply["usage"];
        let counted = &row["model_metrics"][MODEL_NAME]["token_metrics"];
        let id = &row["query_id"];
        assert_eq!(counted["input"], usage["prompt_tokens"], "{id}");
        assert_eq!(counted["output"], usage["completion_tokens"], "{id}");
        assert_eq!(counted["total"], usage["total_tokens"], "{id}");
        assert_eq!(reply["timings"]["predicted_n"], usage["completion_tokens"]);
        assert_eq!(reply["timings"]["prompt_n"], usage["prompt_tokens"]);
        let choice = &reply["choices"][0];
        assert_eq!(
            row["model_answers"][MODEL_NAME], choice["message"]["content"],
            "{id}"
        );
        let truncated = choice["finish_reason"] == "length";
        assert_eq!(row["outcome"] == "truncated", truncated, "{id}");
        assert_eq!(row["tokens"]["cached"], 0, "{id}");
    }
}

#[test]
fn show_names_the_model_and_counts_the_rows() {
    let Some(lab) = lab() else { return };
    let shown = ipw(&["show", lab.run.to_str().unwrap()]);
    assert_eq!(shown.status.code(), Some(0));
    let text = String::from_utf8(shown.stdout).unwrap();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("model").ends_with(MODEL_NAME), "{text}");
    assert!(line("queries").contains(&format!(" {QUERIES} (")), "{text}");
}

#[test]
fn every_row_has_joules_with_their_sigma_or_says_why_not() {
    let Some(lab) = lab() else { return };
    for row in lab.rows() {
        let headline = &row["headline"];
        if row["energy"]["reason"].is_string() {
            assert_eq!(headline["joules"], Value::Null);
            continue;
        }
        assert!(headline["joules"].as_f64().unwrap() > 0.0, "{headline}");
        assert!(
            headline["sigma_joules"].as_f64().unwrap() > 0.0,
            "{headline}"
        );
        assert!(
            headline["share_watts"].as_f64().unwrap() > 0.0,
            "{headline}"
        );
        let is_estimate = row["energy"]["basis"] == "cpu_estimated";
        let method = if is_estimate { "estimated" } else { "counter" };
        assert_eq!(row["energy"]["shares"][0]["method"], method);
    }
}

/// Four at a time and by a schedule: the real server answers all of them.
#[test]
fn the_real_server_takes_load() {
    let _busy = crate::common::all_cores();
    // A server of its own: batches change the rounding, and so the answers that others compare.
    let Some(server) = or_skip(LlamaServer::start(1)) else {
        return;
    };
    for (name, load) in [
        ("closed", &["--concurrency=4"][..]),
        ("open", &["--rate=4", "--seed=1"]),
    ] {
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("llama-{name}"));
        let place = format!("--output-dir={}", output.display());
        let url = format!("--client-base-url={}", server.url());
        let model = format!("--model={MODEL_NAME}");
        let mut args = vec!["profile", "--client=openai", &url, &model, &place];
        args.extend([
            "--max-queries=12",
            "--warmup=1",
            "--param=max_tokens=12",
            "--overwrite",
        ]);
        args.extend_from_slice(load);
        let done = ipw(&args);
        let shown = String::from_utf8_lossy(&done.stdout);
        let talk = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{name}: {talk}");
        assert!(shown.contains("queries   12"), "{shown}");
        assert!(!shown.contains("failed"), "{shown}");
        assert!(shown.contains("load "), "{shown}");
    }
}
