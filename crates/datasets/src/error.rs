//! Errors of opening and reading datasets.

use std::io;
use std::path::PathBuf;

use ipw_core::cache::CacheLocationError;
use ipw_core::dataset::ReadError;
use ipw_core::nearest::did_you_mean;
use ipw_core::params::ParamError;
use ipw_core::setting::Setting;
use ipw_core::text::{printable, printable_path, with_causes};
use ipw_hub::CacheError;
use ipw_store::StoreError;

use crate::fault::{Fault, RowPosition};

/// Why a dataset could not be opened, or stopped in the middle.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// No dataset has that id.
    #[error(
        "unknown dataset `{}`{} (known: {}); for your own file, give its path, as in `./queries.jsonl`",
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
    /// A dataset parameter is unknown or has a bad value.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A seed was given that has no effect.
    #[error("`{owner}` has a `seed` but does not shuffle: add `shuffle=true` or leave `seed` out")]
    SeedWithoutShuffle {
        /// Id of the dataset.
        owner: String,
    },
    /// There is no such file.
    #[error(
        "`{}` does not exist{}", printable_path(path),
        nearest.as_deref().map_or_else(
            || format!("; expected {expected}"),
            |nearest| did_you_mean(Some(&printable_path(nearest))),
        )
    )]
    NotFound {
        /// The path as given.
        path: PathBuf,
        /// A file beside it with a similar name.
        nearest: Option<PathBuf>,
        /// The expected content, in words.
        expected: &'static str,
    },
    /// Something other than a file has that path.
    #[error(
        "`{}` is {kind}; give the path of a regular file, which can be read more than once, \
         or `-` for standard input",
        printable_path(path)
    )]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// The kind of the thing at the path, in words.
        kind: &'static str,
    },
    /// The file exists but cannot be opened.
    #[error("cannot open `{}`", printable_path(path))]
    Open {
        /// The path as given.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file was opened but a read failed.
    #[error("cannot read `{}`", printable_path(path))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A row from which no query can be made.
    #[error(
        "`{}` {at}{}: {fault}", printable_path(path),
        fault.column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Row {
        /// The path as given.
        path: PathBuf,
        /// Its line or row.
        at: RowPosition,
        /// The fault in the row.
        fault: Box<Fault>,
    },
    /// A Parquet or Arrow file cannot be read.
    ///
    /// The message includes the causes, because they hold paths and text from the file, and all of
    /// it must be made safe for a terminal here.
    #[error("{}", printable(&with_causes(.0)))]
    Table(StoreError),
    /// A file whose format cannot be detected.
    #[error(
        "cannot tell the format of `{}` by its name, its first bytes or its first line (known: JSON \
         lines, CSV, TSV, also with gzip or zstd; Parquet, Arrow); name it, as in `{} {}`",
        printable_path(path), Setting::Dataset.to("csv"), Setting::DatasetParam.to("path=…")
    )]
    Unrecognised {
        /// The path as given.
        path: PathBuf,
    },
    /// An empty file whose name does not say its format.
    #[error("`{}` is empty; expected a row for each prompt", printable_path(path))]
    Empty {
        /// The path as given.
        path: PathBuf,
    },
    /// A directory without a dataset.
    #[error("`{}` holds no dataset: looked for {looked_for}", printable_path(path))]
    NoDataset {
        /// The path as given.
        path: PathBuf,
        /// What was looked for, in words.
        looked_for: &'static str,
    },
    /// There are several splits and none was chosen, or the chosen one does not exist.
    #[error(
        "`{}` {}; choose with `{}` (available: {})",
        printable_path(path),
        wanted.as_deref().map_or_else(
            || "has more than one split".to_owned(),
            |wanted| format!(
                "has no single split `{}`{}", printable(wanted), did_you_mean(nearest.as_deref())
            ),
        ),
        Setting::DatasetParam.to("split=…"),
        printable(&known.join(", "))
    )]
    Split {
        /// The path as given.
        path: PathBuf,
        /// The requested split; `None` if none was.
        wanted: Option<String>,
        /// The split whose name it resembles.
        nearest: Option<String>,
        /// The existing splits.
        known: Vec<String>,
    },
    /// The hub has no such configuration or split of a benchmark.
    #[error(
        "`{repository}` has no {what} `{}`{}; choose with `{}` (available: {})",
        printable(wanted), did_you_mean(nearest.as_deref()),
        Setting::DatasetParam.to(format_args!("{what}=…")), printable(&known.join(", "))
    )]
    NoPart {
        /// The repository on the hub.
        repository: &'static str,
        /// `config` or `split`.
        what: &'static str,
        /// The requested name.
        wanted: String,
        /// The name that it resembles.
        nearest: Option<String>,
        /// The existing names.
        known: Vec<String>,
    },
    /// No row of a benchmark has the requested topic.
    #[error(
        "`{id}` has no subject `{}`{} (available: {})",
        printable(wanted), did_you_mean(nearest.as_deref()),
        if known.is_empty() { "none".to_owned() } else { printable(&known.join(", ")) }
    )]
    NoSubject {
        /// Id of the benchmark.
        id: &'static str,
        /// The requested topic.
        wanted: String,
        /// The subject that it resembles.
        nearest: Option<String>,
        /// The existing topics, up to a limit.
        known: Vec<String>,
    },
    /// Both a local copy and a revision were given; a copy on disk has no revisions.
    #[error(
        "`{id}` has a `path` and a `revision`: a copy on disk has no revisions; leave one of them out"
    )]
    RevisionOfCopy {
        /// Id of the benchmark.
        id: &'static str,
    },
    /// The hub refuses access to a benchmark.
    #[error("cannot get `{id}`: the hub refuses `{repository}` ({status}){}\nhelp: {help}", is_gated_in_words(*is_gated))]
    Denied {
        /// Id of the benchmark.
        id: &'static str,
        /// The repository on the hub.
        repository: &'static str,
        /// The HTTP status of the hub's answer.
        status: u16,
        /// Whether the benchmark is known to be gated.
        is_gated: bool,
        /// How to get access.
        help: String,
    },
    /// A benchmark could not be fetched.
    #[error(
        "cannot get `{id}` from {host} (`{repository}`): {}\nhelp: go online, or give a copy that you \
         have: `{}`",
        printable(reason), Setting::DatasetParam.to("path=…")
    )]
    Unfetched {
        /// Id of the benchmark.
        id: &'static str,
        /// The repository on the hub.
        repository: &'static str,
        /// The host of the hub.
        host: String,
        /// What the host or the network said.
        reason: String,
    },
    /// The cache cannot be read or written.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// No cache directory is known.
    #[error(transparent)]
    NoCache(#[from] CacheLocationError),
    /// Standard input is a terminal, so no dataset will arrive there.
    #[error("standard input is a terminal; pipe a dataset into it, or give the path of a file")]
    Terminal,
    /// A temporary copy of the dataset cannot be written.
    #[error(
        "cannot write a temporary copy of the dataset to `{}`; free space there, or set `TMPDIR` to \
         another directory",
        printable_path(directory)
    )]
    Spool {
        /// The directory for temporary files.
        directory: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file changed after it was opened.
    #[error(
        "`{}` changed while the run was reading it: row {row} {change}; \
         leave the file as it is until the run has ended",
        printable_path(path)
    )]
    Changed {
        /// The path as given.
        path: PathBuf,
        /// The row's place in the source, from 0.
        row: u64,
        /// What changed, in words.
        change: &'static str,
    },
}

impl DatasetError {
    /// Whether the request itself is wrong, independent of the state of disk and network.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Unfetched { .. } | Self::Denied { .. } | Self::Cache(_)
        )
    }
}

impl From<DatasetError> for ReadError {
    fn from(error: DatasetError) -> Self {
        Self(Box::new(error))
    }
}

impl From<StoreError> for DatasetError {
    fn from(error: StoreError) -> Self {
        Self::Table(error)
    }
}

fn is_gated_in_words(is_gated: bool) -> &'static str {
    if is_gated { ", which is gated" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_does_not_repeat_its_source() {
        let error = DatasetError::Open {
            path: PathBuf::from("a.jsonl"),
            source: io::Error::other("the disk is tired"),
        };
        assert_eq!(error.to_string(), "cannot open `a.jsonl`");
    }
}
