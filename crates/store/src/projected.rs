//! Some columns of an Arrow IPC stream: only the bytes of these columns are read.
//!
//! A run has some 300 columns, and most readers need ten. The head of a batch says where each
//! column's buffers lie in the body, so those of other columns are passed over. What comes out is a
//! batch with the wanted columns at their usual paths. Batches with a checksum are read whole,
//! since the sum is over all of their bytes.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{MessageHeader, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::framing::{Frame, Messages, Place, damaged};
use crate::ipc::{Stream, guarded};
use crate::{StoreError, file};

/// The wanted columns of a stream's batches. An error is the last thing that it yields.
pub(crate) enum Batches {
    /// Only the wanted bytes are read.
    Projected(Projected),
    /// A layout that is not ours: everything is read.
    Whole(Box<Stream>),
}

impl Batches {
    /// The columns at these paths; what the file lacks is not there. A path that ends at a group
    /// wants all of it.
    pub(crate) fn open(path: &Path, wanted: &[Vec<&str>]) -> Result<Self, StoreError> {
        let file = file::open(path)?;
        match guarded(|| Projected::over(&file, wanted)) {
            Ok(Some((schema, steps, place))) => Ok(Self::Projected(Projected {
                file,
                schema,
                steps,
                place,
                is_over: false,
            })),
            // Whatever is wrong is said by the reader of whole files.
            Ok(None) | Err(_) => {
                Stream::over(file, path).map(|stream| Self::Whole(Box::new(stream)))
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Projected(projected) => projected.next(),
            Self::Whole(stream) => stream.next(),
        }
    }
}

pub(crate) struct Projected {
    file: File,
    /// Of the wanted columns.
    schema: SchemaRef,
    steps: Vec<Step>,
    place: Place,
    is_over: bool,
}

/// What to do with the next column.
enum Step {
    /// Skips this number of nodes and buffers.
    Skip { nodes: usize, buffers: usize },
    /// Reads a field with its own buffers, and its children.
    Take {
        data_type: DataType,
        buffers: usize,
        below: Vec<Step>,
    },
}

impl Projected {
    /// Schema and steps of the wanted columns, and where the batches begin; `None` where the
    /// layout is not known.
    fn over(
        file: &File,
        wanted: &[Vec<&str>],
    ) -> Result<Option<(SchemaRef, Vec<Step>, Place)>, ArrowError> {
        let mut messages = Messages::of(file);
        let Some(frame) = messages.next()? else {
            return Ok(None);
        };
        let Some(schema) = frame.message.header_as_schema() else {
            return Ok(None);
        };
        let is_known = frame.message.version() == MetadataVersion::V5 && frame.body == 0;
        let is_sound = frame
            .sealed
            .is_none_or(|sealed| sealed.holds(frame.head, &[]));
        if !is_known || !is_sound || schema.endianness() != arrow_ipc::Endianness::Little {
            return Ok(None);
        }
        let schema = try_fb_to_schema(schema)?;
        let paths: Vec<&[&str]> = wanted.iter().map(Vec::as_slice).collect();
        let Some((fields, steps)) = steps(schema.fields(), &paths) else {
            return Ok(None);
        };
        let schema = Arc::new(Schema::new(fields));
        Ok(Some((schema, steps, messages.place())))
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut messages = Messages::from(&self.file, self.place);
        let Some(frame) = messages.next()? else {
            return Ok(None);
        };
        let read = read(&self.file, &self.schema, &self.steps, &frame)?;
        self.place = messages.place();
        Ok(Some(read))
    }
}

impl Iterator for Projected {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = guarded(|| self.read()).transpose();
        self.is_over = !matches!(read, Some(Ok(_)));
        read
    }
}

fn read(
    file: &File,
    schema: &SchemaRef,
    steps: &[Step],
    frame: &Frame<'_>,
) -> Result<RecordBatch, ArrowError> {
    let batch = match frame.message.header_type() {
        MessageHeader::RecordBatch => frame.message.header_as_record_batch(),
        _ => None,
    };
    let batch = batch.filter(|batch| batch.compression().is_none());
    let batch = batch.ok_or_else(|| damaged(frame.position, &"it holds no plain rows"))?;
    let short = || damaged(frame.position, &"it has fewer columns than the schema says");
    let whole = match frame.sealed {
        None => None,
        Some(sealed) => {
            let mut body = vec![0; usize::try_from(frame.body).map_err(|_| short())?];
            file.read_exact_at(&mut body, frame.start)?;
            if !sealed.holds(frame.head, &body) {
                return Err(ArrowError::ExternalError(Box::new(sealed.broken())));
            }
            Some(Buffer::from_vec(body))
        }
    };
    let nodes = batch.nodes().ok_or_else(short)?;
    let buffers = batch.buffers().ok_or_else(short)?;
    let mut cursor = Cursor {
        nodes: nodes.iter().map(|node| (node.length(), node.null_count())),
        buffers: buffers
            .iter()
            .map(|buffer| (buffer.offset(), buffer.length())),
        file,
        start: frame.start,
        whole,
        short: &short,
    };
    let mut columns = Vec::with_capacity(schema.fields().len());
    for step in steps {
        columns.extend(cursor.step(step)?.map(make_array));
    }
    let rows = usize::try_from(batch.length()).map_err(|_| short())?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The nodes and buffers of a batch, in their order.
struct Cursor<'a, N, B> {
    nodes: N,
    buffers: B,
    file: &'a File,
    start: u64,
    /// The body, where it was read whole.
    whole: Option<Buffer>,
    short: &'a dyn Fn() -> ArrowError,
}

impl<N, B> Cursor<'_, N, B>
where
    N: Iterator<Item = (i64, i64)>,
    B: Iterator<Item = (i64, i64)>,
{
    fn step(&mut self, step: &Step) -> Result<Option<ArrayData>, ArrowError> {
        match step {
            Step::Skip { nodes, buffers } => {
                if *nodes > 0 {
                    self.nodes.nth(nodes - 1).ok_or_else(self.short)?;
                }
                if *buffers > 0 {
                    self.buffers.nth(buffers - 1).ok_or_else(self.short)?;
                }
                Ok(None)
            }
            Step::Take {
                data_type,
                buffers,
                below,
            } => self.take(data_type, *buffers, below).map(Some),
        }
    }

    fn take(
        &mut self,
        data_type: &DataType,
        buffers: usize,
        below: &[Step],
    ) -> Result<ArrayData, ArrowError> {
        let (length, nulls) = self.nodes.next().ok_or_else(self.short)?;
        let length = usize::try_from(length).map_err(|_| (self.short)())?;
        let mut data = ArrayData::builder(data_type.clone()).len(length);
        for place in 0..buffers {
            let (offset, size) = self.buffers.next().ok_or_else(self.short)?;
            match place {
                // The first one says which values are null; without any it is left out.
                0 if nulls == 0 => {}
                0 => data = data.null_bit_buffer(Some(self.buffer(offset, size)?)),
                // A list or text without entries may leave its offsets out.
                1 if size == 0 && has_offsets(data_type) => {
                    data = data.add_buffer(Buffer::from_vec(vec![0_i32; length + 1]));
                }
                _ => data = data.add_buffer(self.buffer(offset, size)?),
            }
        }
        for step in below {
            if let Some(child) = self.step(step)? {
                data = data.add_child_data(child);
            }
        }
        data.build()
    }

    fn buffer(&self, offset: i64, size: i64) -> Result<Buffer, ArrowError> {
        let offset = u64::try_from(offset).map_err(|_| (self.short)())?;
        let size = usize::try_from(size).map_err(|_| (self.short)())?;
        let mut bytes = MutableBuffer::from_len_zeroed(size);
        match &self.whole {
            Some(whole) => {
                let from = usize::try_from(offset).map_err(|_| (self.short)())?;
                let own = from
                    .checked_add(size)
                    .and_then(|end| whole.as_slice().get(from..end));
                // Copied, so that each column lies where its type may lie.
                bytes
                    .as_slice_mut()
                    .copy_from_slice(own.ok_or_else(self.short)?);
            }
            None => self
                .file
                .read_exact_at(bytes.as_slice_mut(), self.start + offset)?,
        }
        Ok(bytes.into())
    }
}

const fn has_offsets(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Binary | DataType::List(_)
    )
}

/// The wanted fields and what to do with each column; `None` where a layout is not known.
fn steps(fields: &Fields, wanted: &[&[&str]]) -> Option<(Vec<FieldRef>, Vec<Step>)> {
    let (mut kept, mut steps) = (Vec::new(), Vec::new());
    for field in fields {
        let below: Vec<&[&str]> = wanted
            .iter()
            .filter(|path| path.first() == Some(&field.name().as_str()))
            .map(|path| &path[1..])
            .collect();
        let (own, step) = step(field, &below)?;
        kept.extend(own);
        match (step, steps.last_mut()) {
            (
                Step::Skip { nodes, buffers },
                Some(Step::Skip {
                    nodes: more_nodes,
                    buffers: more_buffers,
                }),
            ) => {
                *more_nodes += nodes;
                *more_buffers += buffers;
            }
            (step, _) => steps.push(step),
        }
    }
    Some((kept, steps))
}

/// One column; without a wanted path it is passed over.
fn step(field: &FieldRef, wanted: &[&[&str]]) -> Option<(Option<FieldRef>, Step)> {
    let own = buffers(field.data_type())?;
    if wanted.is_empty() {
        let (nodes, buffers) = size(field.data_type())?;
        return Some((None, Step::Skip { nodes, buffers }));
    }
    // An empty rest is the column itself, with all that is below it.
    let is_whole = wanted.iter().any(|path| path.is_empty());
    let (data_type, below) = match field.data_type() {
        DataType::Struct(children) => {
            let every: Vec<Vec<&str>>;
            let (kept, below) = if is_whole {
                every = children
                    .iter()
                    .map(|child| vec![child.name().as_str()])
                    .collect();
                let every: Vec<&[&str]> = every.iter().map(Vec::as_slice).collect();
                steps(children, &every)?
            } else {
                steps(children, wanted)?
            };
            (DataType::Struct(kept.into()), below)
        }
        DataType::List(item) => {
            // A path goes on below the items.
            let whole: [&[&str]; 1] = [&[]];
            let (item, below) = step(item, if is_whole { &whole } else { wanted })?;
            (DataType::List(item?), vec![below])
        }
        other => (other.clone(), Vec::new()),
    };
    let kept = Field::clone(field).with_data_type(data_type.clone());
    let take = Step::Take {
        data_type,
        buffers: own,
        below,
    };
    Some((Some(Arc::new(kept)), take))
}

/// Buffers of a column itself; `None` for a layout that is not known.
fn buffers(data_type: &DataType) -> Option<usize> {
    Some(match data_type {
        DataType::Null => 0,
        DataType::Struct(_) => 1,
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Timestamp(..)
        | DataType::List(_) => 2,
        DataType::Utf8 | DataType::Binary => 3,
        _ => return None,
    })
}

/// Nodes and buffers of a column and all that is below it.
fn size(data_type: &DataType) -> Option<(usize, usize)> {
    let below: Vec<&FieldRef> = match data_type {
        DataType::Struct(children) => children.iter().collect(),
        DataType::List(item) => vec![item],
        _ => Vec::new(),
    };
    let mut sum = (1, buffers(data_type)?);
    for child in below {
        let (nodes, buffers) = size(child.data_type())?;
        sum = (sum.0 + nodes, sum.1 + buffers);
    }
    Some(sum)
}

/// How many rows a stream has: heads of batches alone are read.
pub(crate) fn count(file: &File) -> Result<u64, ArrowError> {
    let mut messages = Messages::of(file);
    let mut rows = 0;
    while let Some(frame) = messages.next()? {
        let batch = frame.message.header_as_record_batch();
        let length = batch.map_or(0, |batch| batch.length());
        rows += u64::try_from(length).unwrap_or(0);
    }
    Ok(rows)
}

/// How many entries the lists at `path` have in all: heads of batches alone are read. `None` where
/// the layout is not known, or there is no such list.
pub(crate) fn entries(file: &File, path: &[&str]) -> Result<Option<u64>, ArrowError> {
    let mut messages = Messages::of(file);
    let place = match messages.next()? {
        Some(frame) => {
            let schema = frame.message.header_as_schema();
            let schema = schema.map(try_fb_to_schema).transpose()?;
            schema.and_then(|schema| node_of(schema.fields(), path))
        }
        None => None,
    };
    let Some(place) = place else {
        return Ok(None);
    };
    let mut entries = 0;
    while let Some(frame) = messages.next()? {
        let batch = frame.message.header_as_record_batch();
        let nodes = batch.and_then(|batch| batch.nodes());
        let node = nodes.filter(|nodes| place < nodes.len());
        let length = node.map_or(0, |nodes| nodes.get(place).length());
        entries += u64::try_from(length).unwrap_or(0);
    }
    Ok(Some(entries))
}

/// The number of the node of the items of the list at `path`.
fn node_of(fields: &Fields, path: &[&str]) -> Option<usize> {
    let (first, below) = path.split_first()?;
    let mut number = 0;
    for field in fields {
        if field.name() == first {
            return match field.data_type() {
                DataType::Struct(children) => Some(number + 1 + node_of(children, below)?),
                DataType::List(_) if below.is_empty() => Some(number + 1),
                _ => None,
            };
        }
        number += size(field.data_type())?.0;
    }
    None
}
