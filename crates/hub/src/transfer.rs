//! One attempt to download a file from the hub, from where the last one ended.

use std::time::Duration;

use url::Url;

use crate::digest::is_sha256;
use crate::error::{AccessDenied, CacheError, Failure};
use crate::http::{self, Answer};
use crate::hub::Hub;
use crate::part::{DownloadError, Origin, Part};
use crate::place::{Expectation, Verification};
use crate::progress::{Progress, Report};
use crate::space;

/// Why an attempt ended without the file.
pub(crate) enum Stop {
    /// A retry is pointless.
    Final(Failure),
    /// The partial download does not match the server's file.
    StartOver(String),
    /// The transfer was interrupted after `done` bytes.
    Broken { reason: String, done: u64 },
    /// The server is busy or failing, maybe temporarily; it may say when to retry.
    Busy {
        reason: String,
        wait: Option<Duration>,
    },
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Final(Failure::Source(reason))
    }
}

impl From<CacheError> for Stop {
    fn from(error: CacheError) -> Self {
        Self::Final(Failure::Fatal(error))
    }
}

/// A file of the hub and its destination.
pub(crate) struct Transfer<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) url: &'a Url,
    pub(crate) expected: &'a Expectation,
    pub(crate) part: &'a Part,
}

impl Transfer<'_> {
    /// Requests what is missing, and receives it.
    pub(crate) fn attempt(&self, report: Report<'_>) -> Result<Verification, Stop> {
        let (left, version) = self.part.left(self.url.as_str(), self.expected);
        let is_whole = left > 0 && self.expected.bytes == Some(left);
        let mut offset = left;
        let mut total = self.expected.bytes;
        let mut body = None;
        let mut origin = Origin {
            url: self.url.to_string(),
            version,
        };
        let mut checksum = None;
        // A partial download of full length was complete when the process died.
        if !is_whole {
            let token = self.hub.token.as_ref();
            let answer = http::get(self.url, left, token, &self.hub.patience)
                .map_err(|reason| Stop::Broken { reason, done: 0 })?;
            let is_other = match answer.status {
                206 => answer.version != origin.version,
                // Many servers send no version with an error.
                416 => answer.version.is_some() && answer.version != origin.version,
                _ => false,
            };
            if is_other {
                return Err(Stop::StartOver(
                    "the file on the server has changed".to_owned(),
                ));
            }
            offset = self.accepted(&answer, left)?;
            total = self.announced(&answer, offset)?.or(total);
            origin.version = answer.version;
            checksum = answer.hub_version.filter(|version| is_sha256(version));
            body = (answer.status != 416).then_some(answer.body);
        }
        if let Some(total) = total {
            space::ensure(self.part.directory(), total.saturating_sub(offset), offset)?;
        }
        let mut arriving = self.part.open(offset, &origin, report)?;
        if let Some(mut body) = body {
            report(Progress::Started {
                resumed: offset,
                total,
            });
            arriving
                .take(&mut body, total, self.part, report)
                .map_err(|broken| match broken {
                    DownloadError::Ours(error) => error.into(),
                    DownloadError::Source(error) => Stop::Broken {
                        reason: format!(
                            "the transfer was cut off after {} bytes: {error}",
                            arriving.done
                        ),
                        done: arriving.done,
                    },
                })?;
        }
        let verified = self.part.verify(arriving, self.expected, checksum);
        verified.map_err(|failure| match failure {
            // The earlier partial download may be wrong, not what the server sent.
            Failure::Source(reason) if offset > 0 => Stop::StartOver(reason),
            failure => Stop::Final(failure),
        })
    }

    /// The offset at which the answer's bytes start.
    fn accepted(&self, answer: &Answer, left: u64) -> Result<u64, Stop> {
        let range = answer.range;
        match answer.status {
            200 => Ok(0),
            206 if range.and_then(|range| range.start) == Some(left) => Ok(left),
            416 if left > 0 && range.and_then(|range| range.total) == Some(left) => Ok(left),
            206 | 416 if left > 0 => {
                let reason = "the server has other bytes than were asked for";
                Err(Stop::StartOver(reason.to_owned()))
            }
            status @ (401 | 403) => Err(Stop::Final(Failure::Denied(AccessDenied {
                status,
                had_token: self.hub.token.is_some(),
            }))),
            404 => Err("the server has no such file (404)".to_owned().into()),
            status => {
                let reason = format!("the server answers {status}");
                Err(if http::is_passing(status) {
                    let wait = answer.retry_after;
                    Stop::Busy { reason, wait }
                } else {
                    reason.into()
                })
            }
        }
    }

    /// The size of the whole file on the server.
    fn announced(&self, answer: &Answer, offset: u64) -> Result<Option<u64>, Stop> {
        let in_range = answer.range.and_then(|range| range.total);
        let by_length = answer
            .content_length
            .filter(|_| answer.status != 416)
            .map(|length| offset.saturating_add(length));
        let announced = in_range.or(by_length).or(answer.linked_size);
        match (announced, self.expected.bytes) {
            (Some(found), Some(bytes)) if found != bytes => {
                Err(format!("wrong length: expected {bytes} bytes, the server has {found}").into())
            }
            _ => Ok(announced),
        }
    }
}
