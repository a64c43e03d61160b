//! Tensors: type, shape and location.

use std::fmt;

/// The number format of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// `bfloat16`.
    Bf16,
    /// 4 bits, one scale per 32 numbers.
    Q4_0,
    /// 4 bits, scale and offset per 32 numbers.
    Q4_1,
    /// 5 bits, one scale per 32 numbers.
    Q5_0,
    /// 5 bits, scale and offset per 32 numbers.
    Q5_1,
    /// 8 bits, one scale per 32 numbers.
    Q8_0,
    /// 2 bits, one scale per 16 numbers, in blocks of 256.
    Q2K,
    /// 3 bits, one scale per 16 numbers, in blocks of 256.
    Q3K,
    /// 4 bits, scale and offset per 32 numbers, in blocks of 256.
    Q4K,
    /// 5 bits, scale and offset per 32 numbers, in blocks of 256.
    Q5K,
    /// 6 bits, one scale per 16 numbers, in blocks of 256.
    Q6K,
}

/// Type number in files, name, numbers per block, bytes per block.
const KINDS: [(Kind, u32, &str, u64, u64); 13] = [
    (Kind::F32, 0, "F32", 1, 4),
    (Kind::F16, 1, "F16", 1, 2),
    (Kind::Q4_0, 2, "Q4_0", 32, 18),
    (Kind::Q4_1, 3, "Q4_1", 32, 20),
    (Kind::Q5_0, 6, "Q5_0", 32, 22),
    (Kind::Q5_1, 7, "Q5_1", 32, 24),
    (Kind::Q8_0, 8, "Q8_0", 32, 34),
    (Kind::Q2K, 10, "Q2_K", 256, 84),
    (Kind::Q3K, 11, "Q3_K", 256, 110),
    (Kind::Q4K, 12, "Q4_K", 256, 144),
    (Kind::Q5K, 13, "Q5_K", 256, 176),
    (Kind::Q6K, 14, "Q6_K", 256, 210),
    (Kind::Bf16, 30, "BF16", 1, 2),
];

/// Types that this engine does not support; known only so that errors can name them.
const OTHERS: [(u32, &str); 14] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
];

impl Kind {
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        if let Some(row) = KINDS.iter().find(|row| row.1 == number) {
            return Ok(row.0);
        }
        let name = OTHERS.iter().find(|(other, _)| *other == number);
        Err(name.map_or_else(|| format!("type {number}"), |(_, name)| (*name).to_owned()))
    }

    pub(super) fn known() -> String {
        KINDS.map(|row| row.2).join(", ")
    }

    fn row(self) -> &'static (Self, u32, &'static str, u64, u64) {
        KINDS.iter().find(|row| row.0 == self).unwrap_or(&KINDS[0])
    }

    /// The type number in files.
    pub fn number(self) -> u32 {
        self.row().1
    }

    /// Numbers per block.
    pub fn block(self) -> u64 {
        self.row().3
    }

    /// Bytes per block.
    pub fn block_bytes(self) -> u64 {
        self.row().4
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().2)
    }
}

/// Location and shape of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name in the file.
    pub name: String,
    /// The number format.
    pub kind: Kind,
    /// Numbers per row.
    pub columns: u64,
    /// Number of rows, over all further dimensions.
    pub rows: u64,
    /// Offset of the first byte in the file.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
}
