//! A run as a flat table for people: some 30 short columns with one meaning each, instead of the
//! some 300 nested ones that a run keeps.
//!
//! Names and definitions are those of the metric dictionary where it has one: the mean of `joules`
//! is `joules_per_query`, the median of `ttft_s` is `ttft_p50`. What a run lacks (one of an earlier
//! version, or of the Python original) is taken from what it has instead, or is null.

mod columns;
mod row;

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use ipw_core::row::Fields;

pub use columns::{COLUMNS, TidyColumn};

use crate::features::schema_with_features;
use crate::rows::{Columns, Read};
use crate::{Run, StoreError};
use row::TidyRow;

/// A run as a flat table.
pub struct Tidy<'a> {
    run: &'a Run,
    maker: Maker<'a>,
    columns: Vec<&'static TidyColumn>,
    schema: SchemaRef,
}

impl Run {
    /// Its rows as a flat table of the columns in [`COLUMNS`], without those that are null in all
    /// rows. Energy is on the run's basis, or on the one that it is looked at on ([`Run::on`]). The
    /// rows are gone through once to find out; never more than one batch is in memory.
    pub fn tidy(&self) -> Result<Tidy<'_>, StoreError> {
        let maker = Maker::of(self);
        let mut columns: Vec<&'static TidyColumn> = COLUMNS.iter().collect();
        let empty = maker.empty(&columns)?;
        columns.retain(|column| !empty.contains(column.name));
        let fields: arrow_schema::Fields = columns.iter().map(|column| column.field()).collect();
        Ok(Tidy {
            run: self,
            maker,
            columns,
            schema: schema_with_features(fields),
        })
    }
}

impl Tidy<'_> {
    /// The columns that the table has.
    pub fn columns(&self) -> &[&'static TidyColumn] {
        &self.columns
    }

    /// The Arrow schema of its batches.
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Its rows, batch by batch.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch, StoreError>> + '_ {
        let mut first = 0;
        self.maker.batches().map(move |batch| {
            let batch = batch?;
            let arrays = self.maker.arrays(&batch, first, &self.columns)?;
            first += batch.num_rows() as u64;
            RecordBatch::try_new(SchemaRef::clone(&self.schema), arrays)
                .map_err(StoreError::arrow("read rows of", self.run.directory()))
        })
    }
}

/// The fields that the columns are made from.
const FIELDS: Fields = Fields::ID
    .and(Fields::SUBJECT)
    .and(Fields::VERDICT)
    .and(Fields::SPAN)
    .and(Fields::LATENCY)
    .and(Fields::CHUNKS)
    .and(Fields::WAITING)
    .and(Fields::TOKENS)
    .and(Fields::TOKEN_ORIGIN)
    .and(Fields::ENERGY)
    .and(Fields::COVERAGE)
    .and(Fields::PHASES)
    .and(Fields::COST)
    .and(Fields::SLO);

/// Makes tidy columns of the rows of one run.
pub(crate) struct Maker<'a> {
    run: &'a Run,
    /// The sources that the headline counts.
    counted: BTreeSet<String>,
}

impl<'a> Maker<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        Self {
            run,
            counted: run.headline_sources(),
        }
    }

    /// The rows that columns are made from, batch by batch.
    pub(crate) fn batches(&self) -> Read<'a> {
        self.run.projected(FIELDS)
    }

    /// Those of the columns that are null in all rows, by name.
    pub(crate) fn empty(
        &self,
        columns: &[&'static TidyColumn],
    ) -> Result<BTreeSet<&'static str>, StoreError> {
        let mut empty = columns.to_vec();
        for batch in self.batches() {
            let arrays = self.arrays(&batch?, 0, &empty)?;
            let is_empty = |array: &ArrayRef| array.null_count() == array.len();
            let mut arrays = arrays.iter();
            empty.retain(|_| arrays.next().is_some_and(is_empty));
            if empty.is_empty() {
                break;
            }
        }
        Ok(empty.into_iter().map(|column| column.name).collect())
    }

    /// The columns of a batch whose first row is the run's row of this number.
    pub(crate) fn arrays(
        &self,
        batch: &RecordBatch,
        first: u64,
        columns: &[&'static TidyColumn],
    ) -> Result<Vec<ArrayRef>, StoreError> {
        let stored = Columns::of(self.run, batch, FIELDS, first);
        let mut shares = Vec::new();
        let mut ends = Vec::with_capacity(batch.num_rows());
        for place in 0..batch.num_rows() {
            stored.shares(place, &mut shares);
            ends.push(shares.len());
        }
        let mut rows = Vec::with_capacity(batch.num_rows());
        let mut from = 0;
        for (place, end) in ends.into_iter().enumerate() {
            let row = stored.row(place, &shares[from..end]);
            rows.push(TidyRow {
                row: self.run.standing_row(&row)?,
                maker: self,
            });
            from = end;
        }
        Ok(columns.iter().map(|column| column.build(&rows)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray, StructArray};
    use arrow_ipc::writer::StreamWriter;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::state::State;

    fn group(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
        let columns = columns.into_iter().map(|(name, array)| {
            let field = Field::new(name, array.data_type().clone(), true);
            (Arc::new(field), array)
        });
        Arc::new(StructArray::from(columns.collect::<Vec<_>>()))
    }

    fn floats(values: [Option<f64>; 2]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    fn texts(values: [&str; 2]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    /// A run in the shape of the Python original: no outcome, no index, no timing, no headline; a
    /// column without a value has no type.
    fn original(directory: &std::path::Path) {
        let metrics = group(vec![
            (
                "energy_metrics",
                group(vec![("per_query_joules", floats([Some(6.0), None]))]),
            ),
            (
                "latency_metrics",
                group(vec![
                    ("total_query_seconds", floats([Some(2.0), Some(4.0)])),
                    ("time_to_first_token_seconds", floats([Some(0.5), None])),
                ]),
            ),
            (
                "token_metrics",
                group(vec![
                    ("input", Arc::new(Int64Array::from(vec![3, 4]))),
                    // Python makes fractions of integers where one is missing.
                    ("output", floats([Some(7.0), None])),
                ]),
            ),
            ("lm_correctness", Arc::new(arrow_array::NullArray::new(2))),
        ]);
        let columns = vec![
            ("problem", texts(["p", "q"])),
            ("subject", texts(["s", "s"])),
            ("model_answers", group(vec![("m.1", texts(["a", "b"]))])),
            ("model_metrics", group(vec![("m.1", metrics)])),
        ];
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(SchemaRef::clone(&schema), arrays).unwrap();
        let file = std::fs::File::create(directory.join("data-00000-of-00001.arrow")).unwrap();
        let mut writer = StreamWriter::try_new(file, &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let files = ["data-00000-of-00001.arrow".to_owned()];
        State::new("f".to_owned(), files)
            .write(directory, false)
            .unwrap();
    }

    #[test]
    fn a_run_of_the_original_gives_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        original(directory.path());
        let run = Run::open(directory.path()).unwrap();
        let tidy = run.tidy().unwrap();
        let names: Vec<&str> = tidy.columns().iter().map(|column| column.name).collect();
        assert_eq!(
            names,
            [
                "query_id",
                "subject",
                "ttft_s",
                "latency_s",
                "input_tokens",
                "output_tokens",
                "joules",
                "watts",
                "sent_ttft_s",
                "sent_latency_s",
                "query_index",
                "model",
            ]
        );
        let batches: Vec<RecordBatch> = tidy.batches().map(Result::unwrap).collect();
        let column = |batch: usize, name: &str| {
            ArrayRef::clone(batches[batch].column_by_name(name).unwrap())
        };
        assert_eq!(&column(1, "query_id"), &texts(["2", "3"]));
        assert_eq!(&column(0, "latency_s"), &floats([Some(2.0), Some(4.0)]));
        assert_eq!(&column(0, "joules"), &floats([Some(6.0), None]));
        assert_eq!(&column(0, "watts"), &floats([Some(3.0), None]));
        let output: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
        assert_eq!(&column(0, "output_tokens"), &output);
        assert_eq!(&column(0, "model"), &texts(["m.1", "m.1"]));
        assert_eq!(tidy.schema().field(2).data_type(), &DataType::Float64);
    }

    #[test]
    fn every_column_has_a_name_of_its_own_and_says_what_it_means() {
        let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
        for column in &COLUMNS {
            assert!(
                !column.meaning.is_empty() && !column.null.is_empty(),
                "{}",
                column.name
            );
        }
    }
}
