//! Where the lab is on disk, and how parallel test processes share it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Missing;

/// The environment variable of the fast lane (`cargo xtask fast`): the lab is not used, so that no
/// test needs a network, Python or a browser.
const OFFLINE: &str = "IPW_TEST_OFFLINE";

/// `lab/<below>` in the target directory, made if need be.
pub(crate) fn lab(below: &str) -> Result<PathBuf, Missing> {
    if is_offline() {
        let how = format!("unset `{OFFLINE}`");
        let why = format!("`{OFFLINE}` is set");
        return Err(Missing::new("the lab of real services", why, &how));
    }
    let directory = target().join("lab").join(below);
    fs::create_dir_all(&directory).map_err(|error| unusable(&directory, &error))?;
    Ok(directory)
}

/// Whether tests leave out what they would have to install.
pub(crate) fn is_offline() -> bool {
    std::env::var_os(OFFLINE).is_some_and(|value| !value.is_empty())
}

/// The workspace.
pub(crate) fn workspace() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates
        .and_then(Path::parent)
        .expect("this crate is two levels below the workspace")
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    // A relative directory is meant from where cargo was called, which for us is the workspace:
    // tests themselves run in their package.
    workspace().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Waits until no other process makes `thing`; the lock goes when the value does.
pub(crate) fn lock(thing: &Path) -> Result<File, Missing> {
    let path = thing.with_added_extension("lock");
    let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| unusable(&path, &error))
}

/// The lab's directory cannot be used.
pub(crate) fn unusable(path: &Path, error: &io::Error) -> Missing {
    Missing::new(
        format!("`{}`", path.display()),
        error.to_string(),
        "make the target directory writable, or set `CARGO_TARGET_DIR`",
    )
}

/// Says what takes long, past the test harness's capture.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "lab: {text}");
}

/// The end of a program's talk, where the cause is.
pub(crate) fn tail(text: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<_> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
