//! Compares the rows with the log of the reference service.
//!
//! Both use one clock. The service takes its stamp just before each write call. A lag therefore
//! includes the write, the wake-up and the read, which every client pays. Errors are this tool's
//! value minus the service's.

use std::collections::{BTreeMap, BTreeSet};

use ipw_analysis::percentile::Percentile;
use ipw_reference::{Exchange, SendKind};

use super::questions;
use super::rows::Row;

/// Instants are stored as 64-bit seconds: smaller differences are rounding.
const ROUNDING: f64 = 1e-7;

/// The service's log of one question; instants in seconds on the run's clock.
#[derive(Debug, Clone)]
pub(super) struct ServiceRecord {
    number: u64,
    arrived: f64,
    /// Just before each chunk was written.
    chunks: Vec<f64>,
    /// Just before the last write.
    last: f64,
}

impl ServiceRecord {
    /// The log without warm-ups and aborted exchanges.
    pub(super) fn of(log: &[Exchange]) -> Vec<Self> {
        log.iter().filter_map(Self::one).collect()
    }

    fn one(exchange: &Exchange) -> Option<Self> {
        let chunks = exchange.of(SendKind::Content);
        Some(Self {
            number: questions::number(&exchange.received)?,
            arrived: exchange.arrived.seconds(),
            chunks: chunks.map(|send| send.at.seconds()).collect(),
            last: exchange.sends.last()?.at.seconds(),
        })
    }
}

/// Counts of faulty rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// Questions without a row or without a request.
    pub(super) lost: u64,
    /// Rows and requests beyond the first of their question.
    pub(super) doubled: u64,
    /// Rows without an answer.
    pub(super) unanswered: u64,
    /// Rows with fewer or more chunks than were sent.
    pub(super) ragged: u64,
    /// Stamps earlier than the write they belong to.
    pub(super) early: u64,
}

impl Faults {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            doubled: self.doubled + other.doubled,
            unanswered: self.unanswered + other.unanswered,
            ragged: self.ragged + other.ragged,
            early: self.early + other.early,
        }
    }
}

/// Errors of the rows against the service's log, in seconds.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) faults: Faults,
    /// Stamp of a chunk after its write.
    pub(super) stamps: Sample,
    /// Error of the time to first token.
    pub(super) first_token: Sample,
    /// Error of the time between two chunks.
    pub(super) gaps: Sample,
    /// Error of the time of the whole query.
    pub(super) total: Sample,
    /// Start of the query after it was due.
    pub(super) schedule: Sample,
    /// Arrival at the service after the query was due.
    pub(super) arrival: Sample,
}

impl Comparison {
    /// Compares rows and log. `expected` is the number of questions, where it is fixed.
    pub(super) fn of(rows: &[Row], asked: &[ServiceRecord], expected: Option<u64>) -> Self {
        let mut compared = Self {
            faults: missing(rows, asked, expected),
            ..Self::default()
        };
        let told: BTreeMap<u64, &ServiceRecord> =
            asked.iter().map(|asked| (asked.number, asked)).collect();
        for row in rows {
            if let Some(asked) = told.get(&row.query_index) {
                compared.add(row, asked);
            }
        }
        compared
    }

    fn add(&mut self, row: &Row, asked: &ServiceRecord) {
        let timing = &row.timing;
        self.schedule.push(timing.start - timing.due);
        self.arrival.push(asked.arrived - timing.due);
        let (true, Some(sent), Some(first)) =
            (row.outcome == "complete", timing.sent, timing.first_token)
        else {
            self.faults.unanswered += 1;
            return;
        };
        let (ours, theirs) = (&timing.chunks, &asked.chunks);
        if ours.len() != theirs.len() || theirs.is_empty() {
            self.faults.ragged += 1;
            return;
        }
        for (stamp, written) in ours.iter().zip(theirs) {
            let late = stamp - written;
            self.faults.early += u64::from(late < -ROUNDING);
            self.stamps.push(late);
        }
        for (ours, theirs) in ours.windows(2).zip(theirs.windows(2)) {
            self.gaps
                .push((ours[1] - ours[0]) - (theirs[1] - theirs[0]));
        }
        let to_first = theirs[0] - asked.arrived;
        self.first_token.push((first - sent) - to_first);
        let whole = asked.last - asked.arrived;
        self.total.push((timing.end - sent) - whole);
    }
}

/// Counts questions without a row, and those with more than one.
fn missing(rows: &[Row], asked: &[ServiceRecord], expected: Option<u64>) -> Faults {
    let stored: BTreeSet<u64> = rows.iter().map(|row| row.query_index).collect();
    let sent: BTreeSet<u64> = asked.iter().map(|asked| asked.number).collect();
    let all: BTreeSet<u64> = match expected {
        Some(count) => (0..count).collect(),
        None => sent.union(&stored).copied().collect(),
    };
    let both = |number: &&u64| stored.contains(number) && sent.contains(number);
    let kept = all.iter().filter(both).count();
    let again = (rows.len() - stored.len()) + (asked.len() - sent.len());
    Faults {
        lost: (all.len() - kept) as u64,
        doubled: again as u64,
        ..Faults::default()
    }
}

/// Values of one figure.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The median; for signed errors, the bias.
    pub(super) fn median(&self) -> Option<f64> {
        percentile(self.0.clone(), 0.5)
    }

    /// The 99th percentile; `None` with too few values.
    pub(super) fn p99(&self) -> Option<f64> {
        percentile(self.0.clone(), 0.99)
    }

    /// The 99th percentile of the magnitudes.
    pub(super) fn worst(&self) -> Option<f64> {
        percentile(self.0.iter().map(|value| value.abs()).collect(), 0.99)
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

fn percentile(mut values: Vec<f64>, fraction: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    Percentile::of(&values, fraction)?.value()
}

/// A stall as the rows show it, and the least that it must be; 99th percentiles in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stall {
    /// Latency from the planned send, as the rows have it.
    pub(super) planned: f64,
    /// Lower bound of that latency: by the service's log, no query due in the stall was answered
    /// before the stall ended.
    pub(super) least: f64,
}

/// The stall that question `at` began.
pub(super) fn stall(rows: &[Row], asked: &[ServiceRecord], at: u64) -> Option<Stall> {
    let begun = asked.iter().find(|asked| asked.number == at)?.arrived;
    let answered = asked.iter().filter(|asked| asked.arrived >= begun);
    let answered = answered.filter_map(|asked| asked.chunks.first().copied());
    let over = answered.reduce(f64::min)?;
    let planned: Sample = rows
        .iter()
        .map(|row| row.timing.end - row.timing.due)
        .collect();
    let least: Sample = rows
        .iter()
        .map(|row| match row.timing.due {
            due if due >= begun => (over - due).max(0.0),
            _ => 0.0,
        })
        .collect();
    let stall = Stall {
        planned: quantile(&planned)?,
        least: quantile(&least)?,
    };
    // Without a stall there is nothing to compare.
    (stall.least > 0.0).then_some(stall)
}

/// The 99th percentile of a complete population, so without the minimum size of a sample.
fn quantile(sample: &Sample) -> Option<f64> {
    let mut values = sample.0.clone();
    values.sort_unstable_by(f64::total_cmp);
    ipw_core::stats::quantile(&values, 0.99)
}

/// Requests per second, by their arrival at the service.
pub(super) fn rate(asked: &[ServiceRecord]) -> Option<f64> {
    let arrived = || asked.iter().map(|asked| asked.arrived);
    let (first, last) = (arrived().reduce(f64::min)?, arrived().reduce(f64::max)?);
    let between = u32::try_from(asked.len()).ok()?.checked_sub(1)?;
    (last > first).then(|| f64::from(between) / (last - first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(number: u64, due: f64, chunks: &[f64], end: f64) -> Row {
        serde_json::from_value(json!({
            "query_index": number,
            "outcome": "complete",
            "timing": {
                "due_seconds": due,
                "start_seconds": due + 0.001,
                "sent_seconds": due + 0.002,
                "first_token_seconds": chunks.first(),
                "end_seconds": end,
                "chunk_seconds": chunks,
            },
            "energy": {"shares": []},
        }))
        .unwrap()
    }

    fn asked(number: u64, arrived: f64, chunks: &[f64]) -> ServiceRecord {
        ServiceRecord {
            number,
            arrived,
            chunks: chunks.to_vec(),
            last: chunks.last().copied().unwrap_or(arrived),
        }
    }

    fn close(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 1e-9
    }

    #[test]
    fn a_row_is_late_by_what_it_adds_to_the_services_own_times() {
        let rows = [row(0, 1.0, &[2.1, 3.3], 3.4)];
        let told = [asked(0, 1.5, &[2.0, 3.0])];
        let compared = Comparison::of(&rows, &told, Some(1));
        assert_eq!(compared.faults, Faults::default());
        let only = |sample: &Sample| sample.0.clone();
        assert!(close(only(&compared.stamps)[1], 0.3));
        assert!(close(only(&compared.gaps)[0], 0.2));
        assert!(close(only(&compared.first_token)[0], 1.098 - 0.5));
        assert!(close(only(&compared.total)[0], 2.398 - 1.5));
        assert!(close(only(&compared.schedule)[0], 0.001));
        assert!(close(only(&compared.arrival)[0], 0.5));
        assert_eq!(compared.stamps.p99(), None, "two values have no percentile");
    }

    #[test]
    fn what_is_lost_doubled_ragged_or_too_early_is_counted() {
        let rows = [
            row(0, 1.0, &[2.0], 2.0),
            row(0, 1.0, &[2.0], 2.0),
            row(1, 1.0, &[2.0, 2.1], 2.1),
            row(2, 1.0, &[1.9], 2.0),
            row(4, 1.0, &[2.0], 2.0),
        ];
        let told = [
            asked(0, 1.5, &[2.0]),
            asked(1, 1.5, &[2.0]),
            asked(2, 1.5, &[2.0]),
            asked(3, 1.5, &[2.0]),
        ];
        let faults = Comparison::of(&rows, &told, Some(6)).faults;
        let wanted = Faults {
            lost: 3,
            doubled: 1,
            unanswered: 0,
            ragged: 1,
            early: 1,
        };
        assert_eq!(faults, wanted);
        assert_eq!(Comparison::of(&rows, &told, None).faults.lost, 2);
    }

    #[test]
    fn a_stall_is_at_least_what_the_schedule_says() {
        // 100 queries per second; the service stalls in the second second.
        let due = |number: u32| f64::from(number) / 100.0;
        let told: Vec<_> = (0..200_u32)
            .map(|number| match number {
                100.. => asked(number.into(), due(number), &[2.0]),
                _ => asked(number.into(), due(number), &[due(number)]),
            })
            .collect();
        let honest: Vec<_> = (0..200_u32)
            .map(|number| match number {
                100.. => row(number.into(), due(number), &[2.0], 2.0),
                _ => row(number.into(), due(number), &[due(number)], due(number)),
            })
            .collect();
        let seen = stall(&honest, &told, 100).unwrap();
        assert!((seen.planned - seen.least).abs() < 1e-9 && seen.least > 0.95);
        let omitting: Vec<_> = (0..200_u32)
            .map(|number| {
                row(
                    number.into(),
                    due(number),
                    &[due(number)],
                    due(number) + 0.01,
                )
            })
            .collect();
        let hidden = stall(&omitting, &told, 100).unwrap();
        assert!(hidden.planned < 0.02 && hidden.least > 0.95);
    }

    #[test]
    fn the_rate_is_that_of_arrivals() {
        let told: Vec<_> = (0..101_u32)
            .map(|number| asked(number.into(), f64::from(number) / 50.0, &[]))
            .collect();
        assert!(close(rate(&told).unwrap(), 50.0));
        assert_eq!(rate(&told[..1]), None);
        assert_eq!(rate(&[]), None);
    }
}
