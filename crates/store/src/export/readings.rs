//! The raw readings as a table of their own, with what each source is beside every value.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, SchemaRef};
use arrow_select::take::{TakeOptions, take};
use ipw_core::source::{Quantity, Source};
use ipw_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::layout::{constant, in_front};
use super::{LabelledRun, Runs};
use crate::features::schema_with_features;
use crate::ipc::Stream;
use crate::reader::column;
use crate::readings::{DIRECTORY, RecordedSource, sources};
use crate::state::State;
use crate::{Run, StoreError};

/// What a source says of one matter.
type Says = fn(&RecordedSource) -> Option<String>;

/// What a source says of itself, as columns.
const ABOUT: [(&str, Says); 8] = [
    ("name", |it| Some(it.about.name.clone())),
    ("collector", |it| Some(it.about.collector.to_string())),
    ("device", |it| it.about.device.clone()),
    ("quantity", |it| Some(kind(&it.about).to_owned())),
    ("domain", |it| it.about.domain().and_then(word)),
    ("gauge", |it| match it.about.quantity {
        Quantity::Gauge { gauge } => word(gauge),
        Quantity::Energy { .. } | Quantity::Power { .. } => None,
    }),
    ("method", |it| Some(it.about.method.label().to_owned())),
    ("unit", |it| Some(it.about.unit().to_owned())),
];

const fn kind(source: &Source) -> &'static str {
    match source.quantity {
        Quantity::Energy { .. } => "energy",
        Quantity::Power { .. } => "power",
        Quantity::Gauge { .. } => "gauge",
    }
}

/// The word that `sources.json` has for it.
fn word(of: impl Serialize) -> Option<String> {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => Some(word),
        _ => None,
    }
}

/// Whether the run has readings: without a source there are none.
pub fn has_readings(run: &Run) -> bool {
    State::read(&run.directory().join(DIRECTORY)).is_ok()
}

/// The columns of the table.
pub(super) struct Layout {
    schema: SchemaRef,
    is_together: bool,
}

impl Layout {
    pub(super) fn of(runs: Runs<'_>) -> Self {
        let number = |name: &str, data_type: DataType| Field::new(name, data_type, true);
        let about = ABOUT.map(|(name, _)| number(name, DataType::Utf8));
        let fields: Fields = [
            number("part", DataType::Int32),
            number("source", DataType::Int32),
        ]
        .into_iter()
        .chain(about)
        .chain([
            number("nanos", DataType::Int64),
            number("previous_nanos", DataType::Int64),
            number("seconds", DataType::Float64),
            number("value", DataType::Float64),
        ])
        .collect();
        let is_together = runs.is_together();
        let front = ["run"].iter().filter(|_| is_together);
        Self {
            schema: schema_with_features(in_front(&fields, front)),
            is_together,
        }
    }

    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Readings with what their sources are.
    pub(super) fn fit(
        &self,
        run: &LabelledRun,
        sources: &Sources,
        batch: &RecordBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let found = |name: &str| {
            let found = batch.column_by_name(name);
            found.ok_or_else(|| ArrowError::SchemaError(format!("there is no column `{name}`")))
        };
        let source = found("source")?;
        let nanos = found("nanos")?;
        let seconds: Float64Array = column::<Int64Array>(batch, "nanos")
            .map_err(|error| ArrowError::ExternalError(Box::new(error)))?
            .iter()
            .map(|nanos| nanos.and_then(in_seconds))
            .collect();
        // A source missing in `sources.json` is damage: report it instead of panicking.
        let options = Some(TakeOptions { check_bounds: true });
        let beside = |about: &ArrayRef| take(about, source, options.clone());
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        if self.is_together {
            columns.push(constant(&run.label, batch.num_rows()));
        }
        columns.push(beside(&sources.part)?);
        columns.push(ArrayRef::clone(source));
        for about in &sources.about {
            columns.push(beside(about)?);
        }
        columns.push(ArrayRef::clone(nanos));
        columns.push(ArrayRef::clone(found("previous_nanos")?));
        columns.push(Arc::new(seconds));
        columns.push(ArrayRef::clone(found("value")?));
        RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)
    }
}

/// As `timing` has it, so that both are the same number for the same instant.
fn in_seconds(nanos: i64) -> Option<f64> {
    let nanos = u64::try_from(nanos).ok()?;
    Some(Timestamp::from_nanos(nanos).seconds())
}

/// What the sources of one run are, by their places.
pub(super) struct Sources {
    part: ArrayRef,
    /// As [`ABOUT`] has it.
    about: Vec<ArrayRef>,
}

/// The readings of a run; `None` where there are none.
pub(super) fn open(run: &Path) -> Result<Option<(Vec<Stream>, Sources)>, StoreError> {
    let directory = run.join(DIRECTORY);
    let Ok(state) = State::read(&directory) else {
        return Ok(None);
    };
    let files = state.files();
    let streams = files.map(|name| Stream::open(&directory.join(name)));
    let streams = streams.collect::<Result<_, _>>()?;
    // A part describes its sources before it begins its file.
    let described = sources(run)?;
    let about = ABOUT.map(|(_, get)| -> ArrayRef {
        Arc::new(described.iter().map(get).collect::<StringArray>())
    });
    let part = described.iter().map(|it| i32::try_from(it.part).ok());
    let sources = Sources {
        part: Arc::new(part.collect::<Int32Array>()),
        about: about.into(),
    };
    Ok(Some((streams, sources)))
}
