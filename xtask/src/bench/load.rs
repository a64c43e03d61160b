//! How many requests a second go out and come back, beside `wrk` on the same replies and cores; how
//! punctual an open loop is; what a stream in flight takes of memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use arrow_array::Float64Array;
use ipw_core::time::Clock;
use ipw_reference::{Script, Service};
use ipw_runner::SystemClock;
use ipw_store::Run;
use ipw_store::reader::column;

use super::spread::{Spread, at, number, sorted};
use super::table::Table;
use super::{Effort, ipw, say_round};

/// What `wrk` is to send: the same as ours.
const LUA: &str = r#"
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["content-type"] = "application/json"
wrk.headers["accept"] = "text/event-stream"
wrk.body = '{"model":"reference","messages":[{"role":"user","content":"What is the capital of France?"}],"stream":true,"stream_options":{"include_usage":true}}'
"#;

pub(crate) fn run(effort: Effort) -> anyhow::Result<String> {
    let binary = ipw::build()?;
    let throughput = throughput(effort, &binary)?;
    let open = open_loop(effort, &binary)?;
    let memory = memory(effort, &binary)?;
    Ok(format!("{throughput}\n{open}\n{memory}"))
}

/// One service, one load generator; requests a second as the service saw them.
fn rate_of(
    chunks: usize,
    generate: impl FnOnce(&str) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(clock, move |_| Script::words(chunks))?;
    generate(&service.url())?;
    let log = service.log();
    let completed = log.iter().filter(|exchange| exchange.completed);
    let arrived: Vec<f64> = sorted(completed.map(|exchange| exchange.arrived.seconds()));
    let (Some(first), Some(last)) = (arrived.first(), arrived.last()) else {
        anyhow::bail!("nothing arrived");
    };
    Ok(number(arrived.len() as u64 - 1) / (last - first))
}

fn throughput(effort: Effort, binary: &Path) -> anyhow::Result<String> {
    let seconds = effort.choose(1_u64, 3);
    let rounds = effort.choose(1, 3);
    let mut table = Table::new(
        "Requests per second, every chunk stamped and every row stored (budget: 0.7 of wrk at 64)",
        ["in flight", "chunks per reply", "ipw", "wrk", "ipw ÷ wrk"],
    );
    let places = effort.choose(&[16, 64][..], &[1, 16, 64, 256][..]);
    let lengths = effort.choose(&[16][..], &[1, 16, 64][..]);
    for &in_flight in places {
        for &chunks in lengths {
            let mut pairs = Vec::new();
            for round in 0..rounds {
                say_round(&format!("load {in_flight} × {chunks}"), round, rounds);
                let own = rate_of(chunks, |url| profile(binary, url, in_flight, seconds))?;
                let other = rate_of(chunks, |url| wrk(url, in_flight, seconds))?;
                pairs.push((own, other));
            }
            table.row([
                in_flight.to_string(),
                chunks.to_string(),
                format!("{:.0}", Spread::over(&pairs, |(own, _)| *own)),
                format!("{:.0}", Spread::over(&pairs, |(_, other)| *other)),
                format!("{:.2}", Spread::over(&pairs, |(own, other)| own / other)),
            ]);
        }
    }
    Ok(table.to_string())
}

fn command(binary: &Path, url: &str, output: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .args(["profile", "--client", "openai", "--model", "reference"])
        .args([
            "--client-base-url",
            url,
            "--warmup",
            "0",
            "--quiet",
            "--no-report",
        ])
        .arg("--output-dir")
        .arg(output)
        .env_clear()
        .stdin(Stdio::null());
    command
}

fn profile(binary: &Path, url: &str, in_flight: usize, seconds: u64) -> anyhow::Result<()> {
    let output = tempfile::tempdir()?;
    let status = command(binary, url, &output.path().join("runs"))
        .arg("--dataset")
        .arg(questions(output.path())?)
        .args(["--concurrency", &in_flight.to_string()])
        .args(["--duration", &format!("{seconds}s")])
        .status()
        .context("starting `ipw`")?;
    ensure!(status.success(), "`ipw profile` ended with {status}");
    Ok(())
}

/// A file of plain questions: what is measured is sending and storing, not grading.
fn questions(directory: &Path) -> anyhow::Result<PathBuf> {
    let path = directory.join("questions.jsonl");
    let question = "{\"problem\":\"What is the capital of France?\"}\n";
    fs::write(&path, question.repeat(5000))?;
    Ok(path)
}

fn wrk(url: &str, in_flight: usize, seconds: u64) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("chat.lua");
    fs::write(&script, LUA)?;
    let status = Command::new("wrk")
        .args([
            "-t1",
            &format!("-c{in_flight}"),
            &format!("-d{seconds}s"),
            "-s",
        ])
        .arg(&script)
        .arg(url)
        .stdout(Stdio::null())
        .status()
        .context("starting `wrk`: install it (Debian: `apt-get install wrk`)")?;
    ensure!(status.success(), "`wrk` ended with {status}");
    Ok(())
}

/// How late queries start against their schedule.
fn open_loop(effort: Effort, binary: &Path) -> anyhow::Result<String> {
    let mut table = Table::new(
        "An open loop, constant arrivals: how late queries start, µs",
        ["requests per second", "sent", "p50", "p99", "largest"],
    );
    let rates = effort.choose(&[500][..], &[500, 2000, 5000][..]);
    for &rate in rates {
        say_round(&format!("open loop {rate}/s"), 0, 1);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(clock, |_| Script::words(1))?;
        let output = tempfile::tempdir()?;
        let status = command(binary, &service.url(), output.path())
            .args(["--rate", &rate.to_string(), "--arrival", "constant"])
            .args(["--duration", effort.choose("1s", "5s")])
            .status()
            .context("starting `ipw`")?;
        ensure!(status.success(), "`ipw profile` ended with {status}");
        let lags = lags(output.path())?;
        table.row([
            rate.to_string(),
            lags.len().to_string(),
            format!("{:.0}", at(&lags, 0.5)),
            format!("{:.0}", at(&lags, 0.99)),
            format!("{:.0}", at(&lags, 1.0)),
        ]);
    }
    Ok(table.to_string())
}

/// Schedule lags of the only run there, in µs, sorted.
fn lags(output: &Path) -> anyhow::Result<Vec<f64>> {
    let run = fs::read_dir(output)?
        .next()
        .context("`ipw` left no run")??;
    let run = Run::open(&run.path())?;
    let mut lags = Vec::new();
    for batch in run.batches() {
        let batch = batch?;
        let column = column::<Float64Array>(&batch, "timing.schedule_lag_seconds")?;
        lags.extend(column.iter().flatten().map(|lag| lag * 1e6));
    }
    Ok(sorted(lags))
}

/// What a stream takes while it is in flight.
fn memory(effort: Effort, binary: &Path) -> anyhow::Result<String> {
    let mut table = Table::new(
        "Resident memory while streams are in flight",
        ["streams", "resident, MiB", "KiB per stream"],
    );
    let mut base = None;
    for &streams in effort.choose(&[1, 100][..], &[1, 1000, 4000][..]) {
        say_round(&format!("memory {streams}"), 0, 1);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let service = Service::start(clock, move |_| Script {
            first_token: Duration::from_secs(6),
            ..Script::words(1)
        })?;
        let output = tempfile::tempdir()?;
        let mut child = command(binary, &service.url(), &output.path().join("runs"))
            .args(["--concurrency", &streams.to_string()])
            .args(["--max-queries", &streams.to_string()])
            .arg("--dataset")
            .arg(questions(output.path())?)
            .spawn()
            .context("starting `ipw`")?;
        while service.requests() < streams {
            ensure!(child.try_wait()?.is_none(), "`ipw` ended early");
            std::thread::sleep(Duration::from_millis(10));
        }
        let resident = resident(&child)?;
        child.kill()?;
        child.wait()?;
        let base = *base.get_or_insert(resident);
        let each = number(resident.saturating_sub(base)) / number(streams);
        table.row([
            streams.to_string(),
            format!("{:.1}", number(resident) / 1024.0),
            if streams == 1 {
                String::new()
            } else {
                format!("{each:.1}")
            },
        ]);
    }
    Ok(table.to_string())
}

/// KiB.
fn resident(child: &Child) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let text = line.context("no resident memory in the status")?;
    Ok(text.trim().trim_end_matches("kB").trim().parse()?)
}
