//! Rows that another program wrote, in the types that we know.
//!
//! The Python original writes runs of its own, and its accuracy pass rewrites ours. In what Python
//! writes, a column that is null in every row has no type, groups may be null, `lm_correctness` is
//! false in rows that were never graded, and a missing reference is an empty text. Here such rows get
//! our types and our nulls. Columns that are not there stay missing.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, StringArray, StructArray, make_array, new_empty_array,
    new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
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
/// Texts that the original leaves empty where it has no value.
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

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, NullArray};
    use arrow_schema::Field;
    use ipw_core::verdict::{Grade, Verdict};

    use super::*;
    use crate::reader::column;
    use crate::schema::RenewedColumns;
    use crate::splice::splice;

    fn group(columns: Vec<(&str, ArrayRef)>, nulls: Option<NullBuffer>) -> ArrayRef {
        let fields = columns.iter();
        let fields = fields.map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let fields = fields.collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Arc::new(StructArray::new(fields, arrays, nulls))
    }

    /// Three rows as Python writes them: never graded, of a model whose name has dots.
    fn batch(more: Vec<(&str, ArrayRef)>) -> RecordBatch {
        let texts = |texts: [&str; 3]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
        let energy = vec![
            ("per_query_joules", Arc::new(NullArray::new(3)) as ArrayRef),
            ("basis", Arc::new(NullArray::new(3)) as ArrayRef),
        ];
        let mut metrics = vec![
            ("energy_metrics", group(energy, None)),
            ("gpu_info", Arc::new(NullArray::new(3)) as ArrayRef),
            (
                "lm_correctness",
                Arc::new(BooleanArray::from(vec![false; 3])),
            ),
        ];
        metrics.extend(more);
        let metrics = group(vec![("m.v1", group(metrics, None))], None);
        let answers = group(vec![("m.v1", texts(["2", "6", "x"]))], None);
        let columns = vec![
            ("problem", texts(["a", "b", "c"])),
            ("answer", texts(["2", "5", ""])),
            ("model_answers", answers),
            ("model_metrics", metrics),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn at<'a, A: 'static>(batch: &'a RecordBatch, path: &[&str]) -> &'a A {
        let model = column::<StructArray>(batch, "model_metrics").unwrap();
        let model = model.column_by_name("m.v1").unwrap();
        let found = path.iter().fold(model, |array, step| {
            let group = array.as_any().downcast_ref::<StructArray>().unwrap();
            group.column_by_name(step).unwrap()
        });
        found.as_any().downcast_ref::<A>().unwrap()
    }

    #[test]
    fn columns_without_a_type_get_ours_and_ungraded_is_not_wrong() {
        let batch = batch(Vec::new());
        let adoption = Adoption::of(&batch.schema(), "m.v1").unwrap();
        let own = adoption.apply(&batch).unwrap();
        assert_eq!(own.schema().fields(), adoption.schema().fields());
        let joules: &Float64Array = at(&own, &["energy_metrics", "per_query_joules"]);
        assert_eq!(joules.null_count(), 3);
        let name: &StringArray = at(&own, &["gpu_info", "name"]);
        assert_eq!(name.null_count(), 3);
        let correct: &BooleanArray = at(&own, &["lm_correctness"]);
        assert_eq!(correct.null_count(), 3);
        let reference = column::<StringArray>(&own, "answer").unwrap();
        let reference: Vec<Option<&str>> = reference.iter().collect();
        assert_eq!(reference, [Some("2"), Some("5"), None]);
        assert!(
            column::<StringArray>(&own, "outcome").is_err(),
            "it stays missing"
        );
    }

    #[test]
    fn what_lies_in_a_null_group_is_null() {
        let evaluation = vec![
            (
                "is_correct",
                Arc::new(BooleanArray::from(vec![true; 3])) as ArrayRef,
            ),
            (
                "config",
                Arc::new(StructArray::new_empty_fields(3, None)) as ArrayRef,
            ),
        ];
        let nulls = NullBuffer::from(vec![true, false, true]);
        let batch = batch(vec![("evaluation", group(evaluation, Some(nulls)))]);
        let adoption = Adoption::of(&batch.schema(), "m.v1").unwrap();
        let own = adoption.apply(&batch).unwrap();
        let correct: &BooleanArray = at(&own, &["lm_correctness"]);
        let correct: Vec<Option<bool>> = correct.iter().collect();
        assert_eq!(correct, [Some(true), None, Some(true)]);
        let config: &StringArray = at(&own, &["evaluation", "config"]);
        assert_eq!(config.null_count(), 3);
        assert_eq!(at::<StructArray>(&own, &["evaluation"]).null_count(), 0);
    }

    #[test]
    fn verdicts_go_into_rows_that_have_no_place_for_them() {
        let batch = batch(Vec::new());
        let adoption = Adoption::with_verdicts(&batch.schema(), "m.v1").unwrap();
        let own = adoption.apply(&batch).unwrap();
        let grade = Grade {
            verdict: Verdict::Correct,
            ..Grade::unscored(Some("exact"), "equal")
        };
        let columns = RenewedColumns::verdict("m.v1");
        let graded = splice(&columns, &own, vec![Some(grade), None, None]).unwrap();
        let correct: &BooleanArray = at(&graded, &["evaluation", "is_correct"]);
        assert_eq!(correct.iter().collect::<Vec<_>>(), [Some(true), None, None]);
        let config: &StringArray = at(&graded, &["evaluation", "config"]);
        assert_eq!(config.value(0), r#"{"scorer":"exact"}"#);
        // A run that has a place for them is as it was.
        assert_eq!(adoption.schema().fields(), graded.schema().fields());
        let again = Adoption::with_verdicts(&graded.schema(), "m.v1").unwrap();
        assert_eq!(again.schema().fields(), graded.schema().fields());
    }
}
