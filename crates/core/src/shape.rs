//! The common shape of metadata that differs from row to row.
//!
//! The columns of a run are fixed before the first row is written. So the dataset is scanned once,
//! and the shapes of its rows are joined. Where rows are incompatible (a number here, a text
//! there), the column is text: no value is lost and no run fails for it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

/// Values below this depth are stored as JSON text.
const DEEPEST: usize = 8;

/// The common shape of all values of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Only null so far.
    Unknown,
    /// true or false.
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// Any number.
    Float,
    /// A text.
    Text,
    /// A list of elements of one shape.
    List(Box<Shape>),
    /// Named fields with shapes, in the order of their first appearance.
    Struct(Vec<(String, Shape)>),
    /// Incompatible values: texts as they are, all others as JSON text.
    Mixed,
}

impl Shape {
    /// The shape of one value.
    pub fn of(value: &Value) -> Self {
        Self::at(value, 0)
    }

    fn at(value: &Value, depth: usize) -> Self {
        match value {
            Value::Null => Self::Unknown,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_i64() => Self::Int,
            Value::Number(number) if number.is_u64() => Self::Mixed,
            Value::Number(_) => Self::Float,
            Value::String(_) => Self::Text,
            Value::Array(_) | Value::Object(_) if depth >= DEEPEST => Self::Mixed,
            Value::Array(items) => Self::List(Box::new(
                items.iter().fold(Self::Unknown, |joined, item| {
                    joined.join(Self::at(item, depth + 1))
                }),
            )),
            Value::Object(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::at(value, depth + 1)))
                    .collect(),
            ),
        }
    }

    /// The smallest shape that holds both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, shape) | (shape, Self::Unknown) => shape,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            (Self::List(left), Self::List(right)) => Self::List(Box::new(left.join(*right))),
            (Self::Struct(left), Self::Struct(right)) => Self::Struct(join_fields(left, right)),
            (left, right) if left == right => left,
            _ => Self::Mixed,
        }
    }

    /// Number of fields, including nested ones.
    pub fn fields(&self) -> usize {
        match self {
            Self::List(items) => items.fields(),
            Self::Struct(fields) => {
                let inner: usize = fields.iter().map(|(_, shape)| shape.fields()).sum();
                fields.len() + inner
            }
            _ => 0,
        }
    }

    /// The shape with all fields decided: a field that is null in every row becomes a text.
    #[must_use]
    pub fn settled(self) -> Self {
        match self {
            Self::Unknown => Self::Text,
            Self::List(items) => Self::List(Box::new(items.settled())),
            // Parquet has no empty structs.
            Self::Struct(fields) if fields.is_empty() => Self::Mixed,
            Self::Struct(fields) => Self::Struct(
                fields
                    .into_iter()
                    .map(|(name, shape)| (name, shape.settled()))
                    .collect(),
            ),
            shape => shape,
        }
    }

    /// `value` in this shape, with missing struct fields as null. `None` when the value does not
    /// fit; a value that was joined in always fits.
    pub fn fit(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Struct(fields), Value::Null) => Self::fit_fields(fields, &Map::new()),
            (_, Value::Null) => Some(Value::Null),
            (Self::Bool, Value::Bool(_)) | (Self::Text | Self::Mixed, Value::String(_)) => {
                Some(value.clone())
            }
            (Self::Int, Value::Number(number)) => number.is_i64().then(|| value.clone()),
            (Self::Float, Value::Number(number)) => {
                Number::from_f64(number.as_f64()?).map(Value::Number)
            }
            (Self::List(shape), Value::Array(items)) => items
                .iter()
                .map(|item| shape.fit(item))
                .collect::<Option<_>>()
                .map(Value::Array),
            (Self::Struct(fields), Value::Object(values)) => Self::fit_fields(fields, values),
            (Self::Mixed, other) => Some(Value::String(other.to_string())),
            _ => None,
        }
    }

    fn fit_fields(fields: &[(String, Self)], values: &Map<String, Value>) -> Option<Value> {
        let known: HashSet<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        if values.keys().any(|name| !known.contains(name.as_str())) {
            return None;
        }
        fields
            .iter()
            .map(|(name, shape)| {
                let value = values.get(name).unwrap_or(&Value::Null);
                shape.fit(value).map(|value| (name.clone(), value))
            })
            .collect::<Option<Map<_, _>>>()
            .map(Value::Object)
    }
}

fn join_fields(
    mut left: Vec<(String, Shape)>,
    right: Vec<(String, Shape)>,
) -> Vec<(String, Shape)> {
    // Built on demand: rows of one file mostly have their fields in the same order.
    let mut places: Option<HashMap<String, usize>> = None;
    for (index, (name, shape)) in right.into_iter().enumerate() {
        let here = match left.get(index) {
            Some((known, _)) if *known == name => Some(index),
            _ => {
                let places = places.get_or_insert_with(|| {
                    let names = left.iter().map(|(name, _)| name.clone());
                    names.zip(0..).collect()
                });
                let here = places.get(&name).copied();
                if here.is_none() {
                    places.insert(name.clone(), left.len());
                }
                here
            }
        };
        match here {
            Some(here) => {
                let before = std::mem::replace(&mut left[here].1, Shape::Unknown);
                left[here].1 = before.join(shape);
            }
            None => left.push((name, shape)),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(values: &[Value]) -> Shape {
        values
            .iter()
            .map(Shape::of)
            .fold(Shape::Unknown, Shape::join)
            .settled()
    }

    #[test]
    fn rows_that_disagree_become_text() {
        let rows = [
            json!({"level": 3}),
            json!({"level": "hard"}),
            json!({"level": [1]}),
        ];
        let shape = joined(&rows);
        assert_eq!(
            shape,
            Shape::Struct(vec![("level".to_owned(), Shape::Mixed)])
        );
        let fitted: Vec<_> = rows.iter().map(|row| shape.fit(row).unwrap()).collect();
        assert_eq!(
            fitted,
            [
                json!({"level": "3"}),
                json!({"level": "hard"}),
                json!({"level": "[1]"})
            ]
        );
    }

    #[test]
    fn numbers_widen_and_absent_fields_are_null() {
        let rows = [json!({"a": 1, "b": {"c": true}}), json!({"a": 0.5})];
        let shape = joined(&rows);
        assert_eq!(
            shape.fit(&rows[0]).unwrap(),
            json!({"a": 1.0, "b": {"c": true}})
        );
        assert_eq!(
            shape.fit(&rows[1]).unwrap(),
            json!({"a": 0.5, "b": {"c": null}})
        );
    }

    #[test]
    fn what_cannot_be_stored_is_text() {
        assert_eq!(joined(&[json!(null)]), Shape::Text);
        assert_eq!(joined(&[json!({})]), Shape::Mixed);
        assert_eq!(joined(&[json!(u64::MAX)]), Shape::Mixed);
        assert_eq!(joined(&[json!([])]), Shape::List(Box::new(Shape::Text)));
    }

    #[test]
    fn a_row_that_was_not_joined_in_does_not_fit() {
        let shape = joined(&[json!({"a": 1})]);
        assert_eq!(shape.fit(&json!({"a": "x"})), None);
        assert_eq!(shape.fit(&json!({"b": 1})), None);
    }

    #[test]
    fn depth_is_bounded() {
        let mut deep = json!(1);
        for _ in 0..50 {
            deep = json!([deep]);
        }
        let shape = joined(std::slice::from_ref(&deep));
        assert!(shape.fit(&deep).is_some());
    }
}
