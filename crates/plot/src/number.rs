//! Numbers as text: coordinates for SVG, values for readers.

/// A coordinate: two decimals, no trailing zeros, never `-0`, `NaN` or `inf`.
pub(crate) fn coordinate(value: f64) -> String {
    // A figure is some hundred units wide; anything far outside is clipped.
    let value = if value.is_finite() {
        value.clamp(-1e5, 1e5)
    } else {
        0.0
    };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// A number with this many decimals, grouped thousands and a minus sign; a power of ten if it is
/// too large for digits.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e12 {
        return significant(value, 3);
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    if value < 0.0
        && text
            .chars()
            .any(|character| character.is_ascii_digit() && character != '0')
    {
        out.push('−');
    }
    out.push_str(&ipw_core::quantity::group(whole));
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number with this many significant digits; a power of ten if it is very large or very small.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = exponent(value);
    if !(-4..6).contains(&exponent) {
        let mantissa = value / power(exponent);
        let mantissa = fixed(mantissa, usize::try_from(digits - 1).unwrap_or(0));
        let mantissa = trim_fraction(&mantissa);
        return format!("{mantissa}×{}", power_of_ten(exponent));
    }
    let decimals = usize::try_from(digits - 1 - exponent).unwrap_or(0);
    trim_fraction(&fixed(value, decimals)).to_owned()
}

/// An integer with grouped thousands.
pub(crate) fn count(value: usize) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count of drawn things is far below 2^53"
    )]
    fixed(value as f64, 0)
}

/// `10³` and so on.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    let mut out = String::from("10");
    for character in exponent.to_string().chars() {
        out.push(match character {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            '9' => '⁹',
            _ => '⁰',
        });
    }
    out
}

/// The decimal exponent of a number that is not zero.
#[expect(
    clippy::cast_possible_truncation,
    reason = "exponents of f64 are small"
)]
pub(crate) fn exponent(value: f64) -> i32 {
    let guess = value.abs().log10().floor() as i32;
    // The logarithm of 999.9999999999999 is 3.
    if power(guess) > value.abs() {
        guess - 1
    } else {
        guess
    }
}

/// Ten to a power, never zero nor infinite.
pub(crate) fn power(exponent: i32) -> f64 {
    10_f64.powi(exponent.clamp(-307, 307))
}

fn trim_fraction(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        let table = [
            (1.0, "1"),
            (1.239, "1.24"),
            (-0.001, "0"),
            (100.0, "100"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (1e300, "100000"),
        ];
        for (value, text) in table {
            assert_eq!(coordinate(value), text);
        }
    }

    #[test]
    fn values_are_written_for_people() {
        let table = [
            (0.0, "0"),
            (1_234.0, "1,234"),
            (0.012_34, "0.0123"),
            (-2.5, "−2.5"),
            (1.5e9, "1.5×10⁹"),
            (2e-300, "2×10⁻³⁰⁰"),
            (999_999.0, "999,999"),
            (f64::NAN, "unknown"),
            (f64::INFINITY, "unknown"),
        ];
        for (value, text) in table {
            assert_eq!(significant(value, 3), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(fixed(1_234_567.0, 0), "1,234,567");
        assert_eq!(fixed(-0.000_1, 2), "0.00");
        assert_eq!(fixed(2e300, 1), "2×10³⁰⁰");
        assert_eq!(count(5_000), "5,000");
    }
}
