//! Parquet: columns as they are, structs and lists included, in row groups of bounded size.
//!
//! Columns do not depend on each other, so two threads encode them. A few batches are gone through
//! at a time: each thread takes the next column that is not done, and one of them reads the batches
//! to come.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{mem, thread};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory,
};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Type, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::About;
use super::columns::{PackedColumn, columns};
use super::sheet::{Fault, Out};
use super::turns::Feed;
use crate::compact::size;

/// A row group is in memory until it is full.
const ROWS_PER_GROUP: usize = 100_000;
const BYTES_PER_GROUP: usize = 24 << 20;
/// So much is gone through at a time.
const ROWS_PER_ROUND: usize = 8_000;
const BYTES_PER_ROUND: usize = 12 << 20;

/// Writes a table; how many rows there were.
pub(super) fn write(
    schema: &SchemaRef,
    about: &About,
    feed: Feed<'_>,
    out: Out,
) -> Result<u64, Fault> {
    let about = about.0.iter();
    let about = about.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(about.collect()));
    // Measured fractions hardly ever repeat: a dictionary of them takes time and room.
    for column in ArrowSchemaConverter::new().convert(schema)?.columns() {
        if column.physical_type() == Type::DOUBLE {
            properties = properties.set_column_dictionary_enabled(column.path().clone(), false);
        }
    }
    let properties = properties.build();
    let writer = ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(properties))?;
    let (file, factory) = writer.into_serialized_writer()?;
    let columns = columns(schema.fields());
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|place| !columns[*place].is_long());
    let mut sheet = Sheet {
        group: Group::default(),
        columns,
        order,
        file,
        factory,
        rows: 0,
    };
    let mut source = Source { feed, rest: None };
    let mut round = source.round(ROWS_PER_GROUP)?;
    while !round.is_empty() {
        round = sheet.take(&round, &mut source)?;
    }
    sheet.finish()
}

/// Where batches come from.
struct Source<'a> {
    feed: Feed<'a>,
    /// What there was no room for.
    rest: Option<RecordBatch>,
}

impl Source<'_> {
    /// The next batches, of at most `room` rows; none at the end.
    fn round(&mut self, room: usize) -> Result<Vec<RecordBatch>, Fault> {
        let mut round = Vec::new();
        let (mut room, mut bytes) = (room.min(ROWS_PER_ROUND), 0);
        while room > 0 && bytes < BYTES_PER_ROUND {
            let next = self.rest.take().map(Ok).or_else(|| self.feed.next());
            let Some(mut batch) = next.transpose()? else {
                break;
            };
            if batch.num_rows() > room {
                self.rest = Some(batch.slice(room, batch.num_rows() - room));
                batch = batch.slice(0, room);
            }
            if batch.num_rows() > 0 {
                room -= batch.num_rows();
                bytes += size(&batch);
                round.push(batch);
            }
        }
        Ok(round)
    }
}

/// A file that is being written.
struct Sheet {
    columns: Vec<PackedColumn>,
    /// Places of columns, those first that take long: so no thread waits long for the other.
    order: Vec<usize>,
    file: SerializedFileWriter<Out>,
    factory: ArrowRowGroupWriterFactory,
    group: Group,
    rows: u64,
}

/// A row group that is being encoded; without writers until it has rows.
#[derive(Default)]
struct Group {
    /// The writers of each column's leaves.
    writers: Vec<Mutex<Vec<ArrowColumnWriter>>>,
    rows: usize,
}

impl Group {
    fn open(
        factory: &ArrowRowGroupWriterFactory,
        columns: &[PackedColumn],
        number: usize,
    ) -> Result<Self, Fault> {
        let mut writers = factory.create_column_writers(number)?.into_iter();
        let own = |column: &PackedColumn| writers.by_ref().take(column.leaves()).collect();
        Ok(Self {
            writers: columns.iter().map(own).map(Mutex::new).collect(),
            rows: 0,
        })
    }

    fn bytes(&self) -> usize {
        let sizes = self.writers.iter().map(|writers| {
            let writers = lock(writers);
            writers
                .iter()
                .map(ArrowColumnWriter::memory_size)
                .sum::<usize>()
        });
        sizes.sum()
    }
}

impl Sheet {
    /// Encodes a round, and reads the next one meanwhile.
    fn take(
        &mut self,
        round: &[RecordBatch],
        source: &mut Source<'_>,
    ) -> Result<Vec<RecordBatch>, Fault> {
        if self.group.rows == 0 {
            let number = self.file.flushed_row_groups().len();
            self.group = Group::open(&self.factory, &self.columns, number)?;
        }
        self.group.rows += round.iter().map(RecordBatch::num_rows).sum::<usize>();
        let room = match ROWS_PER_GROUP.saturating_sub(self.group.rows) {
            0 => ROWS_PER_GROUP,
            room => room,
        };
        let next = Mutex::new((source, Vec::new()));
        in_two_threads(1 + self.columns.len(), |task| {
            let Some(task) = task.checked_sub(1) else {
                let (source, next) = &mut *lock(&next);
                *next = source.round(room)?;
                return Ok(());
            };
            let place = self.order[task];
            let column = &self.columns[place];
            let mut writers = lock(&self.group.writers[place]);
            round
                .iter()
                .try_for_each(|batch| column.write(batch, &mut writers))
        })?;
        let is_full = self.group.rows >= ROWS_PER_GROUP || self.group.bytes() >= BYTES_PER_GROUP;
        if is_full {
            self.close_group()?;
        }
        let (_, next) = next.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(next)
    }

    /// Writes the row group to the file.
    fn close_group(&mut self) -> Result<(), Fault> {
        let group = mem::take(&mut self.group);
        self.rows += group.rows as u64;
        let chunks: Vec<Mutex<Vec<ArrowColumnChunk>>> =
            self.columns.iter().map(|_| Mutex::default()).collect();
        in_two_threads(self.columns.len(), |task| {
            let place = self.order[task];
            let writers = mem::take(&mut *lock(&group.writers[place]));
            let closed = writers.into_iter().map(ArrowColumnWriter::close);
            *lock(&chunks[place]) = closed.collect::<Result<_, _>>()?;
            Ok(())
        })?;
        let mut out = self.file.next_row_group()?;
        for chunks in chunks {
            for chunk in chunks.into_inner().unwrap_or_else(PoisonError::into_inner) {
                chunk.append_to_row_group(&mut out)?;
            }
        }
        out.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<u64, Fault> {
        if self.group.rows > 0 {
            self.close_group()?;
        }
        let mut out = self.file.into_inner()?;
        out.flush()?;
        Ok(self.rows)
    }
}

/// Does all tasks, each by the first thread that is free; the first error ends it.
fn in_two_threads(
    tasks: usize,
    task: impl Fn(usize) -> Result<(), Fault> + Sync,
) -> Result<(), Fault> {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= tasks {
                return Ok(());
            }
            if let Err(fault) = task(number) {
                next.store(tasks, Ordering::Relaxed);
                return Err(fault);
            }
        }
    };
    let (own, other) = thread::scope(|scope| {
        let other = scope.spawn(work);
        (work(), other.join())
    });
    // A panic there is a panic here.
    own.and(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
                Ok(error) => Self::Write(*error),
                Err(cause) => Self::Encode(ArrowError::ExternalError(cause)),
            },
            other => Self::Encode(other.into()),
        }
    }
}
