//! `hf:owner/name[@revision][/path]`: what a person writes for something on the hub.

use crate::name::{is_name, is_step};

/// How a reference to the hub begins.
pub const PREFIX: &str = "hf:";
/// The revision where none is named.
pub const MAIN: &str = "main";

/// A repository of the hub, or a file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `owner/name`.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// The way in the repository, with `/`; `None` for all of it.
    pub path: Option<String>,
}

/// What keeps a text from being a reference. The caller knows what was to be named, and says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceFault {
    /// The owner or the name is missing.
    Missing,
    /// The owner or the name is no [name](is_name).
    Name,
    /// The revision is no [name](is_name).
    Revision,
    /// The path leads nowhere in a repository.
    Path,
}

impl Reference {
    /// The reference in `text`, which comes without its [prefix](PREFIX).
    pub fn parse(text: &str) -> Result<Self, ReferenceFault> {
        let mut pieces = text.splitn(3, '/');
        let (Some(owner), Some(name)) = (pieces.next(), pieces.next()) else {
            return Err(ReferenceFault::Missing);
        };
        let path = pieces.next();
        let (name, revision) = name.split_once('@').unwrap_or((name, MAIN));
        if !is_name(owner) || !is_name(name) {
            return Err(ReferenceFault::Name);
        }
        if !is_name(revision) {
            return Err(ReferenceFault::Revision);
        }
        if path.is_some_and(|path| !path.split('/').all(is_step)) {
            return Err(ReferenceFault::Path);
        }
        Ok(Self {
            repository: format!("{owner}/{name}"),
            revision: revision.to_owned(),
            path: path.map(str::to_owned),
        })
    }
}
