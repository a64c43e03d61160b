//! Decompresses texts packed with gzip or zstd.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, copy, sink};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::source::Input;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// Detects the compression by the first bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable frame, which some tools write first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The decompressed text of `input`.
pub(crate) fn unpack(packing: Packing, input: Box<dyn Input>) -> Box<dyn Input> {
    match packing {
        // A gzip file may have several members, as `cat a.gz b.gz` makes it.
        Packing::Gzip => Box::new(Unseekable(BufReader::new(MultiGzDecoder::new(input)))),
        Packing::Zstd => Box::new(Unseekable(BufReader::new(Frames::new(input)))),
    }
}

/// A reader that cannot seek.
struct Unseekable<R>(R);

impl<R: Read> Read for Unseekable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: BufRead> BufRead for Unseekable<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl<R> Seek for Unseekable<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The frames of a zstd file, one after the other; the decoder reads only one.
struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            decoder: FrameDecoder::new(),
            is_inside: false,
        }
    }

    fn enter(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.input) {
            Ok(()) => self.is_inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let skipped = copy(&mut self.input.by_ref().take(length.into()), &mut sink())?;
                if skipped < length.into() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(damaged(&explained(&error))),
        }
        Ok(())
    }

    /// Reads some bytes of the frame; 0 at its end.
    fn inside(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.decoder
                .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(|error| damaged(&error.to_string()))?;
        }
        let length = self.decoder.read(buffer)?;
        if length == 0 {
            self.is_inside = false;
            let written = self.decoder.get_checksum_from_data();
            if written.is_some() && written != self.decoder.get_calculated_checksum() {
                return Err(damaged("its checksum does not match"));
            }
        }
        Ok(length)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.is_inside {
                let length = self.inside(buffer)?;
                if length > 0 {
                    return Ok(length);
                }
            } else if self.input.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.enter()?;
            }
        }
    }
}

fn explained(error: &FrameDecoderError) -> String {
    match error {
        FrameDecoderError::WindowSizeTooBig { .. } => {
            format!("{error}; pack it again without `--long`")
        }
        other => other.to_string(),
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged zstd: {what}"))
}
