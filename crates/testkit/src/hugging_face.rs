//! Opens run directories as people do: with Hugging Face `datasets`, the newest and an old one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Missing, ScriptFailed, Venv};

const SCRIPT: &str = include_str!("../python/load.py");

/// Whether the rows come along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Only their number.
    Counted,
    /// All of them, under `data`.
    Included,
}

/// The newest `datasets`.
pub fn newest() -> Result<Venv, Missing> {
    Venv::ensure("datasets", &["datasets"])
}

/// The oldest `datasets` that must open our runs; its feature types have other names.
pub fn oldest() -> Result<Venv, Missing> {
    Venv::ensure("datasets-2.21.0", &["datasets==2.21.0"])
}

/// Both.
pub fn environments() -> Result<[Venv; 2], Missing> {
    Ok([newest()?, oldest()?])
}

/// What `datasets` sees in a run directory: `version`, `rows`, `columns` in order, `features` as
/// nested type names (a list is an array of one), and `data` if asked for.
pub fn load(venv: &Venv, run: &Path, rows: Rows) -> Result<Value, ScriptFailed> {
    let mut seen = load_all(venv, &[run.to_owned()], rows)?;
    let seen = seen.pop().unwrap_or_default();
    match seen.get("error") {
        Some(error) => Err(ScriptFailed::Output(error.to_string())),
        None => Ok(seen),
    }
}

/// The same for many directories in one process, in their order. A directory that does not open
/// is an object with its `error`.
pub fn load_all(venv: &Venv, runs: &[PathBuf], rows: Rows) -> Result<Vec<Value>, ScriptFailed> {
    let mut args: Vec<&OsStr> = runs.iter().map(|run| run.as_os_str()).collect();
    let flag = OsString::from("--rows");
    if rows == Rows::Included {
        args.insert(0, &flag);
    }
    let printed = venv.run(SCRIPT, &args)?;
    let seen: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
    match seen {
        Ok(seen) if seen.len() == runs.len() => Ok(seen),
        Ok(seen) => {
            let message = format!("{} objects for {} directories", seen.len(), runs.len());
            Err(ScriptFailed::Output(message))
        }
        Err(error) => Err(ScriptFailed::Output(error.to_string())),
    }
}
