//! Offset between another machine's clock and ours (docs/method.md §6.11).
//!
//! A time request brackets the remote stamp: it was taken between the request and the arrival of
//! the reply, whatever the network delays. Two clocks drift apart by at most [`MOST_DRIFT`], so
//! each interval widens with its age. The intersection of all intervals contains the true offset.
//! Its middle is the estimate, half of its length the bound.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Largest relative drift between two clocks. Each crystal is within 100 parts per million.
pub const MOST_DRIFT: f64 = 200e-6;

/// A larger difference between two offsets means that the clock was set, in nanoseconds.
const STEP: f64 = 1e9;

/// A network burst is shorter than this many late stamps in a row: the clock was set.
const LATE: u32 = 20;

/// One time request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was sent, on our clock.
    pub asked: Timestamp,
    /// When the request arrived, on the remote clock, in nanoseconds.
    pub received: i64,
    /// When the reply left, on the remote clock.
    pub replied: i64,
    /// When the reply arrived, on our clock.
    pub answered: Timestamp,
}

/// How a clock offset was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlignmentMethod {
    /// By time requests.
    Exchange,
    /// From the fastest of all messages, where the other side answers no time requests.
    Arrival,
    /// It is our own clock; the uncertainty is the round trip of a reading.
    RoundTrip,
}

impl AlignmentMethod {
    /// The name in files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Arrival => "arrival",
            Self::RoundTrip => "round_trip",
        }
    }
}

/// Offset of another machine's clock from ours, with its error bound and method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// How the offset was determined.
    pub how: AlignmentMethod,
    /// Added to remote instants, in nanoseconds.
    pub shift_nanos: i64,
    /// Largest error of the shift since the run began.
    #[serde(rename = "bound_seconds", with = "crate::seconds")]
    pub bound: Duration,
    /// How much faster the remote clock runs, in parts per million; `None` when the run was too
    /// short to tell.
    pub drift_ppm: Option<f64>,
    /// Error bound of the drift.
    pub drift_bound_ppm: Option<f64>,
    /// Number of samples.
    pub looks: u64,
    /// How often the remote clock was set or replaced.
    pub steps: u64,
}

/// Effect of one sample on the alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleOutcome {
    /// It agrees with the earlier samples.
    Kept,
    /// It contradicts them: the remote clock was set. Instants before and after are unrelated.
    Stepped,
    /// It is impossible and was ignored.
    Nonsense,
}

/// Possible offsets at an instant of our clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Interval {
    at: Timestamp,
    low: f64,
    high: f64,
}

impl Interval {
    /// The interval at `now`, widened by the drift since.
    fn at(self, now: Timestamp) -> Self {
        let age = now.since(self.at).max(self.at.since(now));
        let wider = nanos(age) * MOST_DRIFT;
        Self {
            at: now,
            low: self.low - wider,
            high: self.high + wider,
        }
    }

    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    fn half(self) -> f64 {
        (self.high - self.low).max(0.0) / 2.0
    }

    fn meets(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        (low <= high).then_some(Self {
            at: self.at,
            low,
            high,
        })
    }
}

/// Offset of a clock that answers time requests.
///
/// Offsets are stored relative to the first sample, so that a large difference between the clocks
/// costs no precision.
#[derive(Debug, Clone, Default)]
pub struct Alignment {
    /// Offset of the first sample in whole nanoseconds; all others are relative to it.
    base: Option<i64>,
    now: Option<Interval>,
    first: Option<Interval>,
    worst: Duration,
    looks: u64,
    steps: u64,
}

impl Alignment {
    /// Adds a time request.
    pub fn take(&mut self, exchange: &Exchange) -> SampleOutcome {
        let Some((low, high)) = limits(exchange) else {
            return SampleOutcome::Nonsense;
        };
        let base = *self.base.get_or_insert(low);
        self.looks += 1;
        let seen = Interval {
            at: exchange.answered,
            low: since(low, base),
            high: since(high, base),
        };
        let both = self
            .now
            .map_or(Some(seen), |before| seen.meets(before.at(seen.at)));
        self.now = Some(both.unwrap_or(seen));
        if both.is_some() {
            return SampleOutcome::Kept;
        }
        self.steps += 1;
        self.first = None;
        SampleOutcome::Stepped
    }

    /// Discards all samples: another clock answers now.
    pub fn forget(&mut self) {
        let known = self.now.take().is_some();
        self.first = None;
        self.base = None;
        self.steps += u64::from(known);
    }

    /// Ends the initial samples. The drift is measured from here, and the bound grows until the
    /// next sample, at most `pause` later.
    pub fn settle(&mut self, now: Timestamp, pause: Duration) {
        if let Some(known) = self.now {
            self.first.get_or_insert(known.at(now));
            self.note(known.at(now.after(pause)));
        }
    }

    fn note(&mut self, known: Interval) {
        let half = Duration::from_nanos(whole(known.half().ceil()));
        self.worst = self.worst.max(half);
    }

    /// A remote instant on our clock, as estimated at `now`; `None` before the first sample and for
    /// instants before our reference.
    pub fn ours(&mut self, theirs: i64, now: Timestamp) -> Option<Timestamp> {
        let known = self.now?.at(now);
        self.note(known);
        place(theirs, self.base?, known.middle())
    }

    /// The offset at `now`; `None` before the first sample.
    pub fn aligned(&self, now: Timestamp) -> Option<ClockOffset> {
        let known = self.now?.at(now);
        let drift = self.first.and_then(|first| drift(first, known));
        Some(ClockOffset {
            how: AlignmentMethod::Exchange,
            shift_nanos: shifted(self.base?, known.middle()),
            bound: self.worst.max(Duration::from_nanos(whole(known.half()))),
            drift_ppm: drift.map(|(drift, _)| drift),
            drift_bound_ppm: drift.map(|(_, bound)| bound),
            looks: self.looks,
            steps: self.steps,
        })
    }
}

/// Offset of a clock that answers no time requests, from stamped messages. The fastest message is
/// the least delayed.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    base: Option<i64>,
    /// Arrival − stamp of the fastest message, and when it arrived.
    quickest: Option<(Timestamp, f64)>,
    /// Fastest round trip of a request whose reply has no stamp.
    round_trip: Option<Duration>,
    late: u32,
    looks: u64,
    steps: u64,
}

impl Arrivals {
    /// Adds the round trip of a request whose reply has no stamp.
    pub fn round_trip(&mut self, took: Duration) {
        self.round_trip = Some(self.round_trip.map_or(took, |before| before.min(took)));
    }

    /// Adds a stamp that arrived at `now`.
    pub fn take(&mut self, stamp: i64, now: Timestamp) -> SampleOutcome {
        let Some(late) = i64::try_from(now.nanos())
            .ok()
            .and_then(|now| now.checked_sub(stamp))
        else {
            return SampleOutcome::Nonsense;
        };
        let base = *self.base.get_or_insert(late);
        self.looks += 1;
        let late = since(late, base);
        let Some(known) = self.known(now) else {
            self.quickest = Some((now, late));
            return SampleOutcome::Kept;
        };
        self.late = if late > known + STEP {
            self.late + 1
        } else {
            0
        };
        if late < known - STEP || self.late > LATE {
            self.steps += 1;
            self.late = 0;
            self.quickest = Some((now, late));
            return SampleOutcome::Stepped;
        }
        if late <= known {
            self.quickest = Some((now, late));
        }
        SampleOutcome::Kept
    }

    /// The offset at `now`. The fastest message ages: clocks have drifted since.
    fn known(&self, now: Timestamp) -> Option<f64> {
        let (at, late) = self.quickest?;
        Some(late + nanos(now.since(at)) * MOST_DRIFT)
    }

    /// A remote instant on our clock.
    pub fn ours(&self, theirs: i64, now: Timestamp) -> Option<Timestamp> {
        place(theirs, self.base?, self.known(now)?)
    }

    /// The offset at `now`; `None` before the first stamp and the first round trip.
    pub fn aligned(&self, now: Timestamp) -> Option<ClockOffset> {
        Some(ClockOffset {
            how: AlignmentMethod::Arrival,
            shift_nanos: shifted(self.base?, self.known(now)?),
            bound: self.round_trip?,
            drift_ppm: None,
            drift_bound_ppm: None,
            looks: self.looks,
            steps: self.steps,
        })
    }
}

/// The offsets that a reply leaves possible.
fn limits(exchange: &Exchange) -> Option<(i64, i64)> {
    let ours = |at: Timestamp| i64::try_from(at.nanos()).ok();
    let low = ours(exchange.asked)?.checked_sub(exchange.received)?;
    let high = ours(exchange.answered)?.checked_sub(exchange.replied)?;
    (low <= high && exchange.replied >= exchange.received).then_some((low, high))
}

/// How much faster the remote clock runs, and the error bound, both in parts per million.
fn drift(first: Interval, last: Interval) -> Option<(f64, f64)> {
    let apart = nanos(last.at.since(first.at));
    if apart < 1e9 {
        return None;
    }
    // The offset falls while the remote clock runs ahead.
    let drift = (first.middle() - last.middle()) / apart;
    let bound = (first.half() + last.half()) / apart;
    Some((drift * 1e6, bound * 1e6))
}

fn place(theirs: i64, base: i64, shift: f64) -> Option<Timestamp> {
    let ours = theirs.checked_add(shifted(base, shift))?;
    u64::try_from(ours).ok().map(Timestamp::from_nanos)
}

fn shifted(base: i64, shift: f64) -> i64 {
    base.saturating_add(rounded(shift))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates, and shifts against the base are far below 2^63 ns"
)]
fn rounded(nanos: f64) -> i64 {
    nanos.round() as i64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates at zero and at the largest"
)]
fn whole(nanos: f64) -> u64 {
    nanos as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 ns are more than a hundred days, and a nanosecond of them is no matter"
)]
fn since(nanos: i64, base: i64) -> f64 {
    nanos.saturating_sub(base) as f64
}

fn nanos(length: Duration) -> f64 {
    length.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// A remote clock, `apart` ahead of ours at our reference and faster by `drift`.
    #[derive(Debug, Clone, Copy)]
    struct Theirs {
        apart: i64,
        drift: f64,
    }

    impl Theirs {
        fn reads(self, ours: u64) -> i64 {
            let ours = i64::try_from(ours).unwrap();
            ours + self.apart + rounded(since(ours, 0) * self.drift)
        }

        fn answers(self, asked: u64, there: u64, back: u64) -> Exchange {
            Exchange {
                asked: at(asked),
                received: self.reads(asked + there),
                replied: self.reads(asked + there + 1_000),
                answered: at(asked + there + 1_000 + back),
            }
        }
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_bound_whatever_the_ways_take(
            apart in -4_000_000_000_000_000_000_i64..4_000_000_000_000_000_000,
            drift in -1.9e-4..1.9e-4_f64,
            ways in prop::collection::vec((0_u64..50_000_000, 0_u64..50_000_000), 1..60),
        ) {
            let theirs = Theirs { apart, drift };
            let mut alignment = Alignment::default();
            let mut now = 1_000_000_000;
            for (there, back) in ways {
                let answer = theirs.answers(now, there, back);
                prop_assert_eq!(alignment.take(&answer), SampleOutcome::Kept);
                now = answer.answered.nanos() + 900_000_000;
                let ours = alignment.ours(theirs.reads(now), at(now)).unwrap();
                let off = ours.since(at(now)).max(at(now).since(ours));
                let aligned = alignment.aligned(at(now)).unwrap();
                prop_assert!(
                    off <= aligned.bound + Duration::from_micros(2),
                    "{off:?} {aligned:?}"
                );
            }
        }
    }

    #[test]
    fn the_quickest_answers_make_the_bound_narrow_and_the_drift_is_found() {
        let theirs = Theirs {
            apart: -77_000_000_000,
            drift: 50e-6,
        };
        let mut alignment = Alignment::default();
        for (asked, way) in [(1_000, 900_000), (5_000_000, 60_000), (9_000_000, 700_000)] {
            alignment.take(&theirs.answers(asked, way, way));
        }
        alignment.settle(at(11_000_000), Duration::from_secs(1));
        let bound = alignment.aligned(at(11_000_000)).unwrap().bound;
        assert!(bound < Duration::from_micros(300), "{bound:?}");
        for second in 1..600_u64 {
            alignment.take(&theirs.answers(second * 1_000_000_000, 60_000, 60_000));
        }
        let known = alignment.aligned(at(600_000_000_000)).unwrap();
        let (drift, sure) = (known.drift_ppm.unwrap(), known.drift_bound_ppm.unwrap());
        assert!((drift - 50.0).abs() <= sure, "{known:?}");
        assert!(
            sure < 2.0 && known.bound < Duration::from_micros(400),
            "{known:?}"
        );
        assert_eq!((known.looks, known.steps), (602, 0));
    }

    #[test]
    fn a_clock_that_was_set_is_found_and_what_cannot_be_is_ignored() {
        let mut alignment = Alignment::default();
        let before = Theirs {
            apart: 0,
            drift: 0.0,
        };
        let after = Theirs {
            apart: 5_000_000,
            drift: 0.0,
        };
        assert!(alignment.aligned(at(0)).is_none());
        assert_eq!(
            alignment.take(&before.answers(1_000, 10_000, 10_000)),
            SampleOutcome::Kept
        );
        let stepped = after.answers(1_000_000, 10_000, 10_000);
        assert_eq!(alignment.take(&stepped), SampleOutcome::Stepped);
        let backwards = Exchange {
            received: 10,
            replied: 5,
            ..stepped
        };
        assert_eq!(alignment.take(&backwards), SampleOutcome::Nonsense);
        let extreme = Exchange {
            received: i64::MIN,
            replied: i64::MAX,
            ..stepped
        };
        assert_eq!(alignment.take(&extreme), SampleOutcome::Nonsense);
        assert_eq!(alignment.aligned(at(2_000_000)).unwrap().steps, 1);
    }

    #[test]
    fn without_time_requests_the_fastest_message_dates_all() {
        let theirs = Theirs {
            apart: 1_700_000_000_000_000_000,
            drift: 20e-6,
        };
        let mut arrivals = Arrivals::default();
        arrivals.round_trip(Duration::from_micros(900));
        arrivals.round_trip(Duration::from_micros(400));
        for tick in 1..400_u64 {
            let sent = tick * 50_000_000;
            let way = if tick.is_multiple_of(7) {
                150_000
            } else {
                9_000_000
            };
            let now = sent + way;
            assert_eq!(
                arrivals.take(theirs.reads(sent), at(now)),
                SampleOutcome::Kept
            );
            let ours = arrivals.ours(theirs.reads(sent), at(now)).unwrap();
            if tick > 7 {
                let off = ours.since(at(sent)).max(at(sent).since(ours));
                assert!(
                    off <= arrivals.aligned(at(now)).unwrap().bound,
                    "{tick}: {off:?}"
                );
            }
        }
        let known = arrivals.aligned(at(21_000_000_000)).unwrap();
        assert_eq!((known.how, known.steps), (AlignmentMethod::Arrival, 0));
        // Set back by an hour: late for ever.
        let set = Theirs {
            apart: theirs.apart - 3_600_000_000_000,
            ..theirs
        };
        let steps = (0..100_u64).filter(|tick| {
            let sent = 30_000_000_000 + tick * 50_000_000;
            arrivals.take(set.reads(sent), at(sent + 200_000)) == SampleOutcome::Stepped
        });
        assert_eq!(steps.count(), 1);
    }
}
