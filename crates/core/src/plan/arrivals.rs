//! The schedule of queries.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How queries arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// One at a time: each query starts when the previous one ends.
    Sequential,
    /// A fixed number in flight: a query starts when another ends.
    Closed {
        /// Number of queries in flight.
        concurrency: NonZeroUsize,
    },
    /// By a schedule, independent of the service's speed.
    Open {
        /// Queries per second.
        rate: Rate,
        /// Distribution of the intervals between queries.
        process: Process,
        /// Upper limit in flight. A query over the limit waits, and its wait counts in its planned
        /// latency.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        concurrency: Option<NonZeroUsize>,
    },
    /// At the times in a file, in seconds from the first query.
    Trace {
        /// The file, with one number per line.
        path: PathBuf,
        /// Upper limit in flight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        concurrency: Option<NonZeroUsize>,
    },
}

impl Arrivals {
    /// Upper limit in flight; `None` for no limit.
    pub const fn concurrency(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Sequential => Some(NonZeroUsize::MIN),
            Self::Closed { concurrency } => Some(*concurrency),
            Self::Open { concurrency, .. } | Self::Trace { concurrency, .. } => *concurrency,
        }
    }

    /// Whether queries follow a schedule.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Trace { .. })
    }
}

/// Queries per second, above zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

/// No machine sends queries at a higher rate.
const FASTEST: f64 = 1e7;

impl Rate {
    /// Queries per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = String;

    fn try_from(rate: f64) -> Result<Self, String> {
        if rate > 0.0 && rate <= FASTEST {
            Ok(Self(rate))
        } else {
            Err(format!(
                "`{rate}` is not a rate: give queries per second, above zero"
            ))
        }
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: f64 = text
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` is not a number of queries per second"))?;
        number.try_into()
    }
}

/// Distribution of the intervals between queries, at a given rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Process {
    /// Equal intervals.
    Constant,
    /// Independent arrivals: exponential intervals.
    Poisson,
    /// Gamma-distributed intervals with this shape: bursty below 1, Poisson at 1, more even above.
    Gamma(f64),
}

impl FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "`constant`, `poisson` or `gamma:SHAPE`";
        match text.trim() {
            "constant" => Ok(Self::Constant),
            "poisson" => Ok(Self::Poisson),
            other => match other.strip_prefix("gamma:").map(str::parse::<f64>) {
                Some(Ok(shape)) if shape.is_finite() && (0.01..=1e6).contains(&shape) => {
                    Ok(Self::Gamma(shape))
                }
                Some(_) => Err(format!(
                    "`{text}`: the shape must be a number of at least 0.01"
                )),
                None => Err(format!("unknown process `{text}`; known are {known}")),
            },
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => formatter.write_str("constant"),
            Self::Poisson => formatter.write_str("poisson"),
            Self::Gamma(shape) => write!(formatter, "gamma:{shape}"),
        }
    }
}

impl TryFrom<String> for Process {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Process> for String {
    fn from(process: Process) -> Self {
        process.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_rates_are_read_as_people_write_them() {
        for text in ["constant", "poisson", "gamma:0.5"] {
            assert_eq!(text.parse::<Process>().unwrap().to_string(), text);
        }
        for wrong in ["", "uniform", "gamma", "gamma:", "gamma:-1", "gamma:nan"] {
            assert!(wrong.parse::<Process>().is_err(), "{wrong}");
        }
        assert_eq!("2.5".parse(), Rate::try_from(2.5));
        for wrong in ["0", "-1", "inf", "nan", "ten", "1e9"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }
}
