//! The stored result of `ipw calibrate`, for later runs to quote.
//!
//! It is in the user's cache, one file per machine. A file that is missing, damaged or from other
//! hardware is ignored: no run fails for it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ipw_core::cache::{self, CacheLocationError};
use ipw_core::quantity;
pub use ipw_store::summary::{Calibration, Check, Unit};

const FILE: &str = "calibration.json";
/// A larger file was not written by this tool.
const LARGEST: u64 = 1 << 20;
/// Version of the file.
const FORMAT_VERSION: u32 = 1;

/// Ids of the checks that a run quotes.
pub const STAMPS: &str = "sequential.stamp_late_p99";
/// The check of stamps with 64 streams.
pub const STAMPS_OF_MANY: &str = "streams.stamp_late_p99";
/// The checks of energy, by a fast and a slow counter.
pub const JOULES: [&str; 2] = ["sequential.joules_fast", "sequential.joules_slow"];

/// Time, hardware and length of a calibration.
pub struct Occasion {
    /// Seconds since the Unix epoch.
    pub calibrated_at: f64,
    /// Label of the hardware.
    pub hardware_label: String,
    /// Whether it was the quick one.
    pub quick: bool,
}

/// Makes a calibration from its checks.
pub fn new(occasion: Occasion, checks: Vec<Check>) -> Calibration {
    Calibration {
        format_version: FORMAT_VERSION,
        calibrated_at: occasion.calibrated_at,
        ipw: env!("CARGO_PKG_VERSION").to_owned(),
        hardware_label: occasion.hardware_label,
        quick: occasion.quick,
        passed: checks.iter().all(|check| check.passed),
        checks,
    }
}

/// The text of the file.
pub fn text(calibration: &Calibration) -> String {
    let text = serde_json::to_string_pretty(calibration).expect("a calibration serializes");
    format!("{text}\n")
}

/// Replaces the file at `path` atomically.
pub fn write(calibration: &Calibration, path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text(calibration).as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Lines for a run that quotes a calibration; empty without one.
pub fn quoted(calibration: Option<&Calibration>) -> Vec<String> {
    let Some(calibration) = calibration else {
        return Vec::new();
    };
    let checks = &calibration.checks;
    let value = |id: &str| checks.iter().find(|check| check.id == id)?.value;
    let unknown = || "unknown".to_owned();
    let one = value(STAMPS).map_or_else(unknown, seconds);
    let many = value(STAMPS_OF_MANY).map_or_else(unknown, seconds);
    let joules = JOULES.iter().filter_map(|id| value(id)).map(f64::abs);
    let joules = joules.reduce(f64::max);
    let joules = joules.map_or_else(unknown, |share| format!("{:.1} %", share * 100.0));
    let doubt = match checks.iter().filter(|check| !check.passed).count() {
        0 => String::new(),
        1 => "; 1 check failed".to_owned(),
        more => format!("; {more} checks failed"),
    };
    vec![
        format!(
            "calibrated on {} with ipw {}: stamps late by {one} (p99),",
            day(calibration.calibrated_at),
            calibration.ipw
        ),
        format!("           with 64 streams by {many}; joules off by {joules}{doubt}"),
    ]
}

/// Path of this machine's calibration.
pub fn place() -> Result<PathBuf, CacheLocationError> {
    Ok(cache::directory(|name| std::env::var_os(name))?.join(FILE))
}

/// The calibration of this hardware, as runs quote it.
pub fn of(hardware_label: &str) -> Option<Calibration> {
    let calibration = read(&place().ok()?)?;
    (calibration.hardware_label == hardware_label).then_some(calibration)
}

fn seconds(value: f64) -> String {
    quantity::Unit::Seconds.show(value)
}

fn read(path: &Path) -> Option<Calibration> {
    let mut text = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    let calibration: Calibration = serde_json::from_slice(&text).ok()?;
    (calibration.format_version == FORMAT_VERSION).then_some(calibration)
}

/// The date of a moment, in UTC.
pub fn day(unix_seconds: f64) -> String {
    /// The last second that a date of four digits has.
    const LAST: Duration = Duration::from_secs(253_402_300_799);
    let since = Duration::try_from_secs_f64(unix_seconds).ok();
    let Some(since) = since.filter(|since| *since <= LAST) else {
        return "an unknown day".to_owned();
    };
    let moment = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since);
    moment
        .to_string()
        .chars()
        .take("2026-01-31".len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &'static str, value: Option<f64>, most: f64) -> Check {
        Check {
            id: id.into(),
            what: "what".into(),
            unit: Unit::Seconds,
            value,
            at_least: None,
            at_most: Some(most),
            passed: Check::is_within(value, None, Some(most)),
            otherwise: "otherwise".into(),
        }
    }

    fn calibration() -> Calibration {
        let occasion = Occasion {
            calibrated_at: 1_793_000_000.0,
            hardware_label: "EPYC".to_owned(),
            quick: false,
        };
        let checks = vec![
            check(STAMPS, Some(0.000_2), 0.001),
            check(STAMPS_OF_MANY, Some(0.007), 0.005),
            check(JOULES[0], Some(-0.004), 0.02),
            check(JOULES[1], Some(0.001), 0.02),
        ];
        new(occasion, checks)
    }

    #[test]
    fn a_run_says_when_and_how_well_in_lines_that_fit() {
        let lines = quoted(Some(&calibration()));
        assert_eq!(
            lines,
            [
                "calibrated on 2026-10-26 with ipw 0.1.0: stamps late by 200 µs (p99),",
                "           with 64 streams by 7.00 ms; joules off by 0.4 %; 1 check failed",
            ]
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn what_was_written_comes_back_and_what_is_damaged_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deeper").join(FILE);
        assert_eq!(read(&path), None);
        let written = calibration();
        write(&written, &path).unwrap();
        assert_eq!(read(&path), Some(written.clone()));
        let whole = text(&written);
        let other = whole.replace("\"format_version\": 1", "\"format_version\": 2");
        for text in ["", "{}", "[1]", &whole[..whole.len() / 2], &other, "\u{0}"] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path), None, "{text}");
        }
    }

    #[test]
    fn nothing_that_a_file_says_breaks_the_words() {
        assert_eq!(day(f64::NAN), "an unknown day");
        assert_eq!(day(-1.0), "an unknown day");
        assert_eq!(day(1e300), "an unknown day");
        assert_eq!(day(0.0), "1970-01-01");
        assert_eq!(quoted(None), Vec::<String>::new());
    }

    #[test]
    fn a_figure_that_is_not_there_passes_nothing() {
        assert!(!Check::is_within(None, None, None));
        assert!(!Check::is_within(Some(f64::NAN), None, Some(1.0)));
        assert!(Check::is_within(Some(0.0), Some(0.0), Some(0.0)));
        assert!(!Check::is_within(Some(2.0), None, Some(1.0)));
        assert!(!Check::is_within(Some(0.5), Some(1.0), None));
    }
}
