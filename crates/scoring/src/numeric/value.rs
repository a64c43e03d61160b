//! A number as exactly as it was written: a fraction of integers, or a float beyond their range.

/// A number that can be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// In lowest terms, the denominator above zero.
    Ratio(i128, i128),
    /// Too large or too long for integers.
    Float(f64),
}

/// Floats agree when they differ by no more than this share of the larger one.
const TOLERANCE: f64 = 1e-9;

impl Value {
    /// The fraction in lowest terms; `None` for a zero denominator or one out of range.
    pub(super) fn ratio(numerator: i128, denominator: i128) -> Option<Self> {
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

    /// `digits`, `fraction` after the point, and a power of ten.
    pub(super) fn decimal(digits: &str, fraction: &str, exponent: i32) -> Option<Self> {
        let exact = || {
            let numerator: i128 = format!("{digits}{fraction}").parse().ok()?;
            let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
            let scale = 10_i128.checked_pow(shift.unsigned_abs())?;
            if shift < 0 {
                Self::ratio(numerator, scale)
            } else {
                Self::ratio(numerator.checked_mul(scale)?, 1)
            }
        };
        exact().or_else(|| {
            let float: f64 = format!("{digits}.{fraction}e{exponent}").parse().ok()?;
            float.is_finite().then_some(Self::Float(float))
        })
    }

    /// The other sign.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Ratio(numerator, denominator) => Self::Ratio(-numerator, denominator),
            Self::Float(float) => Self::Float(-float),
        }
    }

    /// Both together; `None` when out of range.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let exact = || match (self, other) {
            (Self::Ratio(a, b), Self::Ratio(c, d)) => Self::ratio(
                a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?,
                b.checked_mul(d)?,
            ),
            _ => None,
        };
        exact().or_else(|| finite(self.float() + other.float()))
    }

    /// The product; `None` when out of range.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        let exact = || match (self, other) {
            (Self::Ratio(a, b), Self::Ratio(c, d)) => {
                Self::ratio(a.checked_mul(c)?, b.checked_mul(d)?)
            }
            _ => None,
        };
        exact().or_else(|| finite(self.float() * other.float()))
    }

    /// This number raised to a whole power; `None` when out of range.
    pub(super) fn power(self, exponent: i32) -> Option<Self> {
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

    /// Whether it lies strictly between minus one and one.
    pub(super) fn is_below_one(self) -> bool {
        self.float().abs() < 1.0
    }

    /// The same number: exactly where both are fractions, else within the tolerance.
    pub(super) fn equals(self, other: Self) -> bool {
        if let (Self::Ratio(..), Self::Ratio(..)) = (self, other) {
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
        reason = "only for numbers that no integer can hold"
    )]
    fn float(self) -> f64 {
        match self {
            Self::Ratio(numerator, denominator) => numerator as f64 / denominator as f64,
            Self::Float(float) => float,
        }
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
        let tenth = Value::decimal("0", "1", 0).unwrap();
        let fifth = Value::ratio(-2, -10).unwrap();
        assert!(tenth.plus(tenth).unwrap().equals(fifth));
        assert!(!tenth.equals(fifth));
        let huge = Value::decimal("1", "", 60).unwrap();
        assert!(huge.equals(Value::decimal("10", "", 59).unwrap()));
        assert!(Value::decimal("1", "", 400).is_none());
        assert!(Value::ratio(1, 0).is_none());
        assert!(!Value::Float(f64::NAN).equals(Value::Float(f64::NAN)));
    }
}
