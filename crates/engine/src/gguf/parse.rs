//! Parses the header.

use std::collections::BTreeMap;
use std::io::Read;

use super::{GgufError, Kind, TensorInfo, Value};

/// Minimum size of a text: its length field.
const TEXT_BYTES: u64 = 8;
/// Minimum size of a tensor's entry: the length of its name, a count, a type and an offset.
const TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;
/// Minimum size of a metadata entry: the length of its key, a type and a byte.
const ENTRY_BYTES: u64 = 8 + 4 + 1;
const MOST_DIMENSIONS: u32 = 4;
/// Maximum nesting of lists: no file needs more, and each level costs stack.
const MOST_NESTED: u32 = 4;
const ALIGNMENT: u64 = 32;
const LARGEST_ALIGNMENT: u64 = 1 << 20;

type Metadata = BTreeMap<String, Value>;
type Header = (Metadata, BTreeMap<String, TensorInfo>);

/// The metadata alone, and the offset of its end in the file.
pub(super) fn metadata(source: &mut impl Read, length: u64) -> Result<(Metadata, u64), GgufError> {
    let mut input = Input {
        source,
        at: 0,
        length,
    };
    let (metadata, _) = entries(&mut input)?;
    Ok((metadata, input.at))
}

/// The metadata, and the number of tensors that follow.
fn entries<R: Read>(input: &mut Input<'_, R>) -> Result<(Metadata, u64), GgufError> {
    if input.length == 0 {
        return Err(GgufError::Empty);
    }
    let magic = input.array("the first four bytes")?;
    if magic != *b"GGUF" {
        return Err(GgufError::NotGguf(magic));
    }
    let version = u32::from_le_bytes(input.array("the version")?);
    if !(2..=3).contains(&version) {
        return Err(GgufError::Version(version));
    }
    let tensors = input.count("the tensors", TENSOR_BYTES)?;
    let entries = input.count("the metadata", ENTRY_BYTES)?;
    let mut metadata = BTreeMap::new();
    for _ in 0..entries {
        let key = input.text("a key")?;
        let kind = input.u32(&key)?;
        let value = input.value(kind, &key, 0)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(GgufError::Broken(format!("`{key}` occurs twice")));
        }
    }
    Ok((metadata, tensors))
}

pub(super) fn header(source: &mut impl Read, length: u64) -> Result<Header, GgufError> {
    let mut input = Input {
        source,
        at: 0,
        length,
    };
    let (metadata, tensors) = entries(&mut input)?;
    let alignment = alignment(&metadata)?;
    let mut found = Vec::new();
    for _ in 0..tensors {
        found.push(input.tensor()?);
    }
    let data = input
        .at
        .checked_next_multiple_of(alignment)
        .ok_or_else(|| GgufError::Broken("it is too long".to_owned()))?;
    let mut tensors = BTreeMap::new();
    for mut tensor in found {
        let end = data
            .checked_add(tensor.start)
            .and_then(|start| start.checked_add(tensor.bytes));
        tensor.start = data.saturating_add(tensor.start);
        if end.is_none_or(|end| end > length) {
            return Err(GgufError::Truncated {
                what: format!("tensor `{}`", tensor.name),
                needed: tensor.bytes,
                left: length.saturating_sub(tensor.start),
            });
        }
        if let Some(double) = tensors.insert(tensor.name.clone(), tensor) {
            return Err(GgufError::Broken(format!(
                "tensor `{}` occurs twice",
                double.name
            )));
        }
    }
    Ok((metadata, tensors))
}

fn alignment(metadata: &BTreeMap<String, Value>) -> Result<u64, GgufError> {
    let key = "general.alignment";
    let Some(value) = metadata.get(key) else {
        return Ok(ALIGNMENT);
    };
    value
        .as_whole()
        .filter(|alignment| alignment.is_power_of_two() && *alignment <= LARGEST_ALIGNMENT)
        .ok_or_else(|| super::unusable(key, value, "a power of two"))
}

struct Input<'a, R> {
    source: &'a mut R,
    at: u64,
    length: u64,
}

impl<R: Read> Input<'_, R> {
    fn left(&self) -> u64 {
        self.length.saturating_sub(self.at)
    }

    /// Checks that `needed` bytes remain before memory is allocated for them.
    fn need(&self, needed: u64, what: &str) -> Result<(), GgufError> {
        if needed <= self.left() {
            return Ok(());
        }
        Err(GgufError::Truncated {
            what: ipw_core::text::excerpt(what, 80),
            needed,
            left: self.left(),
        })
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], GgufError> {
        self.need(N as u64, what)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32, GgufError> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, GgufError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of items that take at least `each` bytes.
    fn count(&mut self, what: &str, each: u64) -> Result<u64, GgufError> {
        let count = self.u64(what)?;
        self.need(count.saturating_mul(each), what)?;
        Ok(count)
    }

    fn text(&mut self, what: &str) -> Result<String, GgufError> {
        let length = self.count(what, 1)?;
        // It fits the file, so it fits the address range.
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.source.read_exact(&mut bytes)?;
        self.at += length;
        String::from_utf8(bytes)
            .map_err(|_| GgufError::Broken(format!("{what} is not valid UTF-8")))
    }

    fn value(&mut self, kind: u32, key: &str, depth: u32) -> Result<Value, GgufError> {
        Ok(match kind {
            7 => match self.array::<1>(key)?[0] {
                0 => Value::Flag(false),
                1 => Value::Flag(true),
                other => {
                    let text = format!("`{key}` must be true or false, but is {other}");
                    return Err(GgufError::Broken(text));
                }
            },
            8 => Value::Text(self.text(key)?),
            9 => self.list(key, depth)?,
            kind => self.number(kind, key)?,
        })
    }

    fn number(&mut self, kind: u32, key: &str) -> Result<Value, GgufError> {
        Ok(match kind {
            0 => Value::Whole(self.array::<1>(key)?[0].into()),
            1 => Value::Whole(i8::from_le_bytes(self.array(key)?).into()),
            2 => Value::Whole(u16::from_le_bytes(self.array(key)?).into()),
            3 => Value::Whole(i16::from_le_bytes(self.array(key)?).into()),
            4 => Value::Whole(self.u32(key)?.into()),
            5 => Value::Whole(i32::from_le_bytes(self.array(key)?).into()),
            6 => Value::Number(f32::from_le_bytes(self.array(key)?).into()),
            10 => Value::Whole(self.u64(key)?.into()),
            11 => Value::Whole(i64::from_le_bytes(self.array(key)?).into()),
            12 => Value::Number(f64::from_le_bytes(self.array(key)?)),
            other => {
                let text = format!("`{key}` has the unknown type {other}");
                return Err(GgufError::Broken(text));
            }
        })
    }

    fn list(&mut self, key: &str, depth: u32) -> Result<Value, GgufError> {
        if depth >= MOST_NESTED {
            return Err(GgufError::Broken(format!("`{key}` nests lists too deeply")));
        }
        let kind = self.u32(key)?;
        let each = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            9 => 12,
            _ => TEXT_BYTES,
        };
        let count = self.count(key, each)?;
        if kind == 9 {
            for _ in 0..count {
                self.list(key, depth + 1)?;
            }
            return Ok(Value::Nested(usize::try_from(count).unwrap_or(usize::MAX)));
        }
        if kind == 8 {
            let mut texts = Vec::new();
            for _ in 0..count {
                texts.push(self.text(key)?);
            }
            return Ok(Value::Texts(texts));
        }
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(match self.value(kind, key, depth)? {
                Value::Flag(flag) => f64::from(u8::from(flag)),
                other => other.as_number().unwrap_or(f64::NAN),
            });
        }
        Ok(Value::Numbers(numbers))
    }

    fn tensor(&mut self) -> Result<TensorInfo, GgufError> {
        let name = self.text("a tensor's name")?;
        let broken = |what: String| GgufError::Broken(format!("tensor `{name}` {what}"));
        let dimensions = self.u32(&name)?;
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(broken(format!("has {dimensions} dimensions")));
        }
        let columns = self.u64(&name)?;
        let mut rows = Some(1_u64);
        for _ in 1..dimensions {
            let more = self.u64(&name)?;
            rows = rows.and_then(|rows| rows.checked_mul(more));
        }
        let kind = self.u32(&name)?;
        let start = self.u64(&name)?;
        let kind = Kind::from_number(kind).map_err(|kind| GgufError::Quantisation {
            tensor: name.clone(),
            kind,
            known: Kind::known(),
        })?;
        let rows = rows.ok_or_else(|| broken("has too many rows".to_owned()))?;
        if columns == 0 || rows == 0 {
            return Err(broken("has no numbers".to_owned()));
        }
        if columns % kind.block() != 0 {
            return Err(broken(format!(
                "has rows of {columns} numbers, but {kind} needs a multiple of {}",
                kind.block()
            )));
        }
        let bytes = (columns / kind.block())
            .checked_mul(kind.block_bytes())
            .and_then(|bytes| bytes.checked_mul(rows))
            .ok_or_else(|| broken("is too large".to_owned()))?;
        Ok(TensorInfo {
            name,
            kind,
            columns,
            rows,
            start,
            bytes,
        })
    }
}
