//! The columns of a run: the original's six first, in its order, then ours. Other tools rely on
//! names and order: add columns behind the existing ones (docs/decisions/0016).
//!
//! All types are fixed from the first row on: a column that is null in every row still has its
//! type, so that runs can be concatenated.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, DataType, Field, Fields, SchemaRef};
use ipw_core::energy::QueryEnergy;
use ipw_core::hardware::{Device, SystemInfo};
use ipw_core::price::Price;
use ipw_core::query::Query;
use ipw_core::record::{Latency, Record};
use ipw_core::reply::{Compute, Exchange, Outcome, Reply, ServiceTiming, Timing, TokenCounts};
use ipw_core::shape::Shape;
use ipw_core::time::Timestamp;
use ipw_core::verdict::Grade;

use crate::column::{Column, Entry};
use crate::features::schema_with_features;
use crate::verdicts::KeptVerdict;

mod model;
mod ours;
mod phases;

/// A record with what is derived from it, computed once.
pub(crate) struct Row {
    pub(crate) record: Record,
    pub(crate) latency: Latency,
    pub(crate) planned: Latency,
}

impl Row {
    /// A row of which only the energy columns are wanted, and what they need.
    pub(crate) fn of_energy(
        energy: QueryEnergy,
        (start, end): (Timestamp, Timestamp),
        (input, output): (Option<u64>, Option<u64>),
        tokens_per_second: Option<f64>,
        flops: Option<f64>,
    ) -> Self {
        let reply = Reply {
            outcome: Outcome::Complete,
            error: None,
            answer: String::new(),
            reasoning: None,
            tool_calls: None,
            finish_reason: None,
            tokens: TokenCounts {
                input,
                output,
                ..TokenCounts::default()
            },
            token_source: None,
            token_note: None,
            timing: Timing {
                end,
                ..Timing::begun(start)
            },
            exchange: Exchange::default(),
            service_timing: ServiceTiming::default(),
            compute: flops.map(|flops| Compute { flops, bytes: 0.0 }),
        };
        let record = Record {
            query: Query::asking(String::new()),
            part: 0,
            due: start,
            reply,
            energy,
            grade: Grade::unscored(None, ""),
            kept: None,
        };
        Self {
            record,
            latency: Latency {
                tokens_per_second,
                ..Latency::default()
            },
            planned: Latency::default(),
        }
    }
}

impl From<Record> for Row {
    fn from(record: Record) -> Self {
        Self {
            latency: record.latency(),
            planned: record.planned_latency(),
            record,
        }
    }
}

/// All columns of a run, and how rows become batches.
pub struct RunSchema {
    columns: Vec<Column<Row>>,
    schema: SchemaRef,
}

impl RunSchema {
    /// The columns for one model, one dataset's metadata and one machine.
    pub fn new(model: &str, metadata: &Shape, system: &SystemInfo, gpus: &[Device]) -> Self {
        Self::priced(model, metadata, system, gpus, None)
    }

    /// The same where tokens have a price.
    pub fn priced(
        model: &str,
        metadata: &Shape,
        system: &SystemInfo,
        gpus: &[Device],
        price: Option<&Price>,
    ) -> Self {
        let columns = columns(model, metadata, (system, gpus), price);
        let fields: Fields = columns.iter().map(Column::field).collect();
        let schema = schema_with_features(fields);
        Self { columns, schema }
    }

    /// The Arrow schema.
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The column reference, line by line.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.columns
            .iter()
            .for_each(|column| column.entries("", &mut entries));
        entries
    }

    pub(crate) fn batch(&self, rows: &[Row]) -> Result<RecordBatch, ArrowError> {
        let rows: Vec<&Row> = rows.iter().collect();
        let arrays = self
            .columns
            .iter()
            .map(|column| column.build(&rows))
            .collect();
        RecordBatch::try_new(self.arrow(), arrays)
    }
}

/// Columns that can be made anew for rows that are there, with their paths.
pub(crate) struct RenewedColumns<T> {
    columns: Vec<(Vec<String>, Column<T>)>,
}

impl<T: 'static> RenewedColumns<T> {
    fn of(model: &str, below: Vec<Column<T>>, top: Vec<Column<T>>) -> Self {
        let below = below.into_iter().map(|column: Column<T>| {
            let path = ["model_metrics", model, column.name()].map(str::to_owned);
            (path.to_vec(), column)
        });
        let top = top.into_iter();
        let top = top.map(|column: Column<T>| (vec![column.name().to_owned()], column));
        Self {
            columns: below.chain(top).collect(),
        }
    }

    /// The columns of these rows.
    pub(crate) fn build(&self, rows: &[T]) -> impl Iterator<Item = (&[String], ArrayRef)> {
        let rows: Vec<&T> = rows.iter().collect();
        let columns = self.columns.iter();
        columns.map(move |(path, column)| (path.as_slice(), column.build(&rows)))
    }
}

impl RenewedColumns<Row> {
    /// What is made from energy alone, of a run of this model.
    pub(crate) fn energy(model: &str) -> Self {
        Self::of(model, model::energy_columns(), ours::energy_columns())
    }
}

impl RenewedColumns<Grade> {
    /// What is made from the verdict.
    pub(crate) fn verdict(model: &str) -> Self {
        Self::of(model, model::verdict_columns(), Vec::new())
    }
}

impl RenewedColumns<KeptVerdict> {
    /// The same columns, from a verdict that a run had before.
    pub(crate) fn kept_verdict(model: &str) -> Self {
        Self::of(model, model::kept_verdict_columns(), Vec::new())
    }
}

fn columns(
    model: &str,
    metadata: &Shape,
    (system, gpus): (&SystemInfo, &[Device]),
    price: Option<&Price>,
) -> Vec<Column<Row>> {
    let mut columns = vec![
        Column::text("problem", |row: &Row| Some(&row.record.query.problem))
            .says("the prompt, as sent", "never"),
        Column::text("answer", |row: &Row| row.record.query.answer.as_deref())
            .says("the reference answer", "the dataset has none"),
        metadata_column(metadata),
        Column::text("subject", |row: &Row| row.record.query.subject.as_deref())
            .says("the topic", "the dataset has none"),
        Column::group(
            "model_answers",
            vec![
                Column::text(model, |row: &Row| Some(&row.record.reply.answer)).says(
                    "the answer without the reasoning, as far as it arrived",
                    "never",
                ),
            ],
        )
        .says("answers by model", "never"),
        Column::group(
            "model_metrics",
            vec![model::column(model, system, gpus, price)],
        )
        .says("metrics by model", "never"),
    ];
    columns.extend(ours::columns());
    columns
}

fn metadata_column(shape: &Shape) -> Column<Row> {
    let data_type = arrow_type(shape);
    let field = Arc::new(Field::new("dataset_metadata", data_type.clone(), true));
    Column::leaf("dataset_metadata", data_type, move |rows| {
        metadata_array(&field, rows).expect("metadata was fitted to its shape by the dataset")
    })
    .says(
        "other fields of the dataset's row; `row` is its position in the source",
        "never",
    )
}

fn metadata_array(field: &Arc<Field>, rows: &[&Row]) -> Result<ArrayRef, ArrowError> {
    let mut decoder = ReaderBuilder::new_with_field(Arc::clone(field))
        .with_batch_size(rows.len().max(1))
        .build_decoder()?;
    let values: Vec<_> = rows.iter().map(|row| &row.record.query.metadata).collect();
    decoder.serialize(&values)?;
    match decoder.flush()? {
        Some(batch) => Ok(Arc::clone(batch.column(0))),
        None => Ok(arrow_array::new_empty_array(field.data_type())),
    }
}

fn arrow_type(shape: &Shape) -> DataType {
    match shape {
        Shape::Bool => DataType::Boolean,
        Shape::Int => DataType::Int64,
        Shape::Float => DataType::Float64,
        Shape::Unknown | Shape::Text | Shape::Mixed => DataType::Utf8,
        Shape::List(item) => DataType::List(Arc::new(Field::new("item", arrow_type(item), true))),
        Shape::Struct(fields) => DataType::Struct(
            fields
                .iter()
                .map(|(name, shape)| Field::new(name, arrow_type(shape), true))
                .collect(),
        ),
    }
}

fn seconds(instant: Option<Timestamp>) -> Option<f64> {
    instant.map(Timestamp::seconds)
}

fn count(value: Option<u64>) -> Option<i64> {
    value.and_then(|value| i64::try_from(value).ok())
}
