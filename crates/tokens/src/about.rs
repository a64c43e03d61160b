//! Describes the tokenizer, so that a count can be traced to it.

use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A tokenizer, for the run's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// The reference as given.
    pub from: String,
    /// The kind of file.
    pub kind: Kind,
    /// Number of tokens in the vocabulary.
    pub vocabulary: u64,
    /// The file that contains the chat template; `None` without one. Then the input of a chat
    /// is not counted.
    pub chat_template: Option<String>,
    /// All files that were read.
    pub files: Vec<File>,
}

/// The kind of file that a tokenizer was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// `tokenizer.json`, the format of Hugging Face's `tokenizers`.
    #[serde(rename = "tokenizer.json")]
    Json,
    /// A GGUF model file.
    #[serde(rename = "gguf")]
    Gguf,
}

/// A file that was read, or its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Bytes read from its start: the whole file, or for GGUF everything before the tensors.
    pub bytes: u64,
    /// SHA-256 of these bytes.
    pub sha256: String,
}

impl File {
    /// The record of these bytes.
    pub(crate) fn of(name: &str, content: &[u8]) -> Self {
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(content) {
            let _ = write!(sha256, "{byte:02x}");
        }
        Self {
            name: name.to_owned(),
            bytes: content.len() as u64,
            sha256,
        }
    }
}
