//! Small functions over vectors, written for automatic vectorization: fixed lanes, no branches, no
//! required order of additions.
//!
//! They are called through [`Kernels`](super::Kernels).

use half::f16;

use crate::matrix::GROUP;
use crate::quant::BLOCK;

/// Lanes of partial sums.
const LANES: usize = 8;

/// Output buffers for quantised activations.
pub(crate) struct QuantisedBlocks<'a> {
    pub(super) codes: &'a mut [[i8; BLOCK]],
    pub(super) scales: &'a mut [f32],
    pub(super) sums: &'a mut [f32],
}

/// Quantises activations to 8 bits.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the scale keeps codes within ±127"
)]
pub(super) fn quantise(blocks: &[[f32; BLOCK]], out: QuantisedBlocks<'_>) {
    let QuantisedBlocks {
        codes,
        scales,
        sums,
    } = out;
    for (((block, codes), scale), sum) in blocks.iter().zip(codes).zip(scales).zip(sums) {
        let mut lanes = [0.0_f32; LANES];
        for part in block.as_chunks::<LANES>().0 {
            for (lane, number) in lanes.iter_mut().zip(part) {
                *lane = lane.max(number.abs());
            }
        }
        let largest = lanes.iter().fold(0.0_f32, |most, lane| most.max(*lane));
        // Both factors are rounded to 16 bits because llama.cpp does so: our replies are compared
        // with its replies, and then agree more often.
        let exact = largest / 127.0;
        *scale = f16::from_f32(exact).to_f32();
        let per_unit = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        let mut total = 0_i32;
        for (code, number) in codes.iter_mut().zip(block) {
            let whole = (number * per_unit).round_ties_even() as i32;
            *code = whole as i8;
            total += whole;
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 32 × 127")]
        {
            *sum = f16::from_f32(exact * total as f32).to_f32();
        }
    }
}

/// Σ a·b.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

/// RMS norm: each token divided by its root mean square, times the weights.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
#[expect(
    clippy::cast_precision_loss,
    reason = "a row has fewer than 2^24 numbers"
)]
pub(super) fn rms_norm(numbers: &[f32], weights: &[f32], epsilon: f32, out: &mut [f32]) {
    let width = weights.len();
    for (token, out) in numbers.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let mean = dot(token, token) / width as f32;
        let factor = 1.0 / (mean + epsilon).sqrt();
        for ((out, number), weight) in out.iter_mut().zip(token).zip(weights) {
            *out = number * factor * weight;
        }
    }
}

/// `gate ← gate · sigmoid(gate) · up`.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
pub(super) fn swiglu(gate: &mut [f32], up: &[f32]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate = *gate / (1.0 + exp(-*gate)) * up;
    }
}

/// `a ← a + b`.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
pub(super) fn add(a: &mut [f32], b: &[f32]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
}

/// e^x to about one unit in the seventh digit, without a branch: 2^n times a polynomial.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "clamped to ±127")]
pub(super) fn exp(x: f32) -> f32 {
    // ln 2 in two parts, so that the remainder keeps its digits.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    // Taylor series, accurate enough within ±ln 2 / 2.
    let mut p = 1.0 / 5040.0;
    for c in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = p * r + c;
    }
    let power = f32::from_bits(((n as i32 + 127) << 23).cast_unsigned());
    p * power
}

/// Keys and values of one head.
#[derive(Clone, Copy)]
pub(crate) struct HeadCache<'a> {
    /// In groups of eight positions, number by number, so that eight scores are computed together.
    pub(crate) keys: &'a [f32],
    /// Position by position.
    pub(crate) values: &'a [f32],
    /// Number of valid positions.
    pub(crate) count: usize,
    /// Factor of the scores.
    pub(crate) scale: f32,
}

/// One head's attention of one token: softmax of the scores, then the weighted values.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
pub(super) fn attend(query: &[f32], seen: HeadCache<'_>, scores: &mut Vec<f32>, out: &mut [f32]) {
    let HeadCache {
        keys,
        values,
        count,
        scale,
    } = seen;
    let size = query.len();
    scores.clear();
    for keys in keys.chunks_exact(size * GROUP).take(count.div_ceil(GROUP)) {
        let mut sums = [0.0_f32; GROUP];
        for (query, keys) in query.iter().zip(keys.as_chunks::<GROUP>().0) {
            for (sum, key) in sums.iter_mut().zip(keys) {
                *sum += query * key;
            }
        }
        scores.extend_from_slice(&sums.map(|sum| sum * scale));
    }
    let scores = &mut scores[..count];
    let largest = scores
        .iter()
        .fold(f32::NEG_INFINITY, |most, score| most.max(*score));
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
    }
    for score in scores.iter() {
        total += score;
    }
    out.fill(0.0);
    for (score, values) in scores.iter().zip(values.chunks_exact(size)) {
        for (out, value) in out.iter_mut().zip(values) {
            *out += score * value;
        }
    }
    let factor = 1.0 / total;
    for out in out.iter_mut() {
        *out *= factor;
    }
}
