//! A file with one JSON object on each line.

use std::path::PathBuf;

use ipw_core::params::Params;

use crate::DatasetInfo;
use crate::error::DatasetError;
use crate::fault::{Fault, RowPosition};
use crate::files;
use crate::lines::{LONGEST, Lines};
use crate::object;
use crate::options::{Options, row_params};
use crate::reader::{Encoding, RawRow, Reader, Supply};
use crate::rows::Rows;
use crate::source::{Input, Source};

/// The id in the registry.
pub(crate) const ID: &str = "jsonl";

/// The parameter `path` and its meaning.
const PATH: (&str, &str) = ("path", "the file, with one JSON object on each line");

/// The entry in the list of datasets.
pub(crate) const KNOWN: DatasetInfo = DatasetInfo {
    id: ID,
    summary: "a file with one JSON object on each line; naming its path is enough",
    params: row_params!(PATH),
};

/// Opens and checks the file in `params`.
pub(crate) fn open(params: &Params, most: Option<u64>) -> Result<Rows, DatasetError> {
    let mut reader = params.reader(ID);
    let path = reader.required(PATH.0, PATH.1);
    let options = Options::read(&mut reader, ID)?.taking(most);
    // Checked before `path`: a mistyped `path` is reported as unknown rather than missing.
    reader.finish()?;
    let path = PathBuf::from(path?);
    files::check(&path, PATH.1)?;
    let name = files::name(&path, ID);
    Rows::open(ID, name, Box::new(Jsonl(Source::File(path))), options)
}

/// A text with one JSON object on each line.
#[derive(Debug)]
pub(crate) struct Jsonl(pub(crate) Source);

impl Supply for Jsonl {
    fn path(&self) -> PathBuf {
        self.0.path()
    }

    fn jumps(&self) -> Result<bool, DatasetError> {
        Ok(!self.0.is_packed()?)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, DatasetError> {
        Ok(Box::new(JsonlReader {
            source: self.0.clone(),
            path: self.path(),
            lines: Lines::new(self.0.open()?),
        }))
    }
}

struct JsonlReader {
    source: Source,
    path: PathBuf,
    lines: Lines<Box<dyn Input>>,
}

impl Reader for JsonlReader {
    fn advance(&mut self) -> Result<Option<RawRow<'_>>, DatasetError> {
        let line = match self.lines.advance() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.source.unreadable(error)),
        };
        let object = if line.is_whole {
            object::parse(line.bytes)
        } else {
            let expected = format!("a line of at most {} MiB", LONGEST >> 20);
            Err(Fault::new(expected, "a longer one"))
        };
        Ok(Some(RawRow {
            path: &self.path,
            at: RowPosition::Line(line.number),
            offset: line.offset,
            written: Encoding::Json(line.bytes),
            object,
        }))
    }

    fn jump(&mut self, offset: u64) -> Result<(), DatasetError> {
        self.lines
            .jump(offset)
            .map_err(|error| self.source.unreadable(error))
    }
}
