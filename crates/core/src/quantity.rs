//! Human-readable numbers: three significant digits, with a unit prefix where it helps.
//!
//! Terminal, reports, comparisons, leaderboards and figures all format numbers with this module, so
//! a value looks the same everywhere. Files keep full precision.

use serde::{Deserialize, Serialize};

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// J
    Joules,
    /// W
    Watts,
    /// s
    Seconds,
    /// 1/s
    PerSecond,
    /// 1/W
    PerWatt,
    /// 1/J
    PerJoule,
    /// From 0 to 1, shown in percent.
    Share,
    /// A bare number: its row or column names the quantity.
    Plain,
}

/// A unit prefix and its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    factor: f64,
    /// The unit with its prefix; empty for a plain number.
    pub name: &'static str,
}

/// Below this, a value is shown as zero.
const NOTHING: f64 = 1e-15;

/// Prefixes by the least value that takes them, the largest first.
type Prefixes = &'static [(f64, f64, &'static str)];

const JOULES: Prefixes = &[
    (999_500.0, 1e-6, "MJ"),
    (999.5, 1e-3, "kJ"),
    (0.999_5, 1.0, "J"),
    (0.000_999_5, 1e3, "mJ"),
    (0.0, 1e6, "µJ"),
];
const WATTS: Prefixes = &[
    (999_500.0, 1e-6, "MW"),
    (999.5, 1e-3, "kW"),
    (0.999_5, 1.0, "W"),
    (0.000_999_5, 1e3, "mW"),
    (0.0, 1e6, "µW"),
];
const SECONDS: Prefixes = &[
    (120.0, 1.0 / 60.0, "min"),
    (0.999_5, 1.0, "s"),
    (0.000_999_5, 1e3, "ms"),
    (0.0, 1e6, "µs"),
];
const PER_WATT: Prefixes = &[
    (0.000_999_5, 1.0, "/W"),
    (0.000_000_999_5, 1e3, "/kW"),
    (0.0, 1e6, "/MW"),
];
const PER_JOULE: Prefixes = &[
    (0.000_999_5, 1.0, "/J"),
    (0.000_000_999_5, 1e3, "/kJ"),
    (0.0, 1e6, "/MJ"),
];

impl Unit {
    /// The unit without a prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joules => "J",
            Self::Watts => "W",
            Self::Seconds => "s",
            Self::PerSecond => "/s",
            Self::PerWatt => "/W",
            Self::PerJoule => "/J",
            Self::Share => "%",
            Self::Plain => "",
        }
    }

    /// The scale that shows a value of this size best.
    pub fn scale(self, size: f64) -> Scale {
        let prefixes = match self {
            Self::Joules => JOULES,
            Self::Watts => WATTS,
            Self::Seconds => SECONDS,
            Self::PerWatt => PER_WATT,
            Self::PerJoule => PER_JOULE,
            Self::PerSecond | Self::Plain | Self::Share => &[],
        };
        let size = size.abs();
        let plain = Scale {
            factor: if self == Self::Share { 100.0 } else { 1.0 },
            name: self.name(),
        };
        if size < NOTHING || !size.is_finite() {
            return plain;
        }
        let fits = prefixes.iter().find(|(least, _, _)| size >= *least);
        fits.map_or(plain, |(_, factor, name)| Scale {
            factor: *factor,
            name,
        })
    }

    /// `0.0618 /W`
    pub fn show(self, value: f64) -> String {
        self.scale(value).show(value)
    }

    /// The value, or `–` where it is unknown.
    pub fn known(self, value: Option<f64>) -> String {
        value.map_or_else(|| UNKNOWN.to_owned(), |value| self.show(value))
    }

    /// `693–902 ms`: both ends on the scale of the upper one.
    pub fn range(self, low: f64, high: f64) -> String {
        let scale = self.scale(high);
        let numbers = format!("{}–{}", scale.number(low), scale.number(high));
        with_unit(&numbers, scale.name)
    }

    /// `5.43 ± 2.87 J`: both on one scale.
    pub fn give_or_take(self, value: f64, sigma: f64) -> String {
        let scale = self.scale(value);
        let numbers = format!("{} ± {}", scale.number(value), scale.number(sigma));
        with_unit(&numbers, scale.name)
    }
}

/// Placeholder for an unknown value.
pub const UNKNOWN: &str = "–";

impl Scale {
    /// The value on this scale, without the unit.
    pub fn number(self, value: f64) -> String {
        digits(value * self.factor)
    }

    /// The value on this scale, with the unit.
    pub fn show(self, value: f64) -> String {
        with_unit(&self.number(value), self.name)
    }
}

fn with_unit(number: &str, name: &str) -> String {
    if name.is_empty() {
        number.to_owned()
    } else {
        format!("{number} {name}")
    }
}

/// Three significant digits; whole numbers of four digits and more keep theirs, in groups.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if size < NOTHING {
        return "0".to_owned();
    }
    if size >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", group(&format!("{size:.0}")));
    }
    if size < 1e-4 {
        return format!("{value:.2e}");
    }
    let places = [
        (9.995, 1),
        (0.999_5, 2),
        (0.099_95, 3),
        (0.009_995, 4),
        (0.000_999_5, 5),
    ];
    let places = places.iter().find(|(least, _)| size >= *least);
    let places = places.map_or(6, |(_, places)| *places);
    format!("{value:.places$}")
}

/// `1,000,000`
pub fn grouped(count: u64) -> String {
    group(&count.to_string())
}

/// Decimal digits in groups of three.
pub fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit_that_fits() {
        for (value, unit, text) in [
            (0.775_07, Unit::Seconds, "775 ms"),
            (0.000_012, Unit::Seconds, "12.0 µs"),
            (12.345, Unit::Seconds, "12.3 s"),
            (0.999_9, Unit::Seconds, "1.00 s"),
            (165.67, Unit::Seconds, "2.76 min"),
            (5.432_5, Unit::Joules, "5.43 J"),
            (0.048_73, Unit::Joules, "48.7 mJ"),
            (999.4, Unit::Joules, "999 J"),
            (1_470.0, Unit::Joules, "1.47 kJ"),
            (12_345.0, Unit::Joules, "12.3 kJ"),
            (3.2e-5, Unit::Joules, "32.0 µJ"),
            (131.4, Unit::Watts, "131 W"),
            (0.0, Unit::Watts, "0 W"),
            (0.061_853, Unit::PerWatt, "0.0619 /W"),
            (0.000_457, Unit::PerWatt, "0.457 /kW"),
            (0.000_016, Unit::PerJoule, "0.0160 /kJ"),
            (0.325, Unit::Share, "32.5 %"),
            (48.24, Unit::PerSecond, "48.2 /s"),
            (12_345.6, Unit::PerSecond, "12,346 /s"),
            (18.24, Unit::Plain, "18.2"),
            (-1234.0, Unit::Plain, "-1,234"),
        ] {
            assert_eq!(unit.show(value), text);
        }
        assert_eq!(Unit::Joules.known(None), "–");
        assert_eq!(digits(f64::NAN), "n/a");
    }

    #[test]
    fn two_numbers_of_one_thing_have_one_unit() {
        assert_eq!(Unit::Seconds.range(0.693, 0.902), "693–902 ms");
        assert_eq!(Unit::Joules.give_or_take(5.43, 2.87), "5.43 ± 2.87 J");
        assert_eq!(Unit::PerWatt.range(0.000_9, 0.001_1), "0.000900–0.00110 /W");
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(count), text);
        }
    }
}
