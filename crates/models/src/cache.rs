//! Where models lie on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::ModelError;
use crate::place::Place;
use crate::reference::ModelRef;

const VARIABLE: &str = "IPW_CACHE";
const OURS: &str = "ipw";

/// The directory that keeps what was fetched. It is made when something is written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The user's cache: `IPW_CACHE`, else the system's place for caches.
    pub fn locate() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// A cache in that directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The directory of the whole cache.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ModelError> {
        let path = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(path) = path(VARIABLE) {
            // What the user asked for by name is not silently replaced by another place.
            return if path.is_absolute() {
                Ok(Self::at(path))
            } else {
                Err(ModelError::RelativeCache { path })
            };
        }
        // A relative XDG directory is to be ignored, says the specification.
        let absolute = |name| path(name).filter(|path| path.is_absolute());
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(system_caches())))
            .map(|caches| Self::at(caches.join(OURS)))
            .ok_or(ModelError::NoHome)
    }

    /// Where the files are.
    pub(crate) fn models(&self) -> PathBuf {
        self.directory.join("models")
    }

    /// Where files of the hub are.
    pub(crate) fn hub(&self) -> PathBuf {
        self.models().join("hf")
    }

    /// Where a model's file and what goes with it are; else the path of a file of the user's own.
    pub(crate) fn place<'a>(&self, model: &'a ModelRef) -> Result<Place, &'a Path> {
        let file = match model {
            ModelRef::Named(entry) => self.models().join(entry.file),
            ModelRef::Hub(file) => self.hub().join(file.relative_path()),
            ModelRef::File(path) => return Err(path),
        };
        // Locks live apart: a lock's file cannot be removed safely, a model's directory can.
        let name = file.strip_prefix(self.models()).unwrap_or(&file);
        let steps: Vec<_> = name.iter().map(|step| step.to_string_lossy()).collect();
        let lock = self.directory.join("locks").join(steps.join("--"));
        Ok(Place::new(file, lock, model))
    }
}

const fn system_caches() -> &'static str {
    if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(variables: &[(&str, &str)]) -> Result<PathBuf, ModelError> {
        Cache::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
        .map(|cache| cache.directory)
    }

    #[test]
    fn the_nearest_word_counts() {
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_CACHE_HOME", "/fast");
        let ours = ("IPW_CACHE", "/models");
        let usual = Path::new("/home/me").join(system_caches()).join("ipw");
        assert_eq!(located(&[home]).unwrap(), usual);
        assert_eq!(located(&[home, xdg]).unwrap(), Path::new("/fast/ipw"));
        assert_eq!(located(&[home, xdg, ours]).unwrap(), Path::new("/models"));
        let empty = [home, ("XDG_CACHE_HOME", ""), ("IPW_CACHE", "")];
        assert_eq!(located(&empty).unwrap(), usual);
        let relative = [home, ("XDG_CACHE_HOME", "cache")];
        assert_eq!(located(&relative).unwrap(), usual);
    }

    #[test]
    fn a_cache_does_not_move_with_the_working_directory() {
        let error = located(&[("HOME", "/home/me"), ("IPW_CACHE", "cache")]).unwrap_err();
        assert!(matches!(error, ModelError::RelativeCache { .. }));
    }

    #[test]
    fn without_a_home_the_error_says_what_to_set() {
        for variables in [&[][..], &[("HOME", "")], &[("HOME", "me")]] {
            let error = located(variables).unwrap_err();
            assert!(error.to_string().contains("`IPW_CACHE`"), "{error}");
        }
    }
}
