//! The schema in Hugging Face's words.
//!
//! Lists are spelt the legacy way, `[feature]`: it is the one spelling that `datasets` 2.14 to 5
//! all read (design D9).

use arrow::datatypes::{DataType, Fields};
use serde_json::{Map, Value, json};

use crate::column::type_name;

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
