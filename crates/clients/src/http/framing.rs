//! Finds where the body of a reply ends and which bytes are content.
//!
//! Pure and incremental: reads may be cut anywhere. The content of one read is moved together in
//! place and returned as one piece.

/// More bytes of trailers are refused.
const MOST_TRAILERS: u32 = 16 << 10;
/// More bytes of chunk extensions are refused.
const MOST_EXTENSIONS: u32 = 16 << 10;

/// The framing is invalid: the end of the reply is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct FramingError(&'static str);

/// How the body ends, and the progress so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After this many more bytes.
    Length(u64),
    /// With an empty chunk.
    Chunked(Chunk),
    /// When the connection closes.
    UntilClose,
}

/// Parser state: what the next byte belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The size, from the digits read so far.
    Size(Option<u64>),
    /// An extension after the size: the chunk's size, and the extension's length so far.
    Extension(u64, u32),
    /// The LF after the size.
    SizeEnd(u64),
    /// This many more bytes of content.
    Content(u64),
    /// The CR after the content.
    ContentReturn,
    /// The LF after that CR.
    ContentEnd,
    /// A line after the last chunk: its length so far, and that of all such lines.
    Trailer(u32, u32),
    Over,
}

/// The result of stripping the framing from a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StripResult {
    /// Number of content bytes, now at the front of the buffer.
    pub(super) content: usize,
    /// Number of bytes that belonged to the body; the rest did not.
    pub(super) used: usize,
}

impl Framing {
    pub(super) fn length(bytes: u64) -> Self {
        Self::Length(bytes)
    }

    pub(super) fn chunked() -> Self {
        Self::Chunked(Chunk::Size(None))
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// Moves the content of `bytes` to their front.
    pub(super) fn strip(&mut self, bytes: &mut [u8]) -> Result<StripResult, FramingError> {
        match self {
            Self::Length(left) => {
                let content = within(*left, bytes.len());
                *left -= content as u64;
                Ok(StripResult {
                    content,
                    used: content,
                })
            }
            Self::UntilClose => Ok(StripResult {
                content: bytes.len(),
                used: bytes.len(),
            }),
            Self::Chunked(chunk) => chunk.strip(bytes),
        }
    }
}

impl Chunk {
    fn strip(&mut self, bytes: &mut [u8]) -> Result<StripResult, FramingError> {
        let (mut content, mut used) = (0, 0);
        while used < bytes.len() && *self != Self::Over {
            if let Self::Content(left) = self {
                let length = within(*left, bytes.len() - used);
                bytes.copy_within(used..used + length, content);
                content += length;
                used += length;
                *left -= length as u64;
                if *left == 0 {
                    *self = Self::ContentReturn;
                }
            } else {
                match self.step(bytes[used]) {
                    Ok(()) => used += 1,
                    // Return the content before the fault first; the next call finds the fault
                    // again.
                    Err(_) if content > 0 => break,
                    Err(malformed) => return Err(malformed),
                }
            }
        }
        Ok(StripResult { content, used })
    }

    /// Takes one byte of framing.
    fn step(&mut self, byte: u8) -> Result<(), FramingError> {
        *self = match (&*self, byte) {
            (Self::Size(size), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                Self::Size(Some(with_digit(*size, byte)?))
            }
            (Self::Size(Some(size)) | Self::Extension(size, _), b'\r') => Self::SizeEnd(*size),
            (Self::Size(Some(size)), b';' | b' ' | b'\t') => Self::Extension(*size, 0),
            (Self::Size(_), _) => return Err(FramingError("a chunk's size is not a number")),
            (Self::Extension(.., MOST_EXTENSIONS), _) => {
                return Err(FramingError("a chunk's extensions are too long"));
            }
            (Self::Extension(size, length), _) if byte != b'\n' => {
                Self::Extension(*size, length + 1)
            }
            (Self::SizeEnd(0), b'\n') => Self::Trailer(0, 0),
            (Self::SizeEnd(size), b'\n') => Self::Content(*size),
            (Self::ContentReturn, b'\r') => Self::ContentEnd,
            (Self::ContentEnd, b'\n') => Self::Size(None),
            (Self::Trailer(0, _), b'\n') => Self::Over,
            (Self::Trailer(_, all), b'\n') => Self::Trailer(0, *all),
            (Self::Trailer(..), b'\r') => return Ok(()),
            (Self::Trailer(_, MOST_TRAILERS), _) => {
                return Err(FramingError("the trailers are too long"));
            }
            (Self::Trailer(line, all), _) => Self::Trailer(line + 1, all + 1),
            _ => return Err(FramingError("a chunk does not match its stated size")),
        };
        Ok(())
    }
}

fn with_digit(size: Option<u64>, byte: u8) -> Result<u64, FramingError> {
    let digit = char::from(byte).to_digit(16).unwrap_or_default();
    size.unwrap_or_default()
        .checked_mul(16)
        .map(|size| size | u64::from(digit))
        .ok_or(FramingError("a chunk's size is too large"))
}

fn within(left: u64, most: usize) -> usize {
    usize::try_from(left).map_or(most, |left| left.min(most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the content and the bytes after the end.
    fn strip(
        mut framing: Framing,
        pieces: &[&[u8]],
    ) -> Result<(Vec<u8>, Vec<u8>, bool), FramingError> {
        let (mut content, mut behind) = (Vec::new(), Vec::new());
        for piece in pieces {
            let mut bytes = piece.to_vec();
            let mut rest = bytes.as_mut_slice();
            while !rest.is_empty() && !framing.is_over() {
                let stripped = framing.strip(rest)?;
                content.extend_from_slice(&rest[..stripped.content]);
                rest = &mut rest[stripped.used..];
            }
            behind.extend_from_slice(rest);
        }
        Ok((content, behind, framing.is_over()))
    }

    fn chunked(text: &str) -> Result<(Vec<u8>, Vec<u8>, bool), FramingError> {
        strip(Framing::chunked(), &[text.as_bytes()])
    }

    #[test]
    fn the_chunks_come_together() {
        for (text, content, behind, is_over) in [
            ("5\r\nhello\r\n0\r\n\r\n", "hello", "", true),
            (
                "5\r\nhello\r\n1;a=b\r\n!\r\n00\r\n\r\nHTTP",
                "hello!",
                "HTTP",
                true,
            ),
            (
                "A \r\n0123456789\r\n0\r\na: b\r\nc: d\r\n\r\n",
                "0123456789",
                "",
                true,
            ),
            ("5\r\nhel", "hel", "", false),
            ("5\r\nhello\r\n0\r\n", "hello", "", false),
            ("", "", "", false),
        ] {
            let stripped = chunked(text).unwrap();
            let expected = (content.into(), behind.into(), is_over);
            assert_eq!(stripped, expected, "{text:?}");
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for text in [
            "\r\n",
            "x\r\n",
            "5\nhello",
            "-5\r\nhello",
            "5\r\nhello!",
            "5\r\nhello\n",
            "11111111111111111\r\n",
            "5;a\nb\r\n",
            &format!("5;{}", "x".repeat(20_000)),
            &format!("0\r\n{}", "a: b\r\n".repeat(20_000)),
        ] {
            assert!(chunked(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_length_is_kept_to_the_byte() {
        let stripped = strip(Framing::length(5), &[b"hel", b"lo!"]).unwrap();
        assert_eq!(stripped, (b"hello".to_vec(), b"!".to_vec(), true));
        let stripped = strip(Framing::UntilClose, &[b"hel", b"lo!"]).unwrap();
        assert_eq!(stripped, (b"hello!".to_vec(), Vec::new(), false));
    }

    proptest! {
        #[test]
        fn what_was_put_in_chunks_comes_out_however_it_is_cut(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            cuts in prop::collection::vec(0usize..300, 0..8),
        ) {
            let mut stream = Vec::new();
            for chunk in &chunks {
                stream.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                stream.extend_from_slice(chunk);
                stream.extend_from_slice(b"\r\n");
            }
            stream.extend_from_slice(b"0\r\n\r\n");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            let (content, behind, is_over) = strip(Framing::chunked(), &pieces).unwrap();
            prop_assert_eq!(content, chunks.concat());
            prop_assert!(behind.is_empty() && is_over);
        }

        #[test]
        fn any_bytes_cut_anywhere_give_the_same(
            stream in prop::collection::vec(prop::sample::select(b"0123f;x \r\n".as_slice()), 0..120),
            cut in 0usize..120,
        ) {
            let (left, right) = stream.split_at(cut.min(stream.len()));
            prop_assert_eq!(
                strip(Framing::chunked(), &[left, right]),
                strip(Framing::chunked(), &[&stream])
            );
        }
    }
}
