//! Products in plain Rust: the fallback for processors without better instructions, and the
//! reference for tests. Loops run over all lanes of a step, so that compilers can use the vector
//! instructions that every processor has.

use half::f16;

use super::{Sums, Token};
use crate::matrix::{GROUP, NARROW, SCALES, STEP, WIDE};
use crate::quant::BLOCK;

/// Four columns of eight rows.
const LANES: usize = GROUP * STEP;
const STEPS: usize = BLOCK / STEP;

pub(super) fn narrow<const T: usize>(runs: &[[u8; NARROW]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    sums(runs, tokens, |codes, input| {
        // 8 × 15 × 127 fits 16 bits.
        let mut lanes = [0_i16; LANES];
        for (step, codes) in codes.as_chunks::<LANES>().0.iter().enumerate() {
            let (low, high) = (spread(input, step), spread(input, step + STEPS / 2));
            for lane in 0..LANES {
                lanes[lane] += i16::from(codes[lane] & 15) * low[lane]
                    + i16::from(codes[lane] >> 4) * high[lane];
            }
        }
        rows(&lanes.map(i32::from))
    })
}

pub(super) fn wide<const T: usize>(runs: &[[u8; WIDE]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    sums(runs, tokens, |codes, input| {
        let mut lanes = [0_i32; LANES];
        for (step, codes) in codes.as_chunks::<LANES>().0.iter().enumerate() {
            let spread = spread(input, step);
            for lane in 0..LANES {
                lanes[lane] += i32::from(i16::from(codes[lane].cast_signed()) * spread[lane]);
            }
        }
        rows(&lanes)
    })
}

/// The four activations of a step, for each of the eight rows.
fn spread(input: &[i8; BLOCK], step: usize) -> [i16; LANES] {
    std::array::from_fn(|lane| i16::from(input[step * STEP + lane % STEP]))
}

fn rows(lanes: &[i32; LANES]) -> [i32; GROUP] {
    std::array::from_fn(|row| lanes[row * STEP..][..STEP].iter().sum())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "at most 32 × 128 × 127, below 2^24"
)]
fn sums<const N: usize, const T: usize>(
    runs: &[[u8; N]],
    tokens: &[Token<'_>; T],
    dots: impl Fn(&[u8], &[i8; BLOCK]) -> [i32; GROUP],
) -> [Sums; T] {
    let mut sums = [[0.0; GROUP]; T];
    for (run, bytes) in runs.iter().enumerate() {
        let half = |index: usize| f16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]);
        let scales: Sums = std::array::from_fn(|row| half(row).to_f32());
        let offsets: Sums = std::array::from_fn(|row| half(GROUP + row).to_f32());
        for (sums, token) in sums.iter_mut().zip(tokens) {
            let dots = dots(&bytes[SCALES..], &token.codes[run]);
            for row in 0..GROUP {
                sums[row] += scales[row] * token.scales[run] * dots[row] as f32
                    + offsets[row] * token.sums[run];
            }
        }
    }
    sums
}
