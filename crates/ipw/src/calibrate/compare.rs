//! What the rows say against what the service knows it did.
//!
//! Both stand on one clock. The service stamps just before each write call, so a lag holds the
//! write, the wake-up and the read, which every client pays. Errors are ours minus the service's.

use std::collections::{BTreeMap, BTreeSet};

use ipw_analysis::percentile::Percentile;
use ipw_reference::{Exchange, SendKind};

use super::questions;
use super::rows::Row;

/// Instants come as seconds in 64 bits: less than this is rounding.
const ROUNDING: f64 = 1e-7;

/// What the service knows of one question; instants in seconds on the run's clock.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    number: u64,
    arrived: f64,
    /// Just before each chunk was written.
    chunks: Vec<f64>,
    /// Just before the last write.
    last: f64,
}

impl Asked {
    /// The log without warm-ups and what was cut.
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

/// Rows that are not what they should be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// Questions that have no row, or were never asked.
    pub(super) lost: u64,
    /// Rows and requests beyond the first of their question.
    pub(super) doubled: u64,
    /// Rows without an answer.
    pub(super) unanswered: u64,
    /// Rows with fewer or more chunks than were sent.
    pub(super) ragged: u64,
    /// Stamps from before the write.
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

/// How far the rows are from the truth, in seconds.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) faults: Faults,
    /// A chunk's stamp after the write of it.
    pub(super) stamps: Sample,
    /// Time to the first token.
    pub(super) first_token: Sample,
    /// Time between two chunks.
    pub(super) gaps: Sample,
    /// Time of the whole.
    pub(super) total: Sample,
    /// The start after it was due.
    pub(super) schedule: Sample,
    /// The arrival at the service after it was due.
    pub(super) arrival: Sample,
}

impl Compared {
    /// Compares; `expected` is how many questions there were, where that is fixed.
    pub(super) fn of(rows: &[Row], asked: &[Asked], expected: Option<u64>) -> Self {
        let mut compared = Self {
            faults: missing(rows, asked, expected),
            ..Self::default()
        };
        let told: BTreeMap<u64, &Asked> = asked.iter().map(|asked| (asked.number, asked)).collect();
        for row in rows {
            if let Some(asked) = told.get(&row.query_index) {
                compared.add(row, asked);
            }
        }
        compared
    }

    fn add(&mut self, row: &Row, asked: &Asked) {
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

/// Questions without a row, and those with more than one.
fn missing(rows: &[Row], asked: &[Asked], expected: Option<u64>) -> Faults {
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

/// Values of one kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The median: with a sign, the bias.
    pub(super) fn median(&self) -> Option<f64> {
        percentile(self.0.clone(), 0.5)
    }

    /// The 99th percentile; `None` where there are too few values for one.
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

/// A stall as the rows show it, against what the arithmetic says; 99th percentiles in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stall {
    /// From the planned send, as the rows have it.
    pub(super) planned: f64,
    /// From the planned send, at the least: no query that was due in the stall was answered before it
    /// was over, says the service.
    pub(super) least: f64,
}

/// What became of a stall that question `at` began.
pub(super) fn stall(rows: &[Row], asked: &[Asked], at: u64) -> Option<Stall> {
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
    // Without a stall there is nothing to show.
    (stall.least > 0.0).then_some(stall)
}

/// The 99th percentile of a sample that is all there is: no inference about more of its kind.
fn quantile(sample: &Sample) -> Option<f64> {
    let mut values = sample.0.clone();
    values.sort_unstable_by(f64::total_cmp);
    ipw_core::stats::quantile(&values, 0.99)
}

/// Requests a second, as the service saw them arrive.
pub(super) fn rate(asked: &[Asked]) -> Option<f64> {
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

    fn asked(number: u64, arrived: f64, chunks: &[f64]) -> Asked {
        Asked {
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
        let compared = Compared::of(&rows, &told, Some(1));
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
        let faults = Compared::of(&rows, &told, Some(6)).faults;
        let wanted = Faults {
            lost: 3,
            doubled: 1,
            unanswered: 0,
            ragged: 1,
            early: 1,
        };
        assert_eq!(faults, wanted);
        assert_eq!(Compared::of(&rows, &told, None).faults.lost, 2);
    }

    #[test]
    fn a_stall_is_at_least_what_the_schedule_says() {
        // A hundred a second; the second second stands still, and no query that waited says so.
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
