//! Instants in a named time zone, as instants in UTC.
//!
//! An Arrow timestamp with a zone counts from 1970 in UTC whatever the zone, which is only for
//! showing it. Names of zones need a database that is not worth its size here.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};

const UTC: &str = "+00:00";

/// The same rows with every zone an offset.
pub(super) fn as_offsets(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let fields: Fields = schema.fields().iter().map(field).collect();
    if fields == *schema.fields() {
        return Ok(batch.clone());
    }
    let columns = batch
        .columns()
        .iter()
        .zip(&fields)
        .map(|(column, field)| cast(column, field.data_type()))
        .collect::<Result<_, _>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

fn field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), data_type(field.data_type()), true))
}

fn data_type(of: &DataType) -> DataType {
    match of {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(UTC.into())),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Dictionary(key, value) => {
            DataType::Dictionary(key.clone(), Box::new(data_type(value)))
        }
        other => other.clone(),
    }
}
