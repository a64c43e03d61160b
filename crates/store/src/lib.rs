//! The run directory: a Hugging Face dataset on disk that survives `kill -9`.
//!
//! All Arrow code is in this crate. [`writer::RunWriter`] writes a run; the runner sees it only as
//! a [`ipw_core::sink::Sink`]. [`reader::Run`] reads it.

mod adopt;
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
mod ipc;
mod lock;
mod orphans;
pub mod output;
pub mod overview;
pub mod plan;
mod projected;
pub mod reader;
pub mod readings;
pub mod resume;
pub mod rows;
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
pub use reader::Run;
pub use readings::ReadingWriter;
pub use rows::Consumer;
pub use server_metrics::ServerMetricWriter;
pub use summary::{Status, Summary};
pub use tidy::Tidy;
pub use writer::{CommitPolicy, RunWriter};

use std::path::{Path, PathBuf};

use ipw_core::rollup::Choice;

/// Format version of the run directory. It rises when readers of the old format would be wrong.
///
/// 2: IPW counts the power of the service, and a query's own watts are `headline.share_watts`.
pub const FORMAT_VERSION: u32 = 2;

/// Why a run directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An operation on a file failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The operation, as a verb: `open`, `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// Arrow could not encode or decode.
    #[error("cannot {action} `{}`", path.display())]
    Arrow {
        /// The operation, as a verb: `open`, `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the Arrow library.
        #[source]
        source: arrow_schema::ArrowError,
    },
    /// A JSON file of the run does not parse.
    #[error("`{}` is damaged", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// Position and kind of the error.
        #[source]
        source: serde_json::Error,
    },
    /// A plan that cannot be stored.
    #[error("cannot store the plan: {0}")]
    PlanText(toml::ser::Error),
    /// A file that should be a plan is not one.
    #[error("`{}` is not a plan of this version", path.display())]
    NotAPlan {
        /// Which file.
        path: PathBuf,
        /// Position and kind of the error.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The directory has no run.
    #[error("`{}` is not a run directory: {reason}", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A column that the format requires is missing.
    #[error(
        "column `{column}` is missing or has another type: the run was not written by ipw, or by an unknown version of it"
    )]
    Column {
        /// Its dotted path.
        column: String,
    },
    /// A symbolic link where a file of the run should be.
    #[error(
        "`{}` is a symbolic link: files of a run must be regular files inside its directory",
        path.display()
    )]
    Link {
        /// Which one.
        path: PathBuf,
    },
    /// The directory for a new run exists.
    #[error("output `{}` exists", path.display())]
    Exists {
        /// The existing file or directory.
        path: PathBuf,
    },
    /// The columns of a run differ from those that its plan gives today.
    #[error("the columns of `{}` differ from those of its plan: the dataset has changed, or another version of ipw wrote the run", path.display())]
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
    /// The run has no raw readings to compute energy from.
    #[error("the run has no readings: {reason} (`{}`)", path.display())]
    NoReadings {
        /// Which run.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The run has no energy on the requested basis.
    #[error("`{}` has no energy on basis `{}`", path.display(), wanted.label())]
    NoBasis {
        /// Which run.
        path: PathBuf,
        /// The requested basis.
        wanted: Choice,
        /// The bases that the run has.
        offered: Vec<Choice>,
    },
    /// A reading of a source that `sources.json` does not list.
    #[error("`{}` has readings of source {source_index}, which `sources.json` does not describe", path.display())]
    UnknownSource {
        /// Which run.
        path: PathBuf,
        /// The source's number.
        source_index: u16,
    },
    /// Two passes over the run gave different rows.
    #[error("the run changed while it was being read")]
    Changed,
    /// The writer thread has ended, so rows cannot be stored any more.
    #[error("the thread that writes rows ended early")]
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
    ) -> impl FnOnce(arrow_schema::ArrowError) -> Self {
        move |source| Self::Arrow {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
