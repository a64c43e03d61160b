//! `cargo xtask fuzz` and `cargo xtask night`: the tests that every run does in small, at length.

use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;

use crate::say;

#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// Damaged inputs for each target
    #[arg(long, default_value_t = 1_000_000)]
    rounds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct NightArgs {
    /// Queries of the run
    #[arg(long, default_value_t = 200_000)]
    queries: u64,
    /// Seconds of random histories of kills, full disks, resumes and rewrites
    #[arg(long, default_value_t = 600)]
    history_seconds: u64,
}

/// Package, kind of target, and which of its tests.
const TARGETS: [(&str, &[&str], &str); 9] = [
    ("ipw-clients", &["--lib"], "mutated_streams"),
    ("ipw-clients", &["--lib"], "damaged_streams"),
    ("ipw-core", &["--lib"], "a_run_directory_is_one_name"),
    ("ipw-core", &["--lib"], "hardware::tests"),
    ("ipw-cli", &["--bin", "ipw"], "damaged_plans"),
    ("ipw-datasets", &["--test", "kinds"], "damaged"),
    ("ipw-datasets", &["--test", "properties"], ""),
    ("ipw-store", &["--test", "run"], "damaged"),
    ("ipw-store", &["--test", "faults"], "power::"),
];

pub(crate) fn fuzz(args: &FuzzArgs) -> anyhow::Result<ExitCode> {
    let rounds = args.rounds.to_string();
    for (package, kind, tests) in TARGETS {
        say(&format!("{rounds} damaged inputs: {package} {tests}"));
        let mut command = test(package, kind, tests);
        command
            .env("IPW_MUTATIONS", &rounds)
            .env("PROPTEST_CASES", &rounds);
        if !run(&mut command)? {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn night(args: &NightArgs) -> anyhow::Result<ExitCode> {
    let mut command = test("ipw-cli", &["--test", "it"], "night::");
    command.env("IPW_NIGHT_QUERIES", args.queries.to_string());
    let mut histories = test("ipw-store", &["--test", "faults"], "histories::");
    histories.env("IPW_HISTORY_SECONDS", args.history_seconds.to_string());
    Ok(if run(&mut histories)? && run(&mut command)? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Tests of the optimised build, with what they say.
fn test(package: &str, kind: &[&str], tests: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--release", "--locked", "--package", package])
        .args(kind)
        .args(["--", "--nocapture", tests])
        .env_remove("CARGO_MANIFEST_DIR");
    command
}

fn run(command: &mut Command) -> anyhow::Result<bool> {
    let status = command.status().context("starting cargo")?;
    Ok(status.success())
}
