//! Compares the kernels with plain arithmetic.

use proptest::prelude::*;

use super::*;
use crate::gguf::Kind;

/// Numbers that look random.
fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        #[expect(clippy::cast_precision_loss, reason = "24 bits")]
        let unit = (state >> 40) as f32 / (1_u64 << 24) as f32;
        unit * 2.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn q4_1(numbers: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in numbers.as_chunks::<BLOCK>().0 {
        let low = block.iter().copied().fold(f32::INFINITY, f32::min);
        let high = block.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = (high - low) / 15.0;
        bytes.extend(half::f16::from_f32(scale).to_le_bytes());
        bytes.extend(half::f16::from_f32(low).to_le_bytes());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 15"
        )]
        let code = |x: f32| ((x - low) / scale).round().clamp(0.0, 15.0) as u8;
        bytes.extend((0..16).map(|i| code(block[i]) | code(block[i + 16]) << 4));
    }
    bytes
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The expected result of `product`, from the stored rows and codes.
fn plain(matrix: &Matrix, input: &Quantised) -> Vec<f64> {
    let mut row = vec![0.0; matrix.columns];
    let mut out = Vec::new();
    for index in 0..matrix.groups() * GROUP {
        if index < matrix.rows {
            matrix.row(index, &mut row);
        } else {
            row.fill(0.0);
        }
        for token in 0..input.tokens() {
            let token = input.token(token);
            let sum: f64 = row
                .as_chunks::<BLOCK>()
                .0
                .iter()
                .zip(token.codes.iter().zip(token.scales))
                .map(|(row, (codes, scale))| {
                    let dot: f64 = row
                        .iter()
                        .zip(codes)
                        .map(|(weight, code)| f64::from(*weight) * f64::from(*code))
                        .sum();
                    dot * f64::from(*scale)
                })
                .sum();
            out.push(sum);
        }
    }
    out
}

fn check(kind: Kind, rows: usize, columns: usize, tokens: usize, seed: u64) {
    let weights = noise(seed, rows * columns);
    let bytes = if kind == Kind::Q4_1 {
        q4_1(&weights)
    } else {
        f32s(&weights)
    };
    let matrix = Matrix::new(kind, rows, columns, &bytes).unwrap();
    let numbers = noise(seed + 1, tokens * columns);
    for kernels in [Kernels::Portable, Kernels::detect()] {
        let mut input = Quantised::default();
        input.fill(kernels, &numbers, tokens);
        // Sums are rounded to 16 bits; here they are exact.
        for ((sum, codes), scale) in input.sums.iter_mut().zip(&input.codes).zip(&input.scales) {
            let total: f32 = codes.iter().map(|code| f32::from(*code)).sum();
            assert!((*sum - scale * total).abs() <= total.abs() * scale / 500.0 + 1e-6);
            *sum = scale * total;
        }
        let mut out = vec![0.0; matrix.groups() * GROUP * tokens];
        kernels.product(&matrix, 0, &input, &mut out);
        let wanted = plain(&matrix, &input);
        for group in 0..matrix.groups() {
            for row in 0..GROUP {
                for token in 0..tokens {
                    let found = f64::from(out[(group * tokens + token) * GROUP + row]);
                    let wanted = wanted[(group * GROUP + row) * tokens + token];
                    #[expect(clippy::cast_precision_loss, reason = "small")]
                    let most = 1e-5 * columns as f64;
                    assert!(
                        (found - wanted).abs() < most,
                        "{kernels:?} {found} {wanted}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_are_what_plain_arithmetic_says(
        rows in 1_usize..40, runs in 1_usize..6, tokens in 1_usize..10, seed: u64, narrow: bool,
    ) {
        let kind = if narrow { Kind::Q4_1 } else { Kind::F32 };
        check(kind, rows, runs * BLOCK, tokens, seed >> 1);
    }

    #[test]
    fn exp_is_good_to_six_digits(x in -80.0_f32..80.0) {
        let wanted = f64::from(x).exp();
        prop_assert!((f64::from(vector::exp(x)) / wanted - 1.0).abs() < 1e-6);
    }
}

#[test]
fn extreme_codes_do_not_overflow() {
    // All weights at the largest code and all activations at ±127.
    for kind in [Kind::Q4_1, Kind::Q8_0] {
        let columns = 64;
        let (head, codes): (&[u8], &[u8]) = if kind == Kind::Q4_1 {
            (&[0x00, 0x3c, 0x00, 0x00], &[0xff; 16]) // scale 1, offset 0
        } else {
            (&[0x00, 0x3c], &[0x80; 32]) // −128
        };
        let block = [head, codes].concat();
        let bytes = block.repeat(columns / BLOCK * GROUP);
        let matrix = Matrix::new(kind, GROUP, columns, &bytes).unwrap();
        for sign in [1.0, -1.0] {
            let numbers = vec![sign * 127.0; columns];
            for kernels in [Kernels::Portable, Kernels::detect()] {
                let mut input = Quantised::default();
                input.fill(kernels, &numbers, 1);
                let mut out = vec![0.0; GROUP];
                kernels.product(&matrix, 0, &input, &mut out);
                let code = if kind == Kind::Q4_1 { 15.0 } else { -128.0 };
                for found in out {
                    assert!(
                        (found - sign * 127.0 * code * 64.0).abs() < 1.0,
                        "{kernels:?} {found}"
                    );
                }
            }
        }
    }
}

#[test]
fn attention_is_softmax_over_the_values() {
    let (size, count) = (16, 21);
    let query = noise(1, size);
    let keys = noise(2, size * count);
    let values = noise(3, size * count);
    // Keys in groups of eight positions.
    let mut grouped = vec![0.0; size * count.div_ceil(GROUP) * GROUP];
    for position in 0..count {
        for index in 0..size {
            grouped[(position / GROUP * size + index) * GROUP + position % GROUP] =
                keys[position * size + index];
        }
    }
    let scores: Vec<f64> = keys
        .chunks(size)
        .map(|key| {
            key.iter()
                .zip(&query)
                .map(|(k, q)| f64::from(k * q))
                .sum::<f64>()
                * 0.25
        })
        .map(f64::exp)
        .collect();
    let total: f64 = scores.iter().sum();
    for kernels in [Kernels::Portable, Kernels::detect()] {
        let mut out = vec![0.0; size];
        let mut room = Vec::new();
        let seen = HeadCache {
            keys: &grouped,
            values: &values,
            count,
            scale: 0.25,
        };
        kernels.attend(&query, seen, &mut room, &mut out);
        for (index, found) in out.iter().enumerate() {
            let wanted: f64 = scores
                .iter()
                .zip(values.chunks(size))
                .map(|(score, values)| score / total * f64::from(values[index]))
                .sum();
            assert!((f64::from(*found) - wanted).abs() < 1e-5);
        }
    }
}
