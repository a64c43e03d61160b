//! The columns of a table over one run or several, and how a run's rows fit them.
//!
//! Columns of the same name are one column. Where their types differ, whole numbers give way to
//! fractions, and all else to text; what a run does not have is null.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, SchemaRef};

use super::choice::{IN_FRONT, is_by_model, lowered};
use super::json::texts;
use super::{Choice, ExportError, Format, LabelledRun, Runs};
use crate::features::schema_with_features;

pub(super) struct Layout {
    schema: SchemaRef,
    /// The columns behind `run` and `model`.
    own: Fields,
    is_together: bool,
    /// Whether the model's level is not there.
    is_lifted: bool,
}

impl Layout {
    pub(super) fn of(runs: Runs<'_>, choice: &Choice, format: Format) -> Result<Self, ExportError> {
        choice.check(runs)?;
        let is_together = runs.is_together();
        let all = runs.all().iter().map(|run| choice.fields(&run.run));
        let merged = all.reduce(|left, right| merge(&left, &right));
        let merged = merged.unwrap_or_else(Fields::empty);
        if merged.is_empty() {
            return Err(ExportError::NothingLeft);
        }
        let is_lifted = is_together || format == Format::Csv;
        let own = match runs {
            Runs::Apart(one) if !is_lifted => lowered(&merged, one.run.model()),
            _ => merged,
        };
        let schema = schema_with_features(in_front(&own, IN_FRONT.iter().filter(|_| is_together)));
        Ok(Self {
            schema,
            own,
            is_together,
            is_lifted,
        })
    }

    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A run's rows in these columns.
    pub(super) fn fit(
        &self,
        run: &LabelledRun,
        batch: &RecordBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        if self.is_together {
            columns.extend([&run.label, run.run.model()].map(|text| constant(text, rows)));
        }
        for field in &self.own {
            let column = batch.column_by_name(field.name());
            let column = match column.map(|column| column.as_any().downcast_ref()) {
                Some(Some(models)) if self.is_lifted && is_by_model(field.name()) => {
                    StructArray::column_by_name(models, run.run.model())
                }
                _ => column,
            };
            columns.push(fit(column, field.data_type(), rows)?);
        }
        RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)
    }
}

/// `fields` with columns of text before them.
pub(super) fn in_front<'a>(fields: &Fields, names: impl Iterator<Item = &'a &'a str>) -> Fields {
    names
        .map(|name| Arc::new(Field::new(*name, DataType::Utf8, true)))
        .chain(fields.iter().cloned())
        .collect()
}

pub(super) fn constant(text: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(repeat_n(text, rows)))
}

/// The columns of both, in the order of the first.
fn merge(left: &Fields, right: &Fields) -> Fields {
    let of = |fields: &Fields, name: &str| fields.find(name).map(|(_, field)| field.clone());
    let both = left.iter().map(|field| match of(right, field.name()) {
        Some(other) => merged(field, &other),
        None => FieldRef::clone(field),
    });
    let new = right.iter().filter(|it| of(left, it.name()).is_none());
    both.chain(new.cloned()).collect()
}

fn merged(left: &FieldRef, right: &FieldRef) -> FieldRef {
    let data_type = common(left.data_type(), right.data_type());
    Arc::new(left.as_ref().clone().with_data_type(data_type))
}

fn common(left: &DataType, right: &DataType) -> DataType {
    match (left, right) {
        (DataType::Struct(left), DataType::Struct(right)) => DataType::Struct(merge(left, right)),
        (DataType::List(left), DataType::List(right)) => DataType::List(merged(left, right)),
        (left, right) if left == right => left.clone(),
        (left, right) if left.is_integer() && right.is_integer() => DataType::Int64,
        (left, right) if left.is_numeric() && right.is_numeric() => DataType::Float64,
        _ => DataType::Utf8,
    }
}

/// A column converted to its final type; all null if the column is missing.
fn fit(from: Option<&ArrayRef>, to: &DataType, rows: usize) -> Result<ArrayRef, ArrowError> {
    let group = from.and_then(|array| array.as_any().downcast_ref::<StructArray>());
    let list = from.and_then(|array| array.as_any().downcast_ref::<ListArray>());
    match (from, to) {
        (Some(array), to) if array.data_type() == to => Ok(ArrayRef::clone(array)),
        // Groups are never null: what is not known is in the leaves.
        (_, DataType::Struct(fields)) => {
            let inner = |field: &FieldRef| {
                let column = group.and_then(|group| group.column_by_name(field.name()));
                fit(column, field.data_type(), rows)
            };
            let columns = fields.iter().map(inner).collect::<Result<_, _>>()?;
            let nulls = group.and_then(StructArray::nulls).cloned();
            Ok(Arc::new(StructArray::try_new(
                fields.clone(),
                columns,
                nulls,
            )?))
        }
        (None, to) => Ok(new_null_array(to, rows)),
        (Some(_), DataType::List(item)) if let Some(list) = list => {
            let values = list.values();
            let values = fit(Some(values), item.data_type(), values.len())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            let list = ListArray::try_new(FieldRef::clone(item), offsets, values, nulls)?;
            Ok(Arc::new(list))
        }
        (Some(array), DataType::Utf8) => texts(array),
        (Some(array), to) => cast(array, to),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array};
    use arrow_buffer::OffsetBuffer;

    use super::*;

    fn fields(of: Vec<(&str, DataType)>) -> Fields {
        of.into_iter()
            .map(|(name, data_type)| Field::new(name, data_type, true))
            .collect()
    }

    #[test]
    fn columns_of_the_same_name_become_one() {
        let left = fields(vec![
            ("same", DataType::Utf8),
            ("wide", DataType::Int32),
            ("number", DataType::Int64),
            ("odd", DataType::Boolean),
            (
                "group",
                DataType::Struct(fields(vec![("a", DataType::Int64)])),
            ),
        ]);
        let right = fields(vec![
            ("new", DataType::Boolean),
            ("odd", DataType::Float64),
            ("number", DataType::Float64),
            ("wide", DataType::Int64),
            (
                "group",
                DataType::Struct(fields(vec![("b", DataType::Utf8)])),
            ),
        ]);
        let both = DataType::Struct(fields(vec![("a", DataType::Int64), ("b", DataType::Utf8)]));
        let expected = fields(vec![
            ("same", DataType::Utf8),
            ("wide", DataType::Int64),
            ("number", DataType::Float64),
            ("odd", DataType::Utf8),
            ("group", both),
            ("new", DataType::Boolean),
        ]);
        assert_eq!(merge(&left, &right), expected);
    }

    #[test]
    fn what_a_run_lacks_is_null_and_its_group_is_not() {
        let inner = DataType::Struct(fields(vec![("a", DataType::Int64)]));
        let group = fit(None, &inner, 2).unwrap();
        assert_eq!((group.len(), group.null_count()), (2, 0));
        let group = group.as_any().downcast_ref::<StructArray>().unwrap();
        assert_eq!(group.column(0).null_count(), 2);
    }

    #[test]
    fn values_survive_the_way_into_another_type() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
        let floats = fit(Some(&numbers), &DataType::Float64, 2).unwrap();
        let expected: ArrayRef = Arc::new(Float64Array::from(vec![Some(7.0), None]));
        assert_eq!(&floats, &expected);
        let words = fit(Some(&numbers), &DataType::Utf8, 2).unwrap();
        let expected: ArrayRef = Arc::new(StringArray::from(vec![Some("7"), None]));
        assert_eq!(&words, &expected);
        let item = Arc::new(Field::new("item", DataType::Int64, true));
        let offsets = OffsetBuffer::from_lengths([2]);
        let list: ArrayRef = Arc::new(ListArray::new(item, offsets, numbers, None));
        let words = fit(Some(&list), &DataType::Utf8, 1).unwrap();
        let expected: ArrayRef = Arc::new(StringArray::from(vec!["[7,null]"]));
        assert_eq!(&words, &expected);
        let item = Arc::new(Field::new("item", DataType::Float64, true));
        let floats = fit(Some(&list), &DataType::List(item), 1).unwrap();
        let floats = floats.as_any().downcast_ref::<ListArray>().unwrap();
        let expected: ArrayRef = Arc::new(Float64Array::from(vec![Some(7.0), None]));
        assert_eq!(&floats.value(0), &expected);
    }
}
