//! The schema in Hugging Face's words.
//!
//! Lists are spelt the legacy way, `[feature]`: it is the one spelling that `datasets` 2.14 to 5
//! all read.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Fields, Schema, SchemaRef};
use serde_json::{Map, Value, json};

use crate::FORMAT_VERSION;
use crate::column::type_name;

/// Where a schema has its features.
pub(crate) const HUGGING_FACE_KEY: &str = "huggingface";
/// Where a schema of ours has the version of the format. Python's `datasets` does not keep it.
pub(crate) const FORMAT_KEY: &str = "ipw.format_version";

/// A schema that carries its own features and the format's version.
pub(crate) fn schema_with_features(fields: Fields) -> SchemaRef {
    let huggingface = json!({ "info": { "features": features(&fields) } });
    let about = HashMap::from([
        (HUGGING_FACE_KEY.to_owned(), huggingface.to_string()),
        (FORMAT_KEY.to_owned(), FORMAT_VERSION.to_string()),
    ]);
    Arc::new(Schema::new_with_metadata(fields, about))
}

/// Features of these fields.
pub(crate) fn features(fields: &Fields) -> Value {
    let features: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name().clone(), feature(field.data_type())))
        .collect();
    Value::Object(features)
}

fn feature(data_type: &DataType) -> Value {
    match data_type {
        DataType::Struct(fields) => features(fields),
        DataType::List(item) => Value::Array(vec![feature(item.data_type())]),
        leaf => json!({ "dtype": type_name(leaf), "_type": "Value" }),
    }
}
