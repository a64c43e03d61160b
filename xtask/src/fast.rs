//! `cargo xtask fast`: the tests of two minutes.
//!
//! Unit tests of every library crate and of the two programs, which need no network, no Python and
//! no browser. What `.ci/run` tests beyond them: services, datasets and browsers that are real, the
//! binary as a whole, lints, other platforms.

use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;

/// The testkit reads it: tests that would install something are skipped.
const OFFLINE: &str = "IPW_TEST_OFFLINE";

#[derive(Debug, Args)]
pub(crate) struct FastArgs {
    /// Passed on to the test programs, as in `cargo xtask fast -- sse::`
    #[arg(last = true)]
    filters: Vec<String>,
}

pub(crate) fn run(args: &FastArgs) -> anyhow::Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--lib", "--bins", "--locked", "--"])
        .args(&args.filters)
        .env(OFFLINE, "1")
        // Cargo sets it for `xtask` alone; a test would take it for its own.
        .env_remove("CARGO_MANIFEST_DIR")
        .status()
        .context("cannot start cargo")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
