//! Small tables that unpack to more than there is. Alone in its process: the limit on memory and the
//! peak are those of all.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test's helper fails loudly"
)]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int32Array, NullArray, RecordBatch,
    StringArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field};
use ipw_store::tables::{self, TableRows};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rustix::process::{Resource, Rlimit, setrlimit};

const MIB: u64 = 1 << 20;
/// Address space: what is not bounded aborts here.
const ROOM: u64 = 2048 * MIB;
/// Memory that was really used while a table was read.
const PEAK: u64 = 700 * MIB;
/// For what would otherwise never end; no measure of speed.
const NEVER: Duration = Duration::from_mins(3);

fn watch() {
    std::thread::spawn(|| {
        std::thread::sleep(NEVER);
        eprintln!("it does not end");
        std::process::abort();
    });
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.expect("a peak").trim().trim_end_matches(" kB");
    kib.parse::<u64>().expect("a number") * 1024
}

fn batch(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("prompt", column, true)]).unwrap()
}

fn write_parquet(path: &Path, column: ArrayRef, compression: Compression) {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_page_size_limit(1 << 30)
        .build();
    let batch = batch(column);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn write_arrow(path: &Path, column: ArrayRef) {
    let batch = batch(column);
    let file = File::create(path).unwrap();
    let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// The same long text in every row, stored once.
fn repeated(bytes: usize, rows: usize) -> ArrayRef {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(bytes)]));
    let keys = Int32Array::from(vec![0; rows]);
    Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).unwrap())
}

/// What the first rows take, or the error that comes instead of them.
fn first_rows(rows: Result<TableRows, ipw_store::StoreError>) -> Result<usize, String> {
    // The peak from here on.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let mut count = 0;
    let words = |error: ipw_store::StoreError| ipw_core::text::with_causes(&error);
    for slice in rows.map_err(words)?.take(3) {
        count += slice.map_err(words)?.len();
    }
    Ok(count)
}

fn parquet(path: &Path) -> Result<usize, String> {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let found = first_rows(tables::parquet(path));
    assert_peak(path);
    found
}

fn arrow(path: &Path) -> Result<usize, String> {
    let found = first_rows(tables::arrow_stream(path));
    assert_peak(path);
    found
}

fn assert_peak(path: &Path) {
    let (size, peak) = (fs::metadata(path).unwrap().len(), peak_bytes());
    let peak = peak / MIB;
    assert!(
        peak < PEAK / MIB,
        "{size} bytes of `{}` take {peak} MiB",
        path.display()
    );
}

#[test]
fn a_small_table_that_unpacks_to_gigabytes_takes_bounded_memory() {
    watch();
    let limit = Rlimit {
        current: Some(ROOM),
        maximum: Some(ROOM),
    };
    setrlimit(Resource::As, limit).unwrap();
    let place = tempfile::tempdir().unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());

    // 96 rows of 16 MiB: read a few at a time.
    let path = place.path().join("dictionary.parquet");
    write_parquet(&path, repeated(16 << 20, 96), zstd);
    assert!(fs::metadata(&path).unwrap().len() < 100_000);
    assert!((1..40).contains(&parquet(&path).unwrap()));
    let path = place.path().join("dictionary.arrow");
    write_arrow(&path, repeated(16 << 20, 96));
    assert!((1..40).contains(&arrow(&path).unwrap()));

    // One value that is larger than a page may be.
    let path = place.path().join("page.parquet");
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(300 << 20)]));
    write_parquet(&path, text, zstd);
    let error = parquet(&path).unwrap_err();
    for word in [
        "page.parquet",
        "column `prompt`",
        "300 MiB",
        "more than 256",
    ] {
        assert!(error.contains(word), "{error}");
    }

    // A billion times nothing takes no byte in the file.
    let path = place.path().join("nothing.arrow");
    let item = Arc::new(Field::new("item", DataType::Null, true));
    let nothing = FixedSizeListArray::new(item, 1 << 30, Arc::new(NullArray::new(1 << 30)), None);
    assert_eq!(nothing.len(), 1);
    write_arrow(&path, Arc::new(nothing));
    let error = arrow(&path).unwrap_err();
    assert!(error.contains("column `prompt`: a row takes"), "{error}");
}
