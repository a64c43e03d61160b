//! What energy did to a batch.

use arrow_array::{Float64Array, RecordBatch};

use crate::StoreError;
use crate::reader::column;

/// Joules that differ by less than this share of themselves are the same: live, a neighbour that has
/// just begun is dated some microseconds early (docs/method.md §6.3).
const SAME: f64 = 1e-3;

/// How many rows have other joules than before, or none instead of some.
pub(super) fn changed(old: &RecordBatch, new: &RecordBatch) -> Result<u64, StoreError> {
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
