//! A hub of datasets and models on loopback: the part of the Hugging Face hub that we use, after its
//! public documentation. Files are not sent by the hub itself: it redirects to a store on another
//! port.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::web::{Asked, Reply, Served, Server};

/// The branch with the Parquet copies that the hub makes itself.
pub const CONVERTED: &str = "refs/convert/parquet";

/// What one repository has: the content of each file by revision and path.
pub type Files = BTreeMap<(String, String), Vec<u8>>;

/// How the hub behaves.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// Statuses that come first, whatever is asked of the hub.
    pub first: Vec<u16>,
    /// The store cuts its first answers after these numbers of bytes.
    pub cuts: Vec<usize>,
    /// Only who has this token may have the files.
    pub token: Option<String>,
    /// Entries of a page of a list; `None` puts all into one.
    pub page: Option<usize>,
    /// The hub says nothing about sizes and checksums.
    pub hides_checksums: bool,
}

/// The hub and its store.
pub struct MimicHub {
    hub: Server,
    store: Server,
}

struct State {
    repositories: BTreeMap<String, Files>,
    manners: Mutex<Manners>,
}

impl MimicHub {
    /// A hub with these repositories.
    pub fn start(
        repositories: impl IntoIterator<Item = (String, Files)>,
        manners: Manners,
    ) -> Self {
        let state = Arc::new(State {
            repositories: repositories.into_iter().collect(),
            manners: Mutex::new(manners),
        });
        let stored = Arc::clone(&state);
        let store = Server::start(move |asked, _| stored.store(asked));
        let target = store.url();
        let hub = Server::start(move |asked, _| state.hub(asked, &target));
        Self { hub, store }
    }

    /// A hub with one repository that has the Parquet copy of one split.
    pub fn with_split(repository: &str, config: &str, split: &str, content: Vec<u8>) -> Self {
        let files = [converted(config, split, content)].into();
        Self::start([(repository.to_owned(), files)], Manners::default())
    }

    /// What `HF_ENDPOINT` is to be.
    pub fn url(&self) -> String {
        self.hub.url()
    }

    /// What the hub was asked.
    pub fn asked(&self) -> Vec<Asked> {
        self.hub.asked()
    }

    /// What the store was asked.
    pub fn asked_of_store(&self) -> Vec<Asked> {
        self.store.asked()
    }
}

/// The Parquet copy of a split, as [`Files`] have it.
pub fn converted(config: &str, split: &str, content: Vec<u8>) -> ((String, String), Vec<u8>) {
    let path = format!("{config}/{split}/0000.parquet");
    ((CONVERTED.to_owned(), path), content)
}

impl State {
    fn hub(&self, asked: &Asked, store: &str) -> Reply {
        let mut manners = self.manners.lock().unwrap();
        if !manners.first.is_empty() {
            let status = manners.first.remove(0);
            return Reply::Status(status, vec!["Retry-After: 0".to_owned()]);
        }
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let steps: Vec<_> = path.split('/').skip(1).map(decoded).collect();
        let steps: Vec<_> = steps.iter().map(String::as_str).collect();
        match steps[..] {
            [
                "api",
                "datasets" | "models",
                owner,
                name,
                "tree",
                revision,
                ref path @ ..,
            ] => {
                let repository = format!("{owner}/{name}");
                self.tree(&repository, revision, &path.join("/"), query, &manners)
            }
            ["datasets", owner, name, "resolve", revision, ref path @ ..]
            | [owner, name, "resolve", revision, ref path @ ..] => {
                let file = (&*format!("{owner}/{name}"), revision, &*path.join("/"));
                self.resolve(file, asked, &manners, store)
            }
            _ => refused(404, "RepoNotFound"),
        }
    }

    fn resolve(
        &self,
        (repository, revision, path): (&str, &str, &str),
        asked: &Asked,
        manners: &Manners,
        store: &str,
    ) -> Reply {
        let may = manners
            .token
            .as_ref()
            .is_none_or(|token| asked.authorization.as_deref() == Some(&format!("Bearer {token}")));
        if !may {
            return refused(401, "GatedRepo");
        }
        let Some(content) = self.file(repository, revision, path) else {
            return refused(404, "EntryNotFound");
        };
        let target = format!("Location: {store}/{repository}/{revision}:{path}?signed=1");
        let mut head = vec![target];
        if !manners.hides_checksums {
            head.push(format!("X-Linked-Size: {}", content.len()));
        }
        Reply::Status(302, head)
    }

    fn store(&self, asked: &Asked) -> Reply {
        let path = asked.path.trim_start_matches('/');
        let path = path.strip_suffix("?signed=1").unwrap_or_default();
        let (owner, rest) = path.split_once('/').unwrap_or_default();
        let (name, rest) = rest.split_once('/').unwrap_or_default();
        let (revision, path) = rest.split_once(':').unwrap_or_default();
        let repository = format!("{owner}/{name}");
        let Some(content) = self.file(&repository, revision, path) else {
            return Reply::Status(404, vec![]);
        };
        let served = Served::of(content).header("ETag: \"of-the-store\"");
        let mut manners = self.manners.lock().unwrap();
        Reply::File(if manners.cuts.is_empty() {
            served
        } else {
            let cut = manners.cuts.remove(0);
            served.cut_after(cut)
        })
    }

    fn file(&self, repository: &str, revision: &str, path: &str) -> Option<&[u8]> {
        let files = self.repositories.get(repository)?;
        let content = files.get(&(revision.to_owned(), path.to_owned()))?;
        Some(content)
    }

    fn tree(
        &self,
        repository: &str,
        revision: &str,
        path: &str,
        query: &str,
        manners: &Manners,
    ) -> Reply {
        let Some(files) = self.repositories.get(repository) else {
            return refused(404, "RepoNotFound");
        };
        if !files.keys().any(|(known, _)| known == revision) {
            return refused(404, "RevisionNotFound");
        }
        let inside = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let below = files
            .iter()
            .filter(|((known, _), _)| known == revision)
            .filter_map(|((_, path), content)| Some((path.strip_prefix(&inside)?, path, content)));
        let is_deep = query.contains("recursive=true");
        let mut directories = BTreeSet::new();
        let mut entries = Vec::new();
        for (rest, path, content) in below {
            if let Some((step, _)) = rest.split_once('/') {
                directories.insert(format!("{inside}{step}"));
            }
            if is_deep || !rest.contains('/') {
                entries.push(listed(path, content, manners.hides_checksums));
            }
        }
        entries.extend(
            directories
                .into_iter()
                .map(|path| json!({"type": "directory", "oid": "00", "size": 0, "path": path})),
        );
        if entries.is_empty() {
            return refused(404, "EntryNotFound");
        }
        page(&entries, query, manners.page)
    }
}

fn listed(path: &str, content: &[u8], hides_checksums: bool) -> Value {
    if hides_checksums {
        return json!({"type": "file", "oid": "00", "path": path});
    }
    let size = content.len();
    json!({
        "type": "file", "oid": "00", "size": size, "path": path,
        "lfs": {"oid": sha256(content), "size": size, "pointerSize": 131},
    })
}

fn page(entries: &[Value], query: &str, size: Option<usize>) -> Reply {
    let cursor = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="));
    let first: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
    let last = size.map_or(entries.len(), |size| entries.len().min(first + size));
    let text = Value::from(entries[first..last].to_vec()).to_string();
    let served = Served::of(text.as_bytes()).header("Content-Type: application/json");
    Reply::File(if last == entries.len() {
        served
    } else {
        let query = query.split('&').find(|pair| !pair.starts_with("cursor="));
        let query = query.unwrap_or_default();
        // As the hub does, with its own host: a mirror's clients must not go there.
        served.header(format!(
            "Link: <http://hub.invalid/elsewhere?{query}&cursor={last}>; rel=\"next\""
        ))
    })
}

fn refused(status: u16, code: &str) -> Reply {
    Reply::Status(status, vec![format!("X-Error-Code: {code}")])
}

fn decoded(step: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = step.as_bytes();
    while let [byte, more @ ..] = rest {
        let hex = (*byte == b'%').then(|| more.get(..2)).flatten();
        let value = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(value.unwrap_or(*byte));
        rest = &more[if value.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8(bytes).unwrap()
}

fn sha256(content: &[u8]) -> String {
    use sha2::Digest as _;
    format!("{:x}", sha2::Sha256::digest(content))
}
