//! A table in one of the formats.

use std::io::{self, Write};
use std::path::Path;

use arrow_schema::{ArrowError, SchemaRef};

use super::turns::{self, Feed};
use super::{About, ExportError, Format, csv, json, packed};
use crate::StoreError;

/// What a sheet is written to.
pub(super) type Out = Box<dyn Write + Send>;

/// What went wrong, before it is known with which file.
pub(super) enum Fault {
    Read(StoreError),
    Write(io::Error),
    Encode(ArrowError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Read(error)
    }
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
            Self::Read(error) => ExportError::Run(error),
            Self::Write(source) => ExportError::Write { path, source },
            Self::Encode(source) => ExportError::Encode { path, source },
        }
    }
}

/// Writes a table; how many rows there were.
pub(super) fn write(
    format: Format,
    schema: &SchemaRef,
    about: &About,
    feed: Feed<'_>,
    mut out: Out,
) -> Result<u64, Fault> {
    match format {
        Format::Parquet => packed::write(schema, about, feed, out),
        Format::Csv => {
            out.write_all(&csv::head(schema))?;
            turns::write(feed, out, &csv::lines)
        }
        Format::Jsonl => turns::write(feed, out, &json::lines),
    }
}
