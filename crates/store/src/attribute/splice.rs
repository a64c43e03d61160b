//! New energy columns in old batches: everything else stays as it was, bit for bit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, RecordBatch, StructArray};
use arrow::compute::interleave;
use arrow::datatypes::DataType;

use crate::StoreError;
use crate::reader::column;
use crate::schema::{EnergyColumns, Row};

/// Joules that differ by less than this share of themselves are the same: live, a neighbour that has
/// just begun is dated some microseconds early (docs/method.md §6.3).
const SAME: f64 = 1e-3;

/// What became of a batch.
pub(super) struct Spliced {
    pub(super) batch: RecordBatch,
    /// Rows whose energy is another now.
    pub(super) changed: u64,
}

/// Puts the energy of `rows` into `batch`; `None` stays as it was.
pub(super) fn splice(
    columns: &EnergyColumns,
    batch: &RecordBatch,
    rows: Vec<Option<Row>>,
) -> Result<Spliced, StoreError> {
    let is_made: Vec<bool> = rows.iter().map(Option::is_some).collect();
    let made: Vec<Row> = rows.into_iter().flatten().collect();
    if made.is_empty() {
        return Ok(Spliced {
            batch: batch.clone(),
            changed: 0,
        });
    }
    // Where each row of the new batch comes from: the old one, or what was made.
    let mut next = 0;
    let origin: Vec<(usize, usize)> = is_made
        .iter()
        .enumerate()
        .map(|(place, is_made)| {
            next += usize::from(*is_made);
            if *is_made { (1, next - 1) } else { (0, place) }
        })
        .collect();
    let mut arrays = batch.columns().to_vec();
    for (path, new) in columns.build(&made) {
        let (first, below) = path.split_first().ok_or(StoreError::Changed)?;
        let Ok(place) = batch.schema().index_of(first) else {
            continue;
        };
        arrays[place] =
            replace(&arrays[place], below, &new, &origin).ok_or_else(|| StoreError::Column {
                column: path.join("."),
            })?;
    }
    let new = RecordBatch::try_new(batch.schema(), arrays).map_err(|_| StoreError::Changed)?;
    Ok(Spliced {
        changed: changed(batch, &new)?,
        batch: new,
    })
}

/// The column with what lies at `path` below it replaced. Columns that this run does not have are
/// left out; `None` if one has another type.
fn replace(
    old: &ArrayRef,
    path: &[String],
    new: &ArrayRef,
    origin: &[(usize, usize)],
) -> Option<ArrayRef> {
    let group = |array: &ArrayRef| array.as_any().downcast_ref::<StructArray>().cloned();
    if let Some((step, below)) = path.split_first() {
        let outer = group(old)?;
        return with_children(&outer, |name, child| {
            if name == step {
                replace(child, below, new, origin)
            } else {
                Some(Arc::clone(child))
            }
        });
    }
    match (old.data_type(), group(new)) {
        (DataType::Struct(_), Some(inner)) => {
            with_children(&group(old)?, |name, child| {
                match inner.column_by_name(name) {
                    Some(new) => replace(child, &[], new, origin),
                    None => Some(Arc::clone(child)),
                }
            })
        }
        (kind, None) if kind == new.data_type() => {
            let is_whole = origin.iter().all(|(from, _)| *from == 1);
            if is_whole {
                Some(Arc::clone(new))
            } else {
                interleave(&[old, new], origin).ok()
            }
        }
        _ => None,
    }
}

/// The same group of columns with what `change` makes of each.
fn with_children(
    outer: &StructArray,
    change: impl Fn(&str, &ArrayRef) -> Option<ArrayRef>,
) -> Option<ArrayRef> {
    let fields = outer.fields().iter().zip(outer.columns());
    let children: Option<Vec<ArrayRef>> = fields
        .map(|(field, child)| change(field.name(), child))
        .collect();
    let nulls = outer.nulls().cloned();
    let group = StructArray::try_new(outer.fields().clone(), children?, nulls).ok()?;
    Some(Arc::new(group))
}

/// How many rows have other joules than before, or none instead of some.
fn changed(old: &RecordBatch, new: &RecordBatch) -> Result<u64, StoreError> {
    let mut is_other = vec![false; old.num_rows()];
    for name in ["headline.joules", "headline.above_idle_joules"] {
        let Ok(old) = column::<Float64Array>(old, name) else {
            continue;
        };
        let new = column::<Float64Array>(new, name)?;
        for ((old, new), other) in old.iter().zip(new).zip(&mut is_other) {
            *other |= match (old, new) {
                (Some(old), Some(new)) => (old - new).abs() > SAME * old.abs().max(new.abs()),
                (old, new) => old.is_some() != new.is_some(),
            };
        }
    }
    Ok(is_other.into_iter().filter(|other| *other).count() as u64)
}
