//! JSON lines: one object a row, nested, null for null. Numbers are the shortest that read back as
//! the same.

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, NullableEncoder, make_encoder};

use super::sheet::{Fault, Gathered, Out};

pub(super) struct JsonSheet {
    gathered: Gathered,
}

impl JsonSheet {
    pub(super) const fn begin(out: Out) -> Self {
        Self {
            gathered: Gathered::new(out),
        }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        let rows = StructArray::from(batch.clone());
        let field = field_of(&rows);
        let options = options();
        let mut encoder = make_encoder(&field, &rows, &options)?;
        for row in 0..batch.num_rows() {
            let text = self.gathered.text();
            encoder.encode(row, text);
            text.push(b'\n');
            self.gathered.ease()?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        Ok(self.gathered.finish()?)
    }
}

/// Nulls are said.
pub(super) fn options() -> EncoderOptions {
    EncoderOptions::default().with_explicit_nulls(true)
}

pub(super) fn field_of(array: &dyn Array) -> FieldRef {
    Field::new("", array.data_type().clone(), true).into()
}

/// The values as texts: texts as they are, all else as JSON.
pub(super) fn texts(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == &DataType::Utf8 {
        return Ok(ArrayRef::clone(array));
    }
    let field = field_of(array);
    let options = options();
    let mut encoder = make_encoder(&field, array, &options)?;
    let text = |row| text(&mut encoder, row);
    let texts: StringArray = (0..array.len()).map(text).collect();
    Ok(std::sync::Arc::new(texts))
}

/// The values as JSON; `None` for those that have no such form.
pub(crate) fn json_texts(array: &ArrayRef) -> Option<StringArray> {
    let texts = texts(array).ok()?;
    texts.as_any().downcast_ref::<StringArray>().cloned()
}

fn text(encoder: &mut NullableEncoder<'_>, row: usize) -> Option<String> {
    if encoder.is_null(row) {
        return None;
    }
    let mut text = Vec::new();
    encoder.encode(row, &mut text);
    String::from_utf8(text).ok()
}
