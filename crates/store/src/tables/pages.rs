//! What the pages of a Parquet file say of themselves, read before any of them is unpacked.
//!
//! A page names its unpacked size and its number of values, and the reader allocates what it names.
//! A dictionary is worse: each value of a batch is a copy of an entry, so that a few bytes become
//! gigabytes. From both follows how many rows fit into a batch.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_schema::ArrowError;
use parquet::basic::{Compression, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::thrift::PageHead;

const MIB: u64 = 1 << 20;
/// The largest page, unpacked. Writers aim at one MiB.
const LARGEST_PAGE: u64 = 256 * MIB;
/// The most values of a column that has lists, in one group of rows.
const MOST_VALUES: u64 = 64 << 20;
const MOST_COLUMNS: usize = 10_000;
/// What the values of one batch may take.
const BATCH: u64 = 128 * MIB;
/// What one row may take.
const ROW: u64 = 512 * MIB;
/// No gzip stream becomes more than this many times as long.
const GZIP_RATIO: u64 = 1032;
/// A head with its statistics is far shorter.
const LONGEST_HEAD: u64 = 16 * MIB;

/// How many rows, at most `most`, fit into one batch; an error names the column that does not fit.
pub(super) fn rows_that_fit(
    file: &File,
    metadata: &ParquetMetaData,
    most: usize,
) -> Result<usize, ArrowError> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    if columns > MOST_COLUMNS {
        let text = format!("it has {columns} columns, more than {MOST_COLUMNS}");
        return Err(ArrowError::ParquetError(text));
    }
    let mut fitting = most;
    for group in metadata.row_groups() {
        let chunks = group.columns().iter();
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let chunks = chunks
            .map(|chunk| Chunk::of(file, chunk, rows))
            .collect::<Result<Vec<_>, _>>()?;
        let bytes = |rows: usize| {
            let bytes = chunks.iter().map(|chunk| chunk.bytes(rows as u64));
            bytes.fold(0, u64::saturating_add)
        };
        // What one row needs is needed anyway.
        let room = BATCH.max(bytes(1).saturating_mul(2));
        while fitting > 1 && bytes(fitting) > room {
            fitting /= 2;
        }
        if bytes(1) > ROW {
            let largest = chunks.iter().max_by_key(|chunk| chunk.bytes(1));
            let name = largest.map_or_else(String::new, |chunk| chunk.name.clone());
            return Err(too_large(&name, "a row takes", bytes(1), ROW));
        }
    }
    Ok(fitting)
}

fn too_large(column: &str, what: &str, bytes: u64, limit: u64) -> ArrowError {
    ArrowError::ParquetError(format!(
        "the column `{column}`: {what} {} MiB unpacked, more than {}; \
         write the file again with smaller pages",
        bytes / MIB,
        limit / MIB
    ))
}

/// What is known of one column in one group of rows.
struct Chunk {
    name: String,
    /// The longest entry of the dictionary.
    entry: u64,
    /// Bytes and values of each page with data.
    pages: Vec<(u64, u64)>,
}

impl Chunk {
    fn of(file: &File, chunk: &ColumnChunkMetaData, rows: usize) -> Result<Self, ArrowError> {
        let mut known = Self {
            name: chunk.column_path().string(),
            entry: 0,
            pages: Vec::new(),
        };
        let (start, length) = chunk.byte_range();
        let end = start.saturating_add(length);
        let mut at = start;
        let (mut values, mut has_dictionary) = (0_u64, false);
        while at < end {
            let Some(head) = head(file, at, end)? else {
                // The reader says what is wrong with it.
                break;
            };
            known.check(file, chunk, &head, at)?;
            if head.is_dictionary {
                has_dictionary = true;
            } else {
                values = values.saturating_add(head.values);
                known.pages.push((head.unpacked, head.values.max(1)));
            }
            at = at.saturating_add(head.length).saturating_add(head.packed);
        }
        if chunk.column_descr().max_rep_level() > 0 && values > MOST_VALUES {
            return Err(ArrowError::ParquetError(format!(
                "the column `{}`: {values} values in one group of rows, more than {MOST_VALUES}",
                known.name
            )));
        }
        if has_dictionary && chunk.column_type() == Type::BYTE_ARRAY {
            known.entry = longest_entry(file, chunk, rows)?;
        }
        Ok(known)
    }

    fn check(
        &self,
        file: &File,
        chunk: &ColumnChunkMetaData,
        head: &PageHead,
        at: u64,
    ) -> Result<(), ArrowError> {
        let mut unpacked = head.unpacked;
        // Of all that is unpacked here, only gzip goes on beyond the size that the page names.
        if matches!(chunk.compression(), Compression::GZIP(_))
            && head.packed.saturating_mul(GZIP_RATIO) > LARGEST_PAGE
        {
            let mut input = file;
            input.seek(SeekFrom::Start(at + head.length))?;
            let packed = std::io::BufReader::new(input.take(head.packed));
            let decoder = flate2::bufread::MultiGzDecoder::new(packed);
            let counted = std::io::copy(&mut decoder.take(LARGEST_PAGE + 1), &mut std::io::sink());
            unpacked = unpacked.max(counted.unwrap_or(0));
        }
        if unpacked > LARGEST_PAGE {
            return Err(too_large(&self.name, "a page has", unpacked, LARGEST_PAGE));
        }
        Ok(())
    }

    /// The most bytes that the values of `rows` rows take.
    fn bytes(&self, rows: u64) -> u64 {
        // Pages that `rows` adjacent values can touch: the first by its last value only.
        let (mut largest, mut sum, mut values, mut first) = (0, 0_u64, 0_u64, 0);
        for (bytes, count) in &self.pages {
            sum += bytes;
            values += count;
            while first < self.pages.len() && values - self.pages[first].1 + 1 > rows {
                let (bytes, count) = self.pages[first];
                if values - count == 0 {
                    break;
                }
                sum -= bytes;
                values -= count;
                first += 1;
            }
            largest = largest.max(sum);
        }
        self.entry.saturating_mul(rows).saturating_add(largest)
    }
}

/// The head of the page at `at`; `None` if the bytes there are not a head.
fn head(file: &File, at: u64, end: u64) -> Result<Option<PageHead>, ArrowError> {
    let mut length = 512;
    loop {
        let room = end.saturating_sub(at).min(length);
        let mut bytes = Vec::new();
        let mut input = file;
        input.seek(SeekFrom::Start(at))?;
        input.take(room).read_to_end(&mut bytes)?;
        match PageHead::parse(&bytes) {
            Some(head) => return Ok(Some(head)),
            None if (bytes.len() as u64) < length || length >= LONGEST_HEAD => return Ok(None),
            None => length *= 8,
        }
    }
}

fn longest_entry(file: &File, chunk: &ColumnChunkMetaData, rows: usize) -> Result<u64, ArrowError> {
    let file = Arc::new(file.try_clone()?);
    let mut reader = SerializedPageReader::new(file, chunk, rows, None)?;
    let Some(Page::DictionaryPage { buf, .. }) = reader.get_next_page()? else {
        return Ok(0);
    };
    let (mut rest, mut longest) = (&buf[..], 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(u64::from(length));
        rest = after.get(length as usize..).unwrap_or_default();
    }
    Ok(longest.min(buf.len() as u64))
}
