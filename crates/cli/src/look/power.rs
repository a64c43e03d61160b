//! Power over time.

use serde_json::{Value, json};

use super::Look;
use super::figures::Drawing;

pub(super) fn figure(_look: &Look) -> Option<Drawing> {
    None
}

pub(crate) fn buckets(_look: &Look, _most: u32) -> Value {
    json!({})
}
