//! Rows that another program wrote, in the types that we know.
//!
//! The Python original writes runs of its own, and its accuracy pass rewrites ours. In what Python
//! writes, a column that is null in every row has no type, groups may be null, `lm_correctness` is
//! false in rows that were never graded, and a missing reference is an empty text. Here such rows get
//! our types and our nulls. Columns that are not there stay missing.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ListArray, RecordBatch, StringArray, StructArray, make_array, new_empty_array,
    new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use ipw_core::hardware::SystemInfo;
use ipw_core::shape::Shape;

use crate::export::json_texts;
use crate::features::{FORMAT_KEY, HUGGING_FACE_KEY};
use crate::schema::RunSchema;
use crate::splice::with_children;

const METRICS: &str = "model_metrics";
const CORRECTNESS: &str = "lm_correctness";
const EVALUATION: &str = "evaluation";
/// The column that only our runs have.
const OUTCOME: &str = "outcome";
/// Texts that the original leaves empty where there is none.
const NEVER_EMPTY: [&str; 2] = ["answer", "subject"];

/// How rows of another program become rows with our types.
#[derive(Debug, Clone)]
pub(crate) struct Adoption {
    schema: SchemaRef,
    model: String,
}

impl Adoption {
    /// For rows of this schema; `None` where we wrote them.
    pub(crate) fn of(schema: &SchemaRef, model: &str) -> Option<Self> {
        if schema.metadata().contains_key(FORMAT_KEY) {
            return None;
        }
        let known = RunSchema::new(
            model,
            &Shape::Struct(Vec::new()),
            &SystemInfo::default(),
            &[],
        );
        let known = known.arrow();
        let fields = schema.fields().iter().map(|own| {
            // What the dataset says is its own.
            let known = known.fields().find(own.name());
            match known.filter(|(_, known)| known.name() != "dataset_metadata") {
                Some((_, known)) => merged(own, known),
                None => FieldRef::clone(own),
            }
        });
        Some(Self {
            schema: described(fields.collect(), schema),
            model: model.to_owned(),
        })
    }

    /// The same with the columns of verdicts, where they are missing.
    pub(crate) fn with_verdicts(schema: &SchemaRef, model: &str) -> Option<Self> {
        let own = Self::of(schema, model);
        let own_schema = own.as_ref().map_or(schema, |own| &own.schema);
        let known = RunSchema::new(
            model,
            &Shape::Struct(Vec::new()),
            &SystemInfo::default(),
            &[],
        );
        let verdicts = [CORRECTNESS, EVALUATION].into_iter();
        let paths = verdicts.map(|name| [METRICS, model, name]);
        let known = known.arrow();
        let fields = paths.fold(own_schema.fields().clone(), |fields, path| {
            completed(&fields, known.fields(), &path)
        });
        if fields == *own_schema.fields() {
            return own;
        }
        Some(Self {
            schema: described(fields, own_schema),
            model: model.to_owned(),
        })
    }

    /// The schema of adopted rows.
    pub(crate) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows in our types.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let has_outcome = batch.schema_ref().index_of(OUTCOME).is_ok();
        let columns = self.schema.fields().iter().map(|field| {
            let own = batch.column_by_name(field.name());
            let column = fitted(own, field.data_type(), rows, None)?;
            Ok::<ArrayRef, ArrowError>(match field.name().as_str() {
                METRICS => self.with_true_correctness(column, has_outcome),
                name if !has_outcome && NEVER_EMPTY.contains(&name) => without_empty(column),
                _ => column,
            })
        });
        RecordBatch::try_new(
            SchemaRef::clone(&self.schema),
            columns.collect::<Result<_, _>>()?,
        )
    }

    /// The original writes false for rows that it never graded: the verdict is in `evaluation`.
    fn with_true_correctness(&self, metrics: ArrayRef, has_outcome: bool) -> ArrayRef {
        let group = |array: &ArrayRef| array.as_any().downcast_ref::<StructArray>().cloned();
        let is_bool = |array: &ArrayRef| array.data_type() == &DataType::Boolean;
        let Some(models) = group(&metrics) else {
            return metrics;
        };
        let corrected = |model: &StructArray| {
            let graded = model
                .column_by_name(EVALUATION)
                .and_then(|evaluation| group(evaluation)?.column_by_name("is_correct").cloned())
                .filter(is_bool);
            let unknown = (!has_outcome).then(|| new_null_array(&DataType::Boolean, model.len()));
            let verdict = graded.or(unknown);
            with_children(model, |name, column| {
                let own = verdict.as_ref().filter(|_| name == CORRECTNESS);
                Some(Arc::clone(
                    own.filter(|_| is_bool(column)).unwrap_or(column),
                ))
            })
        };
        let changed = with_children(&models, |name, column| match group(column) {
            Some(model) if name == self.model => corrected(&model),
            _ => Some(Arc::clone(column)),
        });
        changed.unwrap_or(metrics)
    }
}

/// The texts, null where they are empty.
fn without_empty(column: ArrayRef) -> ArrayRef {
    match column.as_any().downcast_ref::<StringArray>() {
        Some(texts) => {
            let texts = texts
                .iter()
                .map(|text| text.filter(|text| !text.is_empty()));
            Arc::new(texts.collect::<StringArray>())
        }
        None => column,
    }
}

/// A schema of these fields that says of itself what `own` says. Without features, `datasets` takes the
/// types as they are: a dataset may have some that we have no words for.
fn described(fields: Fields, own: &Schema) -> SchemaRef {
    let mut about = own.metadata().clone();
    about.remove(HUGGING_FACE_KEY);
    Arc::new(Schema::new_with_metadata(fields, about))
}

/// The fields with what lies at `path` of `known`, which is added where it is missing.
fn completed(fields: &Fields, known: &Fields, path: &[&str]) -> Fields {
    let Some((step, below)) = path.split_first() else {
        return fields.clone();
    };
    let Some((_, known)) = known.find(step) else {
        return fields.clone();
    };
    let Some((place, own)) = fields.find(step) else {
        let more = std::iter::once(FieldRef::clone(known));
        return fields.iter().cloned().chain(more).collect();
    };
    let own = match (own.data_type(), known.data_type()) {
        (DataType::Struct(inner), DataType::Struct(known)) if below.is_empty() => {
            let names: Vec<&str> = known.iter().map(|field| field.name().as_str()).collect();
            let all = names.iter().fold(inner.clone(), |inner, name| {
                completed(&inner, known, &[name])
            });
            retyped(own, DataType::Struct(all))
        }
        (DataType::Struct(inner), DataType::Struct(known)) => {
            retyped(own, DataType::Struct(completed(inner, known, below)))
        }
        _ => FieldRef::clone(own),
    };
    let others = fields.iter().cloned().enumerate();
    let replaced = others.map(|(at, field)| {
        if at == place {
            FieldRef::clone(&own)
        } else {
            field
        }
    });
    replaced.collect()
}

fn retyped(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The field as we know it, as far as what is there can become that.
fn merged(own: &FieldRef, known: &FieldRef) -> FieldRef {
    retyped(known, common(own.data_type(), known.data_type()))
}

fn common(own: &DataType, known: &DataType) -> DataType {
    match (own, known) {
        (own, known) if own == known => known.clone(),
        (DataType::Null, known) => known.clone(),
        (DataType::Struct(own), DataType::Struct(known)) => {
            let fields = own.iter().map(|own| match known.find(own.name()) {
                Some((_, known)) => merged(own, known),
                None => FieldRef::clone(own),
            });
            DataType::Struct(fields.collect())
        }
        (DataType::List(own), DataType::List(known)) => DataType::List(merged(own, known)),
        // Python has a group where we have its JSON.
        (DataType::Struct(_), DataType::Utf8) => DataType::Utf8,
        (own, known) if !own.is_nested() && can_cast_types(own, known) => known.clone(),
        (own, _) => own.clone(),
    }
}

/// A column in the type that it shall have, null where `above` is: a null group may hold anything.
fn fitted(
    own: Option<&ArrayRef>,
    to: &DataType,
    rows: usize,
    above: Option<&NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let group = own.and_then(|array| array.as_any().downcast_ref::<StructArray>());
    let list = own.and_then(|array| array.as_any().downcast_ref::<ListArray>());
    match (own, to) {
        (_, DataType::Struct(fields)) => {
            let nulls = NullBuffer::union(above, group.and_then(StructArray::nulls));
            let columns = fields.iter().map(|field| {
                let inner = group.and_then(|group| group.column_by_name(field.name()));
                fitted(inner, field.data_type(), rows, nulls.as_ref())
            });
            let columns = columns.collect::<Result<_, _>>()?;
            let group = StructArray::try_new_with_length(fields.clone(), columns, None, rows)?;
            Ok(Arc::new(group))
        }
        (Some(_), DataType::List(item)) if let Some(list) = list => {
            let values = list.values();
            let values = fitted(Some(values), item.data_type(), values.len(), None)?;
            let (item, offsets) = (FieldRef::clone(item), list.offsets().clone());
            let list = ListArray::try_new(item, offsets, values, list.nulls().cloned())?;
            Ok(Arc::new(list))
        }
        // Lists are never null.
        (_, DataType::List(item)) => {
            let offsets = OffsetBuffer::new_zeroed(rows);
            let none = new_empty_array(item.data_type());
            let list = ListArray::try_new(FieldRef::clone(item), offsets, none, None)?;
            Ok(Arc::new(list))
        }
        (None, to) => Ok(new_null_array(to, rows)),
        (Some(array), to) if array.data_type() == to => below(array, above),
        (Some(_), DataType::Utf8) if let Some(group) = group => {
            let group: ArrayRef = Arc::new(group.clone());
            let texts = json_texts(&group).filter(|_| !is_hollow(&group));
            match texts {
                Some(texts) => below(&(Arc::new(texts) as ArrayRef), above),
                None => Ok(new_null_array(to, rows)),
            }
        }
        (Some(array), to) => below(&cast(array, to)?, above),
    }
}

fn is_hollow(array: &ArrayRef) -> bool {
    matches!(array.data_type(), DataType::Struct(fields) if fields.is_empty())
}

/// The column, null where the group that it is in is null.
fn below(array: &ArrayRef, above: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let Some(above) = above.filter(|above| above.null_count() > 0) else {
        return Ok(Arc::clone(array));
    };
    // A column without a type is null already.
    if array.data_type() == &DataType::Null {
        return Ok(Arc::clone(array));
    }
    let nulls = NullBuffer::union(Some(above), array.nulls());
    let data = array.to_data().into_builder().nulls(nulls).build()?;
    Ok(make_array(data))
}
