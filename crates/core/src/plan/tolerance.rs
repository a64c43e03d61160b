//! Limits on failures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A limit on failed rows, as a number or a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tolerance {
    /// A number of rows.
    Rows(u64),
    /// A share of the rows, 0 to 1.
    Share(f64),
}

impl Tolerance {
    /// Whether `failed` of `rows` exceeds the limit.
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 rows")]
    pub fn is_exceeded(self, failed: u64, rows: u64) -> bool {
        match self {
            Self::Rows(most) => failed > most,
            Self::Share(most) => rows > 0 && failed as f64 / rows as f64 > most,
        }
    }
}

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a number of rows (`5`) nor a share (`10%`)");
        let text = text.trim();
        match text.strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Share(percent / 100.0)),
                _ => Err(wrong()),
            },
            None => text.parse().map(Self::Rows).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => write!(formatter, "{rows}"),
            Self::Share(share) => write!(formatter, "{}%", share * 100.0),
        }
    }
}

impl TryFrom<String> for Tolerance {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Tolerance> for String {
    fn from(tolerance: Tolerance) -> Self {
        tolerance.to_string()
    }
}

/// Limits on the failures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failures {
    /// If more rows fail, the run ends with exit code 4.
    pub max_failed: Tolerance,
    /// If more queries fail, no further query is sent; `None` never stops the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error_rate: Option<Tolerance>,
}

/// The share of failures is ignored until this many queries have ended.
const ENOUGH_TO_TELL: u64 = 10;

impl Failures {
    /// Whether to stop sending.
    pub fn stop_after(&self, failed: u64, sent: u64) -> bool {
        match self.max_error_rate {
            None => false,
            Some(rate @ Tolerance::Rows(_)) => rate.is_exceeded(failed, sent),
            Some(rate) => sent >= ENOUGH_TO_TELL && rate.is_exceeded(failed, sent),
        }
    }
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            max_failed: Tolerance::Share(0.1),
            max_error_rate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_shares_are_read_as_people_write_them() {
        assert_eq!("5".parse(), Ok(Tolerance::Rows(5)));
        assert_eq!("10%".parse(), Ok(Tolerance::Share(0.1)));
        assert_eq!("0.5 %".parse(), Ok(Tolerance::Share(0.005)));
        for wrong in ["", "-1", "101%", "ten", "0.1", "%"] {
            assert!(wrong.parse::<Tolerance>().is_err(), "{wrong}");
        }
        for text in ["5", "10%", "0%"] {
            assert_eq!(text.parse::<Tolerance>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn more_than_that_is_too_many() {
        assert!(!Tolerance::Share(0.1).is_exceeded(1, 10));
        assert!(Tolerance::Share(0.1).is_exceeded(2, 10));
        assert!(!Tolerance::Share(0.0).is_exceeded(0, 0));
        assert!(Tolerance::Rows(0).is_exceeded(1, 100));
    }

    #[test]
    fn a_share_stops_a_run_only_when_it_says_something() {
        let failures = |rate: &str| Failures {
            max_error_rate: rate.parse().ok(),
            ..Failures::default()
        };
        assert!(!failures("50%").stop_after(9, 9));
        assert!(failures("50%").stop_after(6, 10));
        assert!(failures("2").stop_after(3, 3));
        assert!(!Failures::default().stop_after(100, 100));
    }
}
