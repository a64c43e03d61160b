//! The head of a Parquet page: a struct in Thrift's compact protocol, of which four numbers count.

/// What a page says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    /// Bytes of the head itself.
    pub(super) length: u64,
    /// Bytes of the page as stored.
    pub(super) packed: u64,
    /// Bytes of the page when unpacked.
    pub(super) unpacked: u64,
    /// Values in it, also those that are null.
    pub(super) values: u64,
    pub(super) is_dictionary: bool,
}

/// The kind of a page that is a dictionary.
const DICTIONARY: i64 = 2;
/// Structs in structs, far more than there are.
const DEEPEST: usize = 16;

impl PageHead {
    /// The head at the beginning of `bytes`; `None` if it is not whole or not a head.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Input { bytes, position: 0 };
        let mut head = Self::default();
        input.fields(
            0,
            &mut |path, value| {
                let size = u64::try_from(value).unwrap_or(u64::MAX);
                match path {
                    [1] => head.is_dictionary = value == DICTIONARY,
                    [2] => head.unpacked = size,
                    [3] => head.packed = size,
                    // The number of values in each kind of page.
                    [5 | 7 | 8, 1] => head.values = size,
                    _ => {}
                }
            },
            &mut Vec::new(),
        )?;
        head.length = input.position as u64;
        Some(head)
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.position)?;
        self.position += 1;
        Some(*byte)
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        let end = self.position.checked_add(usize::try_from(length).ok()?)?;
        self.position = Some(end).filter(|end| *end <= self.bytes.len())?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The fields of a struct up to its end; `each` gets whole numbers with the ids that lead there.
    fn fields(
        &mut self,
        depth: usize,
        each: &mut dyn FnMut(&[i64], i64),
        path: &mut Vec<i64>,
    ) -> Option<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => self.signed()?,
                delta => id + i64::from(delta),
            };
            path.push(id);
            self.value(head & 0xf, depth, each, path)?;
            path.pop();
        }
    }

    fn value(
        &mut self,
        kind: u8,
        depth: usize,
        each: &mut dyn FnMut(&[i64], i64),
        path: &mut Vec<i64>,
    ) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            1 | 2 => {}
            3 => self.skip(1)?,
            4..=6 => {
                let number = self.signed()?;
                each(path, number);
            }
            7 => self.skip(8)?,
            8 => {
                let length = self.number()?;
                self.skip(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.number()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    match head & 0xf {
                        // In a list a truth takes a byte.
                        1 | 2 => self.skip(1)?,
                        kind => self.value(kind, depth + 1, &mut |_, _| {}, path)?,
                    }
                }
            }
            12 => self.fields(depth + 1, each, path)?,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_to_its_end_and_not_beyond() {
        // type = 0, sizes 300 and 20, then a struct with 7 values, an encoding and a text.
        let bytes = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x28, 0x2c, 0x15, 0x0e, 0x15, 0x00, 0x38, 0x02,
            b'x', b'y', 0x00, 0x00, 0xff,
        ];
        let head = PageHead::parse(&bytes).unwrap();
        let expected = PageHead {
            length: 18,
            packed: 20,
            unpacked: 300,
            values: 7,
            is_dictionary: false,
        };
        assert_eq!(head, expected);
        for cut in 0..18 {
            assert_eq!(PageHead::parse(&bytes[..cut]), None);
        }
    }

    #[test]
    fn a_negative_size_is_a_huge_one_and_depth_has_an_end() {
        let head = PageHead::parse(&[0x25, 0x01, 0x00]).unwrap();
        assert_eq!(head.unpacked, u64::MAX);
        assert_eq!(PageHead::parse(&[0x1c; 10_000]), None);
    }
}
