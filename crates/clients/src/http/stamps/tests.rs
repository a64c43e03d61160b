//! Conversion of the kernel's stamps while the wall clock is slewed and set.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ipw_core::time::Anchor;
use proptest::prelude::*;

use super::*;

const MILLISECOND: u64 = 1_000_000;
const HOUR: i64 = 3600 * 1_000_000_000;
/// The wall clock's lead at the start.
const LEAD: i64 = 1_800_000_000_000_000_000;

/// A run clock and a wall clock, both set by the test.
struct Clocks {
    now: AtomicU64,
    lead: AtomicI64,
}

impl Clocks {
    fn start() -> Arc<Self> {
        Arc::new(Self {
            now: AtomicU64::new(MILLISECOND),
            lead: AtomicI64::new(LEAD),
        })
    }

    fn pass(&self, nanos: u64) -> u64 {
        self.now.fetch_add(nanos, Ordering::Relaxed) + nanos
    }

    fn set_wall_by(&self, nanos: i64) {
        self.lead.fetch_add(nanos, Ordering::Relaxed);
    }

    /// A packet arrives now: when, and the kernel's stamp.
    fn arrive(&self) -> (Timestamp, Option<WallTime>) {
        (self.now(), Some(WallTime(self.unix_nanos())))
    }
}

impl Clock for Clocks {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now.load(Ordering::Relaxed))
    }

    fn anchor(&self) -> Anchor {
        Anchor {
            unix_nanos: 0,
            monotonic_nanos: 0,
        }
    }

    fn unix_nanos(&self) -> u64 {
        let lead = self.lead.load(Ordering::Relaxed);
        self.now().nanos().saturating_add_signed(lead)
    }
}

fn stamper(clocks: &Arc<Clocks>) -> Stamper {
    Stamper::new(Arc::clone(clocks) as Arc<dyn Clock>)
}

#[test]
fn a_packet_is_dated_by_its_arrival() {
    let clocks = Clocks::start();
    let stamper = stamper(&clocks);
    for delay in [0, 50_000, 20 * MILLISECOND] {
        clocks.pass(MILLISECOND);
        let (came, stamp) = clocks.arrive();
        clocks.pass(delay);
        let dated = stamper.date(stamp, Timestamp::ZERO);
        assert_eq!((dated.at, dated.source), (came, StampSource::Kernel));
        assert_eq!(dated.read, clocks.now());
    }
}

#[test]
fn without_the_kernels_stamp_the_read_counts() {
    let clocks = Clocks::start();
    let dated = stamper(&clocks).date(None, Timestamp::ZERO);
    assert_eq!(dated, Stamp::by_read(clocks.now()));
}

#[test]
fn a_packet_cannot_come_before_the_request() {
    let clocks = Clocks::start();
    let stamper = stamper(&clocks);
    let (came, stamp) = clocks.arrive();
    clocks.pass(MILLISECOND);
    // A little may be the conversion, a lot is a clock that was set.
    let little = came.after(std::time::Duration::from_micros(5));
    assert_eq!(stamper.date(stamp, little).at, little);
    let lot = came.after(std::time::Duration::from_micros(500));
    assert_eq!(stamper.date(stamp, lot), Stamp::by_read(clocks.now()));
}

#[test]
fn a_wall_clock_that_is_set_moves_no_stamp() {
    for step in [HOUR, -HOUR, 10_000_000, -10_000_000] {
        let clocks = Clocks::start();
        let stamper = stamper(&clocks);
        let (_, stamp) = clocks.arrive();
        stamper.date(stamp, Timestamp::ZERO);
        clocks.pass(MILLISECOND);
        let (_, before) = clocks.arrive();
        clocks.set_wall_by(step);
        clocks.pass(MILLISECOND);
        let dated = stamper.date(before, Timestamp::ZERO);
        assert_eq!(dated, Stamp::by_read(clocks.now()), "{step}");
        clocks.pass(MILLISECOND);
        let (came, after) = clocks.arrive();
        clocks.pass(MILLISECOND);
        let dated = stamper.date(after, Timestamp::ZERO);
        assert_eq!((dated.at, dated.source), (came, StampSource::Kernel));
        // Another connection's packet, which waited since before the step.
        let dated = stamper.date(before, Timestamp::ZERO);
        assert_eq!(dated, Stamp::by_read(clocks.now()), "{step}");
    }
}

/// What happens between one read and the next.
#[derive(Debug, Clone)]
struct Happening {
    pause: u64,
    /// From the packet's arrival to its read.
    delay: u64,
    /// Parts per million.
    slew: i64,
    /// The wall clock is set: before the packet, or between it and its read.
    step: Option<(bool, i64)>,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let step = prop_oneof![10_000_000..HOUR, -HOUR..-10_000_000];
    let one = (
        0..500 * MILLISECOND,
        0..20 * MILLISECOND,
        -500..500i64,
        prop::option::weighted(0.2, (any::<bool>(), step)),
    );
    let one = one.prop_map(|(pause, delay, slew, step)| Happening {
        pause,
        delay,
        slew,
        step,
    });
    prop::collection::vec(one, 1..40)
}

proptest! {
    /// Dated within the bound of the difference, or by the read; never later than the read.
    #[test]
    fn no_wall_clock_makes_a_stamp_wrong(happenings in happenings()) {
        let clocks = Clocks::start();
        let stamper = stamper(&clocks);
        let (_, first) = clocks.arrive();
        stamper.date(first, Timestamp::ZERO);
        for happening in happenings {
            let slewed = |nanos: u64| i64::try_from(nanos).unwrap() * happening.slew / 1_000_000;
            clocks.pass(happening.pause);
            clocks.set_wall_by(slewed(happening.pause));
            if let Some((true, step)) = happening.step {
                clocks.set_wall_by(step);
            }
            let (came, stamp) = clocks.arrive();
            if let Some((false, step)) = happening.step {
                clocks.set_wall_by(step);
            }
            clocks.pass(happening.delay);
            clocks.set_wall_by(slewed(happening.delay));
            let dated = stamper.date(stamp, Timestamp::ZERO);
            prop_assert!(dated.at <= clocks.now());
            if dated.source == StampSource::Read {
                prop_assert!(happening.step.is_some());
                prop_assert_eq!(dated.at, clocks.now());
            } else {
                let passed = happening.pause + happening.delay;
                let error = dated.at.nanos().abs_diff(came.nanos());
                prop_assert!(u128::from(error) <= JITTER.unsigned_abs() + u128::from(passed / 500));
            }
        }
    }
}
