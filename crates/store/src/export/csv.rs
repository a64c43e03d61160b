//! CSV as RFC 4180 quotes it: flat columns by dotted names, lists as JSON.
//!
//! An empty cell is null, `""` an empty text. Spreadsheets run what looks like a formula, so a text
//! that begins like one gets an apostrophe in front; what has apostrophes before such a beginning
//! gets one more, so that taking one away gives the text back.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use super::choice::names;
use super::sheet::Fault;
use super::template::{Leaf, Template, nulls_in};
use super::turns::Text;

/// The line with the names of the columns.
pub(super) fn head(schema: &SchemaRef) -> Vec<u8> {
    let mut text = Vec::new();
    for (place, name) in names(schema.fields()).iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        quote(name, &mut text);
    }
    text.push(b'\n');
    text
}

/// Writes rows, a line for each.
pub(super) fn lines(
    batch: &RecordBatch,
    rows: Range<usize>,
    out: &mut Text<'_, '_>,
) -> Result<(), Fault> {
    let mut leaves = Vec::new();
    for column in batch.columns() {
        flatten(column, &mut leaves);
    }
    let mut pieces = pieces(&leaves, &rows)?;
    let mut scratch = Vec::new();
    for row in rows {
        let text = out.text();
        let before = text.len();
        for piece in &mut pieces {
            match piece {
                Piece::Fixed(fixed) => text.extend_from_slice(fixed),
                Piece::Cells(cells) => cells.write(row, &mut scratch, text),
            }
        }
        if text.len() == before {
            // An empty line would be no row.
            text.extend_from_slice(b"\"\"");
        }
        text.push(b'\n');
        out.ease()?;
    }
    Ok(())
}

fn flatten<'a>(column: &'a ArrayRef, leaves: &mut Vec<&'a ArrayRef>) {
    match column.as_any().downcast_ref::<StructArray>() {
        Some(group) => group
            .columns()
            .iter()
            .for_each(|column| flatten(column, leaves)),
        None => leaves.push(column),
    }
}

/// A part of a line.
enum Piece<'a> {
    /// The same in every row: commas, and cells that do not differ.
    Fixed(Vec<u8>),
    Cells(Cells<'a>),
}

fn pieces<'a>(leaves: &[&'a ArrayRef], rows: &Range<usize>) -> Result<Vec<Piece<'a>>, ArrowError> {
    let mut pieces = Vec::new();
    let mut fixed = Vec::new();
    let mut scratch = Vec::new();
    for (place, leaf) in leaves.iter().enumerate() {
        if place > 0 {
            fixed.push(b',');
        }
        let nulls = nulls_in(*leaf, rows);
        if nulls == rows.len() {
            continue;
        }
        let mut cells = Cells::of(leaf, rows)?;
        if nulls == 0 && cells.is_constant(rows) {
            cells.write(rows.start, &mut scratch, &mut fixed);
            continue;
        }
        if !fixed.is_empty() {
            pieces.push(Piece::Fixed(std::mem::take(&mut fixed)));
        }
        pieces.push(Piece::Cells(cells));
    }
    if !fixed.is_empty() {
        pieces.push(Piece::Fixed(fixed));
    }
    Ok(pieces)
}

/// The cells of one column.
enum Cells<'a> {
    Text(&'a StringArray),
    /// Numbers and truth values.
    Plain(Leaf<'a>),
    Json(&'a ArrayRef, Template<'a>),
}

impl<'a> Cells<'a> {
    fn of(leaf: &'a ArrayRef, rows: &Range<usize>) -> Result<Self, ArrowError> {
        if let Some(texts) = leaf.as_any().downcast_ref() {
            return Ok(Self::Text(texts));
        }
        let is_plain = leaf.data_type().is_numeric() || leaf.data_type() == &DataType::Boolean;
        Ok(if is_plain {
            Self::Plain(Leaf::of(leaf)?)
        } else {
            Self::Json(leaf, Template::of(leaf, rows)?)
        })
    }

    /// Whether these cells, none of them null, are all the same.
    fn is_constant(&self, rows: &Range<usize>) -> bool {
        match self {
            Self::Text(texts) => Leaf::Text(texts).is_constant(rows),
            Self::Plain(leaf) => leaf.is_constant(rows),
            Self::Json(..) => false,
        }
    }

    fn write(&mut self, row: usize, scratch: &mut Vec<u8>, text: &mut Vec<u8>) {
        match self {
            Self::Text(texts) => {
                if texts.is_valid(row) {
                    quote(&guarded(texts.value(row)), text);
                }
            }
            // Numbers that JSON cannot express (NaN, infinities) leave the cell empty.
            Self::Plain(leaf) => drop(leaf.write(row, text)),
            Self::Json(leaf, template) => {
                if leaf.is_valid(row) {
                    scratch.clear();
                    template.write(row, scratch);
                    quote_bytes(scratch, text);
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
    // Rust's parser accepts words such as `-inf` as numbers; other readers of CSV do not.
    let digits = |c: char| c.is_ascii_digit() || ".eE+-".contains(c);
    text.chars().all(digits) && text.parse::<f64>().is_ok()
}

fn quote(cell: &str, text: &mut Vec<u8>) {
    quote_bytes(cell.as_bytes(), text);
}

/// The same of a text's bytes.
fn quote_bytes(cell: &[u8], text: &mut Vec<u8>) {
    // All bytes are looked at, without a way out: so the compiler looks at many at a time.
    let is_special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    let is_any = cell.iter().fold(false, |any, byte| any | is_special(*byte));
    let is_spaced = cell.first() == Some(&b' ') || cell.last() == Some(&b' ');
    if !is_any && !is_spaced && !cell.is_empty() {
        text.extend_from_slice(cell);
        return;
    }
    text.push(b'"');
    let mut pieces = cell.split(|byte| *byte == b'"');
    text.extend_from_slice(pieces.next().unwrap_or_default());
    for piece in pieces {
        text.extend_from_slice(b"\"\"");
        text.extend_from_slice(piece);
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
