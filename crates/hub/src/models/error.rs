//! Why a model is not available.

use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

use ipw_core::nearest::did_you_mean;
use ipw_core::setting::Setting;
use ipw_core::text::{printable, printable_path};

use crate::CacheError;

/// Why there is no file for a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No model has that name.
    #[error(
        "unknown model `{}`{} (known: {})\nhelp: `ipw models list` shows all names; a path or \
         `hf:owner/repo/file.gguf` works too",
        printable(name), did_you_mean(*nearest), known.join(", ")
    )]
    Unknown {
        /// The name as given.
        name: String,
        /// The most similar known name.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// A malformed `hf:` reference.
    #[error(
        "`{}` names no file of the hub: {why}\nhelp: write `hf:owner/repo/file.gguf` or \
         `hf:owner/repo@revision/file.gguf`",
        printable(text)
    )]
    HubReference {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The local file does not exist or is not a regular file.
    #[error(
        "`{}` {what}\nhelp: give the path of a GGUF file",
        printable_path(path)
    )]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A local file of the user is never removed.
    #[error(
        "`{}` is a file of your own: only files in the cache are removed",
        printable_path(path)
    )]
    NotOurs {
        /// The path as given.
        path: PathBuf,
    },
    /// There is no home directory, and `IPW_CACHE` is not set.
    #[error("no home directory for the model cache\nhelp: set `IPW_CACHE` to a directory")]
    NoHome,
    /// `IPW_CACHE` is a relative path.
    #[error(
        "`IPW_CACHE` is the relative path `{}`\nhelp: set it to an absolute path",
        printable_path(path)
    )]
    RelativeCache {
        /// Its value.
        path: PathBuf,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file of the cache cannot be removed.
    #[error("cannot remove `{}`", printable_path(path))]
    Remove {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process is fetching the file.
    #[error(
        "another process is fetching `{}`\nhelp: wait for it, or stop it",
        printable(model)
    )]
    Busy {
        /// The model.
        model: String,
    },
    /// All sources failed.
    #[error(
        "cannot get the model `{}`\n{}help: go online, or give a file that you have: `{}`",
        printable(model),
        in_lines(attempts),
        Setting::Model.to("/path/to/file.gguf")
    )]
    Failed {
        /// The model.
        model: String,
        /// The sources tried, in order.
        attempts: Vec<Attempt>,
    },
}

impl ModelError {
    /// Whether the request itself is invalid, whatever the state of disk and network.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. }
                | Self::HubReference { .. }
                | Self::NotAFile { .. }
                | Self::NotOurs { .. }
                | Self::NoHome
                | Self::RelativeCache { .. }
        )
    }
}

/// One source that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Name of the source.
    pub source: String,
    /// Why it failed.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}",
            printable(&self.source),
            printable(&self.reason)
        )
    }
}

fn in_lines(attempts: &[Attempt]) -> String {
    let mut text = String::new();
    for attempt in attempts {
        let _ = writeln!(text, "  tried {attempt}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_tells_of_every_source_and_of_the_way_out() {
        let error = ModelError::Failed {
            model: "m".to_owned(),
            attempts: vec![
                Attempt {
                    source: "hub".to_owned(),
                    reason: "re\u{1b}[31mfused\nreally".to_owned(),
                },
                Attempt {
                    source: "pip".to_owned(),
                    reason: "no python".to_owned(),
                },
            ],
        };
        assert_eq!(
            error.to_string(),
            "cannot get the model `m`\n  tried hub: re[31mfused really\n  tried pip: no python\n\
             help: go online, or give a file that you have: `model=/path/to/file.gguf`"
        );
        assert!(!error.is_usage());
    }
}
