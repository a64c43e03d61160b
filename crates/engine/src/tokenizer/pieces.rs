//! Many short byte strings in one allocation.

/// Byte strings by number.
#[derive(Debug)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Pieces {
    pub(super) fn collect(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut collected = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        for piece in pieces {
            collected.bytes.extend(piece);
            collected.ends.push(collected.bytes.len());
        }
        collected.bytes.shrink_to_fit();
        collected.ends.shrink_to_fit();
        collected
    }

    pub(super) fn get(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}
