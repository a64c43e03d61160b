//! The columns of a Parquet file, one by one: those inside groups and lists, too, each in a group or
//! list of its own, so that threads can share them.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};

use super::sheet::Fault;

/// A column of values, with the groups and lists around it.
pub(super) struct PackedColumn {
    /// The column of the batch that it is, or is in.
    top: usize,
    /// Its place in each group from there on; 0 in a list.
    path: Vec<usize>,
    /// The field of the batch's column, with nothing else in its groups and lists.
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
    type Around = fn(FieldRef) -> DataType;
    let (inner, around): (&[FieldRef], Around) = match field.data_type() {
        DataType::Struct(inner) => (inner, |child| DataType::Struct(Fields::from(vec![child]))),
        DataType::List(item) => (std::slice::from_ref(item), DataType::List),
        _ => return vec![(Vec::new(), FieldRef::clone(field))],
    };
    let below = inner.iter().enumerate().flat_map(|(place, child)| {
        narrowed(child).into_iter().map(move |(below, child)| {
            let path = [&[place][..], &below].concat();
            let field = field.as_ref().clone().with_data_type(around(child));
            (path, Arc::new(field))
        })
    });
    below.collect()
}

impl PackedColumn {
    /// How many columns it is to Parquet: a list of another kind than ours may be several.
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

/// The array with nothing in its groups and lists but what lies at `path`.
fn narrow(array: &ArrayRef, field: &FieldRef, path: &[usize]) -> Result<ArrayRef, ArrowError> {
    let Some((place, below)) = path.split_first() else {
        return Ok(ArrayRef::clone(array));
    };
    let nulls = array.nulls().cloned();
    match field.data_type() {
        DataType::Struct(fields) => {
            let child = narrow(array.as_struct().column(*place), &fields[0], below)?;
            let group = StructArray::try_new(fields.clone(), vec![child], nulls)?;
            Ok(Arc::new(group))
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = narrow(list.values(), item, below)?;
            let list = ListArray::try_new(item.clone(), list.offsets().clone(), values, nulls)?;
            Ok(Arc::new(list))
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
