//! Location of the user's cache. This module touches no files.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::text::printable_path;

const VARIABLE: &str = "IPW_CACHE";
const OURS: &str = "ipw";

/// The location of the cache is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheLocationError {
    /// There is no home directory, and no variable names a cache.
    #[error("there is no home directory for a cache\nhelp: set `IPW_CACHE` to a directory")]
    NoHome,
    /// `IPW_CACHE` is relative: the cache would move with the working directory.
    #[error(
        "`IPW_CACHE` is `{}`, which depends on the working directory\nhelp: set it to an absolute path",
        printable_path(path)
    )]
    Relative {
        /// Its value.
        path: PathBuf,
    },
}

/// The user's cache: `IPW_CACHE`, else the system's cache directory. `variable` looks up an
/// environment variable.
pub fn directory(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, CacheLocationError> {
    let path = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(path) = path(VARIABLE) {
        // An explicit choice is not silently replaced by another place.
        return if path.is_absolute() {
            Ok(path)
        } else {
            Err(CacheLocationError::Relative { path })
        };
    }
    // The XDG specification ignores relative directories.
    let absolute = |name| path(name).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(system_caches())))
        .map(|caches| caches.join(OURS))
        .ok_or(CacheLocationError::NoHome)
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
    use std::path::Path;

    use super::*;

    fn located(variables: &[(&str, &str)]) -> Result<PathBuf, CacheLocationError> {
        directory(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
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
        assert!(matches!(error, CacheLocationError::Relative { .. }));
    }

    #[test]
    fn without_a_home_the_error_says_what_to_set() {
        for variables in [&[][..], &[("HOME", "")], &[("HOME", "me")]] {
            let error = located(variables).unwrap_err();
            assert!(error.to_string().contains("`IPW_CACHE`"), "{error}");
        }
    }
}
