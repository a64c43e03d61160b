//! At the end of a run: the many small batches of its commits become few large ones. Whatever else
//! changes rows goes the same way.
//!
//! New data files are written beside the old one and switched in by one rename of `state.json`.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::StreamWriter;

use crate::StoreError;
use crate::ipc::Stream;
use crate::state::{State, fresh_fingerprint};

/// What `datasets` itself writes by default.
const ROWS_PER_BATCH: usize = 1000;
const BYTES_PER_BATCH: usize = 32 << 20;
const BYTES_PER_FILE: usize = 500 << 20;

/// Rewrites the data files of the run in `directory`. On an error the run is as it was.
pub(crate) fn compact(directory: &Path, durable: bool) -> Result<(), StoreError> {
    rewrite(directory, durable, &mut Ok)
}

/// Makes of each batch, in order, what takes its place.
type Change<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<RecordBatch, StoreError>;

/// The same, with the rows that `keep` names.
pub(crate) fn compact_where(
    directory: &Path,
    durable: bool,
    keep: &dyn Fn(&RecordBatch) -> Result<BooleanArray, StoreError>,
) -> Result<(), StoreError> {
    rewrite(directory, durable, &mut |batch| {
        filter_record_batch(&batch, &keep(&batch)?)
            .map_err(StoreError::arrow("choose rows of", directory))
    })
}

/// The same, with what `change` makes of the batches, in columns of the same types.
pub(crate) fn rewrite(
    directory: &Path,
    durable: bool,
    change: Change<'_>,
) -> Result<(), StoreError> {
    let old: Vec<PathBuf> = State::read(directory)?
        .files()
        .map(|name| directory.join(name))
        .collect();
    let fingerprint = fresh_fingerprint();
    let mut shards = Shards {
        directory,
        fingerprint: &fingerprint,
        done: Vec::new(),
    };
    let switched = copy(&old, &mut shards, durable, change).and_then(|()| {
        let names = shards.named()?;
        State::new(fingerprint.clone(), names).write(directory, durable)
    });
    let leftover = if switched.is_ok() { old } else { shards.done };
    for path in leftover {
        // A data file that no state names is never read.
        let _ = fs::remove_file(path);
    }
    switched
}

struct Shards<'a> {
    directory: &'a Path,
    fingerprint: &'a str,
    done: Vec<PathBuf>,
}

impl Shards<'_> {
    fn open(&mut self, schema: &SchemaRef) -> Result<Shard, StoreError> {
        let path = self.directory.join(format!(
            "data-{}-{:05}.arrow",
            self.fingerprint,
            self.done.len()
        ));
        self.done.push(path.clone());
        let file = File::create_new(&path).map_err(StoreError::io("create", &path))?;
        let writer = StreamWriter::try_new(BufWriter::new(file), schema)
            .map_err(StoreError::arrow("write", &path))?;
        Ok(Shard {
            path,
            writer,
            bytes: 0,
        })
    }

    /// Gives the shards the names that `save_to_disk` would, now that their number is known.
    fn named(&mut self) -> Result<Vec<String>, StoreError> {
        let count = self.done.len();
        let mut names = Vec::with_capacity(count);
        for (number, path) in self.done.iter_mut().enumerate() {
            let name = format!("data-{}-{number:05}-of-{count:05}.arrow", self.fingerprint);
            let named = self.directory.join(&name);
            fs::rename(&*path, &named).map_err(StoreError::io("rename", path))?;
            *path = named;
            names.push(name);
        }
        Ok(names)
    }
}

struct Shard {
    path: PathBuf,
    writer: StreamWriter<BufWriter<File>>,
    bytes: usize,
}

impl Shard {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.bytes += size(batch);
        self.writer
            .write(batch)
            .map_err(StoreError::arrow("write", &self.path))
    }

    fn finish(self, durable: bool) -> Result<(), StoreError> {
        let path = self.path;
        let buffered = self
            .writer
            .into_inner()
            .map_err(StoreError::arrow("finish", &path))?;
        let file = buffered
            .into_inner()
            .map_err(|error| StoreError::io("write", &path)(error.into_error()))?;
        if durable {
            file.sync_data().map_err(StoreError::io("sync", &path))
        } else {
            Ok(())
        }
    }
}

fn copy(
    old: &[PathBuf],
    shards: &mut Shards<'_>,
    durable: bool,
    change: Change<'_>,
) -> Result<(), StoreError> {
    let mut shard: Option<Shard> = None;
    let mut pending: Vec<RecordBatch> = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for path in old {
        let stream = Stream::open(path)?;
        let schema = stream.schema();
        if shard.is_none() {
            shard = Some(shards.open(&schema)?);
        }
        for batch in stream {
            let batch = batch.map_err(StoreError::arrow("read rows of", path))?;
            let batch = change(batch)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let (more_rows, more_bytes) = (batch.num_rows(), size(&batch));
            if rows > 0
                && (rows + more_rows > ROWS_PER_BATCH || bytes + more_bytes > BYTES_PER_BATCH)
            {
                shard = Some(flush(shard, shards, &mut pending, durable)?);
                (rows, bytes) = (0, 0);
            }
            rows += more_rows;
            bytes += more_bytes;
            pending.push(batch);
        }
    }
    if rows > 0 {
        shard = Some(flush(shard, shards, &mut pending, durable)?);
    }
    shard.map_or(Ok(()), |shard| shard.finish(durable))
}

/// Bytes of the values themselves: the columns of a batch that was read share one buffer, which
/// their own accounts would each count whole.
fn size(batch: &RecordBatch) -> usize {
    let sizes = batch
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size());
    // A type without a known size cannot be in our schema; it would count as nothing.
    sizes.map(|size| size.unwrap_or(0)).sum()
}

fn flush(
    shard: Option<Shard>,
    shards: &mut Shards<'_>,
    pending: &mut Vec<RecordBatch>,
    durable: bool,
) -> Result<Shard, StoreError> {
    let schema = pending[0].schema();
    let batch = concat_batches(&schema, pending.iter())
        .map_err(StoreError::arrow("join rows of", shards.directory))?;
    pending.clear();
    let mut shard = match shard {
        Some(shard) if shard.bytes < BYTES_PER_FILE => shard,
        Some(full) => {
            full.finish(durable)?;
            shards.open(&schema)?
        }
        None => shards.open(&schema)?,
    };
    shard.write(&batch)?;
    Ok(shard)
}
