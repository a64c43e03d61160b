//! GGUF files: metadata, where the tensors lie, and their bytes.
//!
//! A model file comes from anywhere. Every count and length is checked against the bytes that are
//! really there before anything is allocated for it, so a broken header costs an error and not
//! memory.

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
    /// It cannot be read.
    #[error("cannot read it")]
    Read(#[from] std::io::Error),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is something else.
    #[error("it is not a GGUF file: it begins with {0:02x?}, not with `GGUF`")]
    NotGguf([u8; 4]),
    /// A version of the format that this engine does not read.
    #[error("GGUF version {0} is not supported (2 and 3 are)")]
    Version(u32),
    /// It ends too early.
    #[error("it ends too early: {what} needs {needed} bytes, {left} are left")]
    Truncated {
        /// What was being read.
        what: String,
        /// How many bytes that takes.
        needed: u64,
        /// How many there are.
        left: u64,
    },
    /// Something in the header makes no sense.
    #[error("its header is broken: {0}")]
    Broken(String),
    /// A key that must be there is not.
    #[error("it has no `{0}`")]
    Missing(String),
    /// A key has a value that cannot be used.
    #[error("its `{key}` is {found}, not {wanted}")]
    Unusable {
        /// The key.
        key: String,
        /// What it says.
        found: String,
        /// What would do.
        wanted: String,
    },
    /// A tensor in a quantisation that this engine does not read.
    #[error(
        "its tensor `{tensor}` is quantised as {kind}, which is not supported (supported: {known})"
    )]
    Quantisation {
        /// The tensor.
        tensor: String,
        /// Its kind.
        kind: String,
        /// What would do.
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

    /// Reads the metadata of `source` and no tensors: who wants the tokenizer needs no weights, and
    /// they may be in a quantisation that this engine does not read. With it comes how many bytes
    /// from the start that is.
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

    /// A text.
    pub fn text(&self, key: &str) -> Result<Option<&str>, GgufError> {
        self.typed(key, "a text", Value::as_text)
    }

    /// A whole number that is not negative.
    pub fn whole(&self, key: &str) -> Result<Option<u64>, GgufError> {
        self.typed(key, "a whole number", Value::as_whole)
    }

    /// A number.
    pub fn number(&self, key: &str) -> Result<Option<f64>, GgufError> {
        self.typed(key, "a number", Value::as_number)
    }

    /// Yes or no.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, GgufError> {
        self.typed(key, "true or false", Value::as_flag)
    }

    /// A list of texts, taken out: vocabularies are large.
    pub fn take_texts(&mut self, key: &str) -> Result<Option<Vec<String>>, GgufError> {
        match self.metadata.remove(key) {
            None => Ok(None),
            Some(Value::Texts(texts)) => Ok(Some(texts)),
            Some(other) => Err(unusable(key, &other, "a list of texts")),
        }
    }

    /// A list of numbers, taken out.
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
