//! References to tokenizers.

use std::path::PathBuf;

use ipw_hub::{PREFIX, ReferenceFault};

use crate::error::TokensError;

const REVISION: &str = "the revision is a branch, tag or commit without `/`";
const REPOSITORY: &str = "name a repository, not a file in it";

/// A tokenizer as the user refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A local file or directory. It need not exist yet.
    Path(PathBuf),
    /// A repository of the hub.
    Hub {
        /// `owner/name`.
        repository: String,
        /// A branch, tag or commit.
        revision: String,
    },
}

impl Reference {
    /// Parses `hf:owner/name[@revision]`; anything else is a path.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let Some(rest) = text.strip_prefix(PREFIX) else {
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let wrong = |why| TokensError::Reference {
            text: text.to_owned(),
            why,
        };
        let found = ipw_hub::Reference::parse(rest).map_err(|fault| match fault {
            ReferenceFault::Missing => wrong("the owner or the name is missing"),
            ReferenceFault::Name => {
                wrong("owner and name may contain only letters, digits, `-`, `_` and `.`")
            }
            ReferenceFault::Revision => wrong(REVISION),
            ReferenceFault::Path => wrong(REPOSITORY),
        })?;
        match found.path {
            Some(_) if rest.contains('@') => Err(wrong(REVISION)),
            Some(_) => Err(wrong(REPOSITORY)),
            None => Ok(Self::Hub {
                repository: found.repository,
                revision: found.revision,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_owner_name_and_revision_and_anything_else_a_path() {
        for (text, repository, revision) in [
            (
                "hf:HuggingFaceTB/SmolLM2-135M",
                "HuggingFaceTB/SmolLM2-135M",
                "main",
            ),
            ("hf:o/n@v1.0", "o/n", "v1.0"),
        ] {
            let hub = Reference::Hub {
                repository: repository.to_owned(),
                revision: revision.to_owned(),
            };
            assert_eq!(Reference::parse(text).unwrap(), hub);
        }
        for text in ["tokenizer.json", "./hf:odd", "a/b"] {
            assert_eq!(
                Reference::parse(text).unwrap(),
                Reference::Path(text.into())
            );
        }
    }

    #[test]
    fn a_reference_never_leads_out_of_the_cache() {
        for text in [
            "hf:",
            "hf:owner",
            "hf:/name",
            "hf:owner/",
            "hf:../name",
            "hf:owner/..",
            "hf:owner/name/tokenizer.json",
            "hf:owner/name@",
            "hf:owner/name@..",
            "hf:owner/name@refs/pr/1",
            "hf:ow ner/name",
            "hf:owner/na\u{1b}me",
        ] {
            let error = Reference::parse(text).unwrap_err();
            assert!(error.is_usage(), "{text}");
            assert!(error.to_string().contains("help: write `hf:"), "{error}");
        }
    }
}
