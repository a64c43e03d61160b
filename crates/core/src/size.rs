//! Human-readable sizes: `256MiB`, `1.5 GB`, `65536`. A number without a unit is in bytes.

/// Units in bytes, in lower case.
const UNITS: [(&str, u64); 12] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1000),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// Larger values are mistakes: 2⁵³, up to which every integer is exact.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Not a number with a unit.
    #[error("`{text}` is not a size; write it like 64KiB, 256MiB or 1GiB")]
    Unreadable {
        /// As written.
        text: String,
    },
    /// Zero, where zero has no meaning.
    #[error("it must be larger than zero")]
    Zero,
}

/// A positive size in bytes.
///
/// # Errors
///
/// Refuses zero, and any text that is not a size.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked to be positive and exact"
)]
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let unreadable = || SizeError::Unreadable {
        text: text.to_owned(),
    };
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| unreadable())?;
    let unit = unit.trim_start().to_lowercase();
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let bytes = number * known.ok_or_else(unreadable)?.1 as f64;
    match bytes.round() {
        bytes if bytes > LARGEST => Err(unreadable()),
        bytes if bytes < 1.0 => Err(SizeError::Zero),
        bytes => Ok(bytes as u64),
    }
}

/// The size in the largest unit that keeps it whole.
pub fn shown(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (text, bytes) in [
            ("65536", 65_536),
            ("1", 1),
            ("64KiB", 64 << 10),
            ("256 MiB", 256 << 20),
            ("1.5GiB", 3 << 29),
            ("10mb", 10_000_000),
            ("2k", 2048),
            ("1GB", 1_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["0", "0MiB", "0.1"] {
            assert_eq!(parse(text), Err(SizeError::Zero), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1",
            "1 apple",
            "1e9",
            "1.2.3",
            "9999999TiB",
            "NaN",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("is not a size"), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_largest_whole_unit() {
        for (bytes, text) in [
            (256 << 20, "256 MiB"),
            (1 << 30, "1 GiB"),
            (1536, "1536 bytes"),
            (2048, "2 KiB"),
            (1000, "1000 bytes"),
        ] {
            assert_eq!(shown(bytes), text);
        }
    }
}
