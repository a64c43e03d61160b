//! The messages of an Arrow IPC stream fit into their file.
//!
//! The reader allocates what a message's head says it needs before it reads it. A flipped bit in
//! such a length would ask for more memory than there is, and that ends the process.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow::error::ArrowError;
use arrow::ipc::{Message, root_as_message};

use crate::checksum::Sealed;

const CONTINUATION: [u8; 4] = [0xff; 4];
/// How the other format begins, that of Feather files.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// What a file holds.
#[derive(Default)]
pub(crate) struct Framing {
    /// How many bytes are sound messages from its beginning on.
    pub(crate) sound: u64,
    /// Those of them that have a checksum.
    pub(crate) sealed: Vec<Sealed>,
    /// What is wrong with the rest.
    pub(crate) damage: Option<ArrowError>,
}

/// Walks over all messages without reading their bodies.
pub(crate) fn framing(file: &File) -> Result<Framing, ArrowError> {
    let mut framing = Framing::default();
    framing.damage = walk(file, &mut framing).err();
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    Ok(framing)
}

fn walk(file: &File, framing: &mut Framing) -> Result<(), ArrowError> {
    let mut reader = BufReader::new(file);
    let mut position = 0;
    while let Some((head, start)) = head(&mut reader, position)? {
        let message = root_as_message(&head).map_err(|error| damaged(position, &error))?;
        let body = u64::try_from(message.bodyLength())
            .ok()
            .filter(|body| fits(file, start, *body))
            .ok_or_else(|| damaged(position, &"the body reaches beyond the end of the file"))?;
        if !buffers_fit(&message, body) {
            return Err(damaged(position, &"a column reaches beyond its message"));
        }
        let sealed = Sealed::of(&head, position, start, body);
        // A growing stream begins with a sealed schema: then every commit is sealed.
        if sealed.is_none() && !framing.sealed.is_empty() {
            return Err(damaged(position, &"the rows there did not reach the disk"));
        }
        framing.sealed.extend(sealed);
        position = start + body;
        framing.sound = position;
    }
    Ok(())
}

/// Whether each column of a batch lies in the batch's body.
fn buffers_fit(message: &Message<'_>, body: u64) -> bool {
    let dictionary = message.header_as_dictionary_batch();
    let batch = message
        .header_as_record_batch()
        .or_else(|| dictionary.and_then(|dictionary| dictionary.data()));
    let Some(buffers) = batch.and_then(|batch| batch.buffers()) else {
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

/// The head of the message at `position` and where its body starts; `None` at the end.
fn head(
    reader: &mut BufReader<&File>,
    position: u64,
) -> Result<Option<(Vec<u8>, u64)>, ArrowError> {
    reader.seek(SeekFrom::Start(position))?;
    let mut lead = Vec::new();
    reader.by_ref().take(8).read_to_end(&mut lead)?;
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
    if !fits(reader.get_ref(), start, size) {
        return Err(damaged(
            position,
            &"a head reaches beyond the end of the file",
        ));
    }
    reader.seek(SeekFrom::Start(start))?;
    let mut head = Vec::new();
    reader.by_ref().take(size).read_to_end(&mut head)?;
    Ok(Some((head, start + size)))
}

/// Whether the file reaches so far. It is asked anew each time: a run that is being written grows.
fn fits(file: &File, start: u64, size: u64) -> bool {
    let end = start.checked_add(size);
    end.is_some_and(|end| file.metadata().is_ok_and(|about| end <= about.len()))
}

fn damaged(position: u64, what: &dyn std::fmt::Display) -> ArrowError {
    ArrowError::IpcError(format!("damaged at byte {position}: {what}"))
}
