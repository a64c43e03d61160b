//! The engine inside the binary: one command, no service.

use std::path::{Path, PathBuf};
use std::process::Command;

use ipw_testkit::or_skip;
use ipw_testkit::tiny_model::{GgufValue, TinyModel};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::{Said, all_cores, ipw, rows, said, spawn, summary, wait_until};

const NOWHERE: &str = "http://127.0.0.1:1";

/// A directory with a model, and a place for runs.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self::with(&TinyModel::default())
    }

    fn with(model: &TinyModel) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        model.write(place.model()).unwrap();
        place
    }

    fn model(&self) -> PathBuf {
        self.0.path().join("tiny.gguf")
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn dataset(&self, rows: &[Value]) -> PathBuf {
        let lines: Vec<_> = rows.iter().map(Value::to_string).collect();
        self.file("questions.jsonl", lines.join("\n").as_bytes())
    }

    /// `ipw profile` on a model file, with no home and no network.
    fn profile(&self, model: &Path, more: &[&str]) -> Command {
        let mut command = ipw();
        command
            .args(["profile", "--model"])
            .arg(model)
            .arg("--output-dir")
            .arg(self.0.path().join("runs"))
            .args(more)
            .env("HF_ENDPOINT", NOWHERE)
            .env("PATH", self.0.path());
        command
    }

    fn run(&self) -> PathBuf {
        let runs = std::fs::read_dir(self.0.path().join("runs")).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut runs = runs.map(|run| run.unwrap().path());
        runs.find(|path| name(path).starts_with("profile_"))
            .unwrap()
    }
}

fn question(text: &str, max_tokens: u64) -> Value {
    json!({
        "problem": text, "answer": "x",
        "parameters": { "max_tokens": max_tokens, "temperature": 0 },
    })
}

#[test]
fn a_file_runs_and_every_row_has_what_the_engine_knows() {
    let place = Place::new();
    let dataset = place.dataset(&[question("Hello there", 6), question("And again", 4)]);
    let dataset = dataset.to_str().unwrap();
    let said = said(&mut place.profile(
        &place.model(),
        &["--dataset", dataset, "--param", "ignore_eos=true"],
    ));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run = place.run();
    assert!(
        run.to_string_lossy().ends_with("_tiny_questions"),
        "{run:?}"
    );
    let rows = rows(&run);
    for (row, tokens) in rows.iter().zip([6, 4]) {
        assert_eq!(
            (row["outcome"].as_str(), row["token_source"].as_str()),
            (Some("truncated"), Some("usage"))
        );
        let metrics = &row["model_metrics"]["tiny"];
        assert_eq!(metrics["token_metrics"]["output"], tokens, "{metrics}");
        let input = metrics["token_metrics"]["input"].as_f64().unwrap();
        let compute = &metrics["compute_metrics"];
        let flops = compute["flops_per_request"].as_f64().unwrap();
        // Two operations for each weight and token, and some for attention.
        assert!(flops > 2.0 * 65_536.0 * input, "{compute}");
        assert!(compute["flops_per_token"].as_f64().unwrap() < flops);
        let derived = &metrics["hardware_utilization"]["derived"];
        assert!(derived["arithmetic_intensity"].as_f64().unwrap() > 0.0);
        // This machine's peaks are unknown.
        assert!(derived["mfu"].is_null() && derived["mbu"].is_null());
        let timing = &row["timing"];
        let at = |name: &str| timing[name].as_f64().unwrap();
        assert!(
            at("start_seconds") <= at("sent_seconds")
                && at("sent_seconds") <= at("first_token_seconds")
        );
        assert!(at("first_token_seconds") <= at("end_seconds"));
        let own = &row["service_timing"];
        let own = |name: &str| own[name].as_f64().unwrap();
        assert!(own("prompt_seconds") > 0.0 && own("decode_seconds") > 0.0);
        assert!(own("total_seconds") <= at("end_seconds") - at("sent_seconds"));
        assert!(timing["connected_seconds"].is_null() && timing["first_byte_seconds"].is_null());
    }
    let summary = summary(&run);
    let engine = &summary["client_info"]["engine"];
    assert_eq!(
        (engine["architecture"].as_str(), engine["weights"].as_str()),
        (Some("llama"), Some("Q8_0 from F32"))
    );
    assert_eq!(engine["concurrency"], "queue");
    assert!(said.out.contains("What next?"), "{}", said.out);
    assert!(said.out.contains("Q8_0 from F32"), "{}", said.out);
}

#[test]
fn what_a_row_asks_wrongly_is_a_row() {
    let place = Place::new();
    let long = "word ".repeat(400);
    let dataset = place.dataset(&[
        question("Hello", 3),
        question("Hello", 0),
        question(&long, 3),
        json!({ "problem": "Hello", "parameters": { "temperature": "warm" } }),
    ]);
    let said = said(&mut place.profile(&place.model(), &["--dataset", dataset.to_str().unwrap()]));
    assert_eq!(said.code, Some(4), "{}", said.err);
    let rows = rows(&place.run());
    let outcomes: Vec<_> = rows
        .iter()
        .map(|row| row["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes[1..],
        ["failed:parameter", "failed:context", "failed:parameter"]
    );
    let error = |row: usize| rows[row]["error"].as_str().unwrap();
    assert!(error(1).contains("`max_tokens` is 0"), "{}", error(1));
    assert!(error(2).contains("context is 256"), "{}", error(2));
    assert!(error(3).contains("`temperature`"), "{}", error(3));
}

#[test]
fn what_the_user_asks_wrongly_is_said_before_anything_runs() {
    let place = Place::new();
    for (more, code, says) in [
        (&["--param", "max_tokens=0"][..], 2, "`max_tokens` is 0"),
        (
            &["--param", "temprature=1"],
            2,
            "did you mean `temperature`?",
        ),
        (&["--param", "messages=[]"], 2, "`--dataset`"),
        (&["--client-param", "threads=0"], 2, "threads"),
        (&["--client-param", "tthreads=2"], 2, "threads"),
        (&["--client", "embeded"], 2, "did you mean `embedded`?"),
        (
            &["--client", "embedded", "--client-base-url", NOWHERE],
            2,
            "runs in this process",
        ),
    ] {
        let said = said(&mut place.profile(&place.model(), more));
        assert_eq!(said.code, Some(code), "{more:?}: {}", said.err);
        assert!(said.err.contains(says), "{more:?}: {}", said.err);
    }
}

#[test]
fn a_model_that_cannot_be_run_is_named_with_the_reason() {
    let place = Place::new();
    let good = TinyModel::default().bytes();
    let mut other = TinyModel::default().builder();
    other.set("general.architecture", GgufValue::text("mamba"));
    let mut template = TinyModel::default().builder();
    template.set("tokenizer.chat_template", GgufValue::text("{% if"));
    for (name, content, says) in [
        ("empty.gguf", Vec::new(), "it is empty"),
        (
            "page.gguf",
            b"<html>log in first</html>".to_vec(),
            "not a GGUF file",
        ),
        (
            "cut.gguf",
            good[..good.len() / 2].to_vec(),
            "ends too early",
        ),
        ("other.gguf", other.bytes(), "architecture is `mamba`"),
        ("template.gguf", template.bytes(), "chat template"),
    ] {
        let file = place.file(name, &content);
        let said = said(&mut place.profile(&file, &[]));
        assert_eq!(said.code, Some(3), "{name}: {}", said.err);
        assert!(
            said.err.contains(says) && said.err.contains(name),
            "{name}: {}",
            said.err
        );
        assert!(said.err.contains("help: "), "{name}: {}", said.err);
    }
    let said = said(&mut place.profile(Path::new("no/such.gguf"), &[]));
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("no/such.gguf"), "{}", said.err);
}

#[test]
fn without_flags_and_without_a_network_the_way_out_is_shown() {
    let place = Place::new();
    let mut command = ipw();
    command.arg("profile").current_dir(place.0.path());
    command
        .env("HF_ENDPOINT", NOWHERE)
        .env("PATH", place.0.path());
    command.env("HOME", place.0.path().join("home"));
    let said = said(&mut command);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(
        said.err.contains("cannot get the model `smollm2-135m`"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("--model /path/to/file.gguf"),
        "{}",
        said.err
    );
}

#[test]
fn a_second_signal_ends_a_reply_between_tokens() {
    let _busy = all_cores();
    // A reply of some seconds.
    let model = TinyModel {
        context: 1 << 17,
        ..TinyModel::default()
    };
    let place = Place::with(&model);
    let dataset = place.dataset(&[question("Hello", 100_000), question("Hello", 5)]);
    let mut command = place.profile(
        &place.model(),
        &[
            "--dataset",
            dataset.to_str().unwrap(),
            "--param",
            "ignore_eos=true",
            "--warmup",
            "0",
            "--json",
        ],
    );
    let child = spawn(&mut command);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let threads = format!("/proc/{}/task", child.id());
    let is_running = || {
        let threads = std::fs::read_dir(&threads).into_iter().flatten().flatten();
        let names = threads
            .map(|thread| std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
        names.filter(|name| name.starts_with("ipw-engine")).count() > 0
            && place.0.path().join("runs").exists()
    };
    wait_until("the engine runs", is_running);
    std::thread::sleep(std::time::Duration::from_millis(300));
    kill_process(pid, Signal::INT).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    kill_process(pid, Signal::INT).unwrap();
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(130), "{}", said.err);
    let rows = rows(&place.run());
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["outcome"], "cancelled");
    let tokens = rows[0]["model_metrics"]["tiny"]["token_metrics"]["output"]
        .as_u64()
        .unwrap();
    assert!((1..100_000).contains(&tokens), "{tokens}");
    assert!(
        !rows[0]["model_answers"]["tiny"]
            .as_str()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_limit_that_passes_is_an_outcome_and_the_next_query_is_answered() {
    let model = TinyModel {
        context: 1 << 17,
        ..TinyModel::default()
    };
    let place = Place::with(&model);
    let dataset = place.dataset(&[question("Hello", 100_000), question("Hello", 5)]);
    let args = [
        "--dataset",
        dataset.to_str().unwrap(),
        "--param",
        "ignore_eos=true",
        "--warmup",
        "0",
        "--request-timeout",
        "500ms",
        "--max-failed",
        "1",
    ];
    let said = said(&mut place.profile(&place.model(), &args));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let rows = rows(&place.run());
    assert_eq!(rows[0]["outcome"], "timed_out");
    assert!(rows[0]["error"].as_str().unwrap().contains("within 500ms"));
    assert_eq!(rows[1]["outcome"], "truncated");
}

/// What the README promises: nothing but the binary, then a model, a run, a summary; and the
/// second time no network.
#[test]
fn with_an_empty_home_the_first_run_fetches_and_the_second_starts_at_once() {
    // Where the lab gets its model, the binary must get its own.
    if or_skip(ipw_testkit::model()).is_none() {
        return;
    }
    let _busy = all_cores();
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let mut first = ipw();
    first
        .args(["profile", "--max-queries", "8"])
        .current_dir(place.path())
        .env("HOME", &home);
    let said_first = said(&mut first);
    assert_eq!(said_first.code, Some(0), "{}", said_first.err);
    for words in [
        "answers",
        "first token",
        "tokens/s",
        "per query",
        "IPW",
        "What next?",
    ] {
        assert!(
            said_first.out.contains(words),
            "{words}: {}",
            said_first.out
        );
    }
    assert!(
        home.join(".cache/ipw/models").is_dir() || home.join("Library/Caches/ipw/models").is_dir()
    );
    let mut second = ipw();
    second
        .args(["profile", "--max-queries", "8", "--overwrite"])
        .current_dir(place.path())
        .env("HOME", &home)
        .env("HF_ENDPOINT", NOWHERE)
        .env("PATH", place.path());
    let said_second = said(&mut second);
    assert_eq!(said_second.code, Some(0), "{}", said_second.err);
    assert!(!said_second.err.contains("fetching"), "{}", said_second.err);
    let run = std::fs::read_dir(place.path().join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(rows(&run).len(), 8);
    assert_eq!(
        summary(&run)["client_info"]["engine"]["weights"],
        "Q4_1, Q8_0"
    );
}

#[test]
fn messages_go_through_the_models_template_and_what_has_no_place_there_is_told() {
    let place = Place::new();
    let asked = |messages: Value| json!({"messages": messages, "parameters": {"max_tokens": 2, "temperature": 0}});
    let user = |text: &str| json!({"role": "user", "content": text});
    let dataset = place.dataset(&[
        asked(json!([user("b")])),
        asked(json!([user("a"), {"role": "assistant", "content": "A"}, user("b")])),
        asked(json!([user("a"), {"role": "tool", "tool_call_id": "1", "content": "x"}])),
        asked(json!([{"role": "user", "content": [
            {"type": "text", "text": "what?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        ]}])),
    ]);
    let said = said(&mut place.profile(
        &place.model(),
        &[
            "--dataset",
            dataset.to_str().unwrap(),
            "--warmup=0",
            "--max-failed=100%",
        ],
    ));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let rows = rows(&place.run());
    let input = |row: &Value| {
        let metrics = row["model_metrics"].as_object().unwrap();
        metrics.values().next().unwrap()["token_metrics"]["input"].as_u64()
    };
    let (one, three) = (input(&rows[0]).unwrap(), input(&rows[1]).unwrap());
    assert!(three > one + 2, "{one} and {three} tokens");
    for (row, problem) in [(&rows[2], "role `tool`"), (&rows[3], "type `image_url`")] {
        assert_eq!(row["outcome"], "failed:parameter");
        let error = row["error"].as_str().unwrap();
        assert!(error.contains(problem), "{error}");
    }
}
