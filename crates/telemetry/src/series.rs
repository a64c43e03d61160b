//! The readings of one source, in memory.

use std::collections::VecDeque;
use std::time::Duration;

use ipw_core::counter::{Counter, Step};
use ipw_core::reading::{Reading, Window};
use ipw_core::source::{Quantity, Source, SourceIndex};
use ipw_core::time::Timestamp;
use ipw_core::units::Joules;

/// What a source has reported.
pub(crate) struct Series {
    source: SourceIndex,
    readings: VecDeque<Reading>,
    /// The last poll that brought a value, whether it had changed or not.
    polled: Option<Timestamp>,
    last: Option<f64>,
    counter: Option<Counter>,
    account: Account,
    longest_silence: Duration,
}

/// What a source has counted since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// Energy, for energy sources: what was seen, without gaps.
    pub energy: Joules,
    /// Time that the energy covers.
    pub covered: Duration,
    /// How often the counter started anew or said nonsense.
    pub resets: u64,
    /// How often readings were missing for longer than they may.
    pub gaps: u64,
    /// Readings kept.
    pub readings: u64,
}

impl Series {
    pub(crate) fn new(source: SourceIndex, about: &Source, longest_silence: Duration) -> Self {
        let counter = match about.quantity {
            Quantity::Energy { rollover, .. } => Some(Counter::new(rollover)),
            Quantity::Gauge { .. } => None,
        };
        Self {
            source,
            readings: VecDeque::new(),
            polled: None,
            last: None,
            counter,
            account: Account::default(),
            longest_silence,
        }
    }

    /// Takes a value; what comes back is to be kept, `None` when a counter did not move.
    pub(crate) fn take(&mut self, at: Timestamp, value: f64) -> Option<Reading> {
        let previous = self.polled.replace(at);
        let same = self
            .last
            .is_some_and(|last| last.to_bits() == value.to_bits());
        if same && self.counter.is_some() {
            return None;
        }
        self.last = Some(value);
        let reading = Reading {
            source: self.source,
            at,
            previous,
            value,
        };
        self.count(&reading);
        self.readings.push_back(reading);
        Some(reading)
    }

    /// The machine slept: what the counter did meanwhile says nothing about what was used. The
    /// next reading is a first one again.
    pub(crate) fn interrupt(&mut self) {
        self.polled = None;
        self.last = None;
        if let Some(counter) = &mut self.counter {
            counter.forget();
            self.account.gaps += 1;
        }
    }

    fn count(&mut self, reading: &Reading) {
        self.account.readings += 1;
        let Some(counter) = &mut self.counter else {
            return;
        };
        let since = self
            .readings
            .back()
            .map_or(Duration::ZERO, |last| reading.at.since(last.at));
        let silence = reading
            .previous
            .map_or(Duration::ZERO, |before| reading.at.since(before));
        let step = counter.update(Joules::from_joules(reading.value), since);
        match step {
            Step::First => {}
            Step::Reset => self.account.resets += 1,
            Step::Advanced(_) | Step::Wrapped(_) if silence > self.longest_silence => {
                self.account.gaps += 1;
            }
            Step::Advanced(energy) | Step::Wrapped(energy) => {
                self.account.energy = self.account.energy + energy;
                self.account.covered += since;
            }
        }
    }

    /// The readings that say something of `window`: from the last one before it to the first one
    /// after it. Two binary searches and a copy of what is inside.
    pub(crate) fn window(&self, window: Window) -> Vec<Reading> {
        let after_start = self
            .readings
            .partition_point(|reading| reading.at <= window.start());
        let after_end = self
            .readings
            .partition_point(|reading| reading.at < window.end());
        let first = after_start.saturating_sub(1);
        let last = (after_end + 1).min(self.readings.len());
        self.readings
            .range(first..last.max(first))
            .copied()
            .collect()
    }

    /// Forgets what nobody needs: everything before the last reading at or before `needed`.
    pub(crate) fn forget_before(&mut self, needed: Timestamp) {
        let after = self
            .readings
            .partition_point(|reading| reading.at <= needed);
        self.readings.drain(..after.saturating_sub(1));
    }

    /// The last change.
    pub(crate) fn latest(&self) -> Option<&Reading> {
        self.readings.back()
    }

    pub(crate) fn account(&self) -> Account {
        self.account
    }

    /// Whether it counts energy.
    pub(crate) fn is_counter(&self) -> bool {
        self.counter.is_some()
    }

    /// Whether a value came recently enough at `now`.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.polled
            .is_some_and(|polled| now.since(polled) <= self.longest_silence)
    }

    /// Whether it has said enough for a window that ends at `end`: a change after it.
    pub(crate) fn reaches(&self, end: Timestamp) -> bool {
        self.latest().is_some_and(|reading| reading.at >= end)
    }

    pub(crate) fn len(&self) -> usize {
        self.readings.len()
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::counter::Rollover;
    use ipw_core::source::{Domain, Method};

    use super::*;

    fn counter() -> Series {
        let about = Source {
            name: "test".to_owned(),
            collector: "test".into(),
            quantity: Quantity::Energy {
                domain: Domain::CpuPackage,
                rollover: Rollover::Resets,
            },
            method: Method::Counter,
            period: None,
            privilege: "none".into(),
            relative_sigma: None,
        };
        Series::new(SourceIndex(0), &about, Duration::from_millis(500))
    }

    fn at(milliseconds: u64) -> Timestamp {
        Timestamp::from_nanos(milliseconds * 1_000_000)
    }

    fn window(start: u64, end: u64) -> Window {
        Window::new(at(start), at(end)).unwrap()
    }

    #[test]
    fn a_counter_that_does_not_move_is_noted_and_not_kept() {
        let mut series = counter();
        assert!(series.take(at(0), 1.0).is_some());
        assert!(series.take(at(10), 1.0).is_none());
        let change = series.take(at(20), 2.0).unwrap();
        assert_eq!(change.previous, Some(at(10)));
        assert_eq!((series.len(), series.account().energy.joules()), (2, 1.0));
    }

    #[test]
    fn a_window_has_one_reading_before_and_one_after() {
        let mut series = counter();
        for index in 0..100_u32 {
            series.take(at(u64::from(index) * 10), f64::from(index));
        }
        let instants = |window| -> Vec<u64> {
            series
                .window(window)
                .iter()
                .map(|reading| reading.at.nanos() / 1_000_000)
                .collect()
        };
        assert_eq!(instants(window(205, 235)), [200, 210, 220, 230, 240]);
        assert_eq!(instants(window(200, 230)), [200, 210, 220, 230]);
        assert_eq!(instants(window(980, 5000)), [980, 990]);
        assert_eq!(instants(window(5000, 6000)), [990]);
        assert_eq!(instants(window(0, 0)), [0]);
    }

    #[test]
    fn forgetting_keeps_what_a_window_from_there_needs() {
        let mut series = counter();
        for index in 0..100_u32 {
            series.take(at(u64::from(index) * 10), f64::from(index));
        }
        let before = series.window(window(505, 700));
        series.forget_before(at(505));
        assert_eq!(series.len(), 50);
        assert_eq!(series.window(window(505, 700)), before);
    }

    #[test]
    fn resets_and_gaps_are_counted_and_are_no_energy() {
        let mut series = counter();
        for (ms, value) in [
            (0, 5.0),
            (10, 6.0),
            (20, 1.0),
            (30, 2.0),
            (1000, 9.0),
            (1010, 10.0),
        ] {
            series.take(at(ms), value);
        }
        let account = series.account();
        assert_eq!((account.resets, account.gaps), (1, 1));
        assert_eq!(account.energy, Joules::from_joules(3.0));
        assert_eq!(account.covered, Duration::from_millis(30));
    }
}
