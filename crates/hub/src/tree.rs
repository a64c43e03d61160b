//! Lists the files of a repository.
//!
//! Uses the hub's tree, not its list of Parquet files: the URLs of that list lead to the hub itself
//! whatever `HF_ENDPOINT` says, and the tree has sizes and checksums.

use std::io::Read as _;

use ipw_core::text::printable;
use serde_json::Value;
use url::Url;

use crate::error::{AccessDenied, Failure};
use crate::http::{self, Answer};
use crate::hub::{Hub, Remote};
use crate::progress::{Progress, Report};

/// Maximum size of a page of the list.
const LONGEST: u64 = 64 << 20;
/// Maximum number of pages, of a thousand entries each.
const MOST_PAGES: usize = 100;

/// A file or a directory of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path in the repository, with `/`.
    pub path: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Size; `None` if the hub does not say.
    pub bytes: Option<u64>,
    /// SHA-256; the hub has one for large files only.
    pub sha256: Option<String>,
}

/// What does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    /// The repository.
    Repository,
    /// The revision.
    Revision,
    /// The path in it.
    Path,
}

/// Why the hub does not list a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Network access is off.
    Offline,
    /// Access is denied.
    Denied(AccessDenied),
    /// It does not exist.
    Missing(MissingPart),
    /// The hub is unreachable or busy, or its answer is malformed.
    Other(String),
}

impl Refusal {
    /// Converts to a failed fetch. `what` names the kind of thing that was requested.
    pub fn into_failure(self, what: &str, revision: &str) -> Failure {
        Failure::Source(match self {
            Self::Denied(denied) => return Failure::Denied(denied),
            Self::Offline => "`HF_HUB_OFFLINE` is set, and it is not in the cache".to_owned(),
            Self::Missing(MissingPart::Revision) => {
                format!("it has no revision `{}`", printable(revision))
            }
            Self::Missing(_) => format!("the server has no such {what} (404)"),
            Self::Other(reason) => reason,
        })
    }
}

impl Hub {
    /// The files and directories in `remote`; with `deep`, also those below.
    pub fn tree(
        &self,
        remote: &Remote<'_>,
        deep: bool,
        report: Report<'_>,
    ) -> Result<Vec<Entry>, Refusal> {
        if self.is_offline {
            return Err(Refusal::Offline);
        }
        let url = self.url(remote.kind.api(), remote, &["tree", remote.revision]);
        let mut url = url.map_err(Refusal::Other)?;
        if deep {
            url.set_query(Some("recursive=true"));
        }
        let mut entries = Vec::new();
        for _ in 0..MOST_PAGES {
            let mut answer = self.ask(&url, report)?;
            let mut text = Vec::new();
            let read = (&mut answer.body).take(LONGEST).read_to_end(&mut text);
            read.map_err(|error| {
                Refusal::Other(format!("the list of files was cut off: {error}"))
            })?;
            entries.extend(parse(&text).ok_or_else(|| {
                Refusal::Other("the server's answer is not a list of files".to_owned())
            })?);
            let next = answer.next.and_then(|next| url.join(&next).ok());
            match next.as_ref().and_then(Url::query) {
                // Only the query is taken over: a token must go to the endpoint only.
                Some(query) => url.set_query(Some(query)),
                None => return Ok(entries),
            }
        }
        let reason = "the list of files does not end";
        Err(Refusal::Other(reason.to_owned()))
    }

    fn ask(&self, url: &Url, report: Report<'_>) -> Result<Answer, Refusal> {
        let mut retries = self.patience.retries;
        loop {
            let answer = http::get(url, 0, self.token.as_ref(), &self.patience);
            let answer = answer.map_err(Refusal::Other)?;
            match answer.status {
                200 => return Ok(answer),
                status @ (401 | 403) => {
                    let had_token = self.token.is_some();
                    return Err(Refusal::Denied(AccessDenied { status, had_token }));
                }
                404 => return Err(Refusal::Missing(missing(answer.error_code.as_deref()))),
                status => {
                    let reason = format!("the server answers {status}");
                    if retries == 0 || !http::is_passing(status) {
                        return Err(Refusal::Other(reason));
                    }
                    retries -= 1;
                    report(Progress::Again { reason });
                    self.patience.wait(answer.retry_after);
                }
            }
        }
    }
}

fn missing(code: Option<&str>) -> MissingPart {
    match code {
        Some("RepoNotFound") => MissingPart::Repository,
        Some("RevisionNotFound") => MissingPart::Revision,
        _ => MissingPart::Path,
    }
}

fn parse(text: &[u8]) -> Option<Vec<Entry>> {
    let list: Value = serde_json::from_slice(text).ok()?;
    list.as_array()?.iter().map(entry).collect()
}

fn entry(value: &Value) -> Option<Entry> {
    let path = value["path"].as_str()?;
    let large = &value["lfs"];
    let sha256 = large["oid"].as_str().or_else(|| large["sha256"].as_str());
    let sha256 = sha256.filter(|text| crate::digest::is_sha256(text));
    Some(Entry {
        path: path.to_owned(),
        is_directory: value["type"].as_str()? == "directory",
        bytes: large["size"].as_u64().or_else(|| value["size"].as_u64()),
        sha256: sha256.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_the_hub_writes_it() {
        let oid = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let text = format!(
            r#"[{{"type":"directory","oid":"ab","size":0,"path":"default"}},
                {{"type":"file","oid":"cd","size":133,"path":"a.csv"}},
                {{"type":"file","oid":"ef","size":9,"lfs":{{"oid":"{oid}","size":9,"pointerSize":130}},
                  "xetHash":"00","path":"default/test/0000.parquet"}}]"#
        );
        let found = parse(text.as_bytes()).unwrap();
        assert!(found[0].is_directory && !found[1].is_directory);
        assert_eq!(
            (found[1].bytes, found[1].sha256.as_deref()),
            (Some(133), None)
        );
        assert_eq!(
            (found[2].bytes, found[2].sha256.as_deref()),
            (Some(9), Some(oid))
        );
        assert_eq!(parse(b"{}"), None);
        assert_eq!(parse(b"<html>"), None);
        assert_eq!(parse(b"[{}]"), None);
    }
}
