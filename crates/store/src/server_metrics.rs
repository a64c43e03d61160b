//! `server_metrics/`: what the service said of itself while the run went on, sample by sample.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Fields;
use ipw_core::server_metric::{Sample, known_as};
use ipw_core::time::Timestamp;

use crate::StoreError;
use crate::column::{Column, Entry};
use crate::features::schema_with_features;
use crate::side;
use crate::stream::StreamFile;

/// The directory in a run.
pub const DIRECTORY: &str = "server_metrics";

/// Writes samples as they come.
pub struct ServerMetricWriter {
    stream: StreamFile,
    columns: Vec<Column<Sample>>,
}

fn columns(part: i32) -> Vec<Column<Sample>> {
    let nanos = |instant: Timestamp| i64::try_from(instant.nanos()).ok();
    vec![
        Column::small_int("part", move |_: &Sample| Some(part))
            .says("part of the run whose clock `nanos` uses", "never"),
        Column::int("nanos", move |sample: &Sample| nanos(sample.at))
            .unit("ns since the part's reference")
            .says("middle of the request that returned it", "never"),
        Column::text("name", |sample: &Sample| {
            known_as(&sample.metric).map(|known| known.name)
        })
        .says("common name, the same for every service", "no common name"),
        Column::text("metric", |sample: &Sample| Some(&sample.metric))
            .says("name that the service uses", "never"),
        Column::text("labels", |sample: &Sample| Some(&sample.labels))
            .says("its labels, as a JSON object", "never"),
        Column::float("value", |sample: &Sample| Some(sample.value)).says("the value", "never"),
    ]
}

/// The columns of `server_metrics/`, for the reference.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for column in columns(0) {
        column.entries("", &mut entries);
    }
    entries
}

impl ServerMetricWriter {
    /// Makes `server_metrics/` in the run's directory.
    pub fn create(run: &Path, part: u32, durable: bool) -> Result<Self, StoreError> {
        let part_column = i32::try_from(part).unwrap_or(i32::MAX);
        let columns = columns(part_column);
        let fields: Fields = columns.iter().map(Column::field).collect();
        let schema = schema_with_features(fields);
        let stream = side::open(run, DIRECTORY, &schema, part, durable)?;
        Ok(Self { stream, columns })
    }

    /// Takes samples and returns when they are on disk.
    pub fn append(&mut self, samples: &[Sample]) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let rows: Vec<&Sample> = samples.iter().collect();
        let arrays = self.columns.iter().map(|column| column.build(&rows));
        let arrays = arrays.collect();
        let batch = RecordBatch::try_new(self.stream.schema(), arrays)
            .map_err(StoreError::arrow("encode samples of", self.stream.path()))?;
        self.stream.append(&batch).map(|_| ())
    }
}
