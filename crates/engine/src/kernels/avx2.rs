//! Products with AVX2, FMA and F16C.
//!
//! A register holds four columns of eight rows. `vpmaddubsw` multiplies unsigned with signed bytes
//! and adds neighbours to 16 bits: for 4-bit codes a whole run of 32 columns fits those 16 bits
//! (8 × 2 × 15 × 127 = 30,480), for 8-bit codes one step does (2 × 128 × 127 = 32,512).

#![expect(
    unsafe_code,
    reason = "instructions that the compiler may not assume need a promise that they are there"
)]
#![expect(
    clippy::cast_ptr_alignment,
    reason = "only with loads that ask for no alignment"
)]
#![expect(clippy::unused_self, reason = "that there is a `self` is the promise")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_abs_epi8, _mm256_add_epi16, _mm256_add_epi32,
    _mm256_and_si256, _mm256_cvtepi32_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_sign_epi8,
    _mm256_srli_epi16, _mm256_storeu_ps,
};

use super::{Sums, Token};
use crate::matrix::{GROUP, NARROW, SCALES, STEP, WIDE};
use crate::quant::BLOCK;

const REGISTER: usize = 32;
const STEPS: usize = BLOCK / STEP;

/// Proof that the processor has these instructions: only `detect` creates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Available(());

impl Available {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        all.then_some(Self(()))
    }

    pub(super) fn narrow<const T: usize>(
        self,
        runs: &[[u8; NARROW]],
        tokens: &[Token<'_>; T],
    ) -> [Sums; T] {
        // SAFETY: `self` exists, so `detect` has seen the features.
        unsafe { narrow(runs, tokens) }
    }

    pub(super) fn wide<const T: usize>(
        self,
        runs: &[[u8; WIDE]],
        tokens: &[Token<'_>; T],
    ) -> [Sums; T] {
        // SAFETY: `self` exists, so `detect` has seen the features.
        unsafe { wide(runs, tokens) }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn narrow<const T: usize>(runs: &[[u8; NARROW]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    let low = _mm256_set1_epi8(15);
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_ps(); T];
    for (run, bytes) in runs.iter().enumerate() {
        let (scales, offsets) = halves(bytes);
        let mut weights = [_mm256_setzero_si256(); STEPS];
        for step in 0..STEPS / 2 {
            let codes = load(bytes, SCALES + step * REGISTER);
            weights[step] = _mm256_and_si256(codes, low);
            weights[step + STEPS / 2] = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), low);
        }
        for (sums, token) in sums.iter_mut().zip(tokens) {
            let codes = &token.codes[run];
            let mut dot = _mm256_maddubs_epi16(weights[0], four(codes, 0));
            #[expect(
                clippy::needless_range_loop,
                reason = "an iterator is not unrolled in every profile"
            )]
            for step in 1..STEPS {
                dot = _mm256_add_epi16(dot, _mm256_maddubs_epi16(weights[step], four(codes, step)));
            }
            let dot = _mm256_cvtepi32_ps(_mm256_madd_epi16(dot, ones));
            let scales = _mm256_mul_ps(scales, _mm256_set1_ps(token.scales[run]));
            *sums = _mm256_fmadd_ps(scales, dot, *sums);
            *sums = _mm256_fmadd_ps(offsets, _mm256_set1_ps(token.sums[run]), *sums);
        }
    }
    sums.map(|sums| store(sums))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn wide<const T: usize>(runs: &[[u8; WIDE]], tokens: &[Token<'_>; T]) -> [Sums; T] {
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_ps(); T];
    for (run, bytes) in runs.iter().enumerate() {
        let (scales, offsets) = halves(bytes);
        let mut dots = [_mm256_setzero_si256(); T];
        for step in 0..STEPS {
            let weights = load(bytes, SCALES + step * REGISTER);
            let unsigned = _mm256_abs_epi8(weights);
            for (dot, token) in dots.iter_mut().zip(tokens) {
                // The sign moves to the activation, so that one factor is unsigned.
                let signed = _mm256_sign_epi8(four(&token.codes[run], step), weights);
                let pairs = _mm256_maddubs_epi16(unsigned, signed);
                *dot = _mm256_add_epi32(*dot, _mm256_madd_epi16(pairs, ones));
            }
        }
        for ((sums, dot), token) in sums.iter_mut().zip(dots).zip(tokens) {
            let scales = _mm256_mul_ps(scales, _mm256_set1_ps(token.scales[run]));
            *sums = _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(dot), *sums);
            *sums = _mm256_fmadd_ps(offsets, _mm256_set1_ps(token.sums[run]), *sums);
        }
    }
    sums.map(|sums| store(sums))
}

/// Four neighbouring activations, for each of the eight rows.
#[inline]
#[target_feature(enable = "avx2")]
fn four(codes: &[i8; BLOCK], step: usize) -> __m256i {
    let four = &codes[step * STEP..][..STEP];
    let bytes = [four[0], four[1], four[2], four[3]].map(i8::cast_unsigned);
    _mm256_set1_epi32(i32::from_le_bytes(bytes))
}

/// The eight scales and eight offsets of a run.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn halves(bytes: &[u8]) -> (std::arch::x86_64::__m256, std::arch::x86_64::__m256) {
    let eight = |at: usize| {
        let bytes: &[u8] = &bytes[at..][..2 * GROUP];
        // SAFETY: sixteen bytes are there, and the load asks for no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()) }
    };
    (_mm256_cvtph_ps(eight(0)), _mm256_cvtph_ps(eight(2 * GROUP)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8], at: usize) -> __m256i {
    let bytes: &[u8] = &bytes[at..][..REGISTER];
    // SAFETY: 32 bytes are there, and the load asks for no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(sums: std::arch::x86_64::__m256) -> Sums {
    let mut out = [0.0; GROUP];
    // SAFETY: `out` has room for eight numbers, and the store asks for no alignment.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), sums) };
    out
}
