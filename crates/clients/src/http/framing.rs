//! Where the body of a reply ends, and what of its bytes is content.
//!
//! Pure and incremental: bytes go in as they come off the socket, cut anywhere; the content of a
//! read comes out as one piece, moved together in place.

/// More bytes of trailers than this are refused.
const MOST_TRAILERS: u32 = 16 << 10;
/// More bytes of chunk extensions than this are refused.
const MOST_EXTENSIONS: u32 = 16 << 10;

/// The framing breaks the rules: where the reply ends cannot be told any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(&'static str);

/// How the body ends, and how far it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many more bytes.
    Length(u64),
    /// With a chunk of no bytes.
    Chunked(Chunk),
    /// With the connection.
    UntilClose,
}

/// Where in the chunks the next byte belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The size, as far as its digits have come.
    Size(Option<u64>),
    /// What may stand behind the size, up to the end of the line, and how long it is so far.
    Extension(u64, u32),
    /// The LF behind the size.
    SizeEnd(u64),
    /// So many more bytes of content.
    Content(u64),
    /// The CR behind the content.
    ContentReturn,
    /// The LF behind it.
    ContentEnd,
    /// A line behind the last chunk: its length so far, and that of all of them.
    Trailer(u32, u32),
    /// Nothing more.
    Over,
}

/// What became of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stripped {
    /// So many bytes at the front are content now.
    pub(super) content: usize,
    /// So many belonged to the body; what is behind them did not.
    pub(super) used: usize,
}

impl Framing {
    pub(super) fn length(bytes: u64) -> Self {
        Self::Length(bytes)
    }

    pub(super) fn chunked() -> Self {
        Self::Chunked(Chunk::Size(None))
    }

    /// Whether the body has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// Moves the content of `bytes` to their front.
    pub(super) fn strip(&mut self, bytes: &mut [u8]) -> Result<Stripped, Malformed> {
        match self {
            Self::Length(left) => {
                let content = within(*left, bytes.len());
                *left -= content as u64;
                Ok(Stripped {
                    content,
                    used: content,
                })
            }
            Self::UntilClose => Ok(Stripped {
                content: bytes.len(),
                used: bytes.len(),
            }),
            Self::Chunked(chunk) => chunk.strip(bytes),
        }
    }
}

impl Chunk {
    fn strip(&mut self, bytes: &mut [u8]) -> Result<Stripped, Malformed> {
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
                    // What came before the fault counts; the fault comes up again next time.
                    Err(_) if content > 0 => break,
                    Err(malformed) => return Err(malformed),
                }
            }
        }
        Ok(Stripped { content, used })
    }

    /// Takes a byte that is no content.
    fn step(&mut self, byte: u8) -> Result<(), Malformed> {
        *self = match (&*self, byte) {
            (Self::Size(size), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                Self::Size(Some(with_digit(*size, byte)?))
            }
            (Self::Size(Some(size)) | Self::Extension(size, _), b'\r') => Self::SizeEnd(*size),
            (Self::Size(Some(size)), b';' | b' ' | b'\t') => Self::Extension(*size, 0),
            (Self::Size(_), _) => return Err(Malformed("a chunk's size is not a number")),
            (Self::Extension(.., MOST_EXTENSIONS), _) => {
                return Err(Malformed("a chunk's extensions are too long"));
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
                return Err(Malformed("the trailers are too long"));
            }
            (Self::Trailer(line, all), _) => Self::Trailer(line + 1, all + 1),
            _ => return Err(Malformed("a chunk does not end where it said")),
        };
        Ok(())
    }
}

fn with_digit(size: Option<u64>, byte: u8) -> Result<u64, Malformed> {
    let digit = char::from(byte).to_digit(16).unwrap_or_default();
    size.unwrap_or_default()
        .checked_mul(16)
        .map(|size| size | u64::from(digit))
        .ok_or(Malformed("a chunk's size is too large"))
}

/// The smaller of the two.
fn within(left: u64, most: usize) -> usize {
    usize::try_from(left).map_or(most, |left| left.min(most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The content, and what was left behind the end.
    fn strip(
        mut framing: Framing,
        pieces: &[&[u8]],
    ) -> Result<(Vec<u8>, Vec<u8>, bool), Malformed> {
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

    fn chunked(text: &str) -> Result<(Vec<u8>, Vec<u8>, bool), Malformed> {
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
