//! Files from the Hugging Face hub, or from a mirror that `HF_ENDPOINT` names.

use std::thread;
use std::time::Duration;

use url::Url;

use crate::error::Failure;
use crate::part::Part;
use crate::place::{Expected, Place, Verified};
use crate::progress::{Progress, Report};
use crate::token::{Token, is_yes};
use crate::transfer::{Stop, Transfer};

const ENDPOINT: &str = "https://huggingface.co";

/// How to reach the hub.
#[derive(Debug, Clone)]
pub struct Hub {
    /// Its address, as `HF_ENDPOINT` has it.
    pub endpoint: String,
    /// The token that goes to that address and to no other.
    pub token: Option<Token>,
    /// How long to wait for it.
    pub patience: Patience,
    /// Whether it must not be asked.
    pub is_offline: bool,
}

/// What a repository holds.
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
    /// What kind of repository.
    pub kind: Kind,
    /// `owner/repo`.
    pub repository: &'a str,
    /// A branch, tag or commit.
    pub revision: &'a str,
    /// The way in the repository, with `/`; empty for all of it.
    pub path: &'a str,
}

/// How long to wait, and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an address and for a connection.
    pub connect: Duration,
    /// Without a byte.
    pub idle: Duration,
    /// How often a transfer that broke may go on without having moved, and a busy server is asked
    /// again.
    pub retries: u32,
    /// Before each of them, unless the server says how long; never longer than `idle`.
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
    /// The hub as `huggingface_hub`'s own variables say: `HF_ENDPOINT`, `HF_TOKEN` or the file that
    /// its log-in wrote, `HF_HUB_OFFLINE`.
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()),
            token: Token::find(&variable),
            patience: Patience::default(),
            is_offline: variable("HF_HUB_OFFLINE").is_some_and(|value| is_yes(&value)),
        }
    }

    /// The host, for people.
    pub fn host(&self) -> String {
        let url = Url::parse(&self.endpoint).ok();
        let host = url.as_ref().and_then(Url::host_str);
        host.unwrap_or("the hub").to_owned()
    }

    /// Where people read about a repository.
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
            .map_err(|error| format!("`HF_ENDPOINT` is not an address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err("`HF_ENDPOINT` is not an http or https address".to_owned());
        }
        // Addresses are written down and shown; secrets are not.
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`HF_ENDPOINT` holds a password; use `HF_TOKEN`".to_owned());
        }
        url.set_query(None);
        url.set_fragment(None);
        url.path_segments_mut()
            .map_err(|()| "`HF_ENDPOINT` is not an address".to_owned())?
            .pop_if_empty()
            .extend(prefix)
            .extend(remote.repository.split('/'))
            .extend(more)
            .extend(remote.path.split('/').filter(|step| !step.is_empty()));
        Ok(url)
    }

    /// Brings the file into its place, whose lock the caller holds.
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

    /// Brings the file into `part`.
    fn fetch(
        &self,
        remote: &Remote<'_>,
        expected: &Expected,
        part: &Part,
        report: Report<'_>,
    ) -> Result<Verified, Failure> {
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
        // An answer that does not fit what is here is asked for again from the start, once.
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
                    // A server that gave nothing yet is not worth the wait: the next source is.
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
    /// What is before the repository's name in the address of a file.
    pub(crate) fn prefix(self) -> &'static [&'static str] {
        match self {
            Self::Model => &[],
            Self::Dataset => &["datasets"],
        }
    }

    /// The same for a question about it.
    pub(crate) fn api(self) -> &'static [&'static str] {
        match self {
            Self::Model => &["api", "models"],
            Self::Dataset => &["api", "datasets"],
        }
    }
}
