//! GGUF files, version 3, little-endian, written as the caller says: also wrong ones.
//!
//! Nothing is checked here, because half of the tests that use it want a broken file.

/// A value in the metadata, of every type that GGUF knows.
#[derive(Debug, Clone, PartialEq)]
pub enum GgufValue {
    /// Type 0.
    U8(u8),
    /// Type 1.
    I8(i8),
    /// Type 2.
    U16(u16),
    /// Type 3.
    I16(i16),
    /// Type 4.
    U32(u32),
    /// Type 5.
    I32(i32),
    /// Type 6.
    F32(f32),
    /// Type 7.
    Bool(bool),
    /// Type 8.
    Text(String),
    /// Type 9; the type of its elements is that of the first, or text for an empty array.
    Array(Vec<GgufValue>),
    /// Type 10.
    U64(u64),
    /// Type 11.
    I64(i64),
    /// Type 12.
    F64(f64),
}

impl GgufValue {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A list of texts.
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Array(texts.into_iter().map(Self::text).collect())
    }

    fn number(&self) -> u32 {
        match self {
            Self::U8(_) => 0,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
            Self::I16(_) => 3,
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Bool(_) => 7,
            Self::Text(_) => 8,
            Self::Array(_) => 9,
            Self::U64(_) => 10,
            Self::I64(_) => 11,
            Self::F64(_) => 12,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::U8(value) => out.push(*value),
            Self::I8(value) => out.extend(value.to_le_bytes()),
            Self::U16(value) => out.extend(value.to_le_bytes()),
            Self::I16(value) => out.extend(value.to_le_bytes()),
            Self::U32(value) => out.extend(value.to_le_bytes()),
            Self::I32(value) => out.extend(value.to_le_bytes()),
            Self::F32(value) => out.extend(value.to_le_bytes()),
            Self::Bool(value) => out.push(u8::from(*value)),
            Self::Text(value) => write_text(value, out),
            Self::Array(items) => {
                let of = items.first().map_or(8, Self::number);
                out.extend(of.to_le_bytes());
                out.extend((items.len() as u64).to_le_bytes());
                for item in items {
                    item.write(out);
                }
            }
            Self::U64(value) => out.extend(value.to_le_bytes()),
            Self::I64(value) => out.extend(value.to_le_bytes()),
            Self::F64(value) => out.extend(value.to_le_bytes()),
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// A tensor: what the header says of it, and its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufTensor {
    /// Its name.
    pub name: String,
    /// Its dimensions in ggml's order: the length of a row first.
    pub dimensions: Vec<u64>,
    /// The number of its type in ggml.
    pub kind: u32,
    /// Where the header says that it is; `None` is where it really is.
    pub offset: Option<u64>,
    /// What is there.
    pub data: Vec<u8>,
}

/// A GGUF file in the making; every field may be changed before it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufBuilder {
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The version.
    pub version: u32,
    /// Tensors begin at multiples of it; it is not written by itself as `general.alignment`.
    pub alignment: usize,
    /// The metadata, in the order of the file.
    pub metadata: Vec<(String, GgufValue)>,
    /// The tensors, in the order of the file.
    pub tensors: Vec<GgufTensor>,
    /// How many keys the header claims; `None` is the truth.
    pub claimed_metadata: Option<u64>,
    /// How many tensors the header claims; `None` is the truth.
    pub claimed_tensors: Option<u64>,
}

impl Default for GgufBuilder {
    fn default() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            alignment: 32,
            metadata: Vec::new(),
            tensors: Vec::new(),
            claimed_metadata: None,
            claimed_tensors: None,
        }
    }
}

impl GgufBuilder {
    /// Sets a key, in place if it is there already.
    pub fn set(&mut self, key: impl Into<String>, value: GgufValue) -> &mut Self {
        let key = key.into();
        match self.metadata.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.metadata.push((key, value)),
        }
        self
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> &mut Self {
        self.metadata.retain(|(known, _)| known != key);
        self
    }

    /// Adds a tensor at the end.
    pub fn tensor(
        &mut self,
        name: impl Into<String>,
        dimensions: &[u64],
        kind: u32,
        data: Vec<u8>,
    ) -> &mut Self {
        self.tensors.push(GgufTensor {
            name: name.into(),
            dimensions: dimensions.to_vec(),
            kind,
            offset: None,
            data,
        });
        self
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let weights: usize = self.tensors.iter().map(|tensor| tensor.data.len()).sum();
        let mut out = Vec::with_capacity(weights + (1 << 14));
        out.extend(self.magic);
        out.extend(self.version.to_le_bytes());
        let tensors = self.claimed_tensors.unwrap_or(self.tensors.len() as u64);
        out.extend(tensors.to_le_bytes());
        let metadata = self.claimed_metadata.unwrap_or(self.metadata.len() as u64);
        out.extend(metadata.to_le_bytes());
        for (key, value) in &self.metadata {
            write_text(key, &mut out);
            out.extend(value.number().to_le_bytes());
            value.write(&mut out);
        }
        let mut offset = 0;
        for tensor in &self.tensors {
            write_tensor_header(tensor, offset, &mut out);
            offset += self.aligned(tensor.data.len()) as u64;
        }
        for tensor in &self.tensors {
            out.resize(self.aligned(out.len()), 0);
            out.extend(&tensor.data);
        }
        out.resize(self.aligned(out.len()), 0);
        out
    }

    fn aligned(&self, length: usize) -> usize {
        length.next_multiple_of(self.alignment.max(1))
    }
}

fn write_tensor_header(tensor: &GgufTensor, offset: u64, out: &mut Vec<u8>) {
    write_text(&tensor.name, out);
    let dimensions = u32::try_from(tensor.dimensions.len()).unwrap_or(u32::MAX);
    out.extend(dimensions.to_le_bytes());
    for dimension in &tensor.dimensions {
        out.extend(dimension.to_le_bytes());
    }
    out.extend(tensor.kind.to_le_bytes());
    out.extend(tensor.offset.unwrap_or(offset).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_file_is_the_bytes_of_the_specification() {
        let mut builder = GgufBuilder::default();
        builder.set("k", GgufValue::Array(vec![GgufValue::U16(258)]));
        builder.tensor("t", &[2], 0, vec![7; 8]);
        let mut expected = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\x02\x01");
        expected.extend(b"\x01\0\0\0\0\0\0\0t\x01\0\0\0\x02\0\0\0\0\0\0\0");
        expected.extend(b"\0\0\0\0\0\0\0\0\0\0\0\0");
        expected.resize(expected.len().next_multiple_of(32), 0);
        expected.extend([7; 8]);
        expected.resize(expected.len().next_multiple_of(32), 0);
        assert_eq!(builder.bytes(), expected);
    }

    #[test]
    fn a_key_is_replaced_where_it_stands_and_can_be_taken_out() {
        let mut builder = GgufBuilder::default();
        builder.set("a", GgufValue::U8(1));
        builder.set("b", GgufValue::U8(2));
        builder.set("a", GgufValue::I8(-1));
        assert_eq!(builder.metadata[0], ("a".to_owned(), GgufValue::I8(-1)));
        assert_eq!(builder.remove("a").metadata.len(), 1);
    }
}
