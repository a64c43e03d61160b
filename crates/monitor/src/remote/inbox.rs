//! Readings that have arrived and were not polled yet.

use std::collections::VecDeque;

use ipw_core::alignment::ClockOffset;
use ipw_core::time::Timestamp;

/// Maximum number of waiting readings: some minutes. Older ones are dropped.
const MOST: usize = 200_000;

/// Readings that have arrived and were not polled yet.
#[derive(Default)]
pub(super) struct Inbox {
    readings: VecDeque<(usize, Timestamp, f64)>,
    fault: Option<String>,
    aligned: Option<ClockOffset>,
}

impl Inbox {
    fn put(&mut self, place: usize, at: Timestamp, value: f64) {
        if self.readings.len() == MOST {
            self.readings.pop_front();
            self.fault(
                "readings arrived faster than they were polled: dropped the oldest".to_owned(),
            );
        }
        self.readings.push_back((place, at, value));
    }

    /// Notes a fault; only the first between two polls is reported.
    pub(super) fn fault(&mut self, words: String) {
        self.fault.get_or_insert(words);
    }

    pub(super) fn align(&mut self, aligned: Option<ClockOffset>) {
        self.aligned = aligned.or(self.aligned);
    }

    pub(super) fn aligned(&self) -> Option<ClockOffset> {
        self.aligned
    }

    /// Moves everything to `taken`. Returns the fault, if there was one.
    pub(super) fn empty_into(
        &mut self,
        taken: &mut Vec<(usize, Timestamp, f64)>,
    ) -> Option<String> {
        taken.clear();
        taken.extend(self.readings.drain(..));
        self.fault.take()
    }
}

/// The latest instant of each source: readings never go back in time.
pub(super) struct Trail {
    latest: Vec<Option<(Timestamp, f64)>>,
}

impl Trail {
    pub(super) fn of(sources: usize) -> Self {
        Self {
            latest: vec![None; sources],
        }
    }

    /// Adds a value taken at `at`. `previous` is the last read before that; it is added first,
    /// because the change came after it.
    pub(super) fn takes(
        &mut self,
        inbox: &mut Inbox,
        place: usize,
        previous: Option<Timestamp>,
        at: Timestamp,
        value: f64,
    ) {
        if let Some(previous) = previous {
            self.still(inbox, place, previous);
        }
        let Some(latest) = self.latest.get_mut(place) else {
            return;
        };
        // The offset between two clocks varies by less than its bound.
        let at = latest.map_or(at, |(before, _)| {
            at.max(Timestamp::from_nanos(before.nanos() + 1))
        });
        *latest = Some((at, value));
        inbox.put(place, at, value);
    }

    /// Notes that the value was still the same at `at`.
    pub(super) fn still(&mut self, inbox: &mut Inbox, place: usize, at: Timestamp) {
        if let Some(Some((before, value))) = self.latest.get_mut(place)
            && at > *before
        {
            *before = at;
            inbox.put(place, at, *value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_never_go_back_and_what_did_not_change_is_told_before_the_change() {
        let at = Timestamp::from_nanos;
        let (mut inbox, mut trail) = (Inbox::default(), Trail::of(1));
        trail.still(&mut inbox, 0, at(1));
        trail.takes(&mut inbox, 0, None, at(10), 1.0);
        trail.takes(&mut inbox, 0, Some(at(25)), at(30), 2.0);
        trail.takes(&mut inbox, 0, Some(at(20)), at(29), 3.0);
        trail.takes(&mut inbox, 7, None, at(99), 9.0);
        let mut taken = Vec::new();
        assert_eq!(inbox.empty_into(&mut taken), None);
        let told: Vec<(u64, f64)> = taken
            .iter()
            .map(|(_, at, value)| (at.nanos(), *value))
            .collect();
        assert_eq!(told, [(10, 1.0), (25, 1.0), (30, 2.0), (31, 3.0)]);
    }

    #[test]
    fn readings_that_are_not_polled_are_bounded_and_reported() {
        let mut inbox = Inbox::default();
        for index in 0..=MOST as u64 {
            inbox.put(0, Timestamp::from_nanos(index), 0.0);
        }
        let mut taken = Vec::new();
        assert!(
            inbox
                .empty_into(&mut taken)
                .unwrap()
                .contains("dropped the oldest")
        );
        assert_eq!((taken.len(), taken[0].1.nanos()), (MOST, 1));
    }
}
