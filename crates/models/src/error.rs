//! Why a model cannot be had.

use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use ipw_core::text::printable;

use crate::space::in_words;

/// Why there is no file for a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No model has that name.
    #[error(
        "unknown model `{}`{} (known: {})\nhelp: `ipw models list` shows what there is; \
         give a file of your own by its path, one of the hub as `hf:owner/repo/file.gguf`",
        printable(name), did_you_mean(*nearest), known.join(", ")
    )]
    Unknown {
        /// The name as given.
        name: String,
        /// The known name that it resembles.
        nearest: Option<&'static str>,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// `hf:` and something that names no file.
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
    /// The user's own file is not there, or is no file.
    #[error("`{}` {what}\nhelp: give the path of a GGUF file", shown(path))]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// What is there instead.
        what: &'static str,
    },
    /// The user's own file is not ours to remove.
    #[error(
        "`{}` is a file of your own: only files in the cache are removed",
        shown(path)
    )]
    NotOurs {
        /// The path as given.
        path: PathBuf,
    },
    /// No home directory, and nothing else said where the cache is.
    #[error("there is no home directory to keep models in\nhelp: set `IPW_CACHE` to a directory")]
    NoHome,
    /// The cache would move with the working directory.
    #[error(
        "`IPW_CACHE` is `{}`, which depends on the working directory\nhelp: set it to an absolute path",
        shown(path)
    )]
    RelativeCache {
        /// Its value.
        path: PathBuf,
    },
    /// The cache's directory cannot be written to.
    #[error(
        "cannot write to the model cache `{}`: {cause}\nhelp: set `IPW_CACHE` to a directory that \
         you may write to",
        shown(directory)
    )]
    CacheUnusable {
        /// Which directory.
        directory: PathBuf,
        /// What the system says; in the message, so that the help is the last word.
        cause: io::Error,
    },
    /// A file of the cache cannot be read.
    #[error("cannot read `{}`", shown(path))]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the cache cannot be removed.
    #[error("cannot remove `{}`", shown(path))]
    Remove {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process is busy with the file.
    #[error(
        "another process is fetching `{}` just now\nhelp: wait for it, or stop it",
        printable(model)
    )]
    Busy {
        /// The model.
        model: String,
    },
    /// The disk is full, or would be.
    #[error(
        "not enough room in `{}`: {} needed, {} free{}\nhelp: make room, or set `IPW_CACHE` to a \
         directory on another disk",
        shown(directory), in_words(*needed),
        free.map_or("an unknown amount".to_owned(), in_words),
        kept.map_or(String::new(), |kept| {
            format!("; the {} that arrived are kept, and the next try goes on from there", in_words(kept))
        })
    )]
    DiskFull {
        /// Where.
        directory: PathBuf,
        /// Bytes that are still to be written.
        needed: u64,
        /// Bytes that are free; `None` if the system does not say.
        free: Option<u64>,
        /// Bytes of an unfinished transfer that stay.
        kept: Option<u64>,
    },
    /// No source delivered.
    #[error(
        "cannot get the model `{}`\n{}help: go online, or give a file that you have: \
         `--model /path/to/file.gguf`",
        printable(model),
        in_lines(attempts)
    )]
    Failed {
        /// The model.
        model: String,
        /// What was tried, in order.
        attempts: Vec<Attempt>,
    },
}

impl ModelError {
    /// Whether what was asked for cannot be, whatever the state of disk and network.
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

/// One source that did not deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which source.
    pub source: String,
    /// Why it did not.
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

/// Why one source did not deliver, and whether the others may still.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The next source may do better.
    Source(String),
    /// No other source can help.
    Fatal(ModelError),
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Fatal(error)
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Source(reason)
    }
}

fn in_lines(attempts: &[Attempt]) -> String {
    let mut text = String::new();
    for attempt in attempts {
        let _ = writeln!(text, "  tried {attempt}");
    }
    text
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
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
             help: go online, or give a file that you have: `--model /path/to/file.gguf`"
        );
        assert!(!error.is_usage());
    }

    #[test]
    fn a_full_disk_says_where_how_much_and_what_stays() {
        let error = ModelError::DiskFull {
            directory: PathBuf::from("/cache"),
            needed: 98_362_432,
            free: Some(1_000),
            kept: Some(5_000_000),
        };
        let text = error.to_string();
        let expected = "not enough room in `/cache`: 98.4 MB needed, 1.0 kB free; the 5.0 MB that";
        assert!(text.starts_with(expected), "{text}");
    }
}
