//! Splits a byte stream into server-sent events.
//!
//! Pure and incremental: reads may be cut anywhere; returns the data of each complete event.
//! Follows the WHATWG grammar. Lines end in LF, CR or CRLF. `data` lines of one event are joined by
//! LF, and a blank line ends the event. Other fields and comments are skipped. The limit bounds the
//! memory.

use memchr::memchr2;

/// Default size limit of an event, in bytes.
pub const LARGEST_EVENT: usize = 64 << 20;

/// An event, or one of its lines, exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {} MiB", .limit >> 20)]
pub struct TooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Incremental splitter; keeps an incomplete event between reads.
#[derive(Debug)]
pub struct Splitter {
    /// The incomplete line.
    line: Vec<u8>,
    /// Data of the incomplete event, each line followed by LF.
    data: Vec<u8>,
    /// The last byte was a CR; a following LF belongs to it.
    after_return: bool,
    /// At the start of the stream, where a byte order mark may come.
    at_start: bool,
    limit: usize,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::with_limit(LARGEST_EVENT)
    }
}

impl Splitter {
    /// Refuses events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            after_return: false,
            at_start: true,
            limit,
        }
    }

    /// Calls `each` with the data of every event that `bytes` completes.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        if self.after_return && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
            self.after_return = false;
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            self.check(self.line.len() + end)?;
            if self.line.is_empty() {
                self.end_line(&bytes[..end], &mut each)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, &mut each)?;
                line.clear();
                self.line = line;
            }
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.after_return = is_return && bytes.is_empty();
            if is_return && bytes.first() == Some(&b'\n') {
                bytes = &bytes[1..];
            }
        }
        if !bytes.is_empty() {
            self.after_return = false;
            self.check(self.line.len() + bytes.len())?;
            self.line.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Ends the stream and passes a last event without its blank line to `each`: some servers omit
    /// that line. An incomplete line is dropped.
    pub fn finish(&mut self, each: impl FnMut(&[u8])) {
        self.end_event(each);
    }

    fn check(&self, length: usize) -> Result<(), TooLarge> {
        if self.data.len() + length > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self, line: &[u8], each: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.end_event(each);
            return Ok(());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return Ok(()),
        };
        self.check(value.len() + 1)?;
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
        Ok(())
    }

    fn end_event(&mut self, mut each: impl FnMut(&[u8])) {
        if self.data.pop().is_some() {
            each(&self.data);
            self.data.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut events = Vec::new();
        let mut each = |data: &[u8]| events.push(String::from_utf8_lossy(data).into_owned());
        for piece in pieces {
            splitter.push(piece, &mut each).unwrap();
        }
        splitter.finish(&mut each);
        events
    }

    #[test]
    fn the_grammar_line_by_line() {
        for (stream, expected) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data:a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            (": comment\n\ndata: a\n: more\n\n", vec!["a"]),
            ("event: x\nid: 1\nretry: 5\ndata: a\n\n", vec!["a"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            ("data\n\n", vec![""]),
            ("data:  two spaces\n\n", vec![" two spaces"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("database: a\n\n", vec![]),
            ("\n\n\n", vec![]),
            ("data: no blank line\n", vec!["no blank line"]),
            ("data: whole\n\ndata: cut", vec!["whole"]),
            ("data: grüße 😀\n\n", vec!["grüße 😀"]),
        ] {
            assert_eq!(events(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let streams = [
            "data: {\"a\": \"grüße 😀\"}\r\n\r\n: ping\r\ndata: x\r\ndata: y\r\n\r\ndata: [DONE]\r\n\r\n",
            "\u{feff}data: a\n\ndata:b\n\nevent: e\ndata: c\n\n",
            "data: a\r\rdata: b\r\r\r\ndata: c\n\r",
        ];
        for stream in streams.map(str::as_bytes) {
            let whole = events(&[stream]);
            for first in 0..=stream.len() {
                for second in first..=stream.len() {
                    let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                    assert_eq!(events(&pieces), whole, "cut at {first} and {second}");
                }
            }
            let bytes: Vec<_> = stream.chunks(1).collect();
            assert_eq!(events(&bytes), whole, "byte by byte");
        }
    }

    #[test]
    fn an_event_beyond_the_limit_is_refused_without_hoarding() {
        for stream in [
            "data: 12345678901234567\n\n",
            "data: 12345678\ndata: 12345678\n\n",
        ] {
            let mut splitter = Splitter::with_limit(16);
            let mut refused = false;
            for byte in stream.as_bytes().chunks(1) {
                refused |= splitter.push(byte, |_| {}).is_err();
                assert!(splitter.line.len() + splitter.data.len() <= 17);
                if refused {
                    break;
                }
            }
            assert!(refused, "{stream:?}");
        }
        let mut splitter = Splitter::with_limit(16);
        let mut seen = 0;
        splitter
            .push(b"data: 123456789\n\ndata: 123456789\n\n", |_| seen += 1)
            .unwrap();
        assert_eq!(seen, 2, "the limit is per event");
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_give_the_same_events(
            stream in prop::collection::vec(prop::sample::select(b"dat: \r\n{}x\xef\xbb\xbf".as_slice()), 0..200),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.push(0);
            cuts.push(stream.len());
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[&stream]));
        }
    }
}
