//! When things happened in the rows of a run and what they took, row by row, without what was said.

use arrow::array::{
    Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};

use crate::overview::ANSWERED;
use crate::reader::column;
use crate::standing::Standing;
use crate::{Run, StoreError};

/// One row's instants, in seconds on the clock of its part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instants<'a> {
    /// Which part.
    pub part: u32,
    /// When it was planned to be sent.
    pub due: Option<f64>,
    /// When the attempt began.
    pub start: Option<f64>,
    /// When its first byte went out.
    pub sent: Option<f64>,
    /// When the first token came.
    pub first_token: Option<f64>,
    /// When the first token of the answer came.
    pub first_answer_token: Option<f64>,
    /// When it was over.
    pub end: Option<f64>,
    /// When each chunk came.
    pub chunks: &'a [f64],
    /// Tokens generated.
    pub output_tokens: Option<u64>,
    /// Whether there is an answer.
    pub is_answered: bool,
    /// Energy on the basis.
    pub joules: Option<f64>,
    /// Floating-point operations.
    pub flops: Option<f64>,
}

impl Run {
    /// Calls `each` with every row; never more than one batch is in memory.
    pub fn for_each(&self, mut each: impl FnMut(&Instants<'_>)) -> Result<(), StoreError> {
        let standing = self.standing()?;
        for batch in self.batches() {
            rows(self, &batch?, standing, &mut each)?;
        }
        Ok(())
    }
}

fn rows(
    run: &Run,
    batch: &RecordBatch,
    standing: &Standing,
    each: &mut impl FnMut(&Instants<'_>),
) -> Result<(), StoreError> {
    let instants = |name: &str| column::<Float64Array>(batch, &format!("timing.{name}_seconds"));
    let part = column::<Int32Array>(batch, "part")?;
    let outcome = column::<StringArray>(batch, "outcome")?;
    let (due, start, sent) = (instants("due")?, instants("start")?, instants("sent")?);
    let (first, answer) = (instants("first_token")?, instants("first_answer_token")?);
    let end = instants("end")?;
    let lists = column::<ListArray>(batch, "timing.chunk_seconds")?;
    let chunks = lists.values().as_any().downcast_ref::<Float64Array>();
    let chunks = chunks.ok_or_else(|| StoreError::Column {
        column: "timing.chunk_seconds".to_owned(),
    })?;
    let tokens = run.metric::<Int64Array>(batch, "token_metrics.output")?;
    let joules = column::<Float64Array>(batch, "headline.joules")?;
    let basis = column::<StringArray>(batch, "energy.basis")?;
    let flops = run.metric::<Float64Array>(batch, "compute_metrics.flops_per_request")?;
    let value = |array: &Float64Array, row: usize| array.is_valid(row).then(|| array.value(row));
    let offsets = lists.value_offsets();
    let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
    for row in 0..batch.num_rows() {
        let own = place(offsets[row])..place(offsets[row + 1]);
        let output = tokens.is_valid(row).then(|| tokens.value(row));
        each(&Instants {
            part: u32::try_from(part.value(row)).unwrap_or(0),
            due: value(due, row),
            start: value(start, row),
            sent: value(sent, row),
            first_token: value(first, row),
            first_answer_token: value(answer, row),
            end: value(end, row),
            chunks: chunks.values().get(own).unwrap_or(&[]),
            output_tokens: output.and_then(|tokens| u64::try_from(tokens).ok()),
            is_answered: ANSWERED.contains(&outcome.value(row)),
            joules: value(joules, row)
                .filter(|_| standing.holds(part.value(row), basis.value(row))),
            flops: value(flops, row),
        });
    }
    Ok(())
}
