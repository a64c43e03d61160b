//! Checksums over the commits of a growing stream.
//!
//! A power cut may leave the marker of a commit and not its rows: then the file is as long as it
//! should be, and zeros stand where rows were. Arrow would read them. So the heads of the schema
//! and of each commit end in eight bytes more, which Arrow takes for padding: `ipwC` and the CRC-32
//! of everything else in the message, head and body.

use std::io::{self, Read};

const MARK: [u8; 4] = *b"ipwC";
const TRAILER: usize = 8;
/// Continuation marker and length of the head.
const LEAD: usize = 8;

/// Puts the checksum behind the head of an encoded message. What is not one message stays as it is.
pub(crate) fn seal(message: &mut Vec<u8>) {
    let size = message.get(4..LEAD).and_then(|size| size.try_into().ok());
    let size = size.and_then(|size| usize::try_from(i32::from_le_bytes(size)).ok());
    let Some(end) = size
        .map(|size| LEAD + size)
        .filter(|end| *end <= message.len())
    else {
        return;
    };
    let Ok(longer) = i32::try_from(end - LEAD + TRAILER) else {
        return;
    };
    let sum = crc32fast::hash(&message[LEAD..]);
    let trailer = [MARK, sum.to_le_bytes()].concat();
    message[4..LEAD].copy_from_slice(&longer.to_le_bytes());
    message.splice(end..end, trailer);
}

/// Where a message lies that has a checksum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SealedSpan {
    /// Where it begins.
    position: u64,
    /// The bytes of its head.
    head: (u64, u64),
    /// Where its body ends.
    end: u64,
    sum: u32,
}

impl SealedSpan {
    /// The message at `position`, if its head says what its checksum is. The body begins at `start`.
    pub(crate) fn of(head: &[u8], position: u64, start: u64, body: u64) -> Option<Self> {
        let (_, trailer) = head.split_last_chunk::<TRAILER>()?;
        let (mark, sum) = trailer.split_first_chunk::<4>()?;
        let sum = u32::from_le_bytes(*sum.first_chunk()?);
        (*mark == MARK).then(|| Self {
            position,
            head: (start - head.len() as u64, start - TRAILER as u64),
            end: start + body,
            sum,
        })
    }

    /// Whether head and body are as they were written.
    pub(crate) fn holds(&self, head: &[u8], body: &[u8]) -> bool {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&head[..head.len().saturating_sub(TRAILER)]);
        sum.update(body);
        sum.finalize() == self.sum
    }

    /// What to say where they are not.
    pub(crate) fn broken(&self) -> io::Error {
        let what = format!(
            "damaged at byte {}: the rows there are not as they were written, as after a power cut",
            self.position
        );
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

/// A stream whose sealed messages are checked as they are read.
pub(crate) struct ChecksumReader<R> {
    inner: R,
    position: u64,
    sealed: std::vec::IntoIter<SealedSpan>,
    current: Option<SealedSpan>,
    sum: crc32fast::Hasher,
}

impl<R> ChecksumReader<R> {
    /// `inner`, from its beginning, with messages in their order.
    pub(crate) fn new(inner: R, sealed: Vec<SealedSpan>) -> Self {
        let mut sealed = sealed.into_iter();
        Self {
            inner,
            position: 0,
            current: sealed.next(),
            sealed,
            sum: crc32fast::Hasher::new(),
        }
    }

    /// Takes what was read, and looks at the sums of the messages that end in it.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let start = self.position;
        let end = start + bytes.len() as u64;
        self.position = end;
        while let Some(sealed) = self.current {
            let body = (sealed.head.1 + TRAILER as u64, sealed.end);
            for (from, to) in [sealed.head, body] {
                let place = |at: u64| usize::try_from(at.clamp(start, end) - start).unwrap_or(0);
                self.sum.update(&bytes[place(from)..place(to.max(from))]);
            }
            if sealed.end > end {
                break;
            }
            let sum = std::mem::take(&mut self.sum).finalize();
            if sum != sealed.sum {
                return Err(sealed.broken());
            }
            self.current = self.sealed.next();
        }
        Ok(())
    }
}

impl<R: Read> Read for ChecksumReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.take(&buffer[..read])?;
        Ok(read)
    }
}
