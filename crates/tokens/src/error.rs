//! Why a tokenizer cannot be used.

use std::path::PathBuf;

use ipw_core::cache::CacheLocationError;
use ipw_core::setting::Setting;
use ipw_core::text::{printable, printable_path};
use ipw_hub::CacheError;

/// Why tokens cannot be counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// A malformed `hf:` reference.
    #[error(
        "`{}` names no repository of the hub: {why}\nhelp: write `hf:owner/name` or \
         `hf:owner/name@revision`",
        printable(text)
    )]
    Reference {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The path does not exist or has no tokenizer.
    #[error(
        "there is no tokenizer at `{}`: {what}\nhelp: give a `tokenizer.json`, a directory that \
         holds one, a GGUF file, or `hf:owner/name`",
        printable_path(path)
    )]
    NotThere {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file is not a tokenizer.
    #[error(
        "`{}` is not a tokenizer: {}\nhelp: give a `tokenizer.json` as Hugging Face's `tokenizers` \
         write it, or a GGUF file with its vocabulary",
        printable(name),
        printable(why)
    )]
    NotATokenizer {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The GGUF reader is not built in.
    #[error(
        "`{}` is a GGUF file, and this `ipw` was built without its engine, which reads them\nhelp: \
         build it with default features, or give a `tokenizer.json`",
        printable_path(path)
    )]
    NoEngine {
        /// The path as given.
        path: PathBuf,
    },
    /// The repository has no tokenizer.
    #[error(
        "`{repository}` has no `tokenizer.json` at `{revision}`\nhelp: name the repository that its \
         model was made from, or give a GGUF file of the model"
    )]
    NoTokenizer {
        /// Which repository.
        repository: String,
        /// In which revision.
        revision: String,
    },
    /// The hub denies access.
    #[error("cannot get the tokenizer of `{repository}`: access denied ({status})\nhelp: {help}")]
    Denied {
        /// The repository.
        repository: String,
        /// The HTTP status.
        status: u16,
        /// How to get access.
        help: String,
    },
    /// The download failed.
    #[error(
        "cannot get the tokenizer of `{repository}` from {}: {}\nhelp: go online, check the name, \
         or use a local file: `{}`",
        printable(host),
        printable(reason),
        Setting::Tokenizer.to("/path/to/tokenizer.json")
    )]
    Unfetched {
        /// The repository.
        repository: String,
        /// The host.
        host: String,
        /// The reason.
        reason: String,
    },
    /// There is no directory for a cache.
    #[error(transparent)]
    NoCache(#[from] CacheLocationError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl TokensError {
    /// Whether the request itself is invalid, whatever the state of disk and network.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Denied { .. } | Self::Unfetched { .. } | Self::Cache(_)
        )
    }
}
