//! Human-readable durations: `500ms`, `1.5s`, `1m 30s`. A number without a unit is rejected, as it
//! could mean seconds or milliseconds.

use std::time::Duration;

/// Longer values are mistakes: about thirty years.
const LONGEST: f64 = 1e9;

/// Units in seconds, in lower case.
const UNITS: [(&str, f64); 20] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("mins", 60.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("d", 86_400.0),
    ("days", 86_400.0),
];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A number without a unit.
    #[error("`{number}` has no unit; write {number}ms or {number}s")]
    NoUnit {
        /// As written.
        number: String,
    },
    /// Not a number with a unit.
    #[error("`{text}` is not a duration; write it like 500ms, 90s or 10m")]
    Unreadable {
        /// As written.
        text: String,
    },
    /// Zero, where zero has no meaning.
    #[error("it must be longer than zero")]
    Zero,
}

/// The duration in seconds. Zero needs no unit.
///
/// # Errors
///
/// Refuses a number without a unit, and any text that is not a duration.
pub fn seconds(text: &str) -> Result<f64, DurationError> {
    let text = text.trim();
    let unreadable = || DurationError::Unreadable {
        text: text.to_owned(),
    };
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            0.0 => Ok(0.0),
            number if number.is_finite() && number > 0.0 => Err(DurationError::NoUnit {
                number: text.trim_start_matches('+').to_owned(),
            }),
            _ => Err(unreadable()),
        };
    }
    let mut total = 0.0;
    let mut rest = text;
    loop {
        let (seconds, behind) = leading_part(rest).ok_or_else(unreadable)?;
        total += seconds;
        rest = behind.trim_start();
        if rest.is_empty() {
            break;
        }
    }
    (total <= LONGEST).then_some(total).ok_or_else(unreadable)
}

/// The duration, longer than zero, in seconds.
///
/// # Errors
///
/// As [`seconds`], and for zero.
pub fn positive_seconds(text: &str) -> Result<f64, DurationError> {
    seconds(text).and_then(|seconds| match seconds {
        0.0 => Err(DurationError::Zero),
        seconds => Ok(seconds),
    })
}

/// The duration; zero needs no unit.
///
/// # Errors
///
/// As [`seconds`].
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let unreadable = |_| DurationError::Unreadable {
        text: text.to_owned(),
    };
    Duration::try_from_secs_f64(seconds(text)?).map_err(unreadable)
}

/// The duration, longer than zero.
///
/// # Errors
///
/// As [`parse`], and for less than a nanosecond.
pub fn parse_positive(text: &str) -> Result<Duration, DurationError> {
    parse(text).and_then(|duration| match duration {
        Duration::ZERO => Err(DurationError::Zero),
        duration => Ok(duration),
    })
}

/// The first number with its unit, in seconds, and the text behind it.
fn leading_part(text: &str) -> Option<(f64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, behind) = text.split_at(text.find(|c| !is_digit(c))?);
    let behind = behind.trim_start();
    let end = behind.find(|c: char| !c.is_alphabetic());
    let (unit, behind) = behind.split_at(end.unwrap_or(behind.len()));
    let unit = unit.to_lowercase();
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    Some((number.parse::<f64>().ok()? * factor, behind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            (" 1.5 s ", 1_500_000_000),
            ("1m 30s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("2 minutes", 120_000_000_000),
            ("50US", 50_000),
            ("20µs", 20_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_what_to_write() {
        for text in ["500", "2.5", "1e3", "+7"] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, DurationError::NoUnit { .. }), "{text}");
        }
        let error = parse("500").unwrap_err();
        assert_eq!(error.to_string(), "`500` has no unit; write 500ms or 500s");
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "soon",
            "ms",
            "-1",
            "-1s",
            "1 fortnight",
            "inf",
            "nan",
            "1s later",
            "1..5s",
            "5s3",
            "9999999999999s",
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, DurationError::Unreadable { .. }), "{text}");
        }
        assert_eq!(parse_positive("0"), Err(DurationError::Zero));
        assert_eq!(parse_positive("0ms"), Err(DurationError::Zero));
        assert_eq!(positive_seconds("0"), Err(DurationError::Zero));
    }

    proptest! {
        #[test]
        fn any_text_gets_an_answer(text in ".{0,30}") {
            let _ = parse(&text);
        }

        #[test]
        fn whole_milliseconds_stay_what_they_are(count in 0_u64..1_000_000_000) {
            prop_assert_eq!(parse(&format!("{count}ms")), Ok(Duration::from_millis(count)));
        }
    }
}
