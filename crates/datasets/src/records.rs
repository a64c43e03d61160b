//! Reads the records of a delimited text, one at a time into one buffer.
//!
//! RFC 4180 with any delimiter. The `csv` crate is not used because it accepts a quote that is
//! never closed: the rest of the file would become one row, all in memory. Here that is a fault of
//! the row, reported with the line where it began.

use std::io::{self, BufRead, Seek, SeekFrom};

use crate::cells::Cells;
use crate::fault::Fault;
use crate::lines::{LONGEST, mark_length};

/// One record.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// Number of its first line, from 1.
    pub(crate) number: u64,
    /// Offset of its first byte in the source.
    pub(crate) offset: u64,
    /// The record as written, without the line end.
    pub(crate) text: &'a [u8],
    /// The cells, or the fault that hides them.
    pub(crate) cells: Result<&'a Cells, Fault>,
}

pub(crate) struct Records<R> {
    reader: R,
    longest: u64,
    buffer: Vec<u8>,
    cells: Cells,
    /// Lines read so far.
    lines: u64,
    position: u64,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(reader: R, delimiter: u8) -> Self {
        Self {
            reader,
            longest: LONGEST,
            buffer: Vec::new(),
            cells: Cells::new(delimiter),
            lines: 0,
            position: 0,
        }
    }

    /// The next record that is not a blank line; `None` at the end.
    pub(crate) fn advance(&mut self) -> io::Result<Option<Record<'_>>> {
        let (number, offset) = loop {
            let number = self.lines + 1;
            self.pass_mark()?;
            let offset = self.position;
            if !self.read()? {
                return Ok(None);
            }
            if self
                .buffer
                .trim_ascii_end()
                .iter()
                .any(|byte| *byte != b' ')
                || self.cells.count() > 1
            {
                break (number, offset);
            }
        };
        let fault = if self.position - offset > self.longest {
            Some(too_long(self.longest))
        } else {
            self.cells.fault(&self.buffer)
        };
        let end = [&b"\r\n"[..], b"\n"]
            .iter()
            .find_map(|end| self.buffer.strip_suffix(*end))
            .map_or(self.buffer.len(), <[u8]>::len);
        Ok(Some(Record {
            number,
            offset,
            text: &self.buffer[..end],
            cells: fault.map_or(Ok(&self.cells), Err),
        }))
    }

    fn pass_mark(&mut self) -> io::Result<()> {
        if self.position == 0 {
            let length = mark_length(0, self.reader.fill_buf()?);
            self.reader.consume(length);
            self.position = length as u64;
        }
        Ok(())
    }

    /// Reads up to a line end outside of quotes; returns whether there was a record.
    fn read(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        self.cells.clear();
        let mut length = 0;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                self.cells.finish();
                return Ok(length > 0);
            }
            let line_end = memchr::memchr(b'\n', piece);
            let piece = &piece[..line_end.map_or(piece.len(), |end| end + 1)];
            length += piece.len() as u64;
            // An over-long record is scanned to find its end, but not kept.
            if length <= self.longest {
                self.buffer.extend_from_slice(piece);
            } else {
                self.cells.forget();
            }
            self.cells.feed(piece);
            let consumed = piece.len();
            self.reader.consume(consumed);
            self.position += consumed as u64;
            if line_end.is_some() {
                self.lines += 1;
                if self.cells.is_complete() {
                    return Ok(true);
                }
            }
        }
    }
}

impl<R: BufRead + Seek> Records<R> {
    /// Seeks to the record at `offset`; line numbers are unknown from then on.
    pub(crate) fn jump(&mut self, offset: u64) -> io::Result<()> {
        self.position = self.reader.seek(SeekFrom::Start(offset))?;
        Ok(())
    }
}

fn too_long(longest: u64) -> Fault {
    Fault::new(
        format!("a row of at most {} MiB", longest >> 20),
        "a longer one",
    )
    .help("look for a quote that is not closed")
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    type Found = (u64, u64, Result<Vec<String>, String>);

    fn all(text: &[u8], longest: u64, buffer: usize) -> Vec<Found> {
        let mut records = Records::new(BufReader::with_capacity(buffer, Cursor::new(text)), b',');
        records.longest = longest;
        let mut found = Vec::new();
        while let Some(record) = records.advance().unwrap() {
            let cells = match record.cells {
                Ok(cells) => Ok(cells
                    .iter()
                    .map(|(text, is_quoted)| {
                        let text = String::from_utf8_lossy(text);
                        format!("{text}{}", if is_quoted { "'" } else { "" })
                    })
                    .collect()),
                Err(fault) => Err(fault.to_string()),
            };
            found.push((record.number, record.offset, cells));
        }
        found
    }

    fn record(number: u64, offset: u64, texts: &[&str]) -> Found {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        (number, offset, Ok(texts))
    }

    #[test]
    fn quotes_line_ends_marks_and_blank_lines() {
        for (text, expected) in [
            (&b""[..], vec![]),
            (b"\n \r\n", vec![]),
            (b"a,b", vec![record(1, 0, &["a", "b"])]),
            (b"\xef\xbb\xbfa,b\r\n", vec![record(1, 3, &["a", "b"])]),
            (b"\xef\xbb\xbf\"a\"\n", vec![record(1, 3, &["a'"])]),
            (b",\n", vec![record(1, 0, &["", ""])]),
            (b"\"\"\n", vec![record(1, 0, &["'"])]),
            (b"a\"b,c\"\n", vec![record(1, 0, &["a\"b", "c\""])]),
            (
                b"\"a\"\"b\",\"\"\"\"",
                vec![record(1, 0, &["a\"b'", "\"'"])],
            ),
            (b"\"a\" ,b\r\n", vec![record(1, 0, &["a'", "b"])]),
            (
                b"\"a\r\nb,\nc\",d\n\ne",
                vec![record(1, 0, &["a\r\nb,\nc'", "d"]), record(5, 13, &["e"])],
            ),
            (b"a\rb\r\n", vec![record(1, 0, &["a\rb"])]),
        ] {
            for buffer in [8, 9, 64] {
                assert_eq!(all(text, 99, buffer), expected, "{text:?} by {buffer}");
            }
        }
    }

    #[test]
    fn bad_quotes_are_named_and_the_next_record_is_good() {
        let after = "expected the delimiter or the end of the line after a quote, found `b`; \
                     write a quote inside of quotes twice";
        assert_eq!(
            all(b"\"a\"b,c\nd\n", 99, 8),
            [(1, 0, Err(after.to_owned())), record(2, 7, &["d"])]
        );
        let open = "expected a quote that ends the cell, found the end of the file";
        assert_eq!(
            all(b"a\n\"b,c\nd\n", 99, 8),
            [record(1, 0, &["a"]), (2, 2, Err(open.to_owned()))]
        );
    }

    #[test]
    fn a_record_that_is_too_long_is_a_fault_and_not_kept() {
        let text = b"\"abc\ndefghij\nklm\"\nnext\n";
        let found = all(text, 10, 8);
        assert!(found[0].2.as_ref().unwrap_err().contains("at most"));
        assert_eq!(found[1], record(4, 18, &["next"]));
    }
}
