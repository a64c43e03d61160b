//! Numbers as people read them: three digits, a unit that fits, an interval in the same unit.

use std::time::{Duration, SystemTime};

/// What a number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Joules,
    Watts,
    PerWatt,
    PerJoule,
    /// A number by itself: its row or column says of what.
    Plain,
    Share,
}

impl Unit {
    /// What to multiply with, and what to write behind.
    fn scale(self, size: f64) -> (f64, &'static str) {
        let size = size.abs();
        match self {
            Self::Seconds if size < 1e-12 => (1.0, "s"),
            Self::Seconds if size < 0.000_999_5 => (1e6, "µs"),
            Self::Seconds if size < 0.999_5 => (1e3, "ms"),
            Self::Seconds if size < 120.0 => (1.0, "s"),
            Self::Seconds => (1.0 / 60.0, "min"),
            Self::Joules if (1e-12..0.999_5).contains(&size) => (1e3, "mJ"),
            Self::Joules if size < 9_999.5 => (1.0, "J"),
            Self::Joules => (1e-3, "kJ"),
            Self::Watts if (1e-12..0.999_5).contains(&size) => (1e3, "mW"),
            Self::Watts => (1.0, "W"),
            Self::PerWatt => (1.0, "/W"),
            Self::PerJoule => (1.0, "/J"),
            Self::Plain => (1.0, ""),
            Self::Share => (100.0, "%"),
        }
    }
}

/// `0.0618 /W`
pub(crate) fn quantity(value: f64, unit: Unit) -> String {
    let (factor, name) = unit.scale(value);
    with_unit(&digits(value * factor), name)
}

fn with_unit(number: &str, name: &str) -> String {
    if name.is_empty() {
        number.to_owned()
    } else {
        format!("{number} {name}")
    }
}

/// `693–902 ms`
pub(crate) fn range(low: f64, high: f64, unit: Unit) -> String {
    let (factor, name) = unit.scale(high);
    let numbers = format!("{}–{}", digits(low * factor), digits(high * factor));
    with_unit(&numbers, name)
}

/// `5.4 J ± 2.9 J`, in one unit
pub(crate) fn give_or_take(value: f64, sigma: f64, unit: Unit) -> String {
    let (factor, name) = unit.scale(value);
    format!(
        "{} ± {} {name}",
        digits(value * factor),
        digits(sigma * factor)
    )
}

/// `2 min 46 s`
pub(crate) fn duration(seconds: f64) -> String {
    let Ok(whole) = Duration::try_from_secs_f64(seconds.round()) else {
        return "n/a".to_owned();
    };
    let whole = whole.as_secs();
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0..=1) => quantity(seconds, Unit::Seconds),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// Three significant digits, no exponent where it can be helped.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if size < 1e-12 {
        return "0".to_owned();
    }
    if size >= 99.95 {
        return format!("{value:.0}");
    }
    if size < 1e-4 {
        return format!("{value:.2e}");
    }
    let places = [(9.995, 1), (0.999_5, 2), (0.099_95, 3), (0.009_995, 4)];
    let places = places.iter().find(|(least, _)| size >= *least);
    let places = places.map_or(if size >= 0.000_999_5 { 5 } else { 6 }, |(_, places)| {
        *places
    });
    format!("{value:.places$}")
}

/// A number with few digits, for machines: five significant ones.
pub(crate) fn rounded(value: f64) -> Option<f64> {
    let value = value.is_finite().then_some(value)?;
    format!("{value:.4e}").parse().ok()
}

/// `2026-11-16 06:38 UTC`
pub(crate) fn moment(unix_nanos: u64) -> Option<String> {
    /// The last second that a date of four digits has.
    const LAST: u64 = 253_402_300_799;
    let since = Duration::from_nanos(unix_nanos);
    let since = (since.as_secs() <= LAST).then_some(since)?;
    let text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string();
    Some(format!("{} {} UTC", text.get(..10)?, text.get(11..16)?))
}

/// Seconds since the Unix epoch as a day.
pub(crate) fn day(unix_seconds: f64) -> Option<String> {
    let since = Duration::try_from_secs_f64(unix_seconds).ok()?;
    let nanos = u64::try_from(since.as_nanos()).ok()?;
    moment(nanos).map(|text| text.chars().take("2026-01-31".len()).collect())
}

/// `1 row`, `2 rows`
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{} {many}", grouped(count))
    }
}

/// `1 000 000`, with spaces that do not break.
pub(crate) fn grouped(count: u64) -> String {
    let plain = count.to_string();
    if plain.len() < 5 {
        return plain;
    }
    let mut text = String::new();
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// What a reason of missing energy means.
pub(crate) fn reason(reason: &str) -> &str {
    match reason {
        "no_source" => "nothing here reports energy",
        "remote_service" => "the service runs on another machine",
        "gpu_unmeasured" => "a GPU may do the work, and nothing measures it",
        "too_short" => "too short for the counter's period",
        "no_reading" => "no reading overlaps the query",
        "counter_reset" => "the counter started anew",
        "partial" => "readings cover too little of it",
        "gap" => "readings are missing in the middle",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit_that_fits() {
        for (value, unit, text) in [
            (0.775_07, Unit::Seconds, "775 ms"),
            (5.432_5, Unit::Joules, "5.43 J"),
            (0.061_853, Unit::PerWatt, "0.0619 /W"),
            (0.325, Unit::Share, "32.5 %"),
            (0.999_9, Unit::Seconds, "1.00 s"),
            (165.67, Unit::Seconds, "2.76 min"),
            (18.24, Unit::Plain, "18.2"),
            (12_345.0, Unit::Joules, "12.3 kJ"),
            (0.000_092, Unit::Seconds, "92.0 µs"),
            (0.0, Unit::Watts, "0 W"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
        assert_eq!(range(0.693, 0.902, Unit::Seconds), "693–902 ms");
        assert_eq!(give_or_take(5.43, 2.87, Unit::Joules), "5.43 ± 2.87 J");
        assert_eq!(digits(f64::NAN), "n/a");
        assert_eq!(duration(165.67), "2 min 46 s");
        assert_eq!(duration(4000.0), "1 h 6 min");
        assert_eq!(duration(3.0), "3.00 s");
    }

    #[test]
    fn what_machines_read_is_short_and_never_not_a_number() {
        assert_eq!(rounded(1.034_567_89), Some(1.0346));
        assert_eq!(rounded(f64::NAN), None);
        assert_eq!(serde_json::json!(rounded(0.1 + 0.2)).to_string(), "0.3");
    }

    #[test]
    fn moments_are_dates_and_nonsense_is_not() {
        assert_eq!(
            moment(1_794_811_103_531_891_447).as_deref(),
            Some("2026-11-16 06:38 UTC")
        );
        assert_eq!(day(f64::NAN), None);
        assert_eq!(day(0.0).as_deref(), Some("1970-01-01"));
        assert_eq!(grouped(1_000_000), "1\u{202f}000\u{202f}000");
        assert_eq!(counted(1, "row", "rows"), "1 row");
    }
}
