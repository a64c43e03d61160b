//! The readings of one source, in memory.

use std::collections::VecDeque;
use std::time::Duration;

use ipw_core::account::Account;
use ipw_core::attribution::{Balance, Flights, Idle, Steps, Totals, edge_instant};
use ipw_core::counter::{Counter, STUCK, Step};
use ipw_core::energy::{Kind, Meter};
use ipw_core::reading::{Reading, Window};
use ipw_core::source::{Quantity, Source, SourceIndex};
use ipw_core::time::Timestamp;
use ipw_core::units::{Joules, Watts};

/// The readings of one source that are still in memory, and its totals.
pub(crate) struct Series {
    source: SourceIndex,
    readings: VecDeque<Reading>,
    /// The last poll that yielded a value, changed or not.
    polled: Option<Timestamp>,
    /// The first poll that yielded a value.
    began: Option<Timestamp>,
    last: Option<f64>,
    kind: Option<EnergyKind>,
    meter: Meter,
    account: Account,
    /// Times between the latest changes; their median is the source's update period.
    intervals: VecDeque<Duration>,
    changed: Option<Timestamp>,
    books: Ledger,
}

/// Steps that are final: no query can start in them any more.
#[derive(Clone)]
struct Ledger {
    steps: Steps,
    totals: Totals,
    /// Number of readings in memory that are already counted here.
    taken: usize,
}

/// How the energy of a source is derived from its readings.
enum EnergyKind {
    Counter(Counter),
    Power,
}

/// Number of changes whose distance in time is remembered.
const INTERVALS: usize = 63;

impl Series {
    pub(crate) fn new(source: SourceIndex, about: &Source, meter: Meter) -> Self {
        let kind = match about.quantity {
            Quantity::Energy { rollover, .. } => Some(EnergyKind::Counter(Counter::new(
                rollover,
                meter.plausible(),
            ))),
            Quantity::Power { .. } => Some(EnergyKind::Power),
            Quantity::Gauge { .. } => None,
        };
        Self {
            source,
            readings: VecDeque::new(),
            polled: None,
            began: None,
            last: None,
            kind,
            meter,
            account: Account::default(),
            intervals: VecDeque::new(),
            changed: None,
            books: Ledger {
                steps: Steps::new(&meter),
                totals: Totals::default(),
                taken: 0,
            },
        }
    }

    /// Adds a value. Returns the reading to keep, or `None` when a counter did not move.
    pub(crate) fn take(&mut self, at: Timestamp, value: f64) -> Option<Reading> {
        let previous = self.polled.replace(at);
        self.began.get_or_insert(at);
        let same = self
            .last
            .is_some_and(|last| last.to_bits() == value.to_bits());
        if same && matches!(self.kind, Some(EnergyKind::Counter(_))) {
            return None;
        }
        if !same {
            self.note_change(at);
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

    /// Starts anew after the machine was suspended: the counter's change over that time does not
    /// belong to any query. The next reading counts as the first.
    pub(crate) fn interrupt(&mut self) {
        self.polled = None;
        self.last = None;
        self.changed = None;
        if let Some(EnergyKind::Counter(counter)) = &mut self.kind {
            counter.forget();
        }
        if self.kind.is_some() {
            self.account.gaps += 1;
        }
    }

    fn note_change(&mut self, at: Timestamp) {
        if let Some(last) = self.changed.replace(at) {
            if self.intervals.len() == INTERVALS {
                self.intervals.pop_front();
            }
            self.intervals.push_back(at.since(last));
        }
    }

    fn count(&mut self, reading: &Reading) {
        self.account.saw(reading.value);
        let last = self.readings.back();
        let since = last.map_or(Duration::ZERO, |last| reading.at.since(last.at));
        let is_connected = reading
            .previous
            .is_some_and(|before| reading.at.since(before) <= self.meter.longest_silence);
        let step = match &mut self.kind {
            None => return,
            Some(EnergyKind::Counter(counter)) => {
                counter.update(Joules::from_joules(reading.value), since)
            }
            // A power reading holds until the next one.
            Some(EnergyKind::Power) => match last {
                None => Step::First,
                Some(last) if (0.0..=self.meter.largest.watts()).contains(&last.value) => {
                    Step::Advanced(Watts::from_watts(last.value) * since)
                }
                Some(last) if last.value > 0.0 && last.value.is_finite() => Step::Implausible,
                Some(_) => Step::Reset,
            },
        };
        match step {
            Step::First => {}
            Step::Reset => self.account.resets += 1,
            Step::Implausible => self.account.implausible += 1,
            Step::Advanced(_) | Step::Wrapped(_) if !is_connected => self.account.gaps += 1,
            Step::Advanced(energy) | Step::Wrapped(energy) => {
                self.account.energy = self.account.energy + energy;
                self.account.covered += since;
            }
        }
    }

    /// The readings needed for `window`: from the last one before it to the first one after it,
    /// allowing for the source's lag. One more reading in front dates the first edge. One more
    /// behind is needed because an edge lies before its reading. Costs two binary searches and a
    /// copy.
    pub(crate) fn window(&self, window: Window) -> Vec<Reading> {
        let lag = self.meter.lag();
        let (start, end) = (window.start().after(lag), window.end().after(lag));
        let after_start = self.readings.partition_point(|reading| reading.at <= start);
        let after_end = self.readings.partition_point(|reading| reading.at < end);
        let first = after_start.saturating_sub(2);
        let last = (after_end + 2).min(self.readings.len());
        self.readings
            .range(first..last.max(first))
            .copied()
            .collect()
    }

    /// Moves everything up to `needed` into the final totals: no query can start there any more.
    pub(crate) fn settle(&mut self, needed: Timestamp, flights: &Flights) {
        if self.is_energy() {
            let until = self
                .readings
                .partition_point(|reading| reading.at <= needed);
            self.books.take(&self.readings, until, flights);
        }
    }

    /// Drops readings that are no longer needed: everything before the last reading at or before
    /// `needed`, except the one that dates it.
    pub(crate) fn forget_before(&mut self, needed: Timestamp) {
        let after = self
            .readings
            .partition_point(|reading| reading.at <= needed);
        let mut old = after.saturating_sub(2);
        if self.is_energy() {
            old = old.min(self.books.taken);
            self.books.taken -= old;
        }
        self.readings.drain(..old);
    }

    /// The earliest instant that the readings in memory cover.
    pub(crate) fn reaches_back(&self) -> Option<Timestamp> {
        self.readings.front().map(|first| self.tells_from(first))
    }

    /// The earliest instant that a reading can say something about: its edge is no earlier.
    pub(crate) fn tells_from(&self, reading: &Reading) -> Timestamp {
        let previous = reading.previous.unwrap_or(reading.at);
        previous.before(self.meter.lag())
    }

    /// How the energy of this source was divided so far; `None` for gauges.
    pub(crate) fn balance(&self, flights: &Flights, idle: Option<Idle>) -> Option<Balance> {
        let mut books = self.books.clone();
        books.take(&self.readings, self.readings.len(), flights);
        self.is_energy().then(|| books.totals.balance(idle))
    }

    /// Idle power with its uncertainty widened by what was measured between queries.
    pub(crate) fn doubt(&self, idle: Idle) -> Idle {
        self.books.totals.doubt(idle)
    }

    /// The last poll that yielded a value.
    pub(crate) fn polled(&self) -> Option<Timestamp> {
        self.polled
    }

    /// The last reading that changed.
    pub(crate) fn latest(&self) -> Option<&Reading> {
        self.readings.back()
    }

    pub(crate) fn account(&self) -> Account {
        let mut intervals: Vec<Duration> = self.intervals.iter().copied().collect();
        intervals.sort_unstable();
        Account {
            change_interval: intervals.get(intervals.len() / 2).copied(),
            still: self.polled.zip(self.changed).map(|(now, at)| now.since(at)),
            ..self.account
        }
    }

    /// Whether this source yields energy: a counter or power, not a gauge.
    pub(crate) fn is_energy(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether this counter never moves.
    pub(crate) fn is_stuck(&self) -> bool {
        let polled = self.began.zip(self.polled);
        matches!(self.kind, Some(EnergyKind::Counter(_)))
            && self.account.readings == 1
            && polled.is_some_and(|(began, now)| now.since(began) >= STUCK)
    }

    /// Whether the last value is recent enough at `now`.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.polled
            .is_some_and(|polled| now.since(polled) <= self.meter.longest_silence)
    }

    /// Whether the readings suffice for a window that ends at `end`: there is an edge at or after
    /// it.
    pub(crate) fn reaches(&self, end: Timestamp) -> bool {
        let Some(latest) = self.latest() else {
            return false;
        };
        let last_change = self.readings.iter().rev().nth(1).map(|reading| reading.at);
        let edge = match self.meter.kind {
            Kind::Counter(_) => edge_instant(latest, last_change, self.meter.period).0,
            Kind::Power(_) => latest.at.before(self.meter.lag()),
        };
        edge >= end
    }

    pub(crate) fn len(&self) -> usize {
        self.readings.len()
    }
}

impl Ledger {
    /// Counts the readings before index `until`.
    fn take(&mut self, readings: &VecDeque<Reading>, until: usize, flights: &Flights) {
        let fresh = self.taken.min(until)..until;
        for reading in readings.range(fresh) {
            if let Some(step) = self.steps.take(reading) {
                self.totals.add(&step, flights);
            }
        }
        self.taken = self.taken.max(until);
    }
}

#[cfg(test)]
mod tests {
    use ipw_core::counter::Rollover;
    use ipw_core::energy::Kind;
    use ipw_core::source::{Domain, Method};

    use super::*;

    fn counter() -> Series {
        let quantity = Quantity::Energy {
            domain: Domain::CpuPackage,
            rollover: Rollover::Resets,
        };
        let about = ipw_testkit::collector::source("test", quantity, Method::Counter);
        let meter = Meter {
            kind: Kind::Counter(Rollover::Resets),
            period: None,
            relative_sigma: None,
            longest_silence: Duration::from_millis(500),
            clock_bound: Duration::ZERO,
            largest: Domain::CpuPackage.largest_power(),
            dated_within: None,
        };
        Series::new(SourceIndex(0), &about, meter)
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
    fn a_window_has_two_readings_before_and_two_after() {
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
        assert_eq!(
            instants(window(205, 235)),
            [190, 200, 210, 220, 230, 240, 250]
        );
        assert_eq!(instants(window(200, 230)), [190, 200, 210, 220, 230, 240]);
        assert_eq!(instants(window(980, 5000)), [970, 980, 990]);
        assert_eq!(instants(window(5000, 6000)), [980, 990]);
        assert_eq!(instants(window(0, 0)), [0, 10]);
    }

    #[test]
    fn a_slow_counter_reaches_as_far_as_its_last_change_and_not_its_last_reading() {
        let mut series = counter();
        for poll in 0..7_u32 {
            series.take(at(u64::from(poll) * 50 + 13), f64::from(poll / 2));
        }
        // The change is seen at 313 ms; at 263 ms the value was still the old one.
        assert!(series.reaches(at(288)) && !series.reaches(at(289)));
    }

    #[test]
    fn forgetting_keeps_what_a_window_from_there_needs() {
        let mut series = counter();
        for index in 0..100_u32 {
            series.take(at(u64::from(index) * 10), f64::from(index));
        }
        let before = series.window(window(505, 700));
        series.forget_before(at(505));
        assert_eq!(series.len(), 100, "they are not settled yet");
        series.settle(at(505), &Flights::default());
        series.forget_before(at(505));
        assert_eq!(series.len(), 51);
        assert_eq!(series.window(window(505, 700)), before);
    }

    #[test]
    fn a_window_is_reached_by_an_edge_and_not_by_the_poll_that_sees_it() {
        let mut series = counter();
        series.take(at(0), 1.0);
        series.take(at(100), 2.0);
        series.take(at(190), 2.0);
        series.take(at(200), 3.0);
        assert!(series.reaches(at(195)), "it changed between the two polls");
        assert!(!series.reaches(at(197)), "and perhaps before this");
    }

    #[test]
    fn the_books_hold_what_was_counted_whether_it_is_forgotten_or_not() {
        let mut flights = Flights::default();
        flights.add(window(200, 400));
        let mut series = counter();
        for index in 0..100_u32 {
            series.take(at(u64::from(index) * 10), f64::from(index));
            if index.is_multiple_of(7) {
                let needed = at(u64::from(index.saturating_sub(3)) * 10);
                series.settle(needed, &flights);
                series.forget_before(needed);
            }
        }
        assert!(series.len() < 20);
        let balance = series.balance(&flights, None).unwrap();
        assert_eq!(balance.measured, series.account().energy);
        assert!(
            (balance.queries.joules() - 20.0).abs() < 1e-9,
            "{balance:?}"
        );
        assert!(
            (balance.no_query.joules() - 79.0).abs() < 1e-9,
            "{balance:?}"
        );
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
