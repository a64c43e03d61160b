//! Due times of open-loop queries, from a seed.
//!
//! Arrivals come from a process of rate 1. Stretching its time gives the requested rate, which
//! grows linearly from zero during the ramp. The same rule applies to all processes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipw_core::random::Random;

use crate::{Process, Rate};

/// Offsets from the schedule's start, in order.
pub(crate) enum Schedule {
    Arrivals(Arrivals),
    Traced(std::vec::IntoIter<Duration>),
}

/// A schedule from an arrival process.
pub(crate) struct Arrivals {
    rate: f64,
    ramp: f64,
    process: Process,
    random: Random,
    /// Time of the process of rate 1.
    passed: f64,
}

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace `{}`", path.display())]
    Read {
        /// The trace file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
    /// A line is not a valid time.
    #[error("line {line} of the trace `{}` is `{text}`, expected seconds since the first query, in ascending order", path.display())]
    Line {
        /// The trace file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
}

impl Schedule {
    pub(crate) fn made(rate: Rate, process: Process, ramp: Duration, seed: u64) -> Self {
        Self::Arrivals(Arrivals {
            rate: rate.per_second(),
            ramp: ramp.as_secs_f64(),
            process,
            random: Random::new(seed),
            passed: 0.0,
        })
    }

    /// The slots of a closed loop, started one after the other during the ramp.
    pub(crate) fn places(count: usize, ramp: Duration) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let offsets: Vec<Duration> = (0..count).map(|place| ramp * place / count).collect();
        Self::Traced(offsets.into_iter())
    }

    /// The times in a file: one number of seconds per line, shifted so that the first is zero.
    /// Empty lines and lines that begin with `#` are skipped.
    pub(crate) fn traced(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read_to_string(path).map_err(|source| TraceError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut offsets: Vec<Duration> = Vec::new();
        let mut first = None;
        for (line, content) in text.lines().enumerate() {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let time = content.parse::<f64>().ok().filter(|time| time.is_finite());
            let offset = time.and_then(|time| {
                let offset = time - *first.get_or_insert(time);
                Duration::try_from_secs_f64(offset).ok()
            });
            let is_later = |offset: &Duration| offsets.last().is_none_or(|last| offset >= last);
            let offset = offset.filter(is_later).ok_or_else(|| TraceError::Line {
                path: path.to_owned(),
                line: line + 1,
                text: content.chars().take(60).collect(),
            })?;
            offsets.push(offset);
        }
        Ok(Self::Traced(offsets.into_iter()))
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        match self {
            Self::Arrivals(made) => Some(made.next()),
            Self::Traced(offsets) => offsets.next(),
        }
    }
}

impl Arrivals {
    fn next(&mut self) -> Duration {
        let due = stretched(self.passed, self.rate, self.ramp);
        self.passed += match self.process {
            Process::Constant => 1.0,
            Process::Poisson => self.random.exponential(),
            Process::Gamma(shape) => self.random.gamma(shape) / shape,
        };
        Duration::try_from_secs_f64(due).unwrap_or(Duration::MAX)
    }
}

/// Time of the arrival at `passed` of the process of rate 1. The rate grows linearly from zero to
/// `rate` during `ramp` seconds; this is the inverse of its integral.
fn stretched(passed: f64, rate: f64, ramp: f64) -> f64 {
    let in_ramp = rate * ramp / 2.0;
    if passed < in_ramp {
        (2.0 * passed * ramp / rate).sqrt()
    } else {
        passed / rate + ramp / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(process: Process, ramp: u64, seed: u64, count: usize) -> Vec<f64> {
        let rate = Rate::try_from(100.0).unwrap();
        Schedule::made(rate, process, Duration::from_secs(ramp), seed)
            .take(count)
            .map(|offset| offset.as_secs_f64())
            .collect()
    }

    fn waits(offsets: &[f64]) -> (f64, f64) {
        let waits: Vec<f64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = ipw_core::stats::mean(&waits).unwrap();
        (
            mean,
            ipw_core::stats::standard_deviation(&waits).unwrap() / mean,
        )
    }

    #[test]
    fn processes_have_their_rate_and_their_spread() {
        for (process, spread) in [
            (Process::Constant, 0.0),
            (Process::Poisson, 1.0),
            (Process::Gamma(4.0), 0.5),
            (Process::Gamma(0.25), 2.0),
        ] {
            let (mean, variation) = waits(&offsets(process, 0, 1, 50_000));
            assert!((mean * 100.0 - 1.0).abs() < 0.03, "{process}: {mean}");
            assert!((variation - spread).abs() < 0.05, "{process}: {variation}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_schedule_and_another_seed_another() {
        let of = |seed| offsets(Process::Poisson, 0, seed, 100);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn the_rate_grows_evenly_during_the_ramp() {
        let all = offsets(Process::Constant, 10, 1, 2000);
        let until = |second: f64| all.iter().filter(|due| **due < second).count();
        // ∫ 100 t/10 dt: 125 arrivals in the first half, 500 in the whole ramp, then 100 a second.
        assert!((124..=126).contains(&until(5.0)), "{}", until(5.0));
        assert!((499..=501).contains(&until(10.0)), "{}", until(10.0));
        assert!((999..=1001).contains(&until(15.0)), "{}", until(15.0));
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_trace_begins_at_nought_and_says_which_line_is_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace");
        std::fs::write(&path, "# seconds\n100\n100.5\n\n102.25\n").unwrap();
        let offsets: Vec<f64> = Schedule::traced(&path)
            .unwrap()
            .map(|offset| offset.as_secs_f64())
            .collect();
        assert_eq!(offsets, [0.0, 0.5, 2.25]);
        for (text, line) in [("1\n0.5\n", 2), ("1\nx\n", 2), ("nan\n", 1)] {
            std::fs::write(&path, text).unwrap();
            let error = Schedule::traced(&path).err().unwrap().to_string();
            assert!(
                error.starts_with(&format!("line {line} of the trace")),
                "{error}"
            );
        }
        let missing = Schedule::traced(Path::new("/nonexistent"));
        assert!(missing.is_err());
    }
}
