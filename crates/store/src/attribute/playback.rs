//! One part of a run once more: its queries in the order of their beginnings, and the steps of its
//! sources as they were counted. One pass over rows and readings, side by side.

use std::rc::Rc;

use ipw_core::attribution::{Step, Steps};
use ipw_core::reading::Reading;
use ipw_core::time::Timestamp;

use super::rows::{FlightRow, Rows};
use super::sources::PartSources;
use crate::{StoreError, readings};

/// Follows a part as it is played.
pub(super) trait Follow {
    /// A row was read, in the order of the file. It begins later.
    fn reads(&mut self, _asked: &Rc<FlightRow>) {}

    /// A query begins, in the order of beginnings, before any step that ends after that.
    fn begins(&mut self, asked: &Rc<FlightRow>);

    /// The source at `place` counted a step.
    fn counts(&mut self, place: usize, step: &Step);

    /// The source at `place` has no more readings.
    fn ends(&mut self, _place: usize) {}
}

type Readings<'a> = Box<dyn Iterator<Item = Result<Vec<Reading>, StoreError>> + 'a>;

/// Plays one part.
pub(super) struct Playback<'a> {
    part: u32,
    readings: Readings<'a>,
    steps: Vec<Steps>,
    /// Readings that are still to come.
    left: Vec<u64>,
    /// The place of each source, by its number less that of the first.
    places: Vec<Option<usize>>,
    first: u16,
}

impl<'a> Playback<'a> {
    pub(super) fn new(part: u32, sources: &'a PartSources) -> Self {
        let readings = sources.files.iter().flat_map(|path| {
            let batches: Readings<'a> = match readings::batches(path) {
                Ok(batches) => Box::new(batches),
                Err(error) => Box::new(std::iter::once(Err(error))),
            };
            batches
        });
        let numbers = sources.counted.iter().map(|source| source.index.0);
        let first = numbers.clone().min().unwrap_or(0);
        let mut places = vec![None; usize::from(numbers.clone().max().unwrap_or(0) - first) + 1];
        for (place, number) in numbers.enumerate() {
            places[usize::from(number - first)] = Some(place);
        }
        let counted = sources.counted.iter();
        Self {
            part,
            readings: Box::new(readings),
            steps: counted
                .clone()
                .map(|source| Steps::new(&source.meter))
                .collect(),
            left: counted.map(|source| source.readings).collect(),
            places,
            first,
        }
    }

    /// Says which sources never say anything.
    pub(super) fn begin(&self, follow: &mut impl Follow) {
        let silent = |place: &usize| self.left[*place] == 0;
        (0..self.left.len())
            .filter(silent)
            .for_each(|place| follow.ends(place));
    }

    /// Plays what was taken to disk at a time; false when there is no more of it, and every query
    /// of the part has begun.
    pub(super) fn advance(
        &mut self,
        rows: &mut Rows<'_>,
        follow: &mut impl Follow,
    ) -> Result<bool, StoreError> {
        let Some(batch) = self.readings.next().transpose()? else {
            self.begin_until(Timestamp::from_nanos(u64::MAX), rows, follow)?;
            return Ok(false);
        };
        for reading in batch {
            let number = reading.source.0.checked_sub(self.first);
            let place = number.and_then(|number| *self.places.get(usize::from(number))?);
            let Some(place) = place else {
                continue;
            };
            if let Some(step) = self.steps[place].take(&reading) {
                self.begin_until(step.end, rows, follow)?;
                follow.counts(place, &step);
            }
            self.left[place] = self.left[place].saturating_sub(1);
            if self.left[place] == 0 {
                follow.ends(place);
            }
        }
        Ok(true)
    }

    /// Plays to the end.
    pub(super) fn play(
        mut self,
        rows: &mut Rows<'_>,
        follow: &mut impl Follow,
    ) -> Result<(), StoreError> {
        self.begin(follow);
        while self.advance(rows, follow)? {}
        Ok(())
    }

    fn begin_until(
        &self,
        end: Timestamp,
        rows: &mut Rows<'_>,
        follow: &mut impl Follow,
    ) -> Result<(), StoreError> {
        let follow = std::cell::RefCell::new(follow);
        rows.until(
            self.part,
            end,
            |asked| follow.borrow_mut().reads(asked),
            |asked| follow.borrow_mut().begins(&asked),
        )
    }
}
