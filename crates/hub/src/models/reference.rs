//! References to models.

use std::fmt;
use std::path::{Path, PathBuf};

use ipw_core::nearest::nearest;

use super::catalogue::{self, Entry};
use super::error::ModelError;
use crate::{Kind, MAIN, PREFIX, Reference, ReferenceFault, Remote};

const ENDING: &str = ".gguf";

/// A model as the user refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRef {
    /// A name in the catalogue.
    Named(&'static Entry),
    /// A local file of the user. It need not exist yet.
    File(PathBuf),
    /// A file of the hub.
    Hub(HubFile),
}

/// One file in a repository of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// `owner/repo`.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// The file's path in the repository, with `/`.
    pub path: String,
}

impl ModelRef {
    /// Parses a catalogue name, `hf:owner/repo[@revision]/file.gguf`, or a path.
    ///
    /// A path ends in `.gguf`, contains a separator, or is an existing file.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        if let Some(rest) = text.strip_prefix(PREFIX) {
            return HubFile::parse(rest)
                .map(Self::Hub)
                .map_err(|why| ModelError::HubReference {
                    text: text.to_owned(),
                    why,
                });
        }
        if let Some(entry) = catalogue::find(text) {
            return Ok(Self::Named(entry));
        }
        let looks_like_path = ends_in_gguf(text) || text.contains(std::path::is_separator);
        if looks_like_path || Path::new(text).is_file() {
            return Ok(Self::File(PathBuf::from(text)));
        }
        Err(ModelError::Unknown {
            name: text.to_owned(),
            nearest: nearest(text, catalogue::names()),
            known: catalogue::names().collect(),
        })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(entry) => formatter.write_str(entry.name),
            Self::File(path) => path.display().fmt(formatter),
            Self::Hub(file) => file.fmt(formatter),
        }
    }
}

impl HubFile {
    /// `owner/repo[@revision]/path`, without the prefix.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let found = Reference::parse(text).map_err(|fault| match fault {
            ReferenceFault::Missing => "a part is missing",
            ReferenceFault::Name => {
                "owner and repository may contain only letters, digits, `-`, `_` and `.`"
            }
            ReferenceFault::Revision => "the revision is a branch, tag or commit without `/`",
            ReferenceFault::Path => "the path is not valid in a repository",
        })?;
        let path = found.path.ok_or("a part is missing")?;
        if !ends_in_gguf(&path) {
            return Err("the file is not a `.gguf`");
        }
        Ok(Self {
            repository: found.repository,
            revision: found.revision,
            path,
        })
    }

    /// Parses a path below `owner/repo/revision/…` that [`Self::relative_path`] built.
    pub(crate) fn from_relative_path(steps: &[&str]) -> Option<Self> {
        let [owner, repository, revision, path @ ..] = steps else {
            return None;
        };
        Self::parse(&format!(
            "{owner}/{repository}@{revision}/{}",
            path.join("/")
        ))
        .ok()
    }

    /// The hub's address of the file.
    pub(crate) fn remote(&self) -> Remote<'_> {
        Remote {
            kind: Kind::Model,
            repository: &self.repository,
            revision: &self.revision,
            path: &self.path,
        }
    }

    /// Its path below the cache's directory for the hub.
    pub(crate) fn relative_path(&self) -> PathBuf {
        let steps = self.repository.split('/');
        steps
            .chain([self.revision.as_str()])
            .chain(self.path.split('/'))
            .collect()
    }
}

impl fmt::Display for HubFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.repository)?;
        if self.revision != MAIN {
            write!(formatter, "@{}", self.revision)?;
        }
        write!(formatter, "/{}", self.path)
    }
}

fn ends_in_gguf(text: &str) -> bool {
    let start = text.len().saturating_sub(ENDING.len());
    text.get(start..)
        .is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_name_a_path_or_a_file_of_the_hub() {
        let named = ModelRef::parse("smollm2-135m").unwrap();
        assert!(matches!(named, ModelRef::Named(entry) if entry.bytes == 98_362_432));
        for path in ["x.gguf", "X.GGUF", "./x", "/models/x.bin", "Cargo.toml"] {
            let parsed = ModelRef::parse(path).unwrap();
            assert_eq!(parsed, ModelRef::File(PathBuf::from(path)));
        }
        for text in [
            "hf:owner/repo/file.gguf",
            "hf:o.w/re_po-1@v1.0/sub dir/file.gguf",
        ] {
            let parsed = ModelRef::parse(text).unwrap();
            assert!(matches!(&parsed, ModelRef::Hub(_)));
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn the_revision_is_main_unless_told() {
        let Ok(ModelRef::Hub(file)) = ModelRef::parse("hf:owner/repo/a/b.gguf") else {
            panic!("it is a file of the hub");
        };
        assert_eq!((file.revision.as_str(), &*file.path), ("main", "a/b.gguf"));
        let Ok(ModelRef::Hub(file)) = ModelRef::parse("hf:owner/repo@abc/b.gguf") else {
            panic!("it is a file of the hub");
        };
        assert_eq!(file.revision, "abc");
    }

    #[test]
    fn a_reference_never_leads_out_of_the_cache() {
        for text in [
            "hf:",
            "hf:owner",
            "hf:owner/repo",
            "hf:owner/repo/",
            "hf:owner/repo/file.bin",
            "hf:../repo/file.gguf",
            "hf:owner/../file.gguf",
            "hf:owner/repo/../../file.gguf",
            "hf:owner/repo//file.gguf",
            "hf:owner/repo@/file.gguf",
            "hf:owner/repo@../file.gguf",
            "hf:owner/repo/a\\b.gguf",
            "hf:owner/repo/a\u{1b}.gguf",
            "hf:ow ner/repo/a.gguf",
        ] {
            let parsed = ModelRef::parse(text);
            assert!(
                matches!(parsed, Err(ModelError::HubReference { .. })),
                "{text}: {parsed:?}"
            );
        }
    }

    #[test]
    fn a_slip_gets_the_name_that_was_meant() {
        let error = ModelRef::parse("smolm2-135m").unwrap_err();
        assert!(error.is_usage());
        let text = error.to_string();
        assert!(text.contains("did you mean `smollm2-135m`?"), "{text}");
        for odd in ["", "zzz", "GGUF", "é"] {
            assert!(matches!(
                ModelRef::parse(odd),
                Err(ModelError::Unknown { nearest: None, .. })
            ));
        }
    }

    #[test]
    fn a_file_of_the_hub_is_known_by_where_it_lies() {
        let Ok(ModelRef::Hub(file)) = ModelRef::parse("hf:owner/repo@v1/a/b.gguf") else {
            panic!("it is a file of the hub");
        };
        let path = file.relative_path();
        let steps: Vec<_> = path.iter().map(|step| step.to_str().unwrap()).collect();
        assert_eq!(HubFile::from_relative_path(&steps), Some(file));
        assert_eq!(HubFile::from_relative_path(&steps[..3]), None);
    }
}
