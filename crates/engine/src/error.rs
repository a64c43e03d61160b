//! Why a model does not load.

use crate::gguf::GgufError;
use crate::template::TemplateError;
use crate::tokenizer::TokenizerError;

/// Why a model does not load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] GgufError),
    /// A family of models that is not built.
    #[error("its architecture is `{found}`; the embedded engine runs {known}")]
    Architecture {
        /// What the file says.
        found: String,
        /// What would do.
        known: String,
    },
    /// A property of the model that is not built.
    #[error("it needs {0}, which the embedded engine does not have")]
    Unsupported(String),
    /// Weights that are not numbers.
    #[error("tensor `{0}` has weights that are not finite: the file is damaged")]
    NotFinite(String),
    /// Its vocabulary cannot be used.
    #[error("its vocabulary cannot be used")]
    Tokenizer(#[from] TokenizerError),
    /// Its chat template cannot be used.
    #[error("its chat template cannot be used")]
    Template(#[from] TemplateError),
    /// More memory than there is.
    #[error("it needs {} MiB of memory and {} MiB are available", needed >> 20, available >> 20)]
    Memory {
        /// Bytes that it takes when loaded.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
}
