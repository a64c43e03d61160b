//! Splits a byte stream into lines of JSON.
//!
//! Pure and incremental, like [`crate::sse`]: reads may be cut anywhere. Each line gets the
//! timestamp of the read that completed it. Blank lines are skipped; JSON treats a CR before the LF
//! as whitespace. The limit bounds the memory.

use memchr::memchr;

use crate::sse::{LARGEST_EVENT, TooLarge};

/// Incremental splitter; keeps an incomplete line between reads.
#[derive(Debug)]
pub struct Splitter {
    /// The incomplete line.
    line: Vec<u8>,
    limit: usize,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::with_limit(LARGEST_EVENT)
    }
}

impl Splitter {
    /// Refuses lines of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            limit,
        }
    }

    /// Calls `each` with every line that `bytes` completes, without its line end.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        while let Some(end) = memchr(b'\n', bytes) {
            self.check(end)?;
            if self.line.is_empty() {
                give(&bytes[..end], &mut each);
            } else {
                self.line.extend_from_slice(&bytes[..end]);
                give(&self.line, &mut each);
                self.line.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.check(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the stream and passes an unterminated last line to `each`; the JSON parser detects a
    /// cut.
    pub fn finish(&mut self, each: impl FnMut(&[u8])) {
        give(&std::mem::take(&mut self.line), each);
    }

    fn check(&self, more: usize) -> Result<(), TooLarge> {
        if self.line.len() + more > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }
}

fn give(line: &[u8], mut each: impl FnMut(&[u8])) {
    let line = line.trim_ascii();
    if !line.is_empty() {
        each(line);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut lines = Vec::new();
        let mut each = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
        for piece in pieces {
            splitter.push(piece, &mut each).unwrap();
        }
        splitter.finish(&mut each);
        lines
    }

    #[test]
    fn lines_and_what_is_none() {
        for (stream, expected) in [
            ("{}\n[1]\n", vec!["{}", "[1]"]),
            ("{}\r\n[1]\r\n", vec!["{}", "[1]"]),
            ("\n\n {} \n\r\n\t\n", vec!["{}"]),
            ("{}", vec!["{}"]),
            ("", vec![]),
            ("\"grüße 😀\"\n", vec!["\"grüße 😀\""]),
            ("{\"a\":\r1}\n", vec!["{\"a\":\r1}"]),
        ] {
            assert_eq!(lines(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let stream = "{\"a\": \"grüße 😀\"}\r\n\n{\"b\": 1}\n\r\n{\"done\": true}".as_bytes();
        let whole = lines(&[stream]);
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(lines(&pieces), whole, "cut at {first} and {second}");
            }
        }
        let bytes: Vec<_> = stream.chunks(1).collect();
        assert_eq!(lines(&bytes), whole, "byte by byte");
    }

    #[test]
    fn a_line_comes_with_the_read_that_completes_it() {
        let mut splitter = Splitter::default();
        let mut seen = Vec::new();
        for (read, piece) in [&b"{}\n{"[..], b"}", b"\n{}", b"\n"]
            .into_iter()
            .enumerate()
        {
            splitter.push(piece, |_| seen.push(read)).unwrap();
        }
        assert_eq!(seen, [0, 2, 3]);
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused_without_hoarding() {
        let mut splitter = Splitter::with_limit(16);
        for byte in [b"1234567890123456", &b"7"[..]] {
            let refused = splitter.push(byte, |_| {}).is_err();
            assert_eq!(refused, byte == b"7");
            assert!(splitter.line.len() <= 16);
        }
        let mut splitter = Splitter::with_limit(16);
        assert!(splitter.push(b"12345678901234567\n", |_| {}).is_err());
        let mut seen = 0;
        let stream = b"1234567890123456\n1234567890123456\n";
        let mut splitter = Splitter::with_limit(16);
        splitter.push(stream, |_| seen += 1).unwrap();
        assert_eq!(seen, 2, "the limit is per line");
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_give_the_same_lines(
            stream in prop::collection::vec(prop::sample::select(b"{}\"a: \r\n\xf0\x9f".as_slice()), 0..200),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.push(0);
            cuts.push(stream.len());
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(lines(&pieces), lines(&[&stream]));
        }
    }
}
