//! `cargo xtask memcheck`: the tests of the `unsafe` parts under valgrind.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::say;

#[derive(Debug, Args)]
pub(crate) struct MemcheckArgs {
    /// Random cases of each property test: valgrind is about thirty times slower
    #[arg(long, default_value_t = 8)]
    cases: u32,
}

/// Package, kind of target, and which of its tests: all that reach an `unsafe` block.
const TARGETS: [(&str, &[&str], &[&str]); 6] = [
    ("ipw-engine", &["--lib"], &["kernels", "quant", "matrix"]),
    ("ipw-telemetry", &["--lib"], &["rapl", "nvml", "amd"]),
    ("ipw-telemetry", &["--test", "nvml"], &[]),
    ("ipw-telemetry", &["--test", "amd"], &[]),
    ("ipw-fake-nvml", &["--lib"], &[]),
    ("ipw-fake-amdsmi", &["--lib"], &[]),
];

/// Ends with this code where an error was found, also where the test itself passed.
const RUNNER: &str = "target.'cfg(unix)'.runner=['valgrind', '--quiet', '--error-exitcode=99', '--fair-sched=yes', '--trace-children=no']";

/// Valgrind takes the kernel's vDSO away, and rustix would read it there: it goes through libc.
const FLAGS: &str = "build.rustflags=['--cfg', 'rustix_use_libc']";

pub(crate) fn run(args: &MemcheckArgs) -> anyhow::Result<ExitCode> {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !version.is_ok_and(|status| status.success()) {
        bail!("valgrind is not installed: `apt install valgrind` or `dnf install valgrind`");
    }
    for (package, kind, tests) in TARGETS {
        say(&format!("memcheck: {package} {}", kind.join(" ")));
        let status = Command::new(env!("CARGO"))
            .args(["--config", RUNNER, "--config", FLAGS])
            .args(["test", "--locked", "--target-dir", "target/memcheck"])
            .args(["--package", package])
            .args(kind)
            .arg("--")
            .args(tests)
            .env("PROPTEST_CASES", args.cases.to_string())
            .env_remove("CARGO_MANIFEST_DIR")
            .status()
            .context("starting cargo")?;
        if !status.success() {
            say(&format!(
                "{package}: valgrind found errors, or a test failed"
            ));
            return Ok(ExitCode::FAILURE);
        }
    }
    say("memcheck: no errors");
    Ok(ExitCode::SUCCESS)
}
