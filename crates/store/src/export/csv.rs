//! CSV as RFC 4180 quotes it: flat columns by dotted names, lists as JSON.
//!
//! An empty cell is null, `""` an empty text. Spreadsheets run what looks like a formula, so a text
//! that begins like one gets an apostrophe in front; what has apostrophes before such a beginning
//! gets one more, so that taking one away gives the text back.

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, NullableEncoder, make_encoder};

use super::choice::names;
use super::json::{field_of, options};
use super::sheet::{Fault, Gathered, Out};

pub(super) struct CsvSheet {
    gathered: Gathered,
}

impl CsvSheet {
    pub(super) fn begin(schema: &SchemaRef, out: Out) -> Self {
        let mut gathered = Gathered::new(out);
        let names = names(schema.fields());
        let text = gathered.text();
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            quote(name, text);
        }
        text.push(b'\n');
        Self { gathered }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        let mut leaves = Vec::new();
        for column in batch.columns() {
            flatten(column, &mut leaves);
        }
        let fields: Vec<_> = leaves.iter().map(|leaf| field_of(leaf)).collect();
        let options = options();
        let mut cells = leaves
            .iter()
            .zip(&fields)
            .map(|(leaf, field)| Cells::of(leaf, field, &options))
            .collect::<Result<Vec<_>, _>>()?;
        let mut scratch = Vec::new();
        for row in 0..batch.num_rows() {
            let text = self.gathered.text();
            let before = text.len();
            for (place, cells) in cells.iter_mut().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                cells.write(row, &mut scratch, text);
            }
            if text.len() == before {
                // An empty line would be no row.
                text.extend_from_slice(b"\"\"");
            }
            text.push(b'\n');
            self.gathered.ease()?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        Ok(self.gathered.finish()?)
    }
}

fn flatten(column: &ArrayRef, leaves: &mut Vec<ArrayRef>) {
    match column.as_any().downcast_ref::<StructArray>() {
        Some(group) => group
            .columns()
            .iter()
            .for_each(|column| flatten(column, leaves)),
        None => leaves.push(ArrayRef::clone(column)),
    }
}

/// The cells of one column.
enum Cells<'a> {
    Text(&'a StringArray),
    /// Numbers and truth values.
    Plain(NullableEncoder<'a>),
    Json(NullableEncoder<'a>),
}

impl<'a> Cells<'a> {
    fn of(
        leaf: &'a ArrayRef,
        field: &'a FieldRef,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        if let Some(texts) = leaf.as_any().downcast_ref() {
            return Ok(Self::Text(texts));
        }
        let encoder = make_encoder(field, leaf, options)?;
        let is_plain = leaf.data_type().is_numeric() || leaf.data_type() == &DataType::Boolean;
        Ok(if is_plain {
            Self::Plain(encoder)
        } else {
            Self::Json(encoder)
        })
    }

    fn write(&mut self, row: usize, scratch: &mut Vec<u8>, text: &mut Vec<u8>) {
        match self {
            Self::Text(texts) => {
                if texts.is_valid(row) {
                    quote(&guarded(texts.value(row)), text);
                }
            }
            Self::Plain(encoder) => {
                if !encoder.is_null(row) {
                    let before = text.len();
                    encoder.encode(row, text);
                    // What is no number to JSON is none here.
                    if text[before..] == *b"null" {
                        text.truncate(before);
                    }
                }
            }
            Self::Json(encoder) => {
                if !encoder.is_null(row) {
                    scratch.clear();
                    encoder.encode(row, scratch);
                    quote(&String::from_utf8_lossy(scratch), text);
                }
            }
        }
    }
}

/// What a spreadsheet would run begins with one of these.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The text, with an apostrophe where a spreadsheet would run it.
fn guarded(text: &str) -> std::borrow::Cow<'_, str> {
    let bare = text.trim_start_matches('\'');
    let is_bare = bare.len() == text.len();
    if bare.starts_with(FORMULA) && !(is_bare && is_number(text)) {
        format!("'{text}").into()
    } else {
        text.into()
    }
}

fn is_number(text: &str) -> bool {
    // Words like `-inf` are numbers to the parser, and to nobody else.
    let digits = |c: char| c.is_ascii_digit() || ".eE+-".contains(c);
    text.chars().all(digits) && text.parse::<f64>().is_ok()
}

fn quote(cell: &str, text: &mut Vec<u8>) {
    let is_plain = !cell.is_empty()
        && !cell.starts_with(' ')
        && !cell.ends_with(' ')
        && !cell.contains([',', '"', '\n', '\r']);
    if is_plain {
        text.extend_from_slice(cell.as_bytes());
        return;
    }
    text.push(b'"');
    for (place, piece) in cell.split('"').enumerate() {
        if place > 0 {
            text.extend_from_slice(b"\"\"");
        }
        text.extend_from_slice(piece.as_bytes());
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_guarded_and_numbers_are_not() {
        for (text, expected) in [
            ("=cmd()", "'=cmd()"),
            ("+49 30", "'+49 30"),
            ("-5+cmd", "'-5+cmd"),
            ("-inf", "'-inf"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("'=1", "''=1"),
            ("'-5", "''-5"),
            ("-5", "-5"),
            ("+1.5e-3", "+1.5e-3"),
            ("a=b", "a=b"),
            ("'tis", "'tis"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), expected, "{text:?}");
        }
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("back\rward", "\"back\rward\""),
            (" space", "\" space\""),
        ] {
            let mut text = Vec::new();
            quote(cell, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }
}
