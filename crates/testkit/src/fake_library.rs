//! Libraries of this workspace that stand for a vendor's, built when a test wants one.
//!
//! They are built by a cargo of our own, in a target directory of its own: the cargo that runs the
//! test holds the lock of the other one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::Missing;
use crate::place::{say, tail, target, workspace};

static BUILT: Mutex<BTreeMap<String, Result<PathBuf, Missing>>> = Mutex::new(BTreeMap::new());

/// The shared library of a package of this workspace, built once for each process.
pub fn fake_library(package: &str) -> Result<PathBuf, Missing> {
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built
        .entry(package.to_owned())
        .or_insert_with(|| build(package))
        .clone()
}

fn build(package: &str) -> Result<PathBuf, Missing> {
    let directory = target().join("fakes");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let missing = |why: String| {
        let how = format!("cargo build -p {package}");
        Missing::new(format!("the library of `{package}`"), why, &how)
    };
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", package, "--target-dir"])
        .arg(&directory)
        .current_dir(workspace());
    // What cargo tells a test about its package is not meant for another cargo.
    for (name, _) in std::env::vars_os() {
        let is_told = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_MANIFEST") || name.starts_with("CARGO_PKG_")
        });
        if is_told {
            command.env_remove(name);
        }
    }
    let library = directory.join("debug").join(format!(
        "{}{}{}",
        std::env::consts::DLL_PREFIX,
        package.replace('-', "_"),
        std::env::consts::DLL_SUFFIX
    ));
    if !library.exists() {
        say(&format!("building `{package}`"));
    }
    let output = command
        .output()
        .map_err(|error| missing(error.to_string()))?;
    if !output.status.success() {
        return Err(missing(tail(&String::from_utf8_lossy(&output.stderr))));
    }
    if !library.exists() {
        return Err(missing(format!("`{}` was not made", library.display())));
    }
    Ok(library)
}
