//! Power and queries in flight over the time of one part, binned for plotting (docs/method.md
//! §9.10).

use serde::Serialize;

use crate::interval::{known, real};

/// A constant power over a time, in seconds on one part's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Start.
    pub from: f64,
    /// End.
    pub until: f64,
    /// Power.
    pub watts: f64,
}

/// One bin of the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bucket {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub until: f64,
    /// Mean power over the covered time; `None` without coverage.
    pub mean_watts: Option<f64>,
    /// Smallest power in it.
    pub min_watts: Option<f64>,
    /// Largest power in it.
    pub max_watts: Option<f64>,
    /// Covered share of its time.
    pub coverage: f64,
    /// Mean number of queries in flight.
    pub mean_in_flight: f64,
    /// Largest number of queries in flight.
    pub max_in_flight: u64,
}

/// Turns power readings into steps: each holds until the next, but at most for `longest`. Readings
/// must be sorted by time.
pub fn held(readings: &[(f64, f64)], longest: f64) -> Vec<Step> {
    readings
        .iter()
        .enumerate()
        .map(|(place, (from, watts))| {
            let end = from + longest;
            let next = readings.get(place + 1).map_or(end, |next| next.0);
            Step {
                from: *from,
                until: next.min(end),
                watts: *watts,
            }
        })
        .collect()
}

/// Queries in flight over a time, in equal bins.
#[derive(Debug, Clone)]
pub struct Traffic {
    grid: Grid,
    /// Mean and largest number in flight per bin.
    in_flight: Vec<(f64, u64)>,
}

impl Traffic {
    /// The time from `from` to `until` in this many bins. Spans are (start, end) of queries. `None`
    /// for a time without length.
    pub fn of(
        spans: impl IntoIterator<Item = (f64, f64)>,
        (from, until): (f64, f64),
        pieces: u32,
    ) -> Option<Self> {
        let width = known((until - from) / f64::from(pieces))?;
        let is_time = from.is_finite() && until > from && width > 0.0;
        let grid = Grid {
            from,
            width,
            most: pieces,
        };
        is_time.then(|| Self {
            in_flight: grid.in_flight(spans),
            grid,
        })
    }

    /// The same bins with the power of one source. Steps must not overlap.
    pub fn under(&self, steps: &[Step]) -> Vec<Bucket> {
        let Grid { width, most, .. } = self.grid;
        let mut watts = vec![BinPower::default(); most as usize];
        for step in steps {
            self.grid.cover(step, &mut watts);
        }
        let bucket = |((place, covered), (mean, max)): ((u32, BinPower), &(f64, u64))| Bucket {
            from: self.grid.edge(place),
            until: self.grid.edge(place + 1),
            mean_watts: covered.spread.map(|_| covered.joules / covered.seconds),
            min_watts: covered.spread.map(|(min, _)| min),
            max_watts: covered.spread.map(|(_, max)| max),
            coverage: (covered.seconds / width).min(1.0),
            mean_in_flight: *mean,
            max_in_flight: *max,
        };
        let pieces = (0..most).zip(watts).zip(&self.in_flight);
        pieces.map(bucket).collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct Grid {
    from: f64,
    width: f64,
    most: u32,
}

/// Power of the steps in one bin.
#[derive(Debug, Clone, Copy, Default)]
struct BinPower {
    seconds: f64,
    joules: f64,
    spread: Option<(f64, f64)>,
}

impl Grid {
    fn edge(&self, place: u32) -> f64 {
        self.from + self.width * f64::from(place)
    }

    /// The bin that contains an instant, or the nearest one.
    fn place(&self, instant: f64) -> u32 {
        let position = ((instant - self.from) / self.width).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the last place"
        )]
        let place = position.clamp(0.0, f64::from(self.most - 1)) as u32;
        place
    }

    fn until(&self) -> f64 {
        self.edge(self.most)
    }

    fn cover(&self, step: &Step, pieces: &mut [BinPower]) {
        let (from, until) = (step.from.max(self.from), step.until.min(self.until()));
        let is_known = step.watts.is_finite() && until > from;
        if !is_known {
            return;
        }
        for place in self.place(from)..=self.place(until) {
            let seconds = until.min(self.edge(place + 1)) - from.max(self.edge(place));
            if seconds <= 0.0 {
                continue;
            }
            let piece = &mut pieces[place as usize];
            piece.seconds += seconds;
            piece.joules += seconds * step.watts;
            let (min, max) = piece.spread.unwrap_or((step.watts, step.watts));
            piece.spread = Some((min.min(step.watts), max.max(step.watts)));
        }
    }

    /// Mean and largest number in flight per bin, in one pass over starts and ends.
    fn in_flight(&self, spans: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, u64)> {
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (start, end) in spans {
            let (start, end) = (start.max(self.from), end.min(self.until()));
            // Spans that are not finite or lie outside are skipped here as well.
            if end > start {
                starts.push(start);
                ends.push(end);
            }
        }
        starts.sort_unstable_by(f64::total_cmp);
        ends.sort_unstable_by(f64::total_cmp);
        let mut starts = starts.into_iter().peekable();
        let mut found = vec![(0.0, 0_u64); self.most as usize];
        let (mut now, mut count) = (self.from, 0_u64);
        for end in ends {
            // Ends come before starts at the same instant: back-to-back queries do not overlap.
            while let Some(start) = starts.next_if(|start| *start < end) {
                self.pass(now, start, count, &mut found);
                (now, count) = (start, count + 1);
            }
            self.pass(now, end, count, &mut found);
            (now, count) = (end, count - 1);
        }
        found
    }

    /// Adds `count` queries in flight from one instant to another.
    fn pass(&self, from: f64, until: f64, count: u64, found: &mut [(f64, u64)]) {
        if count == 0 || until <= from {
            return;
        }
        for place in self.place(from)..=self.place(until) {
            let seconds = until.min(self.edge(place + 1)) - from.max(self.edge(place));
            if seconds > 0.0 {
                let (mean, most) = &mut found[place as usize];
                *mean += real(count) * seconds / self.width;
                *most = (*most).max(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timeline(
        steps: &[Step],
        spans: &[(f64, f64)],
        whole: (f64, f64),
        pieces: u32,
    ) -> Option<Vec<Bucket>> {
        Some(Traffic::of(spans.iter().copied(), whole, pieces)?.under(steps))
    }

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn power_and_queries_fall_into_their_pieces() {
        let steps = held(&[(0.0, 100.0), (1.5, 200.0), (3.0, 50.0)], 10.0);
        let found = timeline(&steps, &[(0.5, 2.0), (1.0, 4.0)], (0.0, 4.0), 4).unwrap();
        assert_eq!(found.len(), 4);
        assert!(near(found[1].mean_watts.unwrap(), 150.0));
        assert_eq!(
            (found[1].min_watts, found[1].max_watts),
            (Some(100.0), Some(200.0))
        );
        assert_eq!(found[3].max_watts, Some(50.0));
        let flights: Vec<u64> = found.iter().map(|one| one.max_in_flight).collect();
        assert_eq!(flights, [1, 2, 1, 1]);
        assert!(near(found[0].mean_in_flight, 0.5) && near(found[1].mean_in_flight, 2.0));
    }

    #[test]
    fn a_silence_is_not_covered_and_has_no_power() {
        let steps = held(&[(0.0, 100.0), (8.0, 100.0)], 1.0);
        let found = timeline(&steps, &[], (0.0, 10.0), 5).unwrap();
        assert!(near(found[0].coverage, 0.5) && near(found[0].mean_watts.unwrap(), 100.0));
        assert_eq!((found[2].mean_watts, found[2].max_watts), (None, None));
        assert!(near(found[2].coverage, 0.0));
    }

    #[test]
    fn back_to_back_is_one_at_a_time() {
        let found = timeline(&[], &[(0.0, 1.0), (1.0, 2.0)], (0.0, 2.0), 1).unwrap();
        assert_eq!(found[0].max_in_flight, 1);
        assert!(near(found[0].mean_in_flight, 1.0));
    }

    #[test]
    fn without_time_there_is_no_timeline() {
        for (from, until) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
        ] {
            assert_eq!(timeline(&[], &[], (from, until), 10), None);
        }
        assert_eq!(timeline(&[], &[], (0.0, 1.0), 0), None);
    }

    proptest! {
        /// Energy and time in flight are complete for any binning.
        #[test]
        fn nothing_is_lost_in_the_pieces(
            readings in prop::collection::vec((0.01_f64..2.0, 1.0_f64..300.0), 1..50),
            spans in prop::collection::vec((0.0_f64..60.0, 0.0_f64..9.0), 0..50),
            most in 1_u32..200,
        ) {
            let mut now = 0.0;
            let readings: Vec<(f64, f64)> = readings.iter().map(|(gap, watts)| {
                now += gap;
                (now, *watts)
            }).collect();
            let spans: Vec<(f64, f64)> =
                spans.iter().map(|(start, long)| (*start, start + long)).collect();
            let steps = held(&readings, 1.0);
            let found = timeline(&steps, &spans, (0.0, 120.0), most).unwrap();
            let wanted: f64 = steps.iter().map(|one| (one.until - one.from) * one.watts).sum();
            let joules: f64 = found.iter()
                .map(|one| one.mean_watts.unwrap_or(0.0) * one.coverage * (one.until - one.from))
                .sum();
            prop_assert!((joules - wanted).abs() < 1e-6, "{joules} {wanted}");
            let wanted: f64 = spans.iter().map(|(start, end)| end - start).sum();
            let seconds: f64 = found.iter()
                .map(|one| one.mean_in_flight * (one.until - one.from))
                .sum();
            prop_assert!((seconds - wanted).abs() < 1e-6, "{seconds} {wanted}");
        }

        #[test]
        fn no_numbers_break_it(
            steps in prop::collection::vec(any::<[f64; 3]>(), 0..20),
            spans in prop::collection::vec(any::<(f64, f64)>(), 0..20),
        ) {
            let steps: Vec<Step> = steps.iter()
                .map(|one| Step { from: one[0], until: one[1], watts: one[2] })
                .collect();
            let found = timeline(&steps, &spans, (-5.0, 5.0), 7).unwrap();
            prop_assert!(found.iter().all(|one| one.mean_in_flight.is_finite()));
        }
    }
}
