//! Expressions and their values, exact or at a point.

use crate::value::Value;

/// A tree of operations.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// A number, and how many digits follow its decimal point.
    Number(Value, Option<usize>),
    Variable(String),
    Pi,
    Euler,
    Negative(Box<Expression>),
    Sum(Box<Expression>, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
    Quotient(Box<Expression>, Box<Expression>),
    Power(Box<Expression>, Box<Expression>),
    /// The root of the second operand, with the first as its degree.
    Root(Box<Expression>, Box<Expression>),
    /// The logarithm of the second operand, to the base of the first.
    Log(Box<Expression>, Box<Expression>),
    Binomial(Box<Expression>, Box<Expression>),
    Factorial(Box<Expression>),
    Function(&'static str, Box<Expression>),
}

/// The exact value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Exact {
    /// A fraction, or a decimal of any length.
    Known(Value),
    /// It has variables, or is not a fraction.
    Open,
    /// A fraction beyond the range of integers.
    TooLarge,
}

/// Number of points at which expressions are compared.
pub(super) const POINTS: u64 = 8;

/// The largest factorial that fits the integers.
const FACTORIAL: i128 = 33;

impl Expression {
    /// The exact value.
    pub(super) fn exact(&self) -> Exact {
        match self {
            Self::Number(value, _) => Exact::Known(value.clone()),
            Self::Negative(inner) => inner.exact().then(|value| Some(value.negated())),
            Self::Sum(left, right) => left.exact().with(right.exact(), Value::plus),
            Self::Product(left, right) => left.exact().with(right.exact(), Value::times),
            Self::Quotient(above, below) => above
                .exact()
                .with(below.exact(), |a, b| a.times(&b.inverse()?)),
            Self::Power(base, exponent) => power(base.exact(), exponent.exact()),
            Self::Root(degree, inner) => match (degree.exact(), inner.exact()) {
                (Exact::Known(Value::Ratio(degree, 1)), Exact::Known(Value::Ratio(a, b))) => {
                    let root = whole_root(a, degree).zip(whole_root(b, degree));
                    root.and_then(|(a, b)| Value::ratio(a, b))
                        .map_or(Exact::Open, Exact::Known)
                }
                (Exact::TooLarge, _) | (_, Exact::TooLarge) => Exact::TooLarge,
                _ => Exact::Open,
            },
            Self::Binomial(above, below) => match (above.exact(), below.exact()) {
                (Exact::Known(Value::Ratio(n, 1)), Exact::Known(Value::Ratio(k, 1))) => {
                    binomial(n, k)
                        .map_or(Exact::TooLarge, |value| Exact::Known(Value::whole(value)))
                }
                _ => Exact::Open,
            },
            Self::Factorial(inner) => match inner.exact() {
                Exact::Known(Value::Ratio(n, 1)) if (0..=FACTORIAL).contains(&n) => {
                    Exact::Known(Value::whole((1..=n).product()))
                }
                Exact::Known(_) => Exact::TooLarge,
                other => other,
            },
            Self::Function("abs", inner) => inner.exact().then(|value| {
                Some(if value.float() < 0.0 {
                    value.negated()
                } else {
                    value
                })
            }),
            Self::Variable(_) | Self::Pi | Self::Euler | Self::Log(..) | Self::Function(..) => {
                Exact::Open
            }
        }
    }

    /// The value with the variables' values at this point; NaN if undefined.
    pub(super) fn near(&self, point: u64) -> f64 {
        match self {
            Self::Number(value, _) => value.float(),
            Self::Variable(name) => at_point(name, point),
            Self::Pi => std::f64::consts::PI,
            Self::Euler => std::f64::consts::E,
            Self::Negative(inner) => -inner.near(point),
            Self::Sum(left, right) => left.near(point) + right.near(point),
            Self::Product(left, right) => left.near(point) * right.near(point),
            Self::Quotient(above, below) => above.near(point) / below.near(point),
            Self::Power(base, exponent) => base.near(point).powf(exponent.near(point)),
            Self::Root(degree, inner) => root(inner.near(point), degree.near(point)),
            Self::Log(base, inner) => inner.near(point).ln() / base.near(point).ln(),
            Self::Binomial(..) | Self::Factorial(_) => match self.exact() {
                Exact::Known(value) => value.float(),
                _ => f64::NAN,
            },
            Self::Function(name, inner) => function(name, inner.near(point)),
        }
    }

    /// The number of decimals, if it is a single decimal number, with or without a sign.
    pub(super) fn decimal_places(&self) -> Option<usize> {
        match self {
            Self::Number(_, places) => *places,
            Self::Negative(inner) => inner.decimal_places(),
            _ => None,
        }
    }
}

impl Exact {
    fn then(self, what: impl FnOnce(Value) -> Option<Value>) -> Self {
        match self {
            Self::Known(value) => what(value).map_or(Self::Open, Self::Known),
            other => other,
        }
    }

    fn with(self, other: Self, what: impl FnOnce(&Value, &Value) -> Option<Value>) -> Self {
        match (self, other) {
            (Self::Known(left), Self::Known(right)) => match what(&left, &right) {
                Some(value) if value.is_exact() => Self::Known(value),
                Some(_) => Self::TooLarge,
                None => Self::Open,
            },
            (Self::Open, _) | (_, Self::Open) => Self::Open,
            _ => Self::TooLarge,
        }
    }
}

fn power(base: Exact, exponent: Exact) -> Exact {
    match (base, exponent) {
        (Exact::Known(base), Exact::Known(Value::Ratio(top, 1))) => {
            let raised = i32::try_from(top).ok().and_then(|top| base.power(top));
            match raised {
                Some(value) if value.is_exact() => Exact::Known(value),
                _ => Exact::TooLarge,
            }
        }
        (Exact::Known(Value::Ratio(a, b)), Exact::Known(Value::Ratio(1, degree))) => {
            let root = whole_root(a, degree).zip(whole_root(b, degree));
            root.and_then(|(a, b)| Value::ratio(a, b))
                .map_or(Exact::Open, Exact::Known)
        }
        (Exact::TooLarge, _) | (_, Exact::TooLarge) => Exact::TooLarge,
        _ => Exact::Open,
    }
}

/// The integer whose power this is, if there is one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the guess is checked by multiplication"
)]
fn whole_root(number: i128, degree: i128) -> Option<i128> {
    let degree = u32::try_from(degree).ok().filter(|degree| *degree > 0)?;
    if number < 0 {
        let root =
            (degree % 2 == 1).then(|| whole_root(number.checked_neg()?, degree.into()))??;
        return Some(-root);
    }
    let guess = (number as f64).powf(1.0 / f64::from(degree)).round() as i128;
    (guess - 1..=guess + 1).find(|root| root.checked_pow(degree) == Some(number))
}

fn binomial(n: i128, k: i128) -> Option<i128> {
    if n < 0 || !(0..=n).contains(&k) || n > 200 {
        return None;
    }
    (0..k.min(n - k)).try_fold(1_i128, |product, step| {
        Some(product.checked_mul(n - step)? / (step + 1))
    })
}

fn root(number: f64, degree: f64) -> f64 {
    let is_odd = (degree % 2.0 - 1.0).abs() < f64::EPSILON;
    if number < 0.0 && is_odd {
        -(-number).powf(1.0 / degree)
    } else {
        number.powf(1.0 / degree)
    }
}

fn function(name: &str, at: f64) -> f64 {
    match name {
        "sin" => at.sin(),
        "cos" => at.cos(),
        "tan" => at.tan(),
        "cot" => 1.0 / at.tan(),
        "sec" => 1.0 / at.cos(),
        "csc" => 1.0 / at.sin(),
        "arcsin" => at.asin(),
        "arccos" => at.acos(),
        "arctan" => at.atan(),
        "sinh" => at.sinh(),
        "cosh" => at.cosh(),
        "tanh" => at.tanh(),
        "ln" => at.ln(),
        "exp" => at.exp(),
        "abs" => at.abs(),
        _ => f64::NAN,
    }
}

/// The value of a variable at a point: deterministic, between 0.3 and 2.7, where most roots and
/// logarithms exist. It is negative at every second point, which distinguishes `|x|` from `x`.
#[expect(clippy::cast_precision_loss, reason = "53 bits of a hash")]
fn at_point(name: &str, point: u64) -> f64 {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut mixed = seed.wrapping_add((point + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let size = 0.3 + 2.4 * ((mixed >> 11) as f64 / (1_u64 << 53) as f64);
    if point % 2 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_binomials_are_exact_where_they_are_whole() {
        assert_eq!(whole_root(144, 2), Some(12));
        assert_eq!(whole_root(-27, 3), Some(-3));
        assert_eq!(whole_root(2, 2), None);
        assert_eq!(whole_root(-4, 2), None);
        assert_eq!(whole_root(10_i128.pow(36), 2), Some(10_i128.pow(18)));
        assert_eq!(binomial(10, 3), Some(120));
        assert_eq!(binomial(3, 5), None);
    }

    #[test]
    fn points_differ_by_variable_and_number_and_stay_the_same() {
        assert!((at_point("x", 0) - at_point("y", 0)).abs() > 1e-6);
        assert!((at_point("x", 0) - at_point("x", 1)).abs() > 1e-6);
        assert!((at_point("x", 3) - at_point("x", 3)).abs() < f64::EPSILON);
        assert!((0..100).all(|point| (0.3..2.7).contains(&at_point("θ", point).abs())));
    }
}
