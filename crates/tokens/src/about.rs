//! What counted, so that a number can be traced to it.

use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A tokenizer, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// As it was named.
    pub from: String,
    /// What it was read from.
    pub kind: Kind,
    /// How many tokens it knows.
    pub vocabulary: u64,
    /// The file that the chat template stands in; `None`: there is none, and the input of a chat
    /// is not counted.
    pub chat_template: Option<String>,
    /// All that was read.
    pub files: Vec<File>,
}

/// What a tokenizer was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// As Hugging Face's `tokenizers` write it.
    #[serde(rename = "tokenizer.json")]
    Json,
    /// A model file.
    #[serde(rename = "gguf")]
    Gguf,
}

/// A file, or its beginning, that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// How many bytes from its start: all of it, of a GGUF file what comes before its tensors.
    pub bytes: u64,
    /// Their checksum.
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
