//! The messages of an Arrow IPC stream fit into their file.
//!
//! The reader allocates what a message's head says it needs before it reads it. A flipped bit in
//! such a length would ask for more memory than there is, and that ends the process.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;

use arrow_ipc::{Message, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

use crate::checksum::SealedSpan;

const CONTINUATION: [u8; 4] = [0xff; 4];
/// How the other format begins, that of Feather files.
const FILE_MAGIC: &[u8] = b"ARROW1";
/// Continuation marker and length of the head.
const LEAD: usize = 8;

/// What a file holds.
#[derive(Default)]
pub(crate) struct Framing {
    /// How many bytes are sound messages from its beginning on.
    pub(crate) sound: u64,
    /// Those of them that have a checksum.
    pub(crate) sealed: Vec<SealedSpan>,
    /// What is wrong with the rest.
    pub(crate) damage: Option<ArrowError>,
}

/// Walks over all messages without reading their bodies.
pub(crate) fn framing(file: &File) -> Result<Framing, ArrowError> {
    let mut framing = Framing::default();
    let mut messages = Messages::of(file);
    loop {
        match messages.next() {
            Ok(Some(frame)) => {
                framing.sealed.extend(frame.sealed);
                framing.sound = frame.end();
            }
            Ok(None) => break,
            Err(damage) => {
                framing.damage = Some(damage);
                break;
            }
        }
    }
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    Ok(framing)
}

/// The messages of a stream, one after the other.
pub(crate) struct Messages<'a> {
    file: &'a File,
    place: Place,
    head: Vec<u8>,
}

/// Where a walk over messages stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// Where the next message begins.
    position: u64,
    /// Whether the messages so far have checksums.
    is_sealed: bool,
    /// How long the file is at least.
    length: u64,
}

/// One message: where it lies, and its head.
pub(crate) struct Frame<'a> {
    pub(crate) message: Message<'a>,
    pub(crate) head: &'a [u8],
    pub(crate) position: u64,
    /// Where its body starts.
    pub(crate) start: u64,
    /// Bytes of its body.
    pub(crate) body: u64,
    pub(crate) sealed: Option<SealedSpan>,
}

impl Frame<'_> {
    fn end(&self) -> u64 {
        self.start + self.body
    }
}

impl<'a> Messages<'a> {
    pub(crate) fn of(file: &'a File) -> Self {
        Self::from(file, Place::default())
    }

    /// Goes on where another walk stood.
    pub(crate) fn from(file: &'a File, place: Place) -> Self {
        Self {
            file,
            place,
            head: Vec::new(),
        }
    }

    /// Where it stands.
    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// The next message that fits into the file; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, ArrowError> {
        let position = self.place.position;
        let Some(start) = self.read_head()? else {
            return Ok(None);
        };
        let message = root_as_message(&self.head).map_err(|error| damaged(position, &error))?;
        let body = u64::try_from(message.bodyLength())
            .ok()
            .filter(|body| self.place.fits(self.file, start, *body))
            .ok_or_else(|| damaged(position, &"the body reaches beyond the end of the file"))?;
        if !buffers_fit(&message, body) {
            return Err(damaged(position, &"a column reaches beyond its message"));
        }
        let sealed = SealedSpan::of(&self.head, position, start, body);
        // A growing stream begins with a sealed schema: then every commit is sealed.
        if sealed.is_none() && self.place.is_sealed {
            return Err(damaged(position, &"the rows there did not reach the disk"));
        }
        self.place.is_sealed = sealed.is_some();
        self.place.position = start + body;
        Ok(Some(Frame {
            message,
            head: &self.head,
            position,
            start,
            body,
            sealed,
        }))
    }

    /// Reads the head of the message at hand; where its body starts, `None` at the end.
    fn read_head(&mut self) -> Result<Option<u64>, ArrowError> {
        let position = self.place.position;
        let mut lead = [0; LEAD];
        let read = read_up_to(self.file, &mut lead, position)?;
        let lead = &lead[..read];
        if position == 0 && lead.starts_with(FILE_MAGIC) {
            return Err(ArrowError::IpcError(
                "it is an Arrow file (Feather), not a stream; save it as Parquet".to_owned(),
            ));
        }
        if lead.is_empty() && position > 0 {
            return Ok(None);
        }
        // Before version 0.15 there was no marker.
        let marker = if lead.starts_with(&CONTINUATION) {
            4
        } else {
            0
        };
        let size = lead[marker..]
            .first_chunk()
            .ok_or_else(|| damaged(position, &"it ends in the middle of a message"))?;
        let start = position + marker as u64 + 4;
        let size = u64::try_from(i32::from_le_bytes(*size))
            .map_err(|_| damaged(position, &"a length is negative"))?;
        if size == 0 {
            return Ok(None);
        }
        if !self.place.fits(self.file, start, size) {
            return Err(damaged(
                position,
                &"a head reaches beyond the end of the file",
            ));
        }
        self.head.clear();
        self.head.resize(usize::try_from(size).unwrap_or(0), 0);
        self.file.read_exact_at(&mut self.head, start)?;
        Ok(Some(start + size))
    }
}

/// Reads until the buffer is full or the file ends; how many bytes came.
fn read_up_to(file: &File, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], position + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// The batch of rows in a message, or that of a dictionary.
fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    let dictionary = message.header_as_dictionary_batch();
    message
        .header_as_record_batch()
        .or_else(|| dictionary.and_then(|dictionary| dictionary.data()))
}

/// Whether each column of a batch lies in the batch's body.
fn buffers_fit(message: &Message<'_>, body: u64) -> bool {
    let Some(buffers) = batch(message).and_then(|batch| batch.buffers()) else {
        return true;
    };
    buffers.iter().all(|buffer| {
        let offset = u64::try_from(buffer.offset()).ok();
        let length = u64::try_from(buffer.length()).ok();
        offset
            .zip(length)
            .and_then(|(offset, length)| offset.checked_add(length))
            .is_some_and(|end| end <= body)
    })
}

impl Place {
    /// Whether the file reaches so far. Beyond its known length it is asked anew: a run that is
    /// being written grows.
    fn fits(&mut self, file: &File, start: u64, size: u64) -> bool {
        let Some(end) = start.checked_add(size) else {
            return false;
        };
        if end > self.length {
            self.length = file.metadata().map_or(0, |about| about.len());
        }
        end <= self.length
    }
}

pub(crate) fn damaged(position: u64, what: &dyn std::fmt::Display) -> ArrowError {
    ArrowError::IpcError(format!("damaged at byte {position}: {what}"))
}
