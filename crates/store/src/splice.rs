//! New columns in old batches: everything else stays as it was, bit for bit.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use crate::StoreError;
use crate::schema::RenewedColumns;

/// The batch with the columns of `rows`; where there is `None`, the row stays as it was.
pub(crate) fn splice<T: 'static>(
    columns: &RenewedColumns<T>,
    batch: &RecordBatch,
    rows: Vec<Option<T>>,
) -> Result<RecordBatch, StoreError> {
    let is_made: Vec<bool> = rows.iter().map(Option::is_some).collect();
    let made: Vec<T> = rows.into_iter().flatten().collect();
    if made.is_empty() {
        return Ok(batch.clone());
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
    RecordBatch::try_new(batch.schema(), arrays).map_err(|_| StoreError::Changed)
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
                match inner.column_by_name(current_name(name)) {
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

/// What a column of format 1 is called now.
fn current_name(name: &str) -> &str {
    match name {
        "watts" => "share_watts",
        name => name,
    }
}

/// The same group of columns with what `change` makes of each.
pub(crate) fn with_children(
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
