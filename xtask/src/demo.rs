//! `cargo xtask demo`: the whole tool against a real llama.cpp server, from nothing.

use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::SystemTime;

use anyhow::Context;
use clap::Args;
use ipw_testkit::{LlamaServer, MODEL_NAME};
use tokio::signal::unix::{SignalKind, signal};

use crate::say;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many prompts of the starter dataset to send
    #[arg(long, value_name = "N", default_value = "20")]
    queries: NonZeroU64,
    /// Where the run directory is made; an older demo run there is replaced
    #[arg(long, value_name = "DIR", default_value = "runs")]
    output_dir: PathBuf,
}

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    say(&format!(
        "demo: start llama.cpp with SmolLM2-135M on this machine, and profile {} prompts into `{}`",
        args.queries,
        args.output_dir.display()
    ));
    // Before the server, and not quietly: the first time it takes minutes.
    let built = cargo(&["build", "--release", "-p", "ipw-cli"]).status();
    if !built.context("starting cargo")?.success() {
        anyhow::bail!("`ipw` does not build");
    }
    // One core stays free: who measures must not compete with what is measured.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let server = LlamaServer::start(cores.saturating_sub(1).max(1))?;
    say(&format!("demo: the server listens on {}", server.url()));
    let before = newest_run(&args.output_dir);
    ignore_interrupts().context("listening for Ctrl-C")?;
    let status = profile(args, &server.url())
        .status()
        .context("starting `ipw`")?;
    if let Some(run) = newest_run(&args.output_dir).filter(|run| Some(run) != before.as_ref()) {
        say(&how_to_open(&run.directory));
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn profile(args: &DemoArgs, url: &str) -> Command {
    let mut command = cargo(&["run", "--release", "--quiet", "-p", "ipw-cli", "--"]);
    command
        .args(["profile", "--client", "openai", "--client-base-url", url])
        .args(["--model", MODEL_NAME, "--dataset", "starter", "--overwrite"])
        .arg("--max-queries")
        .arg(args.queries.to_string())
        .arg("--output-dir")
        .arg(&args.output_dir);
    command
}

/// The cargo that runs us, as if called from the shell: some build scripts (ring's) watch the
/// variables that it sets for us, and would build again each time.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let about_us = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in about_us {
        command.env_remove(name);
    }
    command.args(args);
    command
}

/// Ctrl-C reaches every process of the terminal. `ipw` drains and saves on it, for which the
/// server must stay, and the server stays as long as we do.
fn ignore_interrupts() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Once asked for, tokio's handler stays for the life of the process.
    runtime
        .block_on(async { signal(SignalKind::interrupt()) })
        .map(drop)
}

#[derive(Debug, PartialEq, Eq)]
struct FoundRun {
    changed: SystemTime,
    directory: PathBuf,
}

/// The run that was written last: only `ipw` knows how it names directories.
fn newest_run(output: &Path) -> Option<FoundRun> {
    let directories = fs::read_dir(output).ok()?.flatten();
    directories
        .filter_map(|entry| {
            let directory = entry.path();
            let changed = fs::metadata(directory.join("summary.json"))
                .ok()?
                .modified();
            Some(FoundRun {
                changed: changed.ok()?,
                directory,
            })
        })
        .max_by_key(|run| run.changed)
}

fn how_to_open(run: &Path) -> String {
    let run = run.display();
    format!(
        "demo: the run is in `{run}`; to open it in Python (pip install datasets):\n  \
         python3 -c 'import datasets; print(datasets.load_from_disk(\"{run}\"))'"
    )
}
