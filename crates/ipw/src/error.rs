//! Why something could not be done: what kind of failure, its chain of causes, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use ipw_core::client::{Client, NotReady};
use ipw_core::rollup::Choice;
use ipw_core::setting::Setting;
use ipw_store::StoreError;

/// What kind of failure it is: what a program decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// What was asked for cannot be done: a wrong value, an unknown name, a setting that does not
    /// fit another.
    Invalid,
    /// The directory is not a run, or a file in it is a symbolic link.
    NotARun,
    /// The service is unreachable, not ready, or refuses our credentials.
    Service,
    /// More queries failed than the plan allows. All rows are saved
    /// ([`Error::run_directory`]).
    Failed,
    /// Energy was required and is not measured.
    NoEnergy,
    /// The output exists, or another process writes it.
    Exists,
    /// The run was told to stop before its first query; nothing was written. A run that is stopped
    /// later is a finished one.
    Interrupted,
    /// Anything else: a full disk, a thread that could not be started.
    Unexpected,
}

/// Why something could not be done.
///
/// `Display` says what failed; the chain of [`std::error::Error::source`] says why. [`Error::help`]
/// says what to do about it.
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

    /// The run that it left behind, with what was committed so far.
    pub fn run_directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// What kind of failure it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What to do about it. Settings are called as the program names them
    /// ([`ipw_core::setting::name_settings`]).
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The first cause of this type in the chain.
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

/// A basis that the sources or the run do not have, with those that they have.
pub(crate) fn no_basis(message: impl fmt::Display, offered: &[Choice]) -> Error {
    let basis = Setting::Basis;
    let offered: Vec<_> = offered.iter().map(|choice| choice.label()).collect();
    let help = if offered.is_empty() {
        format!("no source of energy counts here: leave `{basis}` out")
    } else {
        format!("`{basis}` can be {}", offered.join(", "))
    };
    Error::invalid(message).with_help(help)
}

/// A service that is not fit to be asked.
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
