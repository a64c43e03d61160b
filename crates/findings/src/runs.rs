//! Finds runs below a directory.

mod entry;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ipw_store::StoreError;

pub use entry::Entry;

/// A run, or a directory that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundRun {
    /// A directory with the files of a run.
    Run(PathBuf),
    /// A directory that cannot be read.
    Unreadable {
        /// Which directory.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
}

/// A directory with one of these is a run, or was meant to be one.
const SIGNS: [&str; 3] = ["state.json", "summary.json", "dataset_info.json"];

/// Whether it has a file of a run.
pub fn is_run(directory: &Path) -> bool {
    SIGNS.iter().any(|sign| directory.join(sign).is_file())
}

/// Runs at any depth, sorted by path. Hidden directories are those that were kept aside; what lies
/// inside a run is its own.
pub fn below(directory: &Path) -> Result<Vec<FoundRun>, StoreError> {
    let failed = |source| StoreError::Io {
        action: "look into",
        path: directory.to_owned(),
        source,
    };
    std::fs::read_dir(directory).map_err(failed)?;
    let root = directory.canonicalize().map_err(failed)?;
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        // Links may lead out of the root, in circles, or twice to the same run.
        let real = next.canonicalize().ok();
        let is_new = real.is_some_and(|path| path.starts_with(&root) && seen.insert(path));
        if !is_new {
            continue;
        }
        if is_run(&next) {
            found.push(FoundRun::Run(next));
            continue;
        }
        match children(&next) {
            Ok(children) => waiting.extend(children),
            Err(error) => found.push(FoundRun::Unreadable {
                path: next,
                reason: error.to_string(),
            }),
        }
    }
    found.sort_by(|left, right| left.path().cmp(right.path()));
    Ok(found)
}

impl FoundRun {
    fn path(&self) -> &Path {
        match self {
            Self::Run(path) | Self::Unreadable { path, .. } => path,
        }
    }
}

fn children(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let path = entry.path();
        if !is_hidden && path.is_dir() {
            children.push(path);
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_at_any_depth_once_and_not_inside_each_other() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        for path in [
            "b",
            "sweep/rate_1/a",
            "sweep/rate_1/a/readings",
            ".kept/c",
            "empty/deep",
        ] {
            std::fs::create_dir_all(at(path)).unwrap();
            if !path.starts_with("empty") {
                std::fs::write(at(path).join("state.json"), "{}").unwrap();
            }
        }
        std::fs::write(at("summary.txt"), "junk").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(place.path(), at("empty/round")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("state.json"), "{}").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(elsewhere.path(), at("outside")).unwrap();
        let found = below(place.path()).unwrap();
        let wanted = [at("b"), at("sweep/rate_1/a")].map(FoundRun::Run);
        assert_eq!(found, wanted);
        assert_eq!(below(&at("b")).unwrap(), [FoundRun::Run(at("b"))]);
        assert!(below(&at("nowhere")).is_err());
    }
}
