//! Parquet out of JSON rows, for what a test wants to read back.

#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

use std::io::Write;
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema_from_iterator;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

/// Rows in memory at a time.
const BATCH: usize = 1024;

/// A Parquet file of these rows, whose columns are those of all of them.
pub fn parquet(rows: &[Value]) -> Vec<u8> {
    let schema = infer_json_schema_from_iterator(rows.iter().map(Ok)).unwrap();
    let mut file = Vec::new();
    write(&mut file, &Arc::new(schema), rows.iter().cloned());
    file
}

/// Writes a Parquet file of rows that are like `sample`, however many.
pub fn write_parquet(file: impl Write + Send, sample: &Value, rows: impl Iterator<Item = Value>) {
    let schema = infer_json_schema_from_iterator(std::iter::once(Ok(sample))).unwrap();
    write(file, &Arc::new(schema), rows);
}

fn write(file: impl Write + Send, schema: &SchemaRef, mut rows: impl Iterator<Item = Value>) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(16 * BATCH))
        .build();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties)).unwrap();
    loop {
        let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let mut decoder = ReaderBuilder::new(Arc::clone(schema))
            .build_decoder()
            .unwrap();
        decoder.serialize(&batch).unwrap();
        writer.write(&decoder.flush().unwrap().unwrap()).unwrap();
    }
    writer.close().unwrap();
}
