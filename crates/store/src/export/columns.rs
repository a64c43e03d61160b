//! The columns of a Parquet file, one by one: those inside groups, too, each in a group of its own,
//! so that threads can share them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow::error::ArrowError;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};

use super::sheet::Fault;

/// A column that is no group. A list is one column, whatever is in it.
pub(super) struct PackedColumn {
    /// The column of the batch that it is, or is in.
    top: usize,
    /// Its place in each group from there on.
    path: Vec<usize>,
    /// The field of the batch's column, with nothing else in its groups.
    field: FieldRef,
}

/// All columns, in the order of the file.
pub(super) fn columns(fields: &Fields) -> Vec<PackedColumn> {
    let mut columns = Vec::new();
    for (top, field) in fields.iter().enumerate() {
        for (path, field) in narrowed(field) {
            columns.push(PackedColumn { top, path, field });
        }
    }
    columns
}

/// The columns in a field, each with the way to it.
fn narrowed(field: &FieldRef) -> Vec<(Vec<usize>, FieldRef)> {
    let DataType::Struct(inner) = field.data_type() else {
        return vec![(Vec::new(), FieldRef::clone(field))];
    };
    let below = inner.iter().enumerate().flat_map(|(place, child)| {
        narrowed(child).into_iter().map(move |(below, child)| {
            let path = [&[place][..], &below].concat();
            let group = DataType::Struct(Fields::from(vec![child]));
            (path, Arc::new(field.as_ref().clone().with_data_type(group)))
        })
    });
    below.collect()
}

impl PackedColumn {
    /// How many columns it is to Parquet: a list of groups is several.
    pub(super) fn leaves(&self) -> usize {
        leaves(self.field.data_type())
    }

    /// Whether it holds lists or texts, which take longest.
    pub(super) fn is_long(&self) -> bool {
        let mut inner = self.field.data_type();
        while let DataType::Struct(fields) = inner {
            match fields.first() {
                Some(field) => inner = field.data_type(),
                None => return false,
            }
        }
        !(inner.is_primitive() || inner == &DataType::Boolean)
    }

    /// Encodes its values of a batch.
    pub(super) fn write(
        &self,
        batch: &RecordBatch,
        writers: &mut [ArrowColumnWriter],
    ) -> Result<(), Fault> {
        let array = narrow(batch.column(self.top), &self.field, &self.path)?;
        let leaves = compute_leaves(&self.field, &array)?;
        for (leaf, writer) in leaves.iter().zip(writers) {
            writer.write(leaf)?;
        }
        Ok(())
    }
}

/// The array with nothing in its groups but what lies at `path`.
fn narrow(array: &ArrayRef, field: &FieldRef, path: &[usize]) -> Result<ArrayRef, ArrowError> {
    let group = array.as_any().downcast_ref::<StructArray>();
    match (path.split_first(), group, field.data_type()) {
        (Some((place, below)), Some(group), DataType::Struct(fields)) => {
            let child = narrow(group.column(*place), &fields[0], below)?;
            let nulls = group.nulls().cloned();
            let group = StructArray::try_new(fields.clone(), vec![child], nulls)?;
            Ok(Arc::new(group))
        }
        _ => Ok(ArrayRef::clone(array)),
    }
}

fn leaves(of: &DataType) -> usize {
    match of {
        DataType::Struct(fields) => fields.iter().map(|it| leaves(it.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaves(item.data_type()),
        _ => 1,
    }
}
