//! Numbers and texts as people read them: units, signs, times, counts, lines that fit.

use std::time::{Duration, SystemTime};

use ipw_analysis::compare::{Comparison, Verdict};
use ipw_analysis::interval::Estimate;
use ipw_analysis::metric::Unit;
pub use ipw_core::quantity::UNKNOWN;
use ipw_core::quantity::grouped;

/// A change as a comparison decides it: the change, and the ends of its interval.
pub struct Change {
    /// `−18 %`
    pub value: String,
    /// `−22 to −14 %`
    pub interval: String,
}

/// The change of a comparison; `None` where it could not be made.
pub fn change(comparison: &Comparison) -> Option<Change> {
    let Estimate { value, low, high } = comparison.difference()?;
    let unit = if comparison.unit == Unit::Share {
        "pp"
    } else {
        "%"
    };
    Some(Change {
        value: format!("{} {unit}", signed(100.0 * value)),
        interval: format!("{} to {} {unit}", signed(100.0 * low), signed(100.0 * high)),
    })
}

/// Two digits or so, with a sign.
fn signed(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        _ => 2,
    };
    let text = format!("{:.decimals$}", value.abs());
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    match text {
        "0" => "0".to_owned(),
        text if value < 0.0 => format!("−{text}"),
        text => format!("+{text}"),
    }
}

/// What to make of a comparison, in a word or two.
pub fn verdict(comparison: &Comparison) -> &'static str {
    match (comparison.is_better(), comparison.verdict) {
        (Some(true), _) => "better",
        (Some(false), _) => "worse",
        (None, Verdict::Unchanged) => "unchanged",
        (None, _) => "cannot tell",
    }
}

/// The name of the run at this place: A, B, …, Z, AA.
pub fn letter(place: usize) -> String {
    let last = u32::try_from(place % 26).unwrap_or(0);
    let last = char::from_u32(u32::from('A') + last).unwrap_or('?');
    match place / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

/// The text in lines of at most `width` characters; all but the first begin with `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used == 0 {
            out.push_str(word);
            used = length;
        } else if used + 1 + length <= width {
            out.push(' ');
            out.push_str(word);
            used += 1 + length;
        } else {
            out.push('\n');
            out.push_str(indent);
            out.push_str(word);
            used = indent.chars().count() + length;
        }
    }
    out
}

/// `2 min 46 s`
pub fn duration(seconds: f64) -> String {
    let Ok(whole) = Duration::try_from_secs_f64(seconds.round()) else {
        return "n/a".to_owned();
    };
    let whole = whole.as_secs();
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0..=1) => Unit::Seconds.show(seconds),
        (0, _) => format!("{minutes} min {rest} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// `2026-11-16 06:38 UTC`
pub fn moment(unix_nanos: u64) -> Option<String> {
    /// The last second that a date of four digits has.
    const LAST: u64 = 253_402_300_799;
    let since = Duration::from_nanos(unix_nanos);
    let since = (since.as_secs() <= LAST).then_some(since)?;
    let text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string();
    Some(format!("{} {} UTC", text.get(..10)?, text.get(11..16)?))
}

/// `1 row`, `2 rows`
pub fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{} {many}", grouped(count))
    }
}

/// What a reason of missing energy means.
pub fn reason(reason: &str) -> &str {
    match reason {
        "no_source" => "no source here reports energy",
        "remote_service" => "the service runs on another machine",
        "gpu_unmeasured" => "a GPU may do the work, and no source measures it",
        "too_short" => "too short for the counter's period",
        "no_reading" => "no reading overlaps the query",
        "counter_reset" => "the counter was reset",
        "partial" => "readings cover too little of the query",
        "implausible" => "the counter advanced by more than its device can use",
        "other_basis" => "it comes from other sources than the headline",
        "gap" => "readings are missing within the query",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_units_that_fit() {
        assert_eq!(duration(165.67), "2 min 46 s");
        assert_eq!(duration(4000.0), "1 h 6 min");
        assert_eq!(duration(3.0), "3.00 s");
    }

    #[test]
    fn moments_are_dates_and_nonsense_is_not() {
        assert_eq!(
            moment(1_794_811_103_531_891_447).as_deref(),
            Some("2026-11-16 06:38 UTC")
        );
        assert_eq!(moment(0).as_deref(), Some("1970-01-01 00:00 UTC"));
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(1200, "row", "rows"), "1,200 rows");
    }

    #[test]
    fn changes_have_a_sign_unless_they_are_none() {
        for (number, wanted) in [
            (-18.04, "−18"),
            (5.83, "+5.8"),
            (0.004, "0"),
            (-0.3, "−0.3"),
            (1234.0, "+1234"),
        ] {
            assert_eq!(signed(number), wanted);
        }
    }

    #[test]
    fn runs_are_lettered_for_ever() {
        let letters: Vec<_> = [0, 1, 25, 26, 51, 52, 702].map(letter).into();
        assert_eq!(letters, ["A", "B", "Z", "AA", "AZ", "BA", "AAA"]);
    }

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let text = "one two three four five";
        assert_eq!(wrapped(text, 9, "  "), "one two\n  three\n  four\n  five");
        assert_eq!(wrapped("", 9, ""), "");
        assert_eq!(
            wrapped("incomprehensibilities", 5, ""),
            "incomprehensibilities"
        );
    }
}
