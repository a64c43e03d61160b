//! The run directory: a Hugging Face dataset on disk that survives `kill -9`.
//!
//! Everything that is Arrow stays in this crate. A run is written by [`writer::RunWriter`], which
//! the runner sees only as a [`ipw_core::sink::Sink`], and read by [`reader::Run`].

pub mod attribute;
pub mod basis;
mod checksum;
pub mod column;
mod compact;
pub mod disk;
pub mod events;
pub mod export;
mod features;
pub mod file;
mod framing;
pub mod instants;
mod ipc;
mod lock;
mod orphans;
pub mod output;
pub mod overview;
pub mod plan;
pub mod queries;
pub mod reader;
pub mod readings;
pub mod resume;
pub mod schema;
pub mod server_metrics;
mod side;
mod splice;
mod standing;
mod state;
pub mod stream;
pub mod summary;
pub mod tables;
pub mod tidy;
pub mod verdicts;
pub mod writer;

pub use output::{NewRun, create};
pub use overview::Overview;
pub use queries::QueryRow;
pub use reader::Run;
pub use readings::ReadingWriter;
pub use server_metrics::ServerMetricWriter;
pub use summary::{Status, Summary};
pub use tidy::Tidy;
pub use writer::{CommitPolicy, RunWriter};

use std::path::{Path, PathBuf};

use ipw_core::rollup::Choice;

/// Version of the run directory's format: raised when a reader of the old one would be wrong.
///
/// 2: IPW counts the power of the service, and a query's own watts are `headline.share_watts`.
pub const FORMAT_VERSION: u32 = 2;

/// What can go wrong with a run directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Arrow could not encode or decode.
    #[error("cannot {action} `{}`", path.display())]
    Arrow {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What Arrow said.
        #[source]
        source: arrow::error::ArrowError,
    },
    /// A JSON file of the run does not parse.
    #[error("`{}` is damaged", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// Where and how.
        #[source]
        source: serde_json::Error,
    },
    /// A plan that cannot be stored.
    #[error("the plan cannot be written down: {0}")]
    PlanText(toml::ser::Error),
    /// A file that should be a plan is not one.
    #[error("`{}` is not a plan of this version", path.display())]
    NotAPlan {
        /// Which file.
        path: PathBuf,
        /// Where and how.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// There is no run there.
    #[error("`{}` is not a run directory: {reason}", path.display())]
    NotARun {
        /// Where we looked.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A column that the format promises is not there.
    #[error(
        "column `{column}` is missing or of another type: the run was not written by ipw, or by a version that this one does not know"
    )]
    Column {
        /// Its dotted path.
        column: String,
    },
    /// A symbolic link where a file of the run should be.
    #[error(
        "`{}` is a symbolic link: the files of a run are regular files inside its directory",
        path.display()
    )]
    Link {
        /// Which one.
        path: PathBuf,
    },
    /// Something is in the way of a new run.
    #[error("output `{}` exists", path.display())]
    Exists {
        /// What is in the way.
        path: PathBuf,
    },
    /// A run whose columns are not those that its plan would have now.
    #[error("`{}` has other columns than its plan would have now: the dataset has changed, or this is another version of ipw", path.display())]
    OtherColumns {
        /// Which run.
        path: PathBuf,
    },
    /// Another process writes the run.
    #[error("`{}` is being written by another process", path.display())]
    Busy {
        /// Which run.
        path: PathBuf,
    },
    /// There is nothing to compute energy from.
    #[error("this run has no readings: {reason} (`{}`)", path.display())]
    NoReadings {
        /// Which run.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The run has no energy on a basis.
    #[error("`{}` has no energy on basis `{}`", path.display(), wanted.label())]
    NoBasis {
        /// Which run.
        path: PathBuf,
        /// What was asked for.
        wanted: Choice,
        /// What it has.
        offered: Vec<Choice>,
    },
    /// A reading of a source that nobody describes.
    #[error("`{}` has readings of source {source_index}, which `sources.json` does not describe", path.display())]
    UnknownSource {
        /// Which run.
        path: PathBuf,
        /// The source's number.
        source_index: u16,
    },
    /// What was read twice was not the same.
    #[error("the run changed while it was being read")]
    Changed,
    /// The writer's thread is gone.
    #[error("the store's writer ended early")]
    WriterGone,
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn arrow(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(arrow::error::ArrowError) -> Self {
        move |source| Self::Arrow {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
