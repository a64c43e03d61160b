//! Times, counts and reasons as people read them.

use std::time::{Duration, SystemTime};

use ipw_core::quantity::{Unit, grouped};

/// `2 min 46 s`
pub(crate) fn duration(seconds: f64) -> String {
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
        "implausible" => "the counter advanced by more than its device can use",
        "other_basis" => "it is made from other sources than the headline",
        "gap" => "readings are missing in the middle",
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
        assert_eq!(counted(1, "row", "rows"), "1 row");
    }
}
