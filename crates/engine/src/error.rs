//! Why a model does not load.

use crate::gguf::GgufError;
use crate::template::TemplateError;
use crate::tokenizer::TokenizerError;

/// Why a model does not load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is unreadable or malformed.
    #[error(transparent)]
    File(#[from] GgufError),
    /// The model family is not supported.
    #[error("its architecture is `{found}`; the embedded engine supports {known}")]
    Architecture {
        /// The architecture in the file.
        found: String,
        /// The supported architectures.
        known: String,
    },
    /// A feature of the model is not supported.
    #[error("it needs {0}, which the embedded engine does not support")]
    Unsupported(String),
    /// A weight is not a finite number.
    #[error("tensor `{0}` has weights that are not finite: the file is damaged")]
    NotFinite(String),
    /// The vocabulary is invalid.
    #[error("its vocabulary cannot be used")]
    Tokenizer(#[from] TokenizerError),
    /// The chat template is invalid.
    #[error("its chat template cannot be used")]
    Template(#[from] TemplateError),
    /// There is not enough memory.
    #[error("it needs {} MiB of memory and {} MiB are available", needed >> 20, available >> 20)]
    Memory {
        /// Bytes needed when loaded.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
}
