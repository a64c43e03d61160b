//! The five loads of a calibration, and how the service answers each.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use ipw_core::time::{Clock, Timestamp};
use ipw_reference::{Received, Script};
use ipw_runner::{Arrivals, Process, Rate};

use super::questions;
use crate::error::Error;

/// How thorough a calibration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// About half a minute.
    Full,
    /// About ten seconds: fewer queries, wider error bars.
    Quick,
}

impl Effort {
    fn choose<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// One load, and the service's behaviour under it.
pub struct Scenario {
    /// Prefix of its check ids.
    pub id: &'static str,
    /// Description for people.
    pub what: String,
    pub(super) arrivals: Arrivals,
    /// Number of questions. Each must have a row, unless `duration` ends the run first.
    pub(super) questions: u64,
    pub(super) duration: Option<Duration>,
    pub(super) answers: Answers,
}

/// How the service answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Chunk by chunk.
    Paced {
        first: Duration,
        gap: Duration,
        chunks: usize,
    },
    /// All chunks at once, but question `at` delays all requests that arrive within `length` after
    /// it.
    Stalling { at: u64, length: Duration },
    /// All chunks at once.
    AtOnce,
}

pub(super) const SEQUENTIAL: &str = "sequential";
pub(super) const STREAMS: &str = "streams";
pub(super) const OPEN: &str = "open";
pub(super) const STALL: &str = "stall";
pub(super) const CEILING: &str = "ceiling";

/// About the chunks of a short answer.
const CHUNKS: usize = 16;
const IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");
/// Low, so that during a stall queries wait in this tool and not at the service.
const FEW: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");
/// More questions than any machine can send in the time.
const ENDLESS: u64 = 100_000_000;

/// All scenarios, in order.
pub fn all(effort: Effort) -> Result<Vec<Scenario>, Error> {
    Ok(vec![
        sequential(effort.choose(100, 25)),
        streams(effort.choose(960, 384)),
        open(effort.choose(1000, 400))?,
        stall(effort.choose(2, 1), effort.choose(400, 200))?,
        ceiling(Duration::from_secs(effort.choose(3, 1))),
    ])
}

fn sequential(questions: u64) -> Scenario {
    Scenario {
        id: SEQUENTIAL,
        what: format!("one query at a time: {questions} × {CHUNKS} chunks, one every 4 ms"),
        arrivals: Arrivals::Sequential,
        questions,
        duration: None,
        answers: paced(20, 4, CHUNKS),
    }
}

fn streams(questions: u64) -> Scenario {
    Scenario {
        id: STREAMS,
        what: format!("64 streams at a time: {questions} × {CHUNKS} chunks, one every 15 ms"),
        arrivals: Arrivals::Closed {
            concurrency: IN_FLIGHT,
        },
        questions,
        duration: None,
        answers: paced(20, 15, CHUNKS),
    }
}

fn open(questions: u64) -> anyhow::Result<Scenario> {
    Ok(Scenario {
        id: OPEN,
        what: format!("open loop: {questions} queries, 200 per second, 4 chunks each"),
        arrivals: constant(200.0, None)?,
        questions,
        duration: None,
        answers: paced(20, 5, 4),
    })
}

fn stall(seconds: u64, questions: u64) -> anyhow::Result<Scenario> {
    Ok(Scenario {
        id: STALL,
        what: format!("service stalls for {seconds} s: {questions} queries, 100 per second"),
        arrivals: constant(100.0, Some(FEW))?,
        questions,
        duration: None,
        answers: Answers::Stalling {
            at: questions / 4,
            length: Duration::from_secs(seconds),
        },
    })
}

fn ceiling(duration: Duration) -> Scenario {
    Scenario {
        id: CEILING,
        what: format!(
            "maximum rate: {} s, 64 at a time, {CHUNKS} chunks at once",
            duration.as_secs()
        ),
        arrivals: Arrivals::Closed {
            concurrency: IN_FLIGHT,
        },
        questions: ENDLESS,
        duration: Some(duration),
        answers: Answers::AtOnce,
    }
}

fn constant(rate: f64, concurrency: Option<NonZeroUsize>) -> anyhow::Result<Arrivals> {
    let rate = Rate::try_from(rate).map_err(anyhow::Error::msg);
    Ok(Arrivals::Open {
        rate: rate.context("making the schedule")?,
        process: Process::Constant,
        concurrency,
    })
}

fn paced(first: u64, gap: u64, chunks: usize) -> Answers {
    Answers::Paced {
        first: Duration::from_millis(first),
        gap: Duration::from_millis(gap),
        chunks,
    }
}

impl Scenario {
    /// Number of rows expected; `None` if the duration limits them.
    pub(super) fn expected(&self) -> Option<u64> {
        self.duration.is_none().then_some(self.questions)
    }
}

impl Answers {
    /// The service's reply to a request, by the service's clock.
    pub(super) fn script(
        self,
        clock: Arc<dyn Clock>,
    ) -> impl Fn(&Received) -> Script + Send + Sync + 'static {
        let until = AtomicU64::new(0);
        let at_once = Script::words(CHUNKS);
        let words = match self {
            Self::Paced { chunks, .. } => Script::words(chunks),
            _ => at_once.clone(),
        };
        move |received| match self {
            // Warm-ups are not compared.
            Self::Paced { .. } if questions::number(received).is_none() => at_once.clone(),
            Self::AtOnce => at_once.clone(),
            Self::Paced { first, gap, .. } => Script {
                first_token: first,
                gap,
                ..words.clone()
            },
            Self::Stalling { at, length } => {
                let now = clock.now();
                if questions::number(received) == Some(at) {
                    until.store(now.after(length).nanos(), Ordering::SeqCst);
                }
                let until = Timestamp::from_nanos(until.load(Ordering::SeqCst));
                Script {
                    first_token: until.since(now),
                    ..at_once.clone()
                }
            }
        }
    }
}
