//! How long rows become when they are written out: a dictionary's entry, a view or a list of nothing
//! can be in a row many times over.

use arrow_array::cast::AsArray;
use arrow_array::types::{GenericBinaryType, GenericStringType};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::{ArrowError, DataType};

const MIB: u64 = 1 << 20;
/// What the rows of one slice may take.
const SLICE: u64 = 64 * MIB;
/// What one row may take.
const ROW: u64 = 256 * MIB;
/// A number, a name, or a value that is not there.
const PLAIN: u64 = 16;

/// How many of the rows from `first` on, at most `most`, fit; an error names the column that is too
/// large for even one.
pub(super) fn rows_that_fit(
    batch: &RecordBatch,
    first: usize,
    most: usize,
) -> Result<usize, ArrowError> {
    let mut rows = most;
    loop {
        let slice = batch.slice(first, rows);
        let weights = slice.columns().iter().map(weight);
        let total = weights.clone().fold(0, u64::saturating_add);
        if total <= SLICE || (rows == 1 && total <= ROW) {
            return Ok(rows);
        }
        if rows == 1 {
            let heaviest = weights.enumerate().max_by_key(|(_, weight)| *weight);
            let (place, bytes) = heaviest.unwrap_or_default();
            let schema = batch.schema();
            return Err(ArrowError::InvalidArgumentError(format!(
                "the column `{}`: a row takes {} MiB, more than {}",
                schema.field(place).name(),
                bytes / MIB,
                ROW / MIB
            )));
        }
        rows /= 2;
    }
}

/// The most bytes that the values of a column have as text, without what escapes add.
fn weight(array: &ArrayRef) -> u64 {
    let count = array.len() as u64;
    let inner = match array.data_type() {
        DataType::Utf8 => texts::<i32>(array),
        DataType::LargeUtf8 => texts::<i64>(array),
        DataType::Binary => bytes::<i32>(array),
        DataType::LargeBinary => bytes::<i64>(array),
        DataType::Utf8View => {
            let views = array.as_string_view();
            views.lengths().map(u64::from).sum()
        }
        DataType::BinaryView => {
            let views = array.as_binary_view();
            views.lengths().map(u64::from).sum::<u64>() * 2
        }
        DataType::FixedSizeBinary(width) => {
            count.saturating_mul(u64::try_from(*width).unwrap_or(0) * 2)
        }
        DataType::Dictionary(..) => {
            let entries = array.as_any_dictionary().values();
            let heaviest = (0..entries.len()).map(|entry| weight(&entries.slice(entry, 1)));
            heaviest.max().unwrap_or(0).saturating_mul(count)
        }
        DataType::List(_) => list::<i32>(array),
        DataType::LargeList(_) => list::<i64>(array),
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            (0..list.len()).fold(0, |sum: u64, row| {
                sum.saturating_add(weight(&list.value(row)))
            })
        }
        DataType::Struct(_) => array
            .as_struct()
            .columns()
            .iter()
            .fold(0, |sum: u64, column| sum.saturating_add(weight(column))),
        DataType::Map(..) => {
            let map = array.as_map();
            let (start, end) = ends(map.value_offsets());
            let entries: ArrayRef = std::sync::Arc::new(map.entries().slice(start, end - start));
            weight(&entries)
        }
        _ => 0,
    };
    inner.saturating_add(count.saturating_mul(PLAIN))
}

fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    let last = offsets.last().map_or(0, |offset| offset.as_usize());
    (first, last.max(first))
}

fn texts<O: OffsetSizeTrait>(array: &ArrayRef) -> u64 {
    let (start, end) = ends(array.as_bytes::<GenericStringType<O>>().value_offsets());
    (end - start) as u64
}

fn bytes<O: OffsetSizeTrait>(array: &ArrayRef) -> u64 {
    let (start, end) = ends(array.as_bytes::<GenericBinaryType<O>>().value_offsets());
    (end - start) as u64 * 2
}

fn list<O: OffsetSizeTrait>(array: &ArrayRef) -> u64 {
    let list = array.as_list::<O>();
    let (start, end) = ends(list.value_offsets());
    weight(&list.values().slice(start, end - start))
}
