//! CSV, TSV and other delimited tables with a header.

use std::path::PathBuf;

use ipw_core::params::{ParamError, ParamReader, Params};
use serde_json::Value;

use crate::DatasetInfo;
use crate::columns;
use crate::error::DatasetError;
use crate::fault::{Fault, RowPosition};
use crate::files;
use crate::object::{is_small, utf8};
use crate::options::{Options, row_params};
use crate::reader::{Encoding, Object, RawRow, Reader, Supply};
use crate::records::{Record, Records};
use crate::rows::Rows;
use crate::source::{Input, Source};

/// The id in the registry.
pub(crate) const ID: &str = "csv";

/// The parameter `path` and its meaning.
const PATH: (&str, &str) = ("path", "the file, whose first line names the columns");
/// The parameter `delimiter` and its meaning.
pub(crate) const DELIMITER: (&str, &str) = (
    "delimiter",
    "what is between the cells: one character, or `tab` (else guessed from the first line)",
);

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "a table as text with a header (.csv, .tsv); naming its path is enough",
    params: row_params!(PATH, DELIMITER),
};

/// Columns whose cells are JSON, because their values are lists or objects.
const STRUCTURED: [&str; 2] = ["choices", "parameters"];

/// Delimiters that are guessed.
const USUAL: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Opens and checks the file in `params`.
pub(crate) fn open(params: &Params, most: Option<u64>) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let path = reader.required(PATH.0, PATH.1);
    let delimiter = delimiter(&mut reader, ID)?;
    let options = Options::read(&mut reader, ID)?.taking(most);
    reader.finish()?;
    let path = PathBuf::from(path?);
    files::check(&path, PATH.1)?;
    let delimiter = delimiter.or_else(|| files::has_ending(&path, "tsv").then_some(b'\t'));
    let name = files::name(&path, ID);
    let supply = Csv {
        source: Source::File(path),
        delimiter,
    };
    Rows::open(ID, name, Box::new(supply), options)
}

/// Reads the parameter `delimiter`.
pub(crate) fn delimiter(
    reader: &mut ParamReader<'_>,
    owner: &str,
) -> Result<Option<u8>, DatasetError> {
    let Some(given) = reader.text(DELIMITER.0) else {
        return Ok(None);
    };
    match given.as_str() {
        "tab" | "\\t" => Ok(Some(b'\t')),
        text => match text.as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(Some(*byte)),
            _ => Err(ParamError::IllTyped {
                owner: owner.to_owned(),
                name: DELIMITER.0.to_owned(),
                value: given,
                expected: "one character of ASCII other than a quote, or `tab`".to_owned(),
            }
            .into()),
        },
    }
}

/// The usual delimiter that occurs most often in the line, outside of quotes.
pub(crate) fn guess(line: &[u8]) -> u8 {
    let mut counts = [0_usize; USUAL.len()];
    let mut is_quoted = false;
    for byte in line.iter().take_while(|byte| !b"\r\n".contains(byte)) {
        match USUAL.iter().position(|usual| usual == byte) {
            Some(place) if !is_quoted => counts[place] += 1,
            _ => is_quoted ^= *byte == b'"',
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let place = counts.iter().position(|count| *count == most);
    USUAL[place.unwrap_or(0)]
}

/// A delimited text.
#[derive(Debug)]
pub(crate) struct Csv {
    pub(crate) source: Source,
    pub(crate) delimiter: Option<u8>,
}

impl Supply for Csv {
    fn path(&self) -> PathBuf {
        self.source.path()
    }

    fn jumps(&self) -> Result<bool, DatasetError> {
        Ok(!self.source.is_packed()?)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        let mut input = self.source.open()?;
        let unreadable = |error| self.source.unreadable(error);
        let delimiter = match self.delimiter {
            Some(delimiter) => delimiter,
            None => guess(input.fill_buf().map_err(unreadable)?),
        };
        let mut records = Records::new(input, delimiter);
        let (line, names) = if let Some(record) = records.advance().map_err(unreadable)? {
            let names = header(&record).map_err(|fault| fault.shown_in(record.text));
            (record.number, names)
        } else {
            let expected = "a first line with the names of the columns";
            (1, Err(Fault::new(expected, "an empty file")))
        };
        let names = names.map_err(|fault| DatasetError::Row {
            path: self.path(),
            at: RowPosition::Line(line),
            fault: Box::new(fault),
        })?;
        Ok(Box::new(CsvReader {
            source: self.source.clone(),
            path: self.path(),
            records,
            delimiter,
            names,
        }))
    }
}

struct CsvReader {
    source: Source,
    path: PathBuf,
    records: Records<Box<dyn Input>>,
    delimiter: u8,
    names: Vec<String>,
}

impl Reader for CsvReader {
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError> {
        let record = match self.records.advance() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.source.unreadable(error)),
        };
        Ok(Some(RawRow {
            path: &self.path,
            at: RowPosition::Line(record.number),
            offset: record.offset,
            written: Encoding::Text(record.text),
            object: object(&self.names, &record, self.delimiter),
        }))
    }

    fn jump(&mut self, offset: u64) -> Result<(), DatasetError> {
        self.records
            .jump(offset)
            .map_err(|error| self.source.unreadable(error))
    }
}

/// The names of the columns; a name that occurs twice is a fault.
fn header(record: &Record<'_>) -> Result<Vec<String>, Fault> {
    let cells = cells(record)?;
    let mut names = Vec::<String>::new();
    let mut known = std::collections::HashSet::new();
    for (place, (text, _)) in cells.iter().enumerate() {
        let name = match text.trim() {
            // Exported tables often have an index column without a name.
            "" => format!("column {}", place + 1),
            name => name.to_owned(),
        };
        if !known.insert(name.clone()) {
            let found = format!("`{}` twice", columns::shown(&name));
            return Err(Fault::new("a different name for each column", found)
                .help("the first line must name the columns"));
        }
        names.push(name);
    }
    Ok(names)
}

fn object(names: &[String], record: &Record<'_>, delimiter: u8) -> Result<Object, Fault> {
    let cells = cells(record)?;
    if cells.len() != names.len() {
        let count = |count: usize| match count {
            1 => "1 cell".to_owned(),
            count => format!("{count} cells"),
        };
        let fault = Fault::new(
            format!("{}, as in the first line", count(names.len())),
            count(cells.len()),
        );
        return Err(if cells.len() > names.len() {
            let delimiter = match delimiter {
                b'\t' => "a tab".to_owned(),
                byte => format!("`{}`", char::from(byte)),
            };
            fault.help(format!("put a cell with {delimiter} in it into quotes"))
        } else {
            fault
        });
    }
    Ok(names
        .iter()
        .zip(cells)
        .map(|(name, (text, is_quoted))| (name.clone(), value(name, text, is_quoted)))
        .collect())
}

/// The text of each cell, and whether it was quoted.
fn cells<'a>(record: &'a Record<'_>) -> Result<Vec<(&'a str, bool)>, Fault> {
    let cells = record.cells.as_ref().map_err(Clone::clone)?;
    // Checked on the whole record, so that the reported position is right.
    utf8(record.text)?;
    cells
        .iter()
        .map(|(cell, is_quoted)| Ok((utf8(cell)?, is_quoted)))
        .collect()
}

/// An empty cell is null; an empty quoted cell is an empty text.
fn value(name: &str, text: &str, is_quoted: bool) -> Value {
    if text.is_empty() && !is_quoted {
        return Value::Null;
    }
    if STRUCTURED.contains(&name)
        && is_small(text)
        && let Ok(value @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        return value;
    }
    Value::String(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_usual_one_that_is_there_most() {
        for (line, delimiter) in [
            (&b"a,b"[..], b','),
            (b"a;b,c;d", b';'),
            (b"a\tb", b'\t'),
            (b"a|b|c\nd,e,f,g", b'|'),
            (b"\"x;y;z\",b", b','),
            (b"one", b','),
            (b"", b','),
        ] {
            assert_eq!(guess(line), delimiter, "{line:?}");
        }
    }
}
