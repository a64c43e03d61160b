//! Python environments: made once for each list of requirements, and shared by all tests.
//!
//! An environment cannot be moved once it is made, so it is not built aside and renamed: it is
//! built in place under a lock, and its stamp, written last, says that it is complete. Without
//! the stamp it is thrown away and made again.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::Missing;
use crate::place::{lab, lock, say, tail, unusable};

const STAMP: &str = "complete";

/// A Python environment with its packages.
#[derive(Debug, Clone)]
pub struct Venv {
    directory: PathBuf,
}

/// A script ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ScriptFailed {
    /// Python did not start.
    #[error("starting Python")]
    Start(#[from] io::Error),
    /// It ran, and said this.
    #[error("Python ended with {status}:\n{stderr}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// Its standard error.
        stderr: String,
    },
    /// What it printed is not what was agreed.
    #[error("Python printed something else than was agreed: {0}")]
    Output(String),
}

impl Venv {
    /// The environment `name` with these packages, wheels only, made if it is not there yet.
    ///
    /// A requirement without a version is the newest of the day on which it was made.
    pub fn ensure(name: &str, requirements: &[&str]) -> Result<Self, Missing> {
        let directory = lab("")?.join(format!("{name}-{:016x}", fingerprint(requirements)));
        let venv = Self { directory };
        let _lock = lock(&venv.directory)?;
        if !venv.is_complete() {
            say(&format!(
                "creating the Python environment `{name}` ({})",
                if requirements.is_empty() {
                    "empty".to_owned()
                } else {
                    requirements.join(", ")
                }
            ));
            venv.make(requirements)?;
        }
        Ok(venv)
    }

    /// Its interpreter.
    pub fn python(&self) -> PathBuf {
        self.directory.join("bin").join("python")
    }

    /// Runs the text of a script and gives what it printed.
    pub fn run(&self, script: &str, args: &[impl AsRef<OsStr>]) -> Result<String, ScriptFailed> {
        output(self.command().arg("-c").arg(script).args(args))
    }

    /// Isolated: neither the caller's `PYTHONPATH` nor the user's own packages count.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.python());
        command.arg("-I");
        command
    }

    /// The interpreter is a link to the system's, which may have gone with an upgrade.
    fn is_complete(&self) -> bool {
        self.directory.join(STAMP).exists() && self.python().exists()
    }

    fn make(&self, requirements: &[&str]) -> Result<(), Missing> {
        let broken = |error: &io::Error| unusable(&self.directory, error);
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory).map_err(|error| broken(&error))?;
        }
        output(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(&self.directory),
        )
        .map_err(|error| {
            let how = "install Python 3 with its module `venv` (Debian: python3-venv)";
            Missing::new("a Python environment", explained(&error), how)
        })?;
        if !requirements.is_empty() {
            self.pip("install")
                .args(requirements)
                .run(&requirements.join(", "))?;
        }
        fs::write(self.directory.join(STAMP), requirements.join("\n"))
            .map_err(|error| broken(&error))
    }

    /// A call of `pip` that takes wheels only: nothing is compiled here.
    pub(crate) fn pip(&self, verb: &str) -> Pip {
        let mut command = self.command();
        command.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check"]);
        command.arg("--only-binary=:all:");
        Pip(command)
    }
}

/// One call of `pip`.
pub(crate) struct Pip(Command);

impl Pip {
    pub(crate) fn args(mut self, args: &[impl AsRef<OsStr>]) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn into(mut self, directory: &Path) -> Self {
        self.0.arg("--dest").arg(directory);
        self
    }

    pub(crate) fn run(mut self, packages: &str) -> Result<(), Missing> {
        output(&mut self.0).map(drop).map_err(|error| {
            let how = "connect to the Python package index, or point pip to one (PIP_INDEX_URL)";
            Missing::new(
                format!("the Python package {packages}"),
                explained(&error),
                how,
            )
        })
    }
}

fn output(command: &mut Command) -> Result<String, ScriptFailed> {
    let output = command.output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(ScriptFailed::Ended {
            status: output.status,
            stderr: tail(&String::from_utf8_lossy(&output.stderr)),
        })
    }
}

pub(crate) fn explained(error: &ScriptFailed) -> String {
    match error {
        ScriptFailed::Start(cause) => format!("{error}: {cause}"),
        other => other.to_string(),
    }
}

/// FNV-1a: the standard library's hash may change with the compiler, and then all would be made
/// again.
fn fingerprint(requirements: &[&str]) -> u64 {
    let bytes = requirements
        .iter()
        .flat_map(|text| text.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_requirements_are_another_environment() {
        let all = [&["a"][..], &["b"], &["a", "b"], &["ab"], &[]].map(fingerprint);
        for (index, one) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(one), "{index}");
        }
    }
}
