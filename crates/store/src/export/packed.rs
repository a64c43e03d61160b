//! Parquet: columns as they are, structs and lists included, in row groups of bounded size.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::About;
use super::sheet::{Fault, Out};

/// A row group is in memory until it is full.
const ROWS_PER_GROUP: usize = 100_000;
const BYTES_PER_GROUP: usize = 64 << 20;

pub(super) struct PackedSheet {
    writer: ArrowWriter<Out>,
}

impl PackedSheet {
    pub(super) fn begin(schema: &SchemaRef, about: &About, out: Out) -> Result<Self, Fault> {
        let about = about.0.iter();
        let about = about.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
            .set_max_row_group_bytes(Some(BYTES_PER_GROUP))
            .set_key_value_metadata(Some(about.collect()))
            .build();
        let writer = ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(properties))?;
        Ok(Self { writer })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        self.writer.write(batch)?;
        if self.writer.memory_size() >= BYTES_PER_GROUP {
            self.writer.flush()?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        let mut out = self.writer.into_inner()?;
        Ok(out.flush()?)
    }
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
                Ok(error) => Self::Write(*error),
                Err(cause) => Self::Encode(ArrowError::ExternalError(cause)),
            },
            other => Self::Encode(other.into()),
        }
    }
}
