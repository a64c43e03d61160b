//! Files from the Hugging Face hub, or from a mirror that `HF_ENDPOINT` names.

use std::fmt;
use std::thread;
use std::time::Duration;

use url::Url;

use crate::error::Failure;
use crate::part::Part;
use crate::place::{Expected, Verified};
use crate::progress::{Progress, Report};
use crate::reference::HubFile;
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
}

/// How long to wait, and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For an address and for a connection.
    pub connect: Duration,
    /// Without a byte.
    pub idle: Duration,
    /// How often a transfer that broke may go on without having moved.
    pub retries: u32,
    /// Before each of them.
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

/// A token in memory; it cannot be printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token; `None` if there is none in `text`.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_one = !text.is_empty() && text.chars().all(|character| character.is_ascii_graphic());
        is_one.then(|| Self(text.to_owned()))
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Hub {
    /// The hub as `HF_ENDPOINT` and `HF_TOKEN` say, which are `huggingface_hub`'s own variables.
    pub fn from_env() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()),
            token: variable("HF_TOKEN").and_then(|text| Token::new(&text)),
            patience: Patience::default(),
        }
    }

    /// The host, for people.
    pub(crate) fn host(&self) -> String {
        let url = Url::parse(&self.endpoint).ok();
        let host = url.as_ref().and_then(Url::host_str);
        host.unwrap_or("the hub").to_owned()
    }

    fn url(&self, file: &HubFile) -> Result<Url, String> {
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
            .extend(file.repository.split('/'))
            .extend(["resolve", &file.revision])
            .extend(file.path.split('/'));
        Ok(url)
    }

    /// Brings the file into `part`.
    pub(crate) fn fetch(
        &self,
        file: &HubFile,
        expected: &Expected,
        part: &Part,
        report: Report<'_>,
    ) -> Result<Verified, Failure> {
        let url = self.url(file)?;
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
                    thread::sleep(self.patience.pause);
                }
            }
        }
    }
}
