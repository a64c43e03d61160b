//! A table in one of the formats, batch by batch.

use std::io::{self, Write};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::csv::CsvSheet;
use super::json::JsonSheet;
use super::packed::PackedSheet;
use super::{About, ExportError, Format};

/// What a sheet is written to.
pub(super) type Out = Box<dyn Write + Send>;

/// So much text is gathered before it is written.
pub(super) const GATHERED: usize = 64 << 10;

pub(super) enum Sheet {
    Parquet(Box<PackedSheet>),
    Csv(CsvSheet),
    Jsonl(JsonSheet),
}

/// What went wrong, before it is known with which file.
pub(super) enum Fault {
    Write(io::Error),
    Encode(ArrowError),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Encode(error)
    }
}

impl Fault {
    pub(super) fn at(self, path: &Path) -> ExportError {
        let path = path.to_owned();
        match self {
            Self::Write(source) => ExportError::Write { path, source },
            Self::Encode(source) => ExportError::Encode { path, source },
        }
    }
}

impl Sheet {
    pub(super) fn begin(
        format: Format,
        schema: &SchemaRef,
        about: &About,
        out: Out,
    ) -> Result<Self, Fault> {
        Ok(match format {
            Format::Parquet => Self::Parquet(Box::new(PackedSheet::begin(schema, about, out)?)),
            Format::Csv => Self::Csv(CsvSheet::begin(schema, out)),
            Format::Jsonl => Self::Jsonl(JsonSheet::begin(out)),
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        match self {
            Self::Parquet(sheet) => sheet.write(batch),
            Self::Csv(sheet) => sheet.write(batch),
            Self::Jsonl(sheet) => sheet.write(batch),
        }
    }

    /// Writes what is left; what was not written is not there.
    pub(super) fn finish(self) -> Result<(), Fault> {
        match self {
            Self::Parquet(sheet) => sheet.finish(),
            Self::Csv(sheet) => sheet.finish(),
            Self::Jsonl(sheet) => sheet.finish(),
        }
    }
}

/// Text on its way out.
pub(super) struct Gathered {
    text: Vec<u8>,
    out: Out,
}

impl Gathered {
    pub(super) const fn new(out: Out) -> Self {
        Self {
            text: Vec::new(),
            out,
        }
    }

    /// Where the next row goes.
    pub(super) const fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// To be called after each row.
    pub(super) fn ease(&mut self) -> io::Result<()> {
        if self.text.len() >= GATHERED {
            self.out.write_all(&self.text)?;
            self.text.clear();
            // One very long row shall not be remembered by its room.
            self.text.shrink_to(4 * GATHERED);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.out.flush()
    }
}
