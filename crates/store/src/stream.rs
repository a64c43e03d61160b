//! An Arrow IPC stream file that grows without ever being torn.
//!
//! The file always ends in an end-of-stream marker. A new batch and a new marker are written
//! *behind* the old marker; then one aligned 8-byte write of the batch's first 8 bytes over the old
//! marker commits it. Killed before that write, the file still ends at the old marker and what lies
//! behind it is never read; killed after it, the batch is there. There is no moment in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use arrow_schema::{ArrowError, SchemaRef};

use crate::disk::DiskFile;
use crate::{StoreError, checksum, file};

/// Continuation marker and a length of zero.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// A stream file that is open for appending.
pub struct StreamFile {
    file: DiskFile,
    path: PathBuf,
    schema: SchemaRef,
    encoder: StreamEncoder,
    /// Where the end-of-stream marker lies: a multiple of 8.
    end: u64,
    durable: bool,
}

impl StreamFile {
    /// Makes a new file that holds the schema and no rows.
    pub fn create(path: &Path, schema: &SchemaRef, durable: bool) -> Result<Self, StoreError> {
        let encoded = StoreError::arrow("encode the schema of", path);
        let (encoder, head) = start(schema).map_err(encoded)?;
        let file = DiskFile::create_new(path).map_err(StoreError::io("create", path))?;
        let end = head.len() as u64;
        let stream = Self {
            file,
            path: path.to_owned(),
            schema: Arc::clone(schema),
            encoder,
            end,
            durable,
        };
        stream.write_at(&[head.as_slice(), &END_OF_STREAM].concat(), 0)?;
        if durable {
            stream.secure()?;
        }
        Ok(stream)
    }

    /// Waits until its content and its name are on the disk.
    pub(crate) fn secure(&self) -> Result<(), StoreError> {
        self.file
            .sync()
            .map_err(StoreError::io("sync", &self.path))?;
        file::sync_name(&self.path)
    }

    /// Whether it waits for the disk at every commit.
    pub(crate) const fn is_durable(&self) -> bool {
        self.durable
    }

    /// Says under which name the file goes on.
    pub(crate) fn moved_to(&mut self, path: PathBuf) {
        self.file.moved_to(&path);
        self.path = path;
    }

    /// Appends one batch; on an error the file is what it was before. Returns the bytes added.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<u64, StoreError> {
        let buffers = self
            .encoder
            .encode(batch)
            .map_err(StoreError::arrow("encode rows of", &self.path))?;
        let mut message = Vec::with_capacity(buffers.iter().map(Buffer::len).sum());
        for buffer in &buffers {
            message.extend_from_slice(buffer);
        }
        checksum::seal(&mut message);
        let added = message.len() as u64;
        message.extend_from_slice(&END_OF_STREAM);
        let (commit, behind) = message.split_at(END_OF_STREAM.len());
        self.write_at(behind, self.end + END_OF_STREAM.len() as u64)?;
        // The rows must be on the disk before the marker that makes them count.
        self.sync()?;
        self.write_at(commit, self.end)?;
        // From here on readers see the batch, whether the disk has it or not.
        self.end += added;
        self.sync()?;
        Ok(added)
    }

    /// The schema of its rows.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(StoreError::io("write", &self.path))
    }

    fn sync(&self) -> Result<(), StoreError> {
        if !self.durable {
            return Ok(());
        }
        self.file.sync().map_err(StoreError::io("sync", &self.path))
    }
}

/// An encoder that is past the schema, and the schema's message.
fn start(schema: &SchemaRef) -> Result<(StreamEncoder, Vec<u8>), ArrowError> {
    // Alignment 8: most commits hold a few rows, and 64 would pad each of some 300 buffers.
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?;
    let head: Vec<u8> = StreamEncoder::try_new_with_options(schema, options.clone())?
        .finish()?
        .iter()
        .flat_map(|buffer| buffer.as_slice().to_vec())
        .collect();
    let mut head = head[..head.len() - END_OF_STREAM.len()].to_vec();
    checksum::seal(&mut head);
    let mut encoder = StreamEncoder::try_new_with_options(schema, options)?;
    // The first call emits the schema too, which is in the file already.
    encoder.encode(&RecordBatch::new_empty(schema.clone()))?;
    Ok((encoder, head))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Cursor;

    use arrow_array::{Array, Int64Array, StringArray};
    use arrow_ipc::reader::StreamReader;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("text", DataType::Utf8, true),
        ]))
    }

    fn batch(from: i64, count: i64) -> RecordBatch {
        let numbers: Int64Array = (from..from + count).collect();
        let texts: StringArray = (from..from + count)
            .map(|n| Some("x".repeat(usize::try_from(n).unwrap())))
            .collect();
        RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
    }

    fn rows(bytes: &[u8]) -> Result<Vec<i64>, ArrowError> {
        let mut rows = Vec::new();
        for batch in StreamReader::try_new(Cursor::new(bytes), None)? {
            let batch = batch?;
            let numbers = batch
                .column(0)
                .as_any()
                .downcast_ref::<Int64Array>()
                .unwrap();
            rows.extend(numbers.iter().flatten());
        }
        Ok(rows)
    }

    #[test]
    fn a_new_file_is_a_stream_without_rows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        StreamFile::create(&path, &schema(), false).unwrap();
        assert_eq!(rows(&fs::read(&path).unwrap()).unwrap(), Vec::<i64>::new());
    }

    #[test]
    fn rows_appear_batch_by_batch() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        let mut stream = StreamFile::create(&path, &schema(), true).unwrap();
        for n in 0..20 {
            stream.append(&batch(n, 1)).unwrap();
            assert_eq!(
                rows(&fs::read(&path).unwrap()).unwrap(),
                (0..=n).collect::<Vec<_>>()
            );
        }
    }

    /// Replays the two writes of an append byte by byte: at every moment the file holds the rows of
    /// before or, after the commit, those of after.
    #[test]
    fn a_file_torn_at_any_byte_holds_all_committed_rows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        let mut stream = StreamFile::create(&path, &schema(), false).unwrap();
        stream.append(&batch(0, 3)).unwrap();
        let before = fs::read(&path).unwrap();
        let marker = usize::try_from(stream.end).unwrap();
        stream.append(&batch(3, 2)).unwrap();
        let after = fs::read(&path).unwrap();
        assert_eq!(marker % 8, 0);

        for torn in marker + 8..=after.len() {
            let mut file = before.clone();
            file.extend_from_slice(&after[marker + 8..torn]);
            assert_eq!(rows(&file).unwrap(), [0, 1, 2], "torn at {torn}");
        }
        assert_eq!(rows(&after).unwrap(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_failed_append_changes_nothing_that_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        let mut stream = StreamFile::create(&path, &schema(), false).unwrap();
        stream.append(&batch(0, 1)).unwrap();
        stream.file = DiskFile::over(File::open(&path).unwrap(), &path);
        assert!(stream.append(&batch(1, 1)).is_err());
        assert_eq!(rows(&fs::read(&path).unwrap()).unwrap(), [0]);
        let writable = OpenOptions::new().write(true).open(&path).unwrap();
        stream.file = DiskFile::over(writable, &path);
        stream.append(&batch(2, 1)).unwrap();
        assert_eq!(rows(&fs::read(&path).unwrap()).unwrap(), [0, 2]);
    }

    /// Zeros in the middle of a long text: Arrow itself would read them.
    #[test]
    fn rows_that_reached_the_disk_in_part_are_an_error_and_those_before_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        let mut stream = StreamFile::create(&path, &schema(), false).unwrap();
        stream.append(&batch(0, 2)).unwrap();
        stream.append(&batch(20_000, 1)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let page = bytes.len() - 12_000;
        bytes[page..page + 4096].fill(0);
        assert_eq!(rows(&bytes).unwrap(), [0, 1, 20_000], "Arrow takes it");
        fs::write(&path, &bytes).unwrap();
        let read: Vec<_> = crate::ipc::Stream::open(&path).unwrap().collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].as_ref().unwrap().num_rows(), 2);
        let error = read[1].as_ref().unwrap_err().to_string();
        assert!(error.contains("damaged at byte"), "{error}");
    }

    struct FailingSync(std::sync::atomic::AtomicUsize);

    impl crate::disk::Shim for FailingSync {
        fn pass(&self, call: &crate::disk::Call<'_>) -> std::io::Result<usize> {
            let is_sync = matches!(call.kind, crate::disk::Kind::Sync);
            // The second sync is the one behind the marker.
            if is_sync && self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
                return Err(std::io::Error::from_raw_os_error(5));
            }
            Ok(usize::MAX)
        }
    }

    #[test]
    fn a_sync_that_fails_behind_a_commit_lets_nothing_overwrite_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.arrow");
        let mut stream = StreamFile::create(&path, &schema(), true).unwrap();
        let shim = FailingSync(std::sync::atomic::AtomicUsize::new(0));
        let mounted = crate::disk::mount(directory.path(), Arc::new(shim));
        assert!(stream.append(&batch(0, 1)).is_err());
        drop(mounted);
        stream.append(&batch(1, 1)).unwrap();
        assert_eq!(rows(&fs::read(&path).unwrap()).unwrap(), [0, 1]);
    }
}
