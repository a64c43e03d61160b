//! The embedded engine beside llama.cpp: same file, same threads, same prompt, in turns.
//!
//! Ours runs in a process of its own each time, so that its load time and peak memory are its own;
//! llama.cpp's figures are those that its server reports.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use ipw_core::time::{Clock, Timestamp};
use ipw_engine::template::Message;
use ipw_engine::{Engine, Options, Part, Prompt, Settings};
use ipw_runner::SystemClock;
use ipw_testkit::LlamaServer;
use serde_json::{Value, json};

use super::spread::{Spread, number};
use super::table::Table;
use super::{Effort, say_round};

const THREADS: usize = 2;
/// Some 300 tokens.
const SENTENCE: &str = "The history of the river begins in the mountains. ";
const SENTENCES: usize = 30;
const REPLY: usize = 64;
/// What a resident process has besides weights and cache, in the budget.
const ALLOWANCE: f64 = 64e6;

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let rounds = effort.choose(1, 7);
    let server = LlamaServer::start(THREADS).map_err(|missing| anyhow!("{missing}"))?;
    let mut pairs = Vec::new();
    for round in 0..rounds {
        say_round("engine", round, rounds);
        pairs.push((ours()?, theirs(&server)?));
    }
    Ok(format!("{}\n{}", speed(&pairs), footprint(&pairs)))
}

fn speed(pairs: &[(Value, Value)]) -> Table {
    let mut table = Table::new(
        "Engine, tokens per second, 2 threads",
        ["what", "embedded", "llama.cpp", "ratio"],
    );
    for (what, key) in [("prompt", "prompt_rate"), ("decode", "decode_rate")] {
        let of = |value: &Value| value[key].as_f64().unwrap_or(f64::NAN);
        table.row([
            what.to_owned(),
            format!("{:.0}", Spread::over(pairs, |(ours, _)| of(ours))),
            format!("{:.0}", Spread::over(pairs, |(_, theirs)| of(theirs))),
            format!(
                "{:.2}",
                Spread::over(pairs, |(ours, theirs)| of(ours) / of(theirs))
            ),
        ]);
    }
    table
}

fn footprint(pairs: &[(Value, Value)]) -> Table {
    let mut table = Table::new(
        "Engine, load and memory",
        ["what", "embedded", "yardstick", "ratio"],
    );
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    table.row([
        "load, ms (yardstick: reading the file)".to_owned(),
        format!(
            "{:.0}",
            Spread::over(pairs, |(ours, _)| of(ours, "load_seconds") * 1e3)
        ),
        format!(
            "{:.0}",
            Spread::over(pairs, |(ours, _)| of(ours, "read_seconds") * 1e3)
        ),
        format!(
            "{:.1}",
            Spread::over(pairs, |(ours, _)| of(ours, "load_seconds")
                / of(ours, "read_seconds"))
        ),
    ]);
    let allowed = |ours: &Value| of(ours, "weight_bytes") + of(ours, "cache_bytes") + ALLOWANCE;
    table.row([
        "peak memory, MB (yardstick: weights as held + cache + 64 MB)".to_owned(),
        format!(
            "{:.0}",
            Spread::over(pairs, |(ours, _)| of(ours, "peak_bytes") / 1e6)
        ),
        format!(
            "{:.0}",
            Spread::over(pairs, |(ours, _)| allowed(ours) / 1e6)
        ),
        format!(
            "{:.2}",
            Spread::over(pairs, |(ours, _)| of(ours, "peak_bytes") / allowed(ours))
        ),
    ]);
    table
}

fn ours() -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "engine-once"])
        .output()
        .context("starting a process for the engine")?;
    ensure!(
        output.status.success(),
        "the engine's process failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn theirs(server: &LlamaServer) -> anyhow::Result<Value> {
    let body = json!({
        "messages": [{ "role": "user", "content": SENTENCE.repeat(SENTENCES) }],
        "temperature": 0, "max_tokens": REPLY, "ignore_eos": true, "cache_prompt": false,
    });
    let reply = server.post("/v1/chat/completions", &body)?.json()?;
    let timings = &reply["timings"];
    Ok(json!({
        "prompt_rate": timings["prompt_per_second"],
        "decode_rate": timings["predicted_per_second"],
    }))
}

/// One process: load, one reply to warm up, one that counts.
pub(crate) fn once() -> anyhow::Result<String> {
    let path = ipw_testkit::model().map_err(|missing| anyhow!("{missing}"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    // A first time brings the file into the system's cache.
    drop(std::fs::read(&path)?);
    let seconds = |from: Timestamp, to: Timestamp| to.since(from).as_secs_f64();
    let begin = clock.now();
    let bytes = std::fs::read(&path)?;
    let read_seconds = seconds(begin, clock.now());
    drop(bytes);
    reset_peak();
    let begin = clock.now();
    let options = Options {
        threads: THREADS,
        context: None,
    };
    let engine = Engine::load(&path, options, Arc::clone(&clock))?;
    let load_seconds = seconds(begin, clock.now());
    generate(&engine, "Hello")?;
    let sent = clock.now();
    let (stamps, tokens, prompt) = generate(&engine, &SENTENCE.repeat(SENTENCES))?;
    let (Some(first), Some(last)) = (stamps.first(), stamps.last()) else {
        return Err(anyhow!("the reply is empty"));
    };
    let about = engine.about();
    let report = json!({
        "read_seconds": read_seconds,
        "load_seconds": load_seconds,
        "prompt_rate": number(prompt) / seconds(sent, *first),
        "decode_rate": number(tokens - 1) / seconds(*first, *last),
        "weight_bytes": about.weight_bytes,
        "cache_bytes": about.cache_bytes_per_token * (prompt + tokens),
        "peak_bytes": peak()?,
    });
    Ok(report.to_string())
}

/// When each piece of the reply came, and how many tokens it and the prompt have.
fn generate(engine: &Engine, text: &str) -> anyhow::Result<(Vec<Timestamp>, u64, u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let settings = Settings {
        max_tokens: REPLY,
        ignore_end: true,
        ..Settings::default()
    };
    let messages = vec![Message::new("user", text)];
    let mut generation = engine.generate(Prompt { messages, settings });
    let mut stamps = Vec::new();
    runtime.block_on(async {
        while let Some(part) = generation.next().await {
            match part {
                Part::Text(_, at) => stamps.push(at),
                Part::Ended(ended) => {
                    let prompt = ended.prompt_tokens.context("the engine failed")?;
                    return Ok((stamps, ended.reply_tokens, prompt));
                }
            }
        }
        Err(anyhow!("the engine ended"))
    })
}

/// What was read for the yardstick does not count. Where that is not allowed, it does.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.context("the system does not say how much memory was used")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}
