//! Raw readings and time windows.

use std::time::Duration;

use crate::source::SourceIndex;
use crate::time::Timestamp;

/// One value of one source at one instant.
///
/// Only changes of a counter are stored. `previous` is when the old value was last read, so the
/// change lies in `(previous, at]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The source.
    pub source: SourceIndex,
    /// When the value was measured, not when it arrived.
    pub at: Timestamp,
    /// The poll of the source before this one; `None` for its first reading.
    pub previous: Option<Timestamp>,
    /// The value, in the source's unit.
    pub value: f64,
}

/// A half-open time interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    start: Timestamp,
    end: Timestamp,
}

impl Window {
    /// The window from `start` to `end`; `None` if `end` is before `start`.
    pub fn new(start: Timestamp, end: Timestamp) -> Option<Self> {
        (end >= start).then_some(Self { start, end })
    }

    /// Its first instant.
    pub const fn start(self) -> Timestamp {
        self.start
    }

    /// The first instant after it.
    pub const fn end(self) -> Timestamp {
        self.end
    }

    /// Its length.
    pub const fn length(self) -> Duration {
        self.end.since(self.start)
    }

    /// Overlap with the interval from `start` to `end`.
    pub fn overlap(self, start: Timestamp, end: Timestamp) -> Duration {
        self.end.min(end).since(self.start.max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn a_window_does_not_end_before_it_starts() {
        assert_eq!(Window::new(at(2), at(1)), None);
        assert_eq!(Window::new(at(1), at(1)).unwrap().length(), Duration::ZERO);
    }

    #[test]
    fn overlaps_are_never_negative() {
        let window = Window::new(at(10), at(20)).unwrap();
        for (start, end, nanos) in [(0, 5, 0), (5, 15, 5), (12, 14, 2), (15, 99, 5), (30, 40, 0)] {
            assert_eq!(
                window.overlap(at(start), at(end)),
                Duration::from_nanos(nanos)
            );
        }
    }
}
