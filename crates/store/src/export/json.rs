//! JSON lines: one object a row, nested, null for null. Numbers are the shortest that read back as
//! the same.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_json::writer::NullableEncoder;
use arrow_schema::{ArrowError, DataType};

use super::sheet::Fault;
use super::template::{Template, encoder};
use super::turns::Text;

/// Writes rows, one object a line.
pub(super) fn lines(
    batch: &RecordBatch,
    rows: Range<usize>,
    out: &mut Text<'_, '_>,
) -> Result<(), Fault> {
    let mut template = Template::of_rows(batch, &rows)?;
    for row in rows {
        let text = out.text();
        template.write(row, text);
        text.push(b'\n');
        out.ease()?;
    }
    Ok(())
}

/// The values as texts: texts as they are, all else as JSON.
pub(super) fn texts(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == &DataType::Utf8 {
        return Ok(ArrayRef::clone(array));
    }
    let mut encoder = encoder(array)?;
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
