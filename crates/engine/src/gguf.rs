//! GGUF files: metadata, locations of tensors, and their bytes.
//!
//! A model file is untrusted. Every count and length is checked against the remaining bytes before
//! memory is allocated, so a broken header costs an error, not memory.

mod parse;
mod tensor;
mod value;

pub use tensor::{Kind, TensorInfo};
pub use value::Value;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// What is wrong with a model file.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// The file is unreadable.
    #[error("cannot read it")]
    Read(#[from] std::io::Error),
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file has another format.
    #[error("it is not a GGUF file: it starts with {0:02x?}, not with `GGUF`")]
    NotGguf([u8; 4]),
    /// The version of the format is not supported.
    #[error("GGUF version {0} is not supported (2 and 3 are)")]
    Version(u32),
    /// The file ends too early.
    #[error("it ends too early: {what} needs {needed} bytes, but only {left} are left")]
    Truncated {
        /// What was being read.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes left.
        left: u64,
    },
    /// The header is inconsistent.
    #[error("its header is broken: {0}")]
    Broken(String),
    /// A required key is missing.
    #[error("it has no `{0}`")]
    Missing(String),
    /// A key has an unusable value.
    #[error("its `{key}` is {found}; expected {wanted}")]
    Unusable {
        /// The key.
        key: String,
        /// The value in the file.
        found: String,
        /// The expected value.
        wanted: String,
    },
    /// The quantisation of a tensor is not supported.
    #[error(
        "its tensor `{tensor}` is quantised as {kind}, which is not supported (supported: {known})"
    )]
    Quantisation {
        /// The tensor.
        tensor: String,
        /// Its quantisation.
        kind: String,
        /// The supported quantisations.
        known: String,
    },
}

/// An open GGUF file.
#[derive(Debug)]
pub struct Gguf<R> {
    source: R,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, TensorInfo>,
}

impl Gguf<BufReader<File>> {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        Self::read(BufReader::with_capacity(1 << 20, File::open(path)?))
    }
}

impl<R: Read + Seek> Gguf<R> {
    /// Reads the header of `source`.
    pub fn read(mut source: R) -> Result<Self, GgufError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.rewind()?;
        let (metadata, tensors) = parse::header(&mut source, length)?;
        Ok(Self {
            source,
            metadata,
            tensors,
        })
    }

    /// Reads the metadata of `source` without its tensors, and the offset of its end. A tokenizer
    /// needs no weights, and their quantisation may be unsupported.
    pub fn read_metadata(mut source: R) -> Result<(Self, u64), GgufError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.rewind()?;
        let (metadata, bytes) = parse::metadata(&mut source, length)?;
        let file = Self {
            source,
            metadata,
            tensors: BTreeMap::new(),
        };
        Ok((file, bytes))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// A text; `None` if the key is missing.
    pub fn text(&self, key: &str) -> Result<Option<&str>, GgufError> {
        self.typed(key, "a text", Value::as_text)
    }

    /// A non-negative integer; `None` if the key is missing.
    pub fn whole(&self, key: &str) -> Result<Option<u64>, GgufError> {
        self.typed(key, "a whole number", Value::as_whole)
    }

    /// A number; `None` if the key is missing.
    pub fn number(&self, key: &str) -> Result<Option<f64>, GgufError> {
        self.typed(key, "a number", Value::as_number)
    }

    /// A boolean; `None` if the key is missing.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, GgufError> {
        self.typed(key, "true or false", Value::as_flag)
    }

    /// A list of texts, moved out of the file: vocabularies are large.
    pub fn take_texts(&mut self, key: &str) -> Result<Option<Vec<String>>, GgufError> {
        match self.metadata.remove(key) {
            None => Ok(None),
            Some(Value::Texts(texts)) => Ok(Some(texts)),
            Some(other) => Err(unusable(key, &other, "a list of texts")),
        }
    }

    /// A list of numbers, moved out of the file.
    pub fn take_numbers(&mut self, key: &str) -> Result<Option<Vec<f64>>, GgufError> {
        match self.metadata.remove(key) {
            None => Ok(None),
            Some(Value::Numbers(numbers)) => Ok(Some(numbers)),
            Some(other) => Err(unusable(key, &other, "a list of numbers")),
        }
    }

    fn typed<'a, T>(
        &'a self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, GgufError> {
        self.metadata
            .get(key)
            .map(|value| read(value).ok_or_else(|| unusable(key, value, wanted)))
            .transpose()
    }

    /// All tensors.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.values()
    }

    /// A tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// The bytes of a tensor of this file.
    pub fn bytes(&mut self, tensor: &TensorInfo) -> Result<Vec<u8>, GgufError> {
        let length = usize::try_from(tensor.bytes)
            .map_err(|_| GgufError::Broken(format!("`{}` is too large", tensor.name)))?;
        self.source.seek(SeekFrom::Start(tensor.start))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(length)
            .map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        bytes.resize(length, 0);
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn unusable(key: &str, found: &Value, wanted: &str) -> GgufError {
    GgufError::Unusable {
        key: key.to_owned(),
        found: found.describe(),
        wanted: wanted.to_owned(),
    }
}
