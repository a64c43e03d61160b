//! Numbers as exact as written: a fraction of integers, a long decimal, or a float if arithmetic
//! exceeds the range of both.

/// A comparable number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// In lowest terms, with a positive denominator.
    Ratio(i128, i128),
    /// A decimal too long for the integers.
    Long(LongDecimal),
    /// The result of arithmetic beyond the integers.
    Float(f64),
}

/// A decimal of any length: its digits without zeros at either end, times a power of ten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LongDecimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

/// Relative tolerance of floats.
const TOLERANCE: f64 = 1e-9;

impl Value {
    /// The fraction in lowest terms; `None` for a zero denominator or values out of range.
    pub(crate) fn ratio(numerator: i128, denominator: i128) -> Option<Self> {
        let divisor = greatest_common_divisor(numerator.checked_abs()?, denominator.checked_abs()?);
        if denominator == 0 || divisor == 0 {
            return None;
        }
        let sign = denominator.signum();
        Some(Self::Ratio(
            sign * (numerator / divisor),
            sign * (denominator / divisor),
        ))
    }

    /// A whole number.
    pub(crate) const fn whole(number: i128) -> Self {
        Self::Ratio(number, 1)
    }

    /// A decimal from its digits before and after the point, and a power of ten.
    pub(crate) fn decimal(digits: &str, fraction: &str, exponent: i32) -> Self {
        let long = LongDecimal::new(digits, fraction, exponent);
        long.ratio().unwrap_or(Self::Long(long))
    }

    /// The number with the opposite sign.
    pub(crate) fn negated(self) -> Self {
        match self {
            // `ratio` never yields the one integer that cannot be negated.
            Self::Ratio(numerator, denominator) => {
                Self::Ratio(numerator.wrapping_neg(), denominator)
            }
            Self::Long(long) => Self::Long(LongDecimal {
                is_negative: !long.is_negative,
                ..long
            }),
            Self::Float(float) => Self::Float(-float),
        }
    }

    /// The sum; `None` when out of range.
    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        let exact = || match (self, other) {
            (Self::Ratio(a, b), Self::Ratio(c, d)) => Self::ratio(
                a.checked_mul(*d)?.checked_add(c.checked_mul(*b)?)?,
                b.checked_mul(*d)?,
            ),
            _ => None,
        };
        exact().or_else(|| finite(self.float() + other.float()))
    }

    /// The product; `None` when out of range.
    pub(crate) fn times(&self, other: &Self) -> Option<Self> {
        let exact = || match (self, other) {
            (Self::Ratio(a, b), Self::Ratio(c, d)) => {
                Self::ratio(a.checked_mul(*c)?, b.checked_mul(*d)?)
            }
            _ => None,
        };
        exact().or_else(|| finite(self.float() * other.float()))
    }

    /// The reciprocal; `None` for zero.
    pub(crate) fn inverse(&self) -> Option<Self> {
        match self {
            Self::Ratio(a, b) => Self::ratio(*b, *a),
            other => finite(1.0 / other.float()),
        }
    }

    /// An integer power; `None` when out of range.
    pub(crate) fn power(&self, exponent: i32) -> Option<Self> {
        let exact = || {
            let Self::Ratio(a, b) = self else { return None };
            let (a, b) = (
                a.checked_pow(exponent.unsigned_abs())?,
                b.checked_pow(exponent.unsigned_abs())?,
            );
            if exponent < 0 {
                Self::ratio(b, a)
            } else {
                Self::ratio(a, b)
            }
        };
        exact().or_else(|| finite(self.float().powi(exponent)))
    }

    /// Whether the absolute value is below one.
    pub(crate) fn is_below_one(&self) -> bool {
        self.float().abs() < 1.0
    }

    /// Whether the value is exact.
    pub(crate) const fn is_exact(&self) -> bool {
        !matches!(self, Self::Float(_))
    }

    /// Equality: exact if both numbers are exact, else within the tolerance.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        if self.is_exact() && other.is_exact() {
            return self == other;
        }
        let (left, right) = (self.float(), other.float());
        // Infinities would pass the comparison; NaN fails it.
        (left - right).abs() <= TOLERANCE * left.abs().max(right.abs())
            && left.is_finite()
            && right.is_finite()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "only where no integer can hold the result"
    )]
    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Ratio(numerator, denominator) => *numerator as f64 / *denominator as f64,
            Self::Long(long) => long.float(),
            Self::Float(float) => *float,
        }
    }
}

impl LongDecimal {
    fn new(digits: &str, fraction: &str, exponent: i32) -> Self {
        let all = format!("{digits}{fraction}");
        let kept = all.trim_end_matches('0');
        let dropped = all.len() - kept.len();
        let places = |count: usize| i64::try_from(count).unwrap_or(i64::MAX / 4);
        Self {
            is_negative: false,
            digits: kept.trim_start_matches('0').to_owned(),
            exponent: i64::from(exponent) - places(fraction.len()) + places(dropped),
        }
    }

    /// The same number as a fraction, if it fits the integers.
    fn ratio(&self) -> Option<Value> {
        if self.digits.is_empty() {
            return Some(Value::whole(0));
        }
        let numerator: i128 = self.digits.parse().ok()?;
        let scale = 10_i128.checked_pow(u32::try_from(self.exponent.unsigned_abs()).ok()?)?;
        if self.exponent < 0 {
            Value::ratio(numerator, scale)
        } else {
            Value::ratio(numerator.checked_mul(scale)?, 1)
        }
    }

    fn float(&self) -> f64 {
        let text = format!("0{}e{}", self.digits, self.exponent);
        let float: f64 = text.parse().unwrap_or(f64::NAN);
        if self.is_negative { -float } else { float }
    }
}

fn finite(float: f64) -> Option<Value> {
    float.is_finite().then_some(Value::Float(float))
}

fn greatest_common_divisor(mut left: i128, mut right: i128) -> i128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_compare_exactly_and_floats_nearly() {
        let tenth = Value::decimal("0", "1", 0);
        let fifth = Value::ratio(-2, -10).unwrap();
        assert!(tenth.plus(&tenth).unwrap().equals(&fifth));
        assert!(!tenth.equals(&fifth));
        assert!(Value::ratio(1, 0).is_none());
        assert!(!Value::Float(f64::NAN).equals(&Value::Float(f64::NAN)));
        let big = Value::whole(2).power(200).unwrap();
        assert!(!big.is_exact());
        assert!(big.equals(&Value::whole(4).power(100).unwrap()));
    }

    #[test]
    fn long_decimals_compare_digit_by_digit() {
        let huge = Value::decimal("1", "", 60);
        assert!(huge.equals(&Value::decimal("10", "", 59)));
        assert!(huge.equals(&Value::decimal("0001", "000", 60)));
        assert!(Value::decimal("0", "0", 999).equals(&Value::whole(0)));
        assert!(Value::decimal("1", &"0".repeat(60), 0).equals(&Value::whole(1)));
        assert!(Value::decimal("1", "", 400).equals(&Value::decimal("10", "", 399)));
        let digits = "1234567890".repeat(5);
        let one = Value::decimal(&digits, "", 0);
        assert!(one.equals(&Value::decimal(&digits, "0", 0)));
        let other = Value::decimal(&digits.replace("90", "91"), "", 0);
        assert!(!one.equals(&other));
        assert!(!one.clone().equals(&one.negated()));
    }
}
