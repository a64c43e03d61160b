//! A stretch of rows as JSON: what is the same in all of them is prepared once, and copied.
//!
//! A run has some three hundred columns, and most are null, or say the same in every row. Names,
//! brackets, nulls and such values become one text from one value that differs to the next.

use std::ops::Range;
use std::sync::LazyLock;

use arrow_array::cast::AsArray as _;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use super::number;

const NULL: &[u8] = b"null";

/// Arrow's encoder is told how to write, and nothing of the column: it does not ask.
static OPTIONS: LazyLock<EncoderOptions> =
    LazyLock::new(|| EncoderOptions::default().with_explicit_nulls(true));
static ANY_FIELD: LazyLock<FieldRef> =
    LazyLock::new(|| Field::new("", DataType::Null, true).into());

/// Arrow's own encoder of an array.
pub(super) fn encoder(array: &dyn Array) -> Result<NullableEncoder<'_>, ArrowError> {
    make_encoder(&ANY_FIELD, array, &OPTIONS)
}

/// How a stretch of values is written.
pub(super) struct Template<'a> {
    pieces: Vec<Piece<'a>>,
}

enum Piece<'a> {
    /// The same for every value.
    Fixed(Vec<u8>),
    Leaf(Leaf<'a>),
    /// A group that some values do not have.
    Group(NullBuffer, Template<'a>),
    List(&'a ListArray, Template<'a>),
}

impl<'a> Template<'a> {
    /// Rows as objects.
    pub(super) fn of_rows(batch: &'a RecordBatch, rows: &Range<usize>) -> Result<Self, ArrowError> {
        let schema = batch.schema_ref();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let mut template = Self::empty();
        template.object(names.zip(batch.columns()), rows)?;
        Ok(template)
    }

    /// The values of a column.
    pub(super) fn of(array: &'a ArrayRef, rows: &Range<usize>) -> Result<Self, ArrowError> {
        let mut template = Self::empty();
        template.value(array, rows)?;
        Ok(template)
    }

    const fn empty() -> Self {
        Self { pieces: Vec::new() }
    }

    /// Writes one of them.
    pub(super) fn write(&mut self, row: usize, text: &mut Vec<u8>) {
        for piece in &mut self.pieces {
            match piece {
                Piece::Fixed(fixed) => text.extend_from_slice(fixed),
                Piece::Leaf(leaf) => {
                    if !leaf.write(row, text) {
                        text.extend_from_slice(NULL);
                    }
                }
                Piece::Group(nulls, _) if nulls.is_null(row) => text.extend_from_slice(NULL),
                Piece::Group(_, inner) => inner.write(row, text),
                Piece::List(list, _) if list.is_null(row) => text.extend_from_slice(NULL),
                Piece::List(list, inner) => {
                    let items = items(list, &(row..row + 1));
                    text.push(b'[');
                    for item in items.clone() {
                        if item > items.start {
                            text.push(b',');
                        }
                        inner.write(item, text);
                    }
                    text.push(b']');
                }
            }
        }
    }

    /// Adds what is the same for every value.
    fn fixed(&mut self, add: impl FnOnce(&mut Vec<u8>)) {
        if let Some(Piece::Fixed(last)) = self.pieces.last_mut() {
            add(last);
        } else {
            let mut fixed = Vec::new();
            add(&mut fixed);
            self.pieces.push(Piece::Fixed(fixed));
        }
    }

    fn object<'b>(
        &mut self,
        columns: impl Iterator<Item = (&'b str, &'a ArrayRef)>,
        rows: &Range<usize>,
    ) -> Result<(), ArrowError> {
        self.fixed(|text| text.push(b'{'));
        for (place, (name, column)) in columns.enumerate() {
            self.fixed(|text| {
                if place > 0 {
                    text.push(b',');
                }
                quoted(name, text);
                text.push(b':');
            });
            self.value(column, rows)?;
        }
        self.fixed(|text| text.push(b'}'));
        Ok(())
    }

    fn value(&mut self, array: &'a ArrayRef, rows: &Range<usize>) -> Result<(), ArrowError> {
        let nulls = nulls_in(array, rows);
        if nulls == rows.len() {
            self.fixed(|text| text.extend_from_slice(NULL));
        } else if let Some(group) = array.as_any().downcast_ref::<StructArray>() {
            let names = group.fields().iter().map(|field| field.name().as_str());
            let columns = names.zip(group.columns());
            match group.nulls().filter(|_| nulls > 0) {
                None => self.object(columns, rows)?,
                Some(nulls) => {
                    let mut inner = Self::empty();
                    inner.object(columns, rows)?;
                    self.pieces.push(Piece::Group(nulls.clone(), inner));
                }
            }
        } else if let Some(list) = array.as_any().downcast_ref::<ListArray>() {
            let items = items(list, rows);
            if nulls == 0 && items.is_empty() {
                self.fixed(|text| text.extend_from_slice(b"[]"));
            } else {
                let inner = Self::of(list.values(), &items)?;
                self.pieces.push(Piece::List(list, inner));
            }
        } else {
            let mut leaf = Leaf::of(array)?;
            if nulls == 0 && leaf.is_constant(rows) {
                self.fixed(|text| {
                    if !leaf.write(rows.start, text) {
                        text.extend_from_slice(NULL);
                    }
                });
            } else {
                self.pieces.push(Piece::Leaf(leaf));
            }
        }
        Ok(())
    }
}

/// How many of these values are null.
pub(super) fn nulls_in(array: &dyn Array, rows: &Range<usize>) -> usize {
    if array.data_type() == &DataType::Null {
        return rows.len();
    }
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => nulls.slice(rows.start, rows.len()).null_count(),
        None => 0,
    }
}

/// Where the items of these lists lie.
fn items(list: &ListArray, rows: &Range<usize>) -> Range<usize> {
    let offsets = list.value_offsets();
    let at = |row: usize| usize::try_from(offsets[row]).unwrap_or(0);
    at(rows.start)..at(rows.end)
}

/// A column of single values.
pub(super) enum Leaf<'a> {
    /// With Arrow's encoder, for what is not short.
    Fraction(&'a Float64Array, NullableEncoder<'a>),
    Integer(&'a Int64Array),
    SmallInteger(&'a Int32Array),
    Truth(&'a BooleanArray),
    Text(&'a StringArray),
    /// Of a type that our own runs do not have.
    Other(NullableEncoder<'a>),
}

impl<'a> Leaf<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Float64 => {
                let array = array.as_primitive();
                Self::Fraction(array, encoder(array)?)
            }
            DataType::Int64 => Self::Integer(array.as_primitive()),
            DataType::Int32 => Self::SmallInteger(array.as_primitive()),
            DataType::Boolean => Self::Truth(array.as_boolean()),
            DataType::Utf8 => Self::Text(array.as_string()),
            _ => Self::Other(encoder(array)?),
        })
    }

    /// Whether these values, none of them null, are all the same.
    pub(super) fn is_constant(&self, rows: &Range<usize>) -> bool {
        let mut others = rows.start + 1..rows.end;
        let first = rows.start;
        match self {
            Self::Fraction(array, _) => {
                let values = array.values();
                others.all(|row| values[row].to_bits() == values[first].to_bits())
            }
            Self::Integer(array) => others.all(|row| array.value(row) == array.value(first)),
            Self::SmallInteger(array) => others.all(|row| array.value(row) == array.value(first)),
            Self::Truth(array) => others.all(|row| array.value(row) == array.value(first)),
            Self::Text(array) => others.all(|row| array.value(row) == array.value(first)),
            Self::Other(_) => false,
        }
    }

    /// Writes a value as JSON; false, and nothing written, where it is null or no number.
    pub(super) fn write(&mut self, row: usize, text: &mut Vec<u8>) -> bool {
        match self {
            Self::Fraction(array, _) if array.is_null(row) => false,
            Self::Fraction(array, encoder) => {
                let value = array.value(row);
                if !value.is_finite() {
                    return false;
                }
                if !number::short_fraction(value, text) {
                    encoder.encode(row, text);
                }
                true
            }
            Self::Integer(array) => {
                let is_known = array.is_valid(row);
                if is_known {
                    number::integer(array.value(row), text);
                }
                is_known
            }
            Self::SmallInteger(array) => {
                let is_known = array.is_valid(row);
                if is_known {
                    number::integer(array.value(row).into(), text);
                }
                is_known
            }
            Self::Truth(array) => {
                let is_known = array.is_valid(row);
                if is_known {
                    let word: &[u8] = if array.value(row) { b"true" } else { b"false" };
                    text.extend_from_slice(word);
                }
                is_known
            }
            Self::Text(array) => {
                let is_known = array.is_valid(row);
                if is_known {
                    quoted(array.value(row), text);
                }
                is_known
            }
            Self::Other(encoder) => {
                if encoder.is_null(row) {
                    return false;
                }
                let before = text.len();
                encoder.encode(row, text);
                let is_null = text[before..] == *NULL;
                if is_null {
                    text.truncate(before);
                }
                !is_null
            }
        }
    }
}

/// Writes a text in quotes, with escapes where it needs them.
pub(super) fn quoted(value: &str, text: &mut Vec<u8>) {
    // All bytes are looked at, without a way out: so the compiler looks at many at a time.
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let is_any = value
        .bytes()
        .fold(false, |any, byte| any | is_special(byte));
    if is_any {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(text, value);
    } else {
        text.push(b'"');
        text.extend_from_slice(value.as_bytes());
        text.push(b'"');
    }
}
