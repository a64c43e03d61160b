//! Numbers to the bytes of ggml's types, by the rules of its reference implementation.

/// How the numbers of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorType {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// Blocks of 32: a 16-bit scale and signed bytes.
    Q8_0,
    /// Blocks of 32: a 16-bit scale and nibbles around 8.
    Q4_0,
    /// Blocks of 32: a 16-bit scale, a 16-bit minimum and nibbles.
    Q4_1,
}

impl TensorType {
    /// Every type.
    pub const ALL: [Self; 5] = [Self::F32, Self::F16, Self::Q8_0, Self::Q4_0, Self::Q4_1];

    /// Its number in ggml.
    pub const fn number(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q4_1 => 3,
            Self::Q8_0 => 8,
        }
    }

    /// The number that `general.file_type` has when most of a file is of this type.
    pub(crate) const fn file_type(self) -> u32 {
        match self {
            Self::Q8_0 => 7,
            other => other.number(),
        }
    }

    /// The numbers in this type; for the quantised ones their count is a multiple of 32.
    pub fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::F32 => values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
            Self::F16 => values.iter().flat_map(|value| half(*value)).collect(),
            Self::Q8_0 => in_blocks(values, q8_0),
            Self::Q4_0 => in_blocks(values, q4_0),
            Self::Q4_1 => in_blocks(values, q4_1),
        }
    }
}

const BLOCK: usize = 32;

fn in_blocks(values: &[f32], encode: fn(&[f32; BLOCK], &mut Vec<u8>)) -> Vec<u8> {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    assert!(
        rest.is_empty(),
        "{} numbers are no whole blocks",
        values.len()
    );
    let mut out = Vec::new();
    for block in blocks {
        encode(block, &mut out);
    }
    out
}

fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

#[expect(clippy::cast_possible_truncation, reason = "at most 127 by the scale")]
fn q8_0(block: &[f32; BLOCK], out: &mut Vec<u8>) {
    let largest = block.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    let scale = largest / 127.0;
    out.extend(half(scale));
    let by = inverse(scale);
    out.extend(
        block
            .iter()
            .flat_map(|x| ((x * by).round() as i8).to_le_bytes()),
    );
}

fn q4_0(block: &[f32; BLOCK], out: &mut Vec<u8>) {
    let outermost = block.iter().fold(
        0.0,
        |far: f32, x| if x.abs() > far.abs() { *x } else { far },
    );
    let scale = outermost / -8.0;
    out.extend(half(scale));
    let by = inverse(scale);
    nibbles(block, out, |x| x * by + 8.5);
}

fn q4_1(block: &[f32; BLOCK], out: &mut Vec<u8>) {
    let least = block.iter().copied().fold(f32::INFINITY, f32::min);
    let most = block.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (most - least) / 15.0;
    out.extend(half(scale));
    out.extend(half(least));
    let by = inverse(scale);
    nibbles(block, out, |x| (x - least) * by + 0.5);
}

/// Number `i` in the lower half of byte `i`, number `i + 16` in the upper one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of ggml: towards zero, and what it gives lies in 0..=16"
)]
fn nibbles(block: &[f32; BLOCK], out: &mut Vec<u8>, quantise: impl Fn(f32) -> f32) {
    let (low, high) = block.split_at(BLOCK / 2);
    let nibble = |x: &f32| (quantise(*x) as u8).min(15);
    out.extend(
        low.iter()
            .zip(high)
            .map(|(a, b)| nibble(a) | nibble(b) << 4),
    );
}

/// The nearest 16-bit float, to even when two are; too large is infinite.
fn half(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let rounded = match magnitude {
        0x7f80_0001.. => 0x7e00,
        0x4780_0000.. => 0x7c00,
        0x3880_0000.. => to_even(magnitude - 0x3800_0000, 13),
        // Below 2^-14 the steps no longer shrink: 2^-24 each.
        0x3300_0000.. => to_even(magnitude & 0x7f_ffff | 0x80_0000, 126 - (magnitude >> 23)),
        _ => 0,
    };
    let [low, high, ..] = (sign | rounded).to_le_bytes();
    [low, high]
}

fn to_even(bits: u32, drop: u32) -> u32 {
    let kept = bits >> drop;
    let rest = bits & ((1 << drop) - 1);
    let middle = 1 << (drop - 1);
    kept + u32::from(rest > middle || (rest == middle && kept & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_floats_round_to_even() {
        for (value, bits) in [
            (0.0_f32, 0x0000_u16),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65520.0, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (2.0_f32.powi(-14), 0x0400),
            (2.0_f32.powi(-24), 0x0001),
            (2.0_f32.powi(-25), 0x0000),
            (3.0 * 2.0_f32.powi(-25), 0x0002),
            (0.1, 0x2e66),
        ] {
            assert_eq!(u16::from_le_bytes(half(value)), bits, "{value}");
        }
        assert_eq!(u16::from_le_bytes(half(f32::NAN)) & 0x7c00, 0x7c00);
    }

    #[test]
    fn a_ramp_becomes_the_blocks_of_ggml() {
        let ramp: [f32; 32] = std::array::from_fn(|i| f32::from(u8::try_from(i).unwrap()) - 16.0);
        // d = 16 / 127, the first byte is -127.
        let bytes = TensorType::Q8_0.encode(&ramp);
        assert_eq!((bytes.len(), bytes[2], bytes[18]), (34, 0x81, 0));
        // The outermost is -16: d = 2 (0x4000), -16 becomes 0, 0 becomes 8.
        let bytes = TensorType::Q4_0.encode(&ramp);
        assert_eq!((bytes.len(), &bytes[..3]), (18, &[0x00, 0x40, 0x80][..]));
        // d = 31 / 15, m = -16 (0xcc00); -16 becomes 0, 0 becomes 8.
        let bytes = TensorType::Q4_1.encode(&ramp);
        assert_eq!((bytes.len(), &bytes[2..5]), (20, &[0x00, 0xcc, 0x80][..]));
    }

    #[test]
    fn zeros_stay_zeros() {
        for kind in [TensorType::Q8_0, TensorType::Q4_1] {
            assert!(kind.encode(&[0.0; 64]).iter().all(|byte| *byte == 0));
        }
    }
}
