//! Exit codes, and errors that carry theirs.

use std::fmt;
use std::process::ExitCode;

use ipw_findings::sweep::SweepError;
use ipw_store::StoreError;

/// Exit codes: a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Unexpected = 1,
    /// Wrong usage, or an input that cannot be used.
    Usage = 2,
    /// The service is unreachable, not ready, or refuses the credentials.
    Service = 3,
    /// Too many rows failed.
    Failed = 4,
    /// Energy was required and is not available.
    NoEnergy = 5,
    /// The output exists.
    Exists = 6,
    /// The command succeeded, and a result is out of its bound.
    Gate = 7,
    /// Interrupted; the rows so far are saved.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with its exit code and advice.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) help: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
            help: None,
        }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, anyhow::anyhow!("{message}"))
    }

    /// A directory that should hold a sweep.
    pub(crate) fn sweep(error: SweepError) -> Self {
        let exit = match error {
            SweepError::NotASweep { .. } => Exit::Usage,
            SweepError::Store(error) => return anyhow::Error::from(error).into(),
        };
        Self::new(exit, error)
    }

    /// Interrupted before the first query.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, anyhow::anyhow!("interrupted"))
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The library reports a kind of failure; this maps it to an exit code.
impl From<ipw::Error> for CliError {
    fn from(error: ipw::Error) -> Self {
        let exit = match error.kind() {
            ipw::Kind::Invalid | ipw::Kind::NotARun => Exit::Usage,
            ipw::Kind::Service => Exit::Service,
            ipw::Kind::Failed => Exit::Failed,
            ipw::Kind::NoEnergy => Exit::NoEnergy,
            ipw::Kind::Exists => Exit::Exists,
            ipw::Kind::Interrupted => Exit::Interrupted,
            _ => Exit::Unexpected,
        };
        let help = error.help().map(str::to_owned);
        Self {
            exit,
            error: error.into(),
            help,
        }
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        // A directory that is not a run, or links out of itself, is a wrong argument.
        let is_wrong_run = error.chain().any(|cause| {
            let cause = cause.downcast_ref::<StoreError>();
            matches!(
                cause,
                Some(StoreError::Link { .. } | StoreError::NotARun { .. })
            )
        });
        let exit = if is_wrong_run {
            Exit::Usage
        } else {
            Exit::Unexpected
        };
        Self::new(exit, error)
    }
}
