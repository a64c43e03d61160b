//! Products in plain Rust: what runs where no better instructions are known, and what the others
//! are tested against.

use half::f16;

use super::{Sums, Token};
use crate::matrix::{GROUP, NARROW, SCALES, STEP, WIDE};
use crate::quant::BLOCK;

const HALF: usize = BLOCK / 2;

pub(super) fn narrow<const T: usize>(runs: &[[u8; NARROW]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    sums(runs, tokens, |codes, row, column| {
        let place =
            |column: usize| codes[column / STEP * GROUP * STEP + row * STEP + column % STEP];
        let code = if column < HALF {
            place(column) & 15
        } else {
            place(column - HALF) >> 4
        };
        code.into()
    })
}

pub(super) fn wide<const T: usize>(runs: &[[u8; WIDE]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    sums(runs, tokens, |codes, row, column| {
        codes[column / STEP * GROUP * STEP + row * STEP + column % STEP]
            .cast_signed()
            .into()
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "at most 32 × 128 × 127, below 2^24"
)]
fn sums<const N: usize, const T: usize>(
    runs: &[[u8; N]],
    tokens: &[Token<'_>; T],
    code: impl Fn(&[u8], usize, usize) -> i32,
) -> [Sums; T] {
    let mut sums = [[0.0; GROUP]; T];
    for (run, bytes) in runs.iter().enumerate() {
        let half = |index: usize| f16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]);
        for row in 0..GROUP {
            let (scale, offset) = (half(row).to_f32(), half(GROUP + row).to_f32());
            let weights: [i32; BLOCK] =
                std::array::from_fn(|column| code(&bytes[SCALES..], row, column));
            for (sums, token) in sums.iter_mut().zip(tokens) {
                let dot: i32 = weights
                    .iter()
                    .zip(&token.codes[run])
                    .map(|(weight, code)| weight * i32::from(*code))
                    .sum();
                sums[row] += scale * token.scales[run] * dot as f32 + offset * token.sums[run];
            }
        }
    }
    sums
}
