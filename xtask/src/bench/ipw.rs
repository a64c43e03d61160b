//! The real binary: built, and run over a dataset against the reference service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use ipw_core::time::{Clock, Timestamp};
use ipw_reference::{Exchange, Script, Service};
use ipw_runner::SystemClock;
use ipw_store::{Overview, Run};

/// Queries before those that count.
pub(crate) const WARM_UP: usize = 3;

/// What a run of the binary leaves.
pub(crate) struct Profiled {
    pub(crate) spawned: Timestamp,
    pub(crate) overview: Overview,
    pub(crate) log: Vec<Exchange>,
}

/// Runs the binary once over `dataset`, which has `rows` rows.
pub(crate) fn profile(ipw: &Path, dataset: &str, rows: u64) -> anyhow::Result<Profiled> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let service = Service::start(Arc::clone(&clock), |_| Script::default())?;
    let output = tempfile::tempdir()?;
    let mut command = Command::new(ipw);
    command
        .args(["profile", "--client", "openai", "--model", "reference"])
        .args(["--client-base-url", &service.url(), "--dataset", dataset])
        .args(["--warmup", &WARM_UP.to_string(), "--quiet", "--no-report"])
        .args(["--max-queries", &rows.to_string()])
        .arg("--output-dir")
        .arg(output.path())
        .env_clear()
        .stdin(Stdio::null());
    let spawned = clock.now();
    let status = command.status().context("starting `ipw`")?;
    ensure!(status.success(), "`ipw profile` ended with {status}");
    let run = fs::read_dir(output.path())?
        .next()
        .context("`ipw` left no run")??;
    let overview = Overview::of(&Run::open(&run.path())?)?;
    ensure!(
        overview.rows == rows && overview.unanswered() == 0,
        "`ipw` answered not all of {rows} rows: {:?}",
        overview.outcomes
    );
    Ok(Profiled {
        spawned,
        overview,
        log: service.log(),
    })
}

/// Builds the binary and says where it is: beside the directory of this one's profile.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "ipw-cli"])
        // Ours, from `cargo run`; ring's build script takes another value for a change.
        .env_remove("CARGO_MANIFEST_DIR")
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "building `ipw` failed");
    let own = std::env::current_exe()?;
    let target = own.ancestors().nth(2).context("no target directory")?;
    Ok(target.join("release").join("ipw"))
}
