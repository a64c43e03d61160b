//! Numbers as text, as `arrow-json` writes them: the shortest that read back as the same.
//!
//! Most fractions in a run are instants: whole nanoseconds, as seconds. Those are written here as
//! the integers that they are; all others by Arrow's own encoder, which takes longer.

/// Fractions are tried in units of this: a nanosecond.
const UNITS: u64 = 1_000_000_000;
const UNITS_PER_ONE: f64 = 1e9;

/// The fractions that are tried. From 1e-4 on, no exponent is written. Below 1e6, whole nanoseconds
/// have at most 15 digits, and no two numbers of at most 15 digits are the same `f64`: digits that
/// read back as the value are the only ones so short, and so the shortest.
const TRIED: std::ops::Range<f64> = 1e-4..1e6;

/// Two digits at a time.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// The longest 64-bit integer has 20 characters.
const LONGEST: usize = 24;

/// Writes an integer.
pub(super) fn integer(value: i64, text: &mut Vec<u8>) {
    let mut digits = [0; LONGEST];
    let mut start = whole(value.unsigned_abs(), &mut digits, LONGEST);
    if value < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    text.extend_from_slice(&digits[start..]);
}

/// Writes a fraction that is a whole number of nanoseconds; false, and nothing written, for others.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "units are positive, below 2^53, and used if they give exactly the value"
)]
pub(super) fn short_fraction(value: f64, text: &mut Vec<u8>) -> bool {
    let size = value.abs();
    if !TRIED.contains(&size) {
        return false;
    }
    let units = (size * UNITS_PER_ONE + 0.5) as u64;
    if units as f64 / UNITS_PER_ONE != size {
        return false;
    }
    // A point, nine digits behind it, and up to six before.
    let mut digits = [0; LONGEST];
    let point = LONGEST - 10;
    digits[point] = b'.';
    let mut rest = units % UNITS;
    for place in (point + 2..LONGEST).step_by(2).rev() {
        pair(rest % 100, &mut digits[place..]);
        rest /= 100;
    }
    digits[point + 1] = digit(rest);
    let mut start = whole(units / UNITS, &mut digits, point);
    if value < 0.0 {
        start -= 1;
        digits[start] = b'-';
    }
    let mut end = LONGEST;
    // One digit stays.
    while end > point + 2 && digits[end - 1] == b'0' {
        end -= 1;
    }
    text.extend_from_slice(&digits[start..end]);
    true
}

/// Writes the digits of `value` so that they end before `end`; where they start.
fn whole(mut value: u64, digits: &mut [u8; LONGEST], end: usize) -> usize {
    let mut start = end;
    while value >= 100 {
        start -= 2;
        pair(value % 100, &mut digits[start..]);
        value /= 100;
    }
    if value >= 10 {
        start -= 2;
        pair(value, &mut digits[start..]);
    } else {
        start -= 1;
        digits[start] = digit(value);
    }
    start
}

fn pair(value: u64, digits: &mut [u8]) {
    let place = usize::try_from(value).unwrap_or(0) * 2;
    digits[..2].copy_from_slice(&PAIRS[place..place + 2]);
}

fn digit(value: u64) -> u8 {
    b'0' + u8::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use arrow_array::{ArrayRef, Float64Array};

    use super::super::json::texts;
    use super::*;

    /// What Arrow writes.
    fn expected(values: &[f64]) -> Vec<String> {
        let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let texts = texts(&array).unwrap();
        let texts = texts.as_any().downcast_ref::<arrow_array::StringArray>();
        texts.unwrap().iter().flatten().map(str::to_owned).collect()
    }

    #[test]
    fn integers_are_written_as_they_are() {
        for value in [0, 7, 10, 99, 100, 12_345, -1, -100, i64::MIN, i64::MAX] {
            let mut text = Vec::new();
            integer(value, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }

    #[test]
    fn a_fraction_is_written_as_arrow_writes_it_or_not_at_all() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut values = vec![
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            0.3,
            1e-4,
            1e-5,
            1e-9,
            1e6,
            999_999.999_999_999,
            0.000_123,
            1e9,
            1e10,
            5e-324,
            f64::MAX,
            12.0,
            100.25,
        ];
        for _ in 0..200_000 {
            let nanos = next() >> (14 + next() % 40);
            values.push(Duration::from_nanos(nanos).as_secs_f64());
            values.push(f64::from_bits(next()));
            values.push(f64::from(u32::try_from(next() >> 40).unwrap()) / 1000.0);
        }
        values.retain(|value| value.is_finite());
        let mut written = 0;
        for (value, expected) in values.iter().zip(expected(&values)) {
            let mut text = Vec::new();
            if short_fraction(*value, &mut text) {
                assert_eq!(String::from_utf8(text).unwrap(), expected, "{value:e}");
                written += 1;
            } else {
                assert!(text.is_empty(), "{value:e}");
            }
        }
        assert!(written > values.len() / 3, "{written} of {}", values.len());
    }
}
