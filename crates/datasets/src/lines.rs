//! Reads the lines of a text that are not blank, one at a time into one buffer.
//!
//! Tracks the offset of each line, so that lines can later be read in another order, and its number
//! as an editor counts.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Limit of a row in bytes. Without it, a file without line ends would be read into memory whole.
pub(crate) const LONGEST: u64 = 64 << 20;

/// One line that is not blank.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Number of the line, from 1.
    pub(crate) number: u64,
    /// Offset of its first byte in the source.
    pub(crate) offset: u64,
    /// The bytes without the line end.
    pub(crate) bytes: &'a [u8],
    /// Whether `bytes` is the whole line; false if the line exceeds [`LONGEST`].
    pub(crate) is_whole: bool,
}

pub(crate) struct Lines<R> {
    reader: R,
    longest: u64,
    buffer: Vec<u8>,
    number: u64,
    position: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            longest: LONGEST,
            buffer: Vec::new(),
            number: 0,
            position: 0,
        }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) fn advance(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let start = self.position;
            self.buffer.clear();
            let mut head = self.reader.by_ref().take(self.longest);
            let length = head.read_until(b'\n', &mut self.buffer)? as u64;
            if length == 0 {
                return Ok(None);
            }
            let is_whole = length < self.longest || self.buffer.ends_with(b"\n");
            self.position += length;
            if !is_whole {
                self.position += self.reader.skip_until(b'\n')? as u64;
            }
            self.number += 1;
            let mark = mark_length(start, &self.buffer);
            if !self.buffer[mark..].trim_ascii().is_empty() {
                return Ok(Some(Line {
                    number: self.number,
                    offset: start + mark as u64,
                    bytes: self.buffer[mark..].trim_ascii_end(),
                    is_whole,
                }));
            }
        }
    }
}

impl<R: BufRead + Seek> Lines<R> {
    /// Seeks to the line at `offset`; line numbers are unknown from then on.
    pub(crate) fn jump(&mut self, offset: u64) -> io::Result<()> {
        self.position = self.reader.seek(SeekFrom::Start(offset))?;
        Ok(())
    }
}

/// Length of the byte order mark at the beginning of a text.
pub(crate) fn mark_length(start: u64, bytes: &[u8]) -> usize {
    if start == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
        let mut lines = Lines::new(Cursor::new(text));
        let mut found = Vec::new();
        while let Some(line) = lines.advance().unwrap() {
            found.push((line.number, line.offset, line.bytes.to_vec()));
        }
        found
    }

    #[test]
    fn marks_blank_lines_and_line_ends_are_passed_over() {
        let one = |number, offset| vec![(number, offset, b"a".to_vec())];
        for (text, expected) in [
            (&b""[..], vec![]),
            (b"\n \t\r\n", vec![]),
            (b"\xef\xbb\xbf", vec![]),
            (b"a", one(1, 0)),
            (b"a\n", one(1, 0)),
            (b"a\r\n", one(1, 0)),
            (b"\r\n\na\n\n", one(3, 3)),
            (b"\xef\xbb\xbfa\n", one(1, 3)),
            (b"\xef\xbb\xbf\na\n", one(2, 4)),
        ] {
            assert_eq!(all(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_mark_elsewhere_is_part_of_its_line() {
        assert_eq!(all(b"a\n\xef\xbb\xbfb")[1].2, b"\xef\xbb\xbfb");
    }

    #[test]
    fn a_jump_leads_to_the_same_line() {
        let text = b"\xef\xbb\xbffirst\n\nsecond\r\nthird";
        let mut lines = Lines::new(Cursor::new(&text[..]));
        for (_, offset, bytes) in all(text).into_iter().rev() {
            lines.jump(offset).unwrap();
            let line = lines.advance().unwrap().unwrap();
            assert!(line.is_whole);
            assert_eq!((line.offset, line.bytes), (offset, bytes.as_slice()));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_not() {
        let text = b"abcdefgh\nij\nabcd\nabcde";
        let mut lines = Lines::new(Cursor::new(&text[..]));
        lines.longest = 5;
        let mut found = Vec::new();
        while let Some(line) = lines.advance().unwrap() {
            found.push((line.offset, line.bytes.len(), line.is_whole));
        }
        assert_eq!(
            found,
            [(0, 5, false), (9, 2, true), (12, 4, true), (17, 5, false)]
        );
    }
}
