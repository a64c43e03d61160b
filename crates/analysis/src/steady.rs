//! The exact window of full load, and the throughput in it.
//!
//! Ramp and drain are not the requested load; averages over them depend on the length of the run.
//! There are two passes: [`Flights`] finds each part's window from starts and ends, [`Steady`]
//! measures the rows within it. Windows never cross parts, as their instants lie on different
//! clocks. Counts, seconds and durations of several windows add up.

use std::collections::BTreeMap;

use ipw_core::row::Row;
use serde::{Deserialize, Serialize};

use crate::interval::real;
use crate::latency::{self, Origins};
use crate::percentile::Summary;
use crate::sample::Sample;

#[cfg(test)]
mod tests;

/// How queries are sent; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// A fixed number in flight: a query starts when another ends.
    Closed {
        /// Number of queries in flight.
        concurrency: u64,
        /// Longest time below that number that does not end the window: from a query's end to the
        /// next start.
        tolerance: f64,
    },
    /// By a schedule, independent of the number in flight.
    Open {
        /// Length of the ramp, from the first arrival.
        ramp: f64,
    },
}

/// The window of one part, in seconds on its clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Window {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub until: f64,
    /// Mean number of queries in flight.
    pub mean_in_flight: f64,
    /// Number of short times below the concurrency that it bridges.
    pub dips: u64,
    /// The longest of them; `None` without any.
    pub longest_dip: Option<f64>,
    /// Number of other intervals of full load in this part, separated by more than the tolerance.
    /// The window is the longest interval.
    pub other_stretches: u64,
}

/// Why a part has no window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum NotSteady {
    /// No query has a start and an end.
    #[error("no query was in flight")]
    NoQueries,
    /// The concurrency was never reached.
    #[error("at most {most} of {wanted} queries were in flight")]
    NeverFull {
        /// Largest number in flight.
        most: u64,
        /// The concurrency.
        wanted: u64,
    },
    /// The last arrival was before the end of the ramp.
    #[error("the last query came before the ramp was over")]
    StillRamping,
    /// All arrivals were at the same time.
    #[error("all queries came at once")]
    NoTime,
}

/// Starts and ends of queries, by part.
#[derive(Debug, Clone, Default)]
pub struct Flights {
    parts: BTreeMap<u32, Vec<Flight>>,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    arrival: f64,
    start: f64,
    end: f64,
}

/// A time with a constant number in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) in_flight: u64,
}

/// Running sums of [`Steady`].
#[derive(Debug, Clone, Default)]
pub struct SteadyTally {
    windows: BTreeMap<u32, Window>,
    completed: u64,
    failed: u64,
    tokens: f64,
    has_unknown_tokens: bool,
    first_token: Origins<Sample>,
    total: Origins<Sample>,
    /// Whether this is the second pass over the rows.
    is_again: bool,
}

/// Throughput and latency at full load, over the windows of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Total length of the windows.
    pub seconds: f64,
    /// Mean number of queries in flight over that time.
    pub mean_in_flight: f64,
    /// Answered queries that ended in it.
    pub completed: u64,
    /// Queries that ended in it without an answer.
    pub failed: u64,
    /// Answered queries per second.
    pub requests_per_second: f64,
    /// Tokens of answered queries per second of that time, with a query's tokens spread over its
    /// chunks. `None` if a query in flight has an unknown number of tokens.
    pub output_tokens_per_second: Option<f64>,
    /// Time to the first token of answered queries that lie wholly inside.
    #[serde(alias = "first_token_seconds")]
    pub time_to_first_token_seconds: Origins<Option<Summary>>,
    /// Time to the end of the same queries.
    pub total_seconds: Origins<Option<Summary>>,
}

impl Flights {
    /// Adds one query, answered or not, as a failed one was in flight too.
    pub fn push(&mut self, row: &Row<'_>) {
        let (Some(start), Some(end)) = (row.start, row.end) else {
            return;
        };
        let arrival = row.due.unwrap_or(start);
        let is_time = start.is_finite() && end.is_finite() && arrival.is_finite();
        if is_time && end >= start {
            let flight = Flight {
                arrival,
                start,
                end,
            };
            self.parts.entry(row.part).or_default().push(flight);
        }
    }

    /// Starts and ends of the queries of one part.
    pub fn spans(&self, part: u32) -> impl Iterator<Item = (f64, f64)> {
        let flights = self.parts.get(&part).into_iter().flatten();
        flights.map(|flight| (flight.start, flight.end))
    }

    /// The parts with a query.
    pub fn parts(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.keys().copied()
    }

    /// From the first start to the last end of each part.
    pub fn extents(&self) -> BTreeMap<u32, Window> {
        let extent = |flights: &Vec<Flight>| {
            let first = flights.iter().map(|flight| flight.start).reduce(f64::min)?;
            let last = flights.iter().map(|flight| flight.end).reduce(f64::max)?;
            Some(Window::new(first, last))
        };
        let extents = self.parts.iter();
        extents
            .filter_map(|(part, flights)| Some((*part, extent(flights)?)))
            .collect()
    }

    /// The events of a part.
    pub(crate) fn events(&self, part: u32) -> Events {
        Events::of(self.parts.get(&part).map_or(&[], Vec::as_slice))
    }

    /// The window of each part with a query.
    pub fn windows(&self, load: Load) -> BTreeMap<u32, Result<Window, NotSteady>> {
        self.parts
            .iter()
            .map(|(part, flights)| (*part, window(flights, load)))
            .collect()
    }
}

fn window(flights: &[Flight], load: Load) -> Result<Window, NotSteady> {
    let events = Events::of(flights);
    let mut window = match load {
        Load::Closed {
            concurrency,
            tolerance,
        } => longest_full(&events, concurrency, tolerance)?,
        Load::Open { ramp } => between_arrivals(flights, ramp)?,
    };
    window.mean_in_flight = mean_in_flight(&events, window.from, window.until);
    Ok(window)
}

/// Starts and ends of queries, each sorted.
pub(crate) struct Events {
    starts: Vec<f64>,
    ends: Vec<f64>,
}

impl Events {
    fn of(flights: &[Flight]) -> Self {
        // A query without a length is never in flight, and its end must not precede its start.
        let flights = flights.iter().filter(|flight| flight.end > flight.start);
        let in_order = |instant: fn(&Flight) -> f64| {
            let mut instants = Vec::with_capacity(flights.clone().count());
            instants.extend(flights.clone().map(instant));
            instants.sort_unstable_by(f64::total_cmp);
            instants
        };
        Self {
            starts: in_order(|flight| flight.start),
            ends: in_order(|flight| flight.end),
        }
    }

    /// Number of queries.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() + self.ends.len()
    }

    /// The number of queries in flight from each event to the next.
    pub(crate) fn levels(&self) -> Levels<'_> {
        Levels {
            starts: &self.starts,
            ends: &self.ends,
            in_flight: 0,
        }
    }
}

/// The levels between events, from the first one on.
pub(crate) struct Levels<'a> {
    starts: &'a [f64],
    ends: &'a [f64],
    in_flight: u64,
}

impl Iterator for Levels<'_> {
    type Item = Level;

    fn next(&mut self) -> Option<Level> {
        loop {
            // At equal instants, starts come first, so the number in flight is never negative.
            let from = match (self.starts, self.ends) {
                ([start, later @ ..], [end, ..]) if start <= end => {
                    self.starts = later;
                    self.in_flight += 1;
                    *start
                }
                (_, [end, later @ ..]) => {
                    self.ends = later;
                    self.in_flight -= 1;
                    *end
                }
                (_, []) => return None,
            };
            let next = self.starts.first().into_iter().chain(self.ends.first());
            let until = next.copied().reduce(f64::min)?;
            if until > from {
                return Some(Level {
                    from,
                    until,
                    in_flight: self.in_flight,
                });
            }
        }
    }
}

fn longest_full(events: &Events, concurrency: u64, tolerance: f64) -> Result<Window, NotSteady> {
    let mut longest: Option<Window> = None;
    let mut last: Option<Window> = None;
    let (mut stretches, mut most) = (0_u64, None);
    for level in events.levels() {
        most = most.max(Some(level.in_flight));
        if level.in_flight < concurrency {
            continue;
        }
        match &mut last {
            Some(last) if level.from - last.until <= tolerance.max(0.0) => {
                let dip = level.from - last.until;
                if dip > 0.0 {
                    last.dips += 1;
                    last.longest_dip = Some(last.longest_dip.map_or(dip, |most| most.max(dip)));
                }
                last.until = level.until;
            }
            _ => {
                let before = last.replace(Window::new(level.from, level.until));
                longest = longer(longest, before);
                stretches += 1;
            }
        }
    }
    match (longer(longest, last), most) {
        (Some(window), _) => Ok(Window {
            other_stretches: stretches - 1,
            ..window
        }),
        (None, Some(most)) => Err(NotSteady::NeverFull {
            most,
            wanted: concurrency,
        }),
        (None, None) => Err(NotSteady::NoQueries),
    }
}

/// The longer of two intervals; the later one on a tie.
fn longer(one: Option<Window>, later: Option<Window>) -> Option<Window> {
    let length = |window: &Window| window.until - window.from;
    let both = one.into_iter().chain(later);
    both.max_by(|left, right| length(left).total_cmp(&length(right)))
}

fn between_arrivals(flights: &[Flight], ramp: f64) -> Result<Window, NotSteady> {
    let arrivals = || flights.iter().map(|flight| flight.arrival);
    let first = arrivals().min_by(f64::total_cmp);
    let last = arrivals().max_by(f64::total_cmp);
    let (first, until) = first.zip(last).ok_or(NotSteady::NoQueries)?;
    let from = first + ramp.max(0.0);
    if until > from {
        Ok(Window::new(from, until))
    } else if until > first {
        Err(NotSteady::StillRamping)
    } else {
        Err(NotSteady::NoTime)
    }
}

/// Mean number of queries in flight from `from` to `until`.
fn mean_in_flight(events: &Events, from: f64, until: f64) -> f64 {
    let within = events.levels().map(|level| {
        let seconds = level.until.min(until) - level.from.max(from);
        seconds.max(0.0) * real(level.in_flight)
    });
    within.sum::<f64>() / (until - from)
}

/// Mean number of queries in flight in each of `count` equal blocks from `from` to `until`.
pub(crate) fn block_means(spans: &[(f64, f64)], from: f64, until: f64, count: u32) -> Vec<f64> {
    let width = (until - from) / f64::from(count);
    let mut means = vec![0.0; count as usize];
    for (start, end) in spans {
        let (start, end) = (start.max(from), end.min(until));
        for (block, mean) in (0..count).zip(&mut means) {
            let block_start = from + width * f64::from(block);
            let seconds = end.min(block_start + width) - start.max(block_start);
            *mean += seconds.max(0.0) / width;
        }
    }
    means
}

impl Window {
    /// The time from `from` to `until`.
    pub fn new(from: f64, until: f64) -> Self {
        Self {
            from,
            until,
            mean_in_flight: 0.0,
            dips: 0,
            longest_dip: None,
            other_stretches: 0,
        }
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.until - self.from
    }

    /// Whether it contains an instant of its part. The start is excluded and the end included: a
    /// window between two ends of queries then has as many ends as queries.
    pub fn holds(&self, instant: f64) -> bool {
        self.from < instant && instant <= self.until
    }
}

impl SteadyTally {
    /// Empty sums for these windows, as found by [`Flights::windows`].
    pub fn within(windows: BTreeMap<u32, Window>) -> Self {
        Self {
            windows,
            ..Self::default()
        }
    }

    /// Adds one query. A part without a window contributes nothing.
    pub fn push(&mut self, row: &Row<'_>) {
        let (Some(window), Some(start), Some(end)) =
            (self.windows.get(&row.part).copied(), row.start, row.end)
        else {
            return;
        };
        let ends_inside = window.holds(end);
        if self.is_again {
            if row.is_answered && ends_inside && start >= window.from {
                self.sample(row);
            }
            return;
        }
        if !row.is_answered {
            self.failed += u64::from(ends_inside);
            return;
        }
        if ends_inside {
            self.completed += 1;
            if start >= window.from {
                self.sample(row);
            }
        }
        if start < window.until && end > window.from {
            match row.output_tokens {
                Some(tokens) => self.tokens += real(tokens) * share_inside(row, end, &window),
                None => self.has_unknown_tokens = true,
            }
        }
    }

    fn sample(&mut self, row: &Row<'_>) {
        let latency = latency::latency(row);
        self.first_token.extend(latency.first_token);
        self.total.extend(latency.total);
    }

    /// Ends a pass over the queries; returns whether a second pass is needed.
    pub fn wants_more(&mut self) -> bool {
        let samples = [self.first_token.both(), self.total.both()];
        self.is_again = Sample::any_wants_more(samples.into_iter().flatten());
        self.is_again
    }

    /// The result over all added queries; `None` without a window.
    pub fn finish(self) -> Option<Steady> {
        let seconds: f64 = self.windows.values().map(Window::seconds).sum();
        if seconds <= 0.0 {
            return None;
        }
        let flight_seconds: f64 = self
            .windows
            .values()
            .map(|window| window.mean_in_flight * window.seconds())
            .sum();
        Some(Steady {
            seconds,
            mean_in_flight: flight_seconds / seconds,
            completed: self.completed,
            failed: self.failed,
            requests_per_second: real(self.completed) / seconds,
            output_tokens_per_second: (!self.has_unknown_tokens).then(|| self.tokens / seconds),
            time_to_first_token_seconds: self.first_token.summary(),
            total_seconds: self.total.summary(),
        })
    }
}

/// The share of a reply that arrived inside the window: by chunks, or at its end without chunks.
pub(crate) fn share_inside(row: &Row<'_>, end: f64, window: &Window) -> f64 {
    if row.chunks.is_empty() {
        return if window.holds(end) { 1.0 } else { 0.0 };
    }
    let inside = row.chunks.iter().filter(|chunk| window.holds(**chunk));
    real(inside.count() as u64) / real(row.chunks.len() as u64)
}
