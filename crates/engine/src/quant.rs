//! Converts the weights of files into blocks of 32: `weight = scale × code + offset`.
//!
//! Formats whose scales span 32 weights (or whose blocks consist of such runs) keep their codes.
//! The others, floats and formats with a scale per 16 weights, are quantised again to 8 bits.

use half::{bf16, f16};

use crate::gguf::Kind;

/// Number of weights that share a scale.
pub(crate) const BLOCK: usize = 32;

/// 32 neighbouring weights of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Block {
    /// 0 to 15 for 4-bit formats, else −127 to 127 (−128 in some files).
    pub(crate) codes: [i8; BLOCK],
    pub(crate) scale: f32,
    pub(crate) offset: f32,
}

/// Bits per code in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Four,
    Eight,
}

/// The format in memory of a file's format.
pub(crate) const fn width(kind: Kind) -> Width {
    match kind {
        Kind::Q4_0 | Kind::Q4_1 | Kind::Q4K => Width::Four,
        _ => Width::Eight,
    }
}

/// Whether a format's codes are kept rather than quantised again.
pub(crate) const fn keeps_codes(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::F32 | Kind::F16 | Kind::Bf16 | Kind::Q2K | Kind::Q3K | Kind::Q6K
    )
}

/// The blocks of one or more whole rows.
pub(crate) fn blocks(kind: Kind, bytes: &[u8], emit: &mut impl FnMut(Block)) {
    match kind {
        Kind::Q4_0 => each::<18>(bytes, |block| emit(q4_0(block))),
        Kind::Q4_1 => each::<20>(bytes, |block| emit(q4_1(block))),
        Kind::Q5_0 => each::<22>(bytes, |block| emit(q5_0(block))),
        Kind::Q5_1 => each::<24>(bytes, |block| emit(q5_1(block))),
        Kind::Q8_0 => each::<34>(bytes, |block| emit(q8_0(block))),
        Kind::Q4K => each::<144>(bytes, |block| q4_k(block, emit)),
        Kind::Q5K => each::<176>(bytes, |block| q5_k(block, emit)),
        Kind::F32 | Kind::F16 | Kind::Bf16 | Kind::Q2K | Kind::Q3K | Kind::Q6K => {
            let numbers = numbers(kind, bytes);
            for part in numbers.as_chunks::<BLOCK>().0 {
                emit(quantise(part));
            }
        }
    }
}

/// Decodes the weights.
pub(crate) fn numbers(kind: Kind, bytes: &[u8]) -> Vec<f32> {
    let mut numbers = Vec::new();
    match kind {
        Kind::F32 => each::<4>(bytes, |four| numbers.push(f32::from_le_bytes(*four))),
        Kind::F16 => each::<2>(bytes, |two| numbers.push(f16::from_le_bytes(*two).to_f32())),
        Kind::Bf16 => each::<2>(bytes, |two| {
            numbers.push(bf16::from_le_bytes(*two).to_f32());
        }),
        Kind::Q2K => each::<84>(bytes, |block| q2_k(block, &mut numbers)),
        Kind::Q3K => each::<110>(bytes, |block| q3_k(block, &mut numbers)),
        Kind::Q6K => each::<210>(bytes, |block| q6_k(block, &mut numbers)),
        kind => blocks(kind, bytes, &mut |block| numbers.extend(block.numbers())),
    }
    numbers
}

impl Block {
    /// Decodes the block.
    pub(crate) fn numbers(&self) -> [f32; BLOCK] {
        self.codes
            .map(|code| self.scale * f32::from(code) + self.offset)
    }
}

/// Quantises to 8 bits with one scale, as exactly as that allows.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the scale keeps codes within ±127"
)]
fn quantise(numbers: &[f32; BLOCK]) -> Block {
    let largest = numbers.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    // The scale is stored in 16 bits, so the codes are computed for the rounded scale.
    let mut scale = f16::from_f32(largest / 127.0).to_f32();
    if numbers.iter().any(|x| !x.is_finite()) {
        scale = f32::NAN;
    }
    let per_unit = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let codes = numbers.map(|x| (x * per_unit).round_ties_even().clamp(-127.0, 127.0) as i8);
    Block {
        codes,
        scale,
        offset: 0.0,
    }
}

fn each<const N: usize>(bytes: &[u8], mut take: impl FnMut(&[u8; N])) {
    for block in bytes.as_chunks::<N>().0 {
        take(block);
    }
}

fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The first half of the weights is in the low nibbles, the second in the high ones.
fn nibbles(bytes: &[u8]) -> [i8; BLOCK] {
    std::array::from_fn(|index| {
        let byte = bytes[index % 16];
        (if index < 16 { byte & 15 } else { byte >> 4 }).cast_signed()
    })
}

fn q4_0(block: &[u8; 18]) -> Block {
    let scale = half(block, 0);
    Block {
        codes: nibbles(&block[2..]),
        scale,
        offset: -8.0 * scale,
    }
}

fn q4_1(block: &[u8; 20]) -> Block {
    Block {
        codes: nibbles(&block[4..]),
        scale: half(block, 0),
        offset: half(block, 2),
    }
}

/// Nibbles with a fifth bit each.
fn five_bits(high: &[u8], low: &[u8]) -> [i8; BLOCK] {
    let mut codes = nibbles(low);
    for (index, code) in codes.iter_mut().enumerate() {
        *code |= ((high[index / 8] >> (index % 8)) & 1).cast_signed() << 4;
    }
    codes
}

fn q5_0(block: &[u8; 22]) -> Block {
    let codes = five_bits(&block[2..6], &block[6..]).map(|code| code - 16);
    Block {
        codes,
        scale: half(block, 0),
        offset: 0.0,
    }
}

fn q5_1(block: &[u8; 24]) -> Block {
    let codes = five_bits(&block[4..8], &block[8..]);
    Block {
        codes,
        scale: half(block, 0),
        offset: half(block, 2),
    }
}

fn q8_0(block: &[u8; 34]) -> Block {
    let codes = std::array::from_fn(|index| block[2 + index].cast_signed());
    Block {
        codes,
        scale: half(block, 0),
        offset: 0.0,
    }
}

/// Scale and offset of run `index` of 8, 6 bits each, packed into 12 bytes.
fn six_bits(packed: &[u8], index: usize) -> (f32, f32) {
    let (scale, offset) = if index < 4 {
        (packed[index] & 63, packed[index + 4] & 63)
    } else {
        (
            (packed[index + 4] & 15) | ((packed[index - 4] >> 6) << 4),
            (packed[index + 4] >> 4) | ((packed[index] >> 6) << 4),
        )
    };
    (scale.into(), offset.into())
}

/// Eight runs of 32 with a scale and an offset each.
fn runs(scales: &[u8], codes: impl Fn(usize, usize) -> u8, emit: &mut impl FnMut(Block)) {
    let (scale, offset) = (half(scales, 0), half(scales, 2));
    for run in 0..8 {
        let (times, minus) = six_bits(&scales[4..16], run);
        emit(Block {
            codes: std::array::from_fn(|index| codes(run, index).cast_signed()),
            scale: scale * times,
            offset: -offset * minus,
        });
    }
}

/// A nibble: even runs are in the low ones.
fn run_nibble(bytes: &[u8], run: usize, index: usize) -> u8 {
    let byte = bytes[run / 2 * 32 + index];
    if run.is_multiple_of(2) {
        byte & 15
    } else {
        byte >> 4
    }
}

fn q4_k(block: &[u8; 144], emit: &mut impl FnMut(Block)) {
    runs(
        &block[..16],
        |run, index| run_nibble(&block[16..], run, index),
        emit,
    );
}

fn q5_k(block: &[u8; 176], emit: &mut impl FnMut(Block)) {
    let code = |run: usize, index: usize| {
        let fifth = (block[16 + index] >> run) & 1;
        run_nibble(&block[48..], run, index) | (fifth << 4)
    };
    runs(&block[..16], code, emit);
}

fn q2_k(block: &[u8; 84], numbers: &mut Vec<f32>) {
    let (scale, offset) = (half(block, 80), half(block, 82));
    for run in 0..16 {
        let packed = block[run];
        let (times, minus) = (f32::from(packed & 15), f32::from(packed >> 4));
        // Two halves of 128; in each, four shifts of two runs of 16.
        let (part, shift, side) = (run / 8, run / 2 % 4 * 2, run % 2);
        for index in 0..16 {
            let code = (block[16 + part * 32 + side * 16 + index] >> shift) & 3;
            numbers.push(scale * times * f32::from(code) - offset * minus);
        }
    }
}

fn q3_k(block: &[u8; 110], numbers: &mut Vec<f32>) {
    let scale = half(block, 108);
    let packed = &block[96..108];
    for run in 0..16 {
        let low = packed[run % 8] >> (run / 8 * 4) & 15;
        let high = packed[8 + run % 4] >> (run / 4 * 2) & 3;
        let times = f32::from((low | high << 4).cast_signed() - 32);
        let (part, shift, side) = (run / 8, run / 2 % 4 * 2, run % 2);
        for index in 0..16 {
            let at = side * 16 + index;
            let low = (block[32 + part * 32 + at] >> shift & 3).cast_signed();
            // A missing high bit takes four away.
            let high = block[at] >> (run / 2) & 1;
            let code = low - if high == 0 { 4 } else { 0 };
            numbers.push(scale * times * f32::from(code));
        }
    }
}

fn q6_k(block: &[u8; 210], numbers: &mut Vec<f32>) {
    let scale = half(block, 208);
    for index in 0..256 {
        let (part, at) = (index / 128, index % 128);
        let (quarter, at) = (at / 32, at % 32);
        let byte = block[part * 64 + quarter % 2 * 32 + at];
        let low = if quarter < 2 { byte & 15 } else { byte >> 4 };
        let high = block[128 + part * 32 + at] >> (quarter * 2) & 3;
        let code = (low | high << 4).cast_signed() - 32;
        let times = block[192 + part * 8 + quarter * 2 + at / 16].cast_signed();
        numbers.push(scale * f32::from(times) * f32::from(code));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn kind(number: &Value) -> Kind {
        [
            Kind::F32,
            Kind::F16,
            Kind::Bf16,
            Kind::Q4_0,
            Kind::Q4_1,
            Kind::Q5_0,
            Kind::Q5_1,
            Kind::Q8_0,
            Kind::Q2K,
            Kind::Q3K,
            Kind::Q4K,
            Kind::Q5K,
            Kind::Q6K,
        ]
        .into_iter()
        .find(|kind| Some(u64::from(kind.number())) == number.as_u64())
        .unwrap()
    }

    fn unhex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    /// Random blocks, and what the Python package `gguf` 0.17 makes of them.
    #[test]
    fn every_kind_is_read_as_the_gguf_package_reads_it() {
        let cases = include_str!("../tests/data/quants.jsonl");
        let mut seen = 0;
        for case in cases.lines() {
            let case: Value = serde_json::from_str(case).unwrap();
            let kind = kind(&case["number"]);
            let bytes = unhex(case["bytes"].as_str().unwrap());
            let wanted: Vec<f64> = case["numbers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap())
                .collect();
            let found = numbers(kind, &bytes);
            assert_eq!(found.len(), wanted.len(), "{kind}");
            let largest = wanted.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!(
                    (f64::from(*found) - wanted).abs() <= 1e-6 * largest,
                    "{kind} {found} {wanted}"
                );
            }
            // As blocks: the same, within the precision of 8 bits or a 16-bit scale.
            let mut held = Vec::new();
            blocks(kind, &bytes, &mut |block| held.extend(block.numbers()));
            let most = if keeps_codes(kind) { 1e-6 } else { 1.0 / 250.0 };
            for (found, wanted) in held.iter().zip(&wanted) {
                assert!(
                    (f64::from(*found) - wanted).abs() <= most * largest,
                    "{kind} {found} {wanted}"
                );
            }
            seen += 1;
        }
        assert_eq!(seen, 13);
    }

    #[test]
    fn weights_that_are_no_numbers_are_noticed() {
        let mut numbers = [0.5_f32; BLOCK];
        assert!(quantise(&numbers).scale.is_finite());
        numbers[3] = f32::NAN;
        assert!(!quantise(&numbers).scale.is_finite());
        numbers[3] = f32::INFINITY;
        assert!(!quantise(&numbers).scale.is_finite());
        assert_eq!(quantise(&[0.0; BLOCK]).codes, [0; BLOCK]);
    }
}
