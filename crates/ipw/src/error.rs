//! The library's error type: kind, chain of causes, and help.

use std::fmt;
use std::path::{Path, PathBuf};

use ipw_core::client::{Client, NotReady};
use ipw_core::rollup::Choice;
use ipw_core::setting::Setting;
use ipw_store::StoreError;

/// The kind of a failure, for programs that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request is impossible: a wrong value, an unknown name, or settings that conflict.
    Invalid,
    /// The directory is not a run, or a file in it is a symbolic link.
    NotARun,
    /// The service is unreachable, not ready, or refuses our credentials.
    Service,
    /// More queries failed than the plan allows. All rows are saved
    /// ([`Error::run_directory`]).
    Failed,
    /// Energy is required and cannot be measured.
    NoEnergy,
    /// The output exists, or another process writes it.
    Exists,
    /// The run was interrupted before its first query; nothing was written. A run interrupted later
    /// is a [`Finished`](crate::Finished).
    Interrupted,
    /// Any other failure: a full disk, or a thread that cannot be started.
    Unexpected,
}

/// Why an operation failed.
///
/// `Display` says what failed. The chain of [`std::error::Error::source`] says why. [`Error::help`]
/// says what to do.
pub struct Error {
    kind: Kind,
    cause: anyhow::Error,
    help: Option<String>,
    directory: Option<PathBuf>,
}

impl Error {
    pub(crate) fn new(kind: Kind, cause: impl Into<anyhow::Error>) -> Self {
        Self {
            kind,
            cause: cause.into(),
            help: None,
            directory: None,
        }
    }

    pub(crate) fn invalid(message: impl fmt::Display) -> Self {
        Self::new(Kind::Invalid, anyhow::anyhow!("{message}"))
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn left(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// The run directory, if there is one. It has all rows committed before the failure.
    pub fn run_directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The kind of failure, to decide by.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What to do. Settings have the names that the program chose
    /// ([`ipw_core::setting::name_settings`]).
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The first cause of type `T` in the chain.
    pub fn find<T: std::error::Error + 'static>(&self) -> Option<&T> {
        self.cause.chain().find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, formatter)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {:#}", self.kind, self.cause)?;
        match &self.help {
            Some(help) => write!(formatter, " (help: {help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        let is_wrong_run = cause.chain().any(|cause| {
            matches!(
                cause.downcast_ref(),
                Some(StoreError::Link { .. } | StoreError::NotARun { .. })
            )
        });
        let kind = if is_wrong_run {
            Kind::NotARun
        } else {
            Kind::Unexpected
        };
        Self::new(kind, cause)
    }
}

/// An unavailable basis, with the available ones in the help.
pub(crate) fn no_basis(message: impl fmt::Display, offered: &[Choice]) -> Error {
    let basis = Setting::Basis;
    let offered: Vec<_> = offered.iter().map(|choice| choice.label()).collect();
    let help = if offered.is_empty() {
        format!("no energy source is available here: remove `{basis}`")
    } else {
        format!("set `{basis}` to one of: {}", offered.join(", "))
    };
    Error::invalid(message).with_help(help)
}

/// The error of a service that is not ready for queries.
pub fn not_ready(client: &dyn Client, error: NotReady) -> Error {
    let NotReady { cause, help } = error;
    let message = format!(
        "the {} (client `{}`) at {} is unavailable",
        client.name(),
        client.id(),
        client.base_url()
    );
    let error = Error::new(Kind::Service, anyhow::anyhow!(cause).context(message));
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}
