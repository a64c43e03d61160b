//! At the end of a run: the many small batches of its commits become few large ones. Whatever else
//! changes rows goes the same way.
//!
//! New data files are written beside the old one and switched in by one rename of `state.json`. The
//! old ones may have been on the disk for long: they go when the new ones are there for sure, in
//! runs without `--durable` too.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;

use crate::adopt::Adoption;
use crate::disk::{self, DiskFile};
use crate::ipc::Stream;
use crate::output::write_dataset_info;
use crate::state::{State, fresh_fingerprint};
use crate::{StoreError, file};

/// What `datasets` itself writes by default.
const ROWS_PER_BATCH: usize = 1000;
const BYTES_PER_BATCH: usize = 32 << 20;
const BYTES_PER_FILE: usize = 500 << 20;
/// A batch has some 300 columns of a few kilobytes: they go to the system together.
const BYTES_PER_WRITE: usize = 1 << 20;

/// Rewrites the data files of the run in `directory`. On an error the run is as it was.
pub(crate) fn compact(directory: &Path) -> Result<(), StoreError> {
    rewrite(directory, None, &mut Ok)
}

/// Makes of each batch, in order, what takes its place.
type Change<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<RecordBatch, StoreError>;

/// The same, with the rows that `keep` names.
pub(crate) fn compact_where(
    directory: &Path,
    keep: &dyn Fn(&RecordBatch) -> Result<BooleanArray, StoreError>,
) -> Result<(), StoreError> {
    rewrite(directory, None, &mut |batch| {
        filter_record_batch(&batch, &keep(&batch)?)
            .map_err(StoreError::arrow("choose rows of", directory))
    })
}

/// The same, with what `change` makes of the batches, in columns of the same types; rows that another
/// program wrote get our types first.
pub(crate) fn rewrite(
    directory: &Path,
    adoption: Option<&Adoption>,
    change: Change<'_>,
) -> Result<(), StoreError> {
    if adoption.is_some() {
        // Without features it fits the old files and the new ones: their schemas say enough.
        write_dataset_info(directory, None, true)?;
    }
    let old: Vec<PathBuf> = State::read(directory)?
        .files()
        .map(|name| directory.join(name))
        .collect();
    let fingerprint = fresh_fingerprint();
    let mut shards = Shards {
        directory,
        fingerprint: &fingerprint,
        done: Vec::new(),
        syncing: Vec::new(),
    };
    let copied = copy(&old, &mut shards, adoption, change);
    let synced = shards.synced();
    let switched = copied.and(synced).and_then(|()| {
        let names = shards.named()?;
        State::new(fingerprint.clone(), names).write(directory, true)
    });
    let leftover = if switched.is_ok() {
        old
    } else {
        unnamed(directory, shards.done)
    };
    for path in leftover {
        // A data file that no state names is never read.
        let _ = disk::remove_file(&path);
    }
    switched
}

/// Those files of a rewrite that failed which the state does not name: it may have failed behind
/// the switch. Without a state that can be read, none are known.
fn unnamed(directory: &Path, mut made: Vec<PathBuf>) -> Vec<PathBuf> {
    let Ok(state) = State::read(directory) else {
        return Vec::new();
    };
    let is_named = |path: &PathBuf| state.files().any(|name| directory.join(name) == *path);
    made.retain(|path| !is_named(path));
    made
}

struct Shards<'a> {
    directory: &'a Path,
    fingerprint: &'a str,
    done: Vec<PathBuf>,
    /// Full shards on their way to the disk, while the next one is written.
    syncing: Vec<JoinHandle<Result<(), StoreError>>>,
}

impl Shards<'_> {
    fn open(&mut self, schema: &SchemaRef) -> Result<Shard, StoreError> {
        let path = self.directory.join(format!(
            "data-{}-{:05}.arrow",
            self.fingerprint,
            self.done.len()
        ));
        self.done.push(path.clone());
        let file = DiskFile::create_new(&path).map_err(StoreError::io("create", &path))?;
        let writer = StreamWriter::try_new(BufWriter::with_capacity(BYTES_PER_WRITE, file), schema)
            .map_err(StoreError::arrow("write", &path))?;
        Ok(Shard {
            path,
            writer,
            bytes: 0,
        })
    }

    /// Lets a full shard go to the disk.
    fn finish(&mut self, shard: Shard) {
        self.syncing.push(thread::spawn(|| shard.finish()));
    }

    /// Waits until all that was written is on the disk.
    fn synced(&mut self) -> Result<(), StoreError> {
        let mut all = Ok(());
        // Every shard is waited for, also after an error: its file is removed afterwards.
        for syncing in self.syncing.drain(..) {
            let result = syncing.join();
            all = all.and(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    }

    /// Gives the shards the names that `save_to_disk` would, now that their number is known.
    fn named(&mut self) -> Result<Vec<String>, StoreError> {
        let count = self.done.len();
        let mut names = Vec::with_capacity(count);
        for (number, path) in self.done.iter_mut().enumerate() {
            let name = format!("data-{}-{number:05}-of-{count:05}.arrow", self.fingerprint);
            let named = self.directory.join(&name);
            disk::rename(path, &named).map_err(StoreError::io("rename", path))?;
            *path = named;
            names.push(name);
        }
        // The state must not name files that the disk does not have.
        if let Some(path) = self.done.first() {
            file::sync_name(path)?;
        }
        Ok(names)
    }
}

struct Shard {
    path: PathBuf,
    writer: StreamWriter<BufWriter<DiskFile>>,
    bytes: usize,
}

impl Shard {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.bytes += size(batch);
        self.writer
            .write(batch)
            .map_err(StoreError::arrow("write", &self.path))
    }

    fn finish(self) -> Result<(), StoreError> {
        let path = self.path;
        let buffered = self
            .writer
            .into_inner()
            .map_err(StoreError::arrow("finish", &path))?;
        let file = buffered
            .into_inner()
            .map_err(|error| StoreError::io("write", &path)(error.into_error()))?;
        file.sync().map_err(StoreError::io("sync", &path))
    }
}

fn copy(
    old: &[PathBuf],
    shards: &mut Shards<'_>,
    adoption: Option<&Adoption>,
    change: Change<'_>,
) -> Result<(), StoreError> {
    let mut shard: Option<Shard> = None;
    let mut pending: Vec<RecordBatch> = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for path in old {
        let stream = Stream::open(path)?;
        let schema = adoption.map_or_else(
            || stream.schema(),
            |adoption| SchemaRef::clone(adoption.schema()),
        );
        if shard.is_none() {
            shard = Some(shards.open(&schema)?);
        }
        for batch in stream {
            let batch = batch.map_err(StoreError::arrow("read rows of", path))?;
            let batch = match adoption {
                Some(adoption) => adoption
                    .apply(&batch)
                    .map_err(StoreError::arrow("read rows of", path))?,
                None => batch,
            };
            let batch = change(batch)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let (more_rows, more_bytes) = (batch.num_rows(), size(&batch));
            if rows > 0
                && (rows + more_rows > ROWS_PER_BATCH || bytes + more_bytes > BYTES_PER_BATCH)
            {
                shard = Some(flush(shard, shards, &mut pending)?);
                (rows, bytes) = (0, 0);
            }
            rows += more_rows;
            bytes += more_bytes;
            pending.push(batch);
        }
    }
    if rows > 0 {
        shard = Some(flush(shard, shards, &mut pending)?);
    }
    if let Some(shard) = shard {
        shards.finish(shard);
    }
    Ok(())
}

/// Bytes of the values themselves: the columns of a batch that was read share one buffer, which
/// their own accounts would each count whole.
pub(crate) fn size(batch: &RecordBatch) -> usize {
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
) -> Result<Shard, StoreError> {
    let schema = pending[0].schema();
    let batch = match pending.as_slice() {
        // What is whole already needs no copy.
        [whole] => whole.clone(),
        parts => concat_batches(&schema, parts)
            .map_err(StoreError::arrow("join rows of", shards.directory))?,
    };
    pending.clear();
    let mut shard = match shard {
        Some(shard) if shard.bytes < BYTES_PER_FILE => shard,
        Some(full) => {
            shards.finish(full);
            shards.open(&schema)?
        }
        None => shards.open(&schema)?,
    };
    shard.write(&batch)?;
    Ok(shard)
}
