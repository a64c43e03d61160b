//! Writes results to standard output or a file.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use ipw_core::text::printable;
use ipw_store::file::{self, Aside};

use crate::error::CliError;
use crate::screen;

/// Whether results go to standard output: no file, or `-`.
pub(crate) fn is_standard(output: Option<&Path>) -> bool {
    output.is_none_or(|path| path.as_os_str() == "-")
}

/// Writes the text, and prints the path if it is a file.
pub(crate) fn put(output: Option<&Path>, text: &str) -> Result<(), CliError> {
    match output.filter(|_| !is_standard(output)) {
        None => screen::print(text),
        Some(path) => {
            write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
            screen::talk(&printable(&path.display().to_string()));
        }
    }
    Ok(())
}

/// Writes a file of a run, and prints its path.
pub(crate) fn put_into_run(path: &Path, text: &str) -> Result<(), CliError> {
    let written = file::replace(path, text.as_bytes(), false);
    written.with_context(|| format!("cannot write `{}`", path.display()))?;
    screen::talk(&printable(&path.display().to_string()));
    Ok(())
}

/// Replaces a file atomically; writes into a device or a pipe.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_special {
        Ok(std::fs::write(path, text)?)
    } else {
        let (aside, mut file) = Aside::create(path)?;
        file.write_all(text.as_bytes())?;
        Ok(aside.replace()?)
    }
}
