//! Rows beside what really went over the wire, read a second time by plain means.

use std::path::Path;

use ipw_testkit::tap::{Exchange, Stream, Tap};
use ipw_testkit::{LlamaServer, MODEL_NAME, or_skip};
use serde_json::{Value, json};

use crate::common::{Place, all_cores, rows, said, summary};

/// Every token that the row counts is one that the server says on the wire.
pub(crate) fn assert_counts(row: &Value, model: &str, stream: &Stream) {
    let usage = &stream.usage;
    let counted = &row["model_metrics"][model]["token_metrics"];
    assert_eq!(counted["input"], usage["prompt_tokens"], "{row}");
    assert_eq!(counted["output"], usage["completion_tokens"], "{row}");
    assert_eq!(counted["total"], usage["total_tokens"], "{row}");
    let cached = &usage["prompt_tokens_details"]["cached_tokens"];
    assert_eq!(row["tokens"]["cached"], *cached, "{row}");
    assert_eq!(row["token_source"], "usage", "{row}");
    assert_eq!(
        row["token_details"].get("note"),
        Some(&Value::Null),
        "{row}"
    );
    assert_eq!(row["model_answers"][model], stream.texts.concat(), "{row}");
    let chunks = row["timing"]["chunk_seconds"].as_array().unwrap();
    assert_eq!(chunks.len(), stream.texts.len(), "{row}");
    let is_cut = stream.finish.as_deref() == Some("length");
    let outcome = if is_cut { "truncated" } else { "complete" };
    assert_eq!(row["outcome"], outcome, "{row}");
}

/// The stream that answered this row's prompt.
pub(crate) fn stream_of(exchanges: &[Exchange], row: &Value) -> Stream {
    let mut asked = exchanges
        .iter()
        .filter(|one| one.prompt() == row["problem"].as_str());
    let stream = asked.next().unwrap().stream();
    assert!(asked.next().is_none(), "asked once: {row}");
    stream
}

/// Short, long, not ASCII, of code, and nearly nothing; each is another.
pub(crate) fn prompts(count: usize) -> Vec<Value> {
    let prompt = |n: usize| match n % 6 {
        0 => format!("Name {n} things."),
        1 => format!("{n} words: {}", "more words ".repeat(5 + n)),
        2 => format!("Größe {n}, 日本語, e\u{301}"),
        3 => format!("{n} 🌟🚀👩‍👩‍👧‍👦"),
        4 => format!("fn f{n}(x: u8) -> u8 {{\n\tx\n}}"),
        _ => ".".repeat(n),
    };
    (0..count).map(|n| json!({"problem": prompt(n)})).collect()
}

fn only_run(directory: &Path) -> Vec<Value> {
    let runs: Vec<_> = directory.read_dir().unwrap().flatten().collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    rows(&runs[0].path())
}

/// What the server's own counters grew by is the sum over the rows, to the token.
fn assert_grown(runs: &Path, rows: &[Value]) {
    let run = runs.read_dir().unwrap().flatten().next().unwrap();
    let told = &summary(&run.path())["server_metrics"]["metrics"];
    let grown = |name: &str| told[name]["grown"].as_f64();
    let sum = |of: fn(&Value) -> &Value| {
        rows.iter()
            .map(|row| of(row).as_f64().unwrap())
            .sum::<f64>()
    };
    let output = sum(|row| &row["model_metrics"][MODEL_NAME]["token_metrics"]["output"]);
    assert_eq!(grown("output_tokens"), Some(output), "{told:#}");
    // llama.cpp counts what it read; what its cache held is apart.
    let input = sum(|row| &row["model_metrics"][MODEL_NAME]["token_metrics"]["input"]);
    let cached = sum(|row| &row["tokens"]["cached"]);
    assert_eq!(grown("prompt_tokens"), Some(input - cached), "{told:#}");
}

#[test]
fn the_rows_of_a_real_server_count_what_it_says_on_the_wire() {
    let _busy = all_cores();
    let Some(server) = or_skip(LlamaServer::start(1)) else {
        return;
    };
    for api in ["chat", "completions"] {
        let place = Place::new(|_| ipw_reference::Script::default());
        let tap = Tap::start(&server.url());
        let dataset = place.jsonl("d", prompts(18));
        let mut command = crate::common::ipw();
        command
            .args([
                "profile",
                "--client",
                "llamacpp",
                "--client-base-url",
                &tap.url(),
            ])
            .args(["--model", MODEL_NAME, "--api", api, "--concurrency", "8"])
            .args(["--warmup", "0", "--param", "max_tokens=8", "--dataset"])
            .arg(dataset)
            .arg("--output-dir")
            .arg(place.runs());
        let said = said(&mut command);
        assert_eq!(said.code, Some(0), "{api}: {}", said.err);
        let exchanges = tap.exchanges();
        let rows = only_run(&place.runs());
        assert_eq!(rows.len(), 18, "{api}");
        assert_grown(&place.runs(), &rows);
        for row in &rows {
            let stream = stream_of(&exchanges, row);
            assert_counts(row, MODEL_NAME, &stream);
            let of = |name: &str| stream.timings[name].as_u64().unwrap();
            let counted = &row["model_metrics"][MODEL_NAME]["token_metrics"];
            assert_eq!(counted["input"], of("prompt_n") + of("cache_n"), "{row}");
            assert_eq!(counted["output"], of("predicted_n"), "{row}");
        }
    }
}
