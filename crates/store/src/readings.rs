//! `readings/`: the raw readings, in the same tear-free stream, and what their sources are.
//!
//! They are there so that everything can be computed again, by us or by others: `datasets` opens each
//! file (docs/format.md).

use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_array::{Array, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::Fields;
use ipw_core::alignment::ClockOffset;
use ipw_core::attribution::Idle;
use ipw_core::energy::{Meter, MeteredSource};
use ipw_core::reading::Reading;
use ipw_core::sink::{ReadingSink, SinkError};
use ipw_core::source::{Role, Source, SourceIndex};
use ipw_core::time::Timestamp;
use ipw_core::units::Watts;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::column::{Column, Entry};
use crate::features::schema_with_features;
use crate::projected::Batches;
use crate::reader::column;
use crate::state::State;
use crate::stream::StreamFile;
use crate::{StoreError, file, side};

pub(crate) const DIRECTORY: &str = "readings";
const SOURCES: &str = "sources.json";

/// Writes readings as they come.
pub struct ReadingWriter {
    columns: Vec<Column<Reading>>,
    stream: StreamFile,
    /// Where this part's sources begin in `sources.json`.
    first: u16,
    directory: PathBuf,
    durable: bool,
}

fn columns() -> Vec<Column<Reading>> {
    let nanos = |instant: Timestamp| i64::try_from(instant.nanos()).ok();
    vec![
        Column::small_int("source", |reading: &Reading| {
            Some(i32::from(reading.source.0))
        })
        .says("index of the source in `sources.json`", "never"),
        Column::int("nanos", move |reading: &Reading| nanos(reading.at))
            .unit("ns since the part's reference")
            .says("when the value was taken", "never"),
        Column::int("previous_nanos", move |reading: &Reading| {
            reading.previous.and_then(nanos)
        })
        .unit("ns since the part's reference")
        .says(
            "previous read of the source; a counter changed after it",
            "first reading",
        ),
        Column::float("value", |reading: &Reading| Some(reading.value))
            .says("the value, in the source's unit", "never"),
    ]
}

/// The sources of a run and their readings, as they were recorded.
pub fn read(run: &Path) -> Result<(Vec<Source>, Vec<Reading>), StoreError> {
    let sources = sources(run)?;
    let mut readings = Vec::new();
    for_each(run, |reading| readings.push(*reading))?;
    let sources = sources.into_iter().map(|source| source.about);
    Ok((sources.collect(), readings))
}

/// Calls `each` with every reading of a run; never more than one batch is in memory.
pub fn for_each(run: &Path, mut each: impl FnMut(&Reading)) -> Result<(), StoreError> {
    for path in files(run)? {
        for batch in batches(&path)? {
            batch?.iter().for_each(&mut each);
        }
    }
    Ok(())
}

/// A source as `sources.json` describes it.
#[derive(Debug, Clone)]
pub struct RecordedSource {
    /// The part of the run that it belongs to, on whose clock its readings lie.
    pub part: u32,
    /// What it is.
    pub about: Source,
    /// How its readings are to be taken.
    pub meter: Meter,
    /// Whether it measures the service's machine or the client's.
    pub role: Role,
    /// Idle power; `None` if the run did not measure it.
    pub idle: Option<Idle>,
    /// How its clock lay against the run's, where it is another.
    pub clock: Option<ClockOffset>,
}

/// An entry of `sources.json`. Runs of earlier versions have no `meter`, `role`, `idle`, `clock`.
#[derive(Deserialize)]
struct SourceEntry {
    #[serde(default)]
    part: u32,
    about: Source,
    #[serde(default)]
    meter: Option<DescribedMeter>,
    #[serde(default)]
    role: Role,
    #[serde(default)]
    idle: Option<DescribedIdle>,
    #[serde(default)]
    clock: Option<ClockOffset>,
}

/// What a meter is beyond what its source says.
#[derive(Serialize, Deserialize)]
struct DescribedMeter {
    #[serde(rename = "longest_silence_seconds", with = "ipw_core::seconds")]
    longest_silence: Duration,
    /// The most that the device draws; what its kind draws where the run does not say.
    #[serde(default)]
    largest_watts: Option<f64>,
    /// How far stamps can be from their values; unknown where the run does not say.
    #[serde(
        rename = "dated_within_seconds",
        with = "ipw_core::seconds::optional",
        default
    )]
    dated_within: Option<Duration>,
}

/// The idle power of a source.
#[derive(Serialize, Deserialize)]
struct DescribedIdle {
    watts: f64,
    sigma_watts: f64,
}

/// How often sources were polled by runs that do not say.
const USUAL_INTERVAL: Duration = Duration::from_millis(10);

impl From<SourceEntry> for RecordedSource {
    fn from(described: SourceEntry) -> Self {
        let usual = Meter::of(&described.about, USUAL_INTERVAL);
        let longest_silence = described
            .meter
            .as_ref()
            .map_or(usual.longest_silence, |meter| meter.longest_silence);
        let meter = described.meter.as_ref();
        let largest = meter.and_then(|meter| meter.largest_watts);
        let dated_within = meter.and_then(|meter| meter.dated_within);
        let idle = described.idle.map(|idle| Idle {
            power: Watts::from_watts(idle.watts),
            sigma: Watts::from_watts(idle.sigma_watts),
        });
        Self {
            part: described.part,
            about: described.about,
            meter: Meter {
                longest_silence,
                largest: largest.map_or(usual.largest, Watts::from_watts),
                dated_within,
                clock_bound: described.clock.map_or(Duration::ZERO, |clock| clock.bound),
                ..usual
            },
            role: described.role,
            idle,
            clock: described.clock,
        }
    }
}

/// The sources of a run, part by part, in the order of their numbers.
pub fn sources(run: &Path) -> Result<Vec<RecordedSource>, StoreError> {
    let path = run.join(DIRECTORY).join(SOURCES);
    file::refuse_link(&run.join(DIRECTORY))?;
    let text = file::read(&path)?;
    let described: Vec<SourceEntry> =
        serde_json::from_slice(&text).map_err(|source| StoreError::Json { path, source })?;
    Ok(described.into_iter().map(RecordedSource::from).collect())
}

/// The files that hold a run's readings, in order.
pub(crate) fn files(run: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let directory = run.join(DIRECTORY);
    file::refuse_link(&directory)?;
    let state = State::read(&directory)?;
    Ok(state.files().map(|name| directory.join(name)).collect())
}

/// The readings of one file, as they were appended: those of each source in order.
pub(crate) fn batches(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Vec<Reading>, StoreError>> + use<>, StoreError> {
    let path = path.to_owned();
    let columns = ["source", "nanos", "previous_nanos", "value"].map(|name| vec![name]);
    let batches = Batches::open(&path, &columns)?;
    Ok(batches.map(move |batch| of(&batch.map_err(StoreError::arrow("read", &path))?)))
}

fn of(batch: &RecordBatch) -> Result<Vec<Reading>, StoreError> {
    let source = column::<Int32Array>(batch, "source")?;
    let at = column::<Int64Array>(batch, "nanos")?;
    let previous = column::<Int64Array>(batch, "previous_nanos")?;
    let value = column::<Float64Array>(batch, "value")?;
    let instant = |nanos: i64| u64::try_from(nanos).map(Timestamp::from_nanos).ok();
    let reading = |row: usize| {
        Some(Reading {
            source: SourceIndex(u16::try_from(source.value(row)).ok()?),
            at: instant(at.value(row))?,
            previous: if previous.is_null(row) {
                None
            } else {
                instant(previous.value(row))
            },
            value: value.value(row),
        })
    };
    let readings: Option<Vec<Reading>> = (0..batch.num_rows()).map(reading).collect();
    readings.ok_or_else(|| StoreError::Column {
        column: "source, nanos".to_owned(),
    })
}

/// The entries of `sources.json` so far; none if there is no such file.
fn described(directory: &Path) -> Result<Vec<serde_json::Value>, StoreError> {
    let path = directory.join(SOURCES);
    match file::read_if_there(&path)? {
        Some(text) => {
            serde_json::from_slice(&text).map_err(|source| StoreError::Json { path, source })
        }
        None => Ok(Vec::new()),
    }
}

/// The columns of `readings/`, for the reference.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for column in columns() {
        column.entries("", &mut entries);
    }
    entries
}

impl ReadingWriter {
    /// Makes `readings/` in the run's directory.
    pub fn create<'a>(
        run: &Path,
        sources: impl Iterator<Item = MeteredSource<'a>>,
        part: u32,
        durable: bool,
    ) -> Result<Self, StoreError> {
        let directory = file::directory(run, DIRECTORY, durable)?;
        // A part of a resumed run adds its own sources and a file of its own.
        let mut about = described(&directory)?;
        let first = about.len();
        let columns = columns();
        let fields: Fields = columns.iter().map(Column::field).collect();
        let schema = schema_with_features(fields);
        about.extend((first..).zip(sources).map(|(index, source)| {
            let meter = DescribedMeter {
                longest_silence: source.meter.longest_silence,
                largest_watts: Some(source.meter.largest.watts()),
                dated_within: source.meter.dated_within,
            };
            json!({
                "source": index, "part": part, "unit": source.about.unit(),
                "about": source.about, "role": source.role, "meter": meter, "idle": null,
                "clock": null,
            })
        }));
        let too_many = |_| StoreError::NotARun {
            path: directory.clone(),
            reason: "it was resumed so often that its sources no longer have numbers".to_owned(),
        };
        u16::try_from(about.len()).map_err(too_many)?;
        let first = u16::try_from(first).map_err(too_many)?;
        let about = serde_json::to_vec_pretty(&about).expect("descriptions serialize");
        // What earlier parts left must not be lost with what is added.
        let durable_sources = durable || first > 0;
        file::replace(&directory.join(SOURCES), &about, durable_sources)?;
        let stream = side::open(run, DIRECTORY, &schema, part, durable)?;
        Ok(Self {
            columns,
            stream,
            first,
            directory,
            durable,
        })
    }

    /// Writes what became known of this part's sources beside what they are.
    fn describe<T: Copy>(
        &self,
        key: &str,
        known: &[Option<T>],
        words: impl Fn(T) -> serde_json::Value,
    ) -> Result<(), StoreError> {
        let mut about = described(&self.directory)?;
        let own = about.iter_mut().skip(usize::from(self.first));
        for (entry, known) in own.zip(known) {
            entry[key] = known.map_or(serde_json::Value::Null, &words);
        }
        let about = serde_json::to_vec_pretty(&about).expect("descriptions serialize");
        let durable = self.durable || self.first > 0;
        file::replace(&self.directory.join(SOURCES), &about, durable)
    }

    fn write(&mut self, readings: &[Reading]) -> Result<(), StoreError> {
        let placed: Vec<_> = readings
            .iter()
            .map(|reading| Reading {
                source: SourceIndex(reading.source.0 + self.first),
                ..*reading
            })
            .collect();
        let readings: Vec<&Reading> = placed.iter().collect();
        let arrays = self
            .columns
            .iter()
            .map(|column| column.build(&readings))
            .collect();
        let batch = RecordBatch::try_new(self.stream.schema(), arrays)
            .map_err(StoreError::arrow("encode readings of", self.stream.path()))?;
        self.stream.append(&batch).map(|_| ())
    }
}

impl ReadingSink for ReadingWriter {
    fn append(&mut self, readings: &[Reading]) -> Result<(), SinkError> {
        if readings.is_empty() {
            return Ok(());
        }
        self.write(readings)
            .map_err(|error| SinkError(Box::new(error)))
    }

    fn note_idle(&mut self, idle: &[Option<Idle>]) -> Result<(), SinkError> {
        let words = |idle: Idle| {
            json!(DescribedIdle {
                watts: idle.power.watts(),
                sigma_watts: idle.sigma.watts(),
            })
        };
        self.describe("idle", idle, words)
            .map_err(|error| SinkError(Box::new(error)))
    }

    fn note_alignment(&mut self, aligned: &[Option<ClockOffset>]) -> Result<(), SinkError> {
        self.describe("clock", aligned, |aligned| json!(aligned))
            .map_err(|error| SinkError(Box::new(error)))
    }
}
