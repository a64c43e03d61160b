//! Why a dataset cannot be had.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ipw_core::params::ParamError;
use ipw_core::text::{excerpt, printable};

/// The longest piece of a row that a message shows, in characters.
const LONGEST_EXCERPT: usize = 60;

/// Why a dataset could not be opened, or stopped in the middle.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No dataset has that id.
    #[error(
        "unknown dataset `{}`{} (known: {}); for a file of your own give its path, as in `./queries.jsonl`",
        printable(id), did_you_mean(*nearest), known.join(", ")
    )]
    Unknown {
        /// The id as given.
        id: String,
        /// The known id that it resembles.
        nearest: Option<&'static str>,
        /// All known ids.
        known: Vec<&'static str>,
    },
    /// A parameter cannot be taken.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A seed that nothing would use.
    #[error("`{owner}` has a `seed` but does not shuffle: add `shuffle=true` or leave `seed` out")]
    SeedWithoutShuffle {
        /// Whose parameter it is.
        owner: String,
    },
    /// There is no such file.
    #[error(
        "`{}` does not exist{}", shown(path),
        nearest.as_deref().map_or_else(
            || "; give the path of a file with one JSON object on each line".to_owned(),
            |nearest| format!("; did you mean `{}`?", shown(nearest)),
        )
    )]
    NotFound {
        /// The path as given.
        path: PathBuf,
        /// A file beside it with a similar name.
        nearest: Option<PathBuf>,
    },
    /// Something other than a file has that path.
    #[error(
        "`{}` is {kind}; give the path of a regular file, which can be read more than once",
        shown(path)
    )]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// What it is instead.
        kind: &'static str,
    },
    /// The file is there and cannot be opened.
    #[error("cannot open `{}`", shown(path))]
    Open {
        /// The path as given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file was opened and cannot be read.
    #[error("cannot read `{}`", shown(path))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A row that cannot be a query.
    #[error(
        "`{}` line {line}{}: {fault}", shown(path),
        fault.column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Row {
        /// The path as given.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: Box<Fault>,
    },
    /// The file is not what it was when it was opened.
    #[error(
        "`{}` changed while the run was reading it: row {row} {change}; \
         leave the file as it is until the run has ended",
        shown(path)
    )]
    Changed {
        /// The path as given.
        path: PathBuf,
        /// The row's place in the source, from 0.
        row: u64,
        /// What became of it.
        change: &'static str,
    },
}

/// What is wrong with one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The character of the line, from 1; `None` when the fault is not at one place.
    pub column: Option<u64>,
    /// What should have been there.
    pub expected: String,
    /// What was there.
    pub found: String,
    /// What to do about it, if there is something to say.
    pub help: Option<String>,
    /// The part of the line where the fault is, printable and short.
    pub excerpt: String,
}

impl Fault {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            column: None,
            expected: expected.into(),
            found: found.into(),
            help: None,
            excerpt: String::new(),
        }
    }

    pub(crate) fn at_byte(self, line: &[u8], bytes_before: usize) -> Self {
        let before = line.get(..bytes_before).unwrap_or(line);
        let characters = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Self {
            column: Some(characters as u64 + 1),
            ..self
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// The same with the part of `line` that it is about.
    pub(crate) fn shown_in(mut self, line: &[u8]) -> Self {
        let line = String::from_utf8_lossy(line);
        let column = self
            .column
            .map_or(0, |column| usize::try_from(column).unwrap_or(usize::MAX));
        // The fault stays in sight, with what led to it.
        let start = if column > LONGEST_EXCERPT * 2 / 3 {
            column - LONGEST_EXCERPT / 2
        } else {
            0
        };
        let lead = if start > 0 { "…" } else { "" };
        let rest = printable(&line.chars().skip(start).collect::<String>());
        let room = LONGEST_EXCERPT - 1 - lead.chars().count();
        self.excerpt = format!("{lead}{}", excerpt(rest.trim(), room));
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "expected {}, found {}",
            self.expected, self.found
        )?;
        if !self.excerpt.is_empty() {
            write!(formatter, ", in `{}`", self.excerpt)?;
        }
        match &self.help {
            Some(help) => write!(formatter, "; {help}"),
            None => Ok(()),
        }
    }
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
    fn an_excerpt_is_short_printable_and_shows_the_fault() {
        let long = format!("{}\u{1b}[31m!{}", "é".repeat(200), "z".repeat(200));
        for bytes_before in [0, 30, 80, 90, 399, 406, 10_000] {
            let fault = Fault::new("a", "b")
                .at_byte(long.as_bytes(), bytes_before)
                .shown_in(long.as_bytes());
            assert!(fault.excerpt.chars().count() <= LONGEST_EXCERPT);
            assert!(!fault.excerpt.chars().any(char::is_control));
        }
        let fault = Fault::new("a", "b").at_byte(long.as_bytes(), 405);
        assert_eq!(fault.column, Some(206));
        assert!(fault.shown_in(long.as_bytes()).excerpt.contains('!'));
    }

    #[test]
    fn a_message_does_not_repeat_its_source() {
        let error = DatasetError::Open {
            path: PathBuf::from("a.jsonl"),
            source: io::Error::other("the disk is tired"),
        };
        assert_eq!(error.to_string(), "cannot open `a.jsonl`");
    }
}
