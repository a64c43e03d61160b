//! Files from the Hugging Face hub, or from a mirror that `HF_ENDPOINT` names.

use std::thread;
use std::time::Duration;

use url::Url;

use crate::error::Failure;
use crate::part::Part;
use crate::place::{Expectation, Place, Verification};
use crate::progress::{Progress, Report};
use crate::token::{Token, is_yes};
use crate::transfer::{Stop, Transfer};

const ENDPOINT: &str = "https://huggingface.co";

/// How to reach the hub.
#[derive(Debug, Clone)]
pub struct Hub {
    /// Base URL, from `HF_ENDPOINT`.
    pub endpoint: String,
    /// The token; sent to `endpoint` only.
    pub token: Option<Token>,
    /// Timeouts and retries.
    pub patience: Patience,
    /// Whether network access is off.
    pub is_offline: bool,
}

/// What a repository contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model.
    Model,
    /// A dataset.
    Dataset,
}

/// A file or a directory in a repository of the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote<'a> {
    /// The kind of repository.
    pub kind: Kind,
    /// `owner/repo`.
    pub repository: &'a str,
    /// A branch, tag or commit.
    pub revision: &'a str,
    /// Path in the repository, with `/`; empty for the whole repository.
    pub path: &'a str,
}

/// Timeouts and retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Timeout for name resolution and for the connection.
    pub connect: Duration,
    /// Timeout without a byte.
    pub idle: Duration,
    /// Maximum number of retries: of an interrupted transfer without progress, and of a busy
    /// server.
    pub retries: u32,
    /// Pause before a retry, unless the server says how long; at most `idle`.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            retries: 3,
            pause: Duration::from_secs(1),
        }
    }
}

impl Patience {
    pub(crate) fn wait(&self, told: Option<Duration>) {
        thread::sleep(told.unwrap_or(self.pause).max(self.pause).min(self.idle));
    }
}

impl Hub {
    /// From the variables of `huggingface_hub`: `HF_ENDPOINT`, `HF_TOKEN` or the file of its login,
    /// `HF_HUB_OFFLINE`.
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()),
            token: Token::find(&variable),
            patience: Patience::default(),
            is_offline: variable("HF_HUB_OFFLINE").is_some_and(|value| is_yes(&value)),
        }
    }

    /// The host, for display.
    pub fn host(&self) -> String {
        let url = Url::parse(&self.endpoint).ok();
        let host = url.as_ref().and_then(Url::host_str);
        host.unwrap_or("the hub").to_owned()
    }

    /// The web page of a repository.
    pub fn page(&self, remote: &Remote<'_>) -> String {
        let url = self.url(remote.kind.prefix(), remote, &[]);
        url.map_or_else(|_| remote.repository.to_owned(), String::from)
    }

    /// The address of `prefix/repository/more/path`.
    pub(crate) fn url(
        &self,
        prefix: &[&str],
        remote: &Remote<'_>,
        more: &[&str],
    ) -> Result<Url, String> {
        let mut url = Url::parse(&self.endpoint)
            .map_err(|error| format!("`HF_ENDPOINT` is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err("`HF_ENDPOINT` is not an http or https URL".to_owned());
        }
        // URLs are stored and shown; secrets must not be.
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`HF_ENDPOINT` contains a password; use `HF_TOKEN`".to_owned());
        }
        url.set_query(None);
        url.set_fragment(None);
        url.path_segments_mut()
            .map_err(|()| "`HF_ENDPOINT` is not a URL".to_owned())?
            .pop_if_empty()
            .extend(prefix)
            .extend(remote.repository.split('/'))
            .extend(more)
            .extend(remote.path.split('/').filter(|step| !step.is_empty()));
        Ok(url)
    }

    /// Fetches the file into its place. The caller holds the lock.
    pub fn bring(
        &self,
        remote: &Remote<'_>,
        place: &Place,
        report: Report<'_>,
    ) -> Result<(), Failure> {
        let part = Part {
            path: place.part(),
            origin: place.origin(),
        };
        let verified = self.fetch(remote, &place.expected, &part, report)?;
        Ok(place.install(&part.path, verified)?)
    }

    /// Downloads the file into `part`.
    fn fetch(
        &self,
        remote: &Remote<'_>,
        expected: &Expectation,
        part: &Part,
        report: Report<'_>,
    ) -> Result<Verification, Failure> {
        if self.is_offline {
            return Err("`HF_HUB_OFFLINE` is set".to_owned().into());
        }
        let url = self.url(remote.kind.prefix(), remote, &["resolve", remote.revision])?;
        let transfer = Transfer {
            hub: self,
            url: &url,
            expected,
            part,
        };
        let mut retries = self.patience.retries;
        let mut reached = 0;
        // If the answer does not match the partial download, start over, once.
        let mut may_start_over = true;
        loop {
            match transfer.attempt(report) {
                Ok(verified) => return Ok(verified),
                Err(Stop::Final(failure)) => return Err(failure),
                Err(Stop::StartOver(reason)) => {
                    part.remove();
                    if !may_start_over {
                        return Err(reason.into());
                    }
                    may_start_over = false;
                    report(Progress::Again { reason });
                }
                Err(Stop::Broken { reason, done }) => {
                    if done > reached {
                        reached = done;
                        retries = self.patience.retries;
                    }
                    // A server that has sent nothing is not worth waiting for: try the next source.
                    if retries == 0 || reached == 0 {
                        return Err(reason.into());
                    }
                    retries -= 1;
                    report(Progress::Again { reason });
                    self.patience.wait(None);
                }
                Err(Stop::Busy { reason, wait }) => {
                    if retries == 0 {
                        return Err(reason.into());
                    }
                    retries -= 1;
                    report(Progress::Again { reason });
                    self.patience.wait(wait);
                }
            }
        }
    }
}

impl Kind {
    /// The URL prefix of files.
    pub(crate) fn prefix(self) -> &'static [&'static str] {
        match self {
            Self::Model => &[],
            Self::Dataset => &["datasets"],
        }
    }

    /// The URL prefix of API queries.
    pub(crate) fn api(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["api", "models"],
            Self::Dataset => &["api", "datasets"],
        }
    }
}
