//! Why a dataset cannot be had.

use std::io;
use std::path::PathBuf;

use ipw_core::cache::NoCache;
use ipw_core::dataset::ReadError;
use ipw_core::nearest::did_you_mean;
use ipw_core::params::ParamError;
use ipw_core::setting::Setting;
use ipw_core::text::{printable, printable_path, with_causes};
use ipw_hub::CacheError;
use ipw_store::StoreError;

use crate::fault::{At, Fault};

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
        /// What should have been there.
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
        /// What it is instead.
        kind: &'static str,
    },
    /// The file is there and cannot be opened.
    #[error("cannot open `{}`", printable_path(path))]
    Open {
        /// The path as given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file was opened and cannot be read.
    #[error("cannot read `{}`", printable_path(path))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A row that cannot be a query.
    #[error(
        "`{}` {at}{}: {fault}", printable_path(path),
        fault.column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Row {
        /// The path as given.
        path: PathBuf,
        /// Where it is.
        at: At,
        /// What is wrong with it.
        fault: Box<Fault>,
    },
    /// A table that cannot be read.
    ///
    /// With its causes, because paths and words out of the file are in them: all of it is made fit
    /// for a terminal here.
    #[error("{}", printable(&with_causes(.0)))]
    Table(StoreError),
    /// A file whose kind cannot be told.
    #[error(
        "cannot tell what `{}` is: looked for a name that ends in .jsonl, .ndjson, .csv or .tsv \
         (also with .gz or .zst), .parquet or .arrow, for the first bytes of Parquet, Arrow, gzip \
         and zstd, for a first line that begins with `{{`, and for one that names a column with \
         the prompt; say which it is, as in `{} {}`",
        printable_path(path), Setting::Dataset.to("csv"), Setting::DatasetParam.to("path=…")
    )]
    Unrecognised {
        /// The path as given.
        path: PathBuf,
    },
    /// A file with nothing in it, and a name that says nothing.
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
        /// What would have been one.
        looked_for: &'static str,
    },
    /// Which of several splits is not said, or there is no such.
    #[error(
        "`{}` {}; choose with `{}` (there are: {})",
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
        /// What was asked for.
        wanted: Option<String>,
        /// The split whose name it resembles.
        nearest: Option<String>,
        /// The splits that there are.
        known: Vec<String>,
    },
    /// The hub has no such configuration or split of a benchmark.
    #[error(
        "`{repository}` has no {what} `{}`{}; choose with `{}` (there are: {})",
        printable(wanted), did_you_mean(nearest.as_deref()),
        Setting::DatasetParam.to(format_args!("{what}=…")), printable(&known.join(", "))
    )]
    NoPart {
        /// Where it is published.
        repository: &'static str,
        /// `config` or `split`.
        what: &'static str,
        /// What was asked for.
        wanted: String,
        /// The name that it resembles.
        nearest: Option<String>,
        /// The names that there are.
        known: Vec<String>,
    },
    /// No row of a benchmark has that topic.
    #[error(
        "`{id}` has no subject `{}`{} (there are: {})",
        printable(wanted), did_you_mean(nearest.as_deref()),
        if known.is_empty() { "none".to_owned() } else { printable(&known.join(", ")) }
    )]
    NoSubject {
        /// Which benchmark.
        id: &'static str,
        /// What was asked for.
        wanted: String,
        /// The subject that it resembles.
        nearest: Option<String>,
        /// The subjects that there are, up to some hundred.
        known: Vec<String>,
    },
    /// A copy on disk is what it is.
    #[error("`{id}` has a `path` and a `revision`: a copy on disk has none; leave one of them out")]
    RevisionOfCopy {
        /// Which benchmark.
        id: &'static str,
    },
    /// The hub does not let us have a benchmark.
    #[error("cannot get `{id}`: the hub refuses `{repository}` ({status}){}\nhelp: {help}", is_gated_in_words(*is_gated))]
    Denied {
        /// Which benchmark.
        id: &'static str,
        /// Where it is published.
        repository: &'static str,
        /// What it answers.
        status: u16,
        /// Whether that was to be expected.
        is_gated: bool,
        /// Where to ask for access.
        help: String,
    },
    /// A benchmark could not be fetched.
    #[error(
        "cannot get `{id}` from {host} (`{repository}`): {}\nhelp: go online, or give a copy that you \
         have: `{}`",
        printable(reason), Setting::DatasetParam.to("path=…")
    )]
    Unfetched {
        /// Which benchmark.
        id: &'static str,
        /// Where it is published.
        repository: &'static str,
        /// Who was asked.
        host: String,
        /// Why not.
        reason: String,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// There is no cache.
    #[error(transparent)]
    NoCache(#[from] NoCache),
    /// Nobody will type a dataset.
    #[error("standard input is a terminal; pipe a dataset into it, or give the path of a file")]
    Terminal,
    /// What must be put aside does not fit on the disk.
    #[error(
        "cannot put the dataset aside in `{}`; make room there, or set `TMPDIR` to another directory",
        printable_path(directory)
    )]
    Spool {
        /// Where temporary files go.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not what it was when it was opened.
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
        /// What became of it.
        change: &'static str,
    },
}

impl DatasetError {
    /// Whether what was asked for cannot be, whatever the state of disk and network.
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
