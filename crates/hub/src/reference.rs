//! `hf:owner/name[@revision][/path]`: references to the hub.

use crate::name::{is_name, is_step};

/// The prefix of a reference to the hub.
pub const PREFIX: &str = "hf:";
/// The default revision.
pub const MAIN: &str = "main";

/// A repository of the hub, or a file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `owner/name`.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// Path in the repository, with `/`; `None` for the whole repository.
    pub path: Option<String>,
}

/// Why a text is not a reference. The caller adds what the text should have named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceFault {
    /// The owner or the name is missing.
    Missing,
    /// The owner or the name has [invalid characters](is_name).
    Name,
    /// The revision has [invalid characters](is_name).
    Revision,
    /// The path is not a valid path in a repository.
    Path,
}

impl Reference {
    /// Parses `text`, which comes without its [prefix](PREFIX).
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
