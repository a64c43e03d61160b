//! Latencies of queries from their timestamps (docs/method.md §2).
//!
//! Rows are added one at a time. Each duration lies within one row and so on one part's clock.
//! Durations of several parts may share a distribution; instants may not, and none is stored.

use ipw_core::row::Row;
use serde::{Deserialize, Serialize};

use crate::interval::real;
use crate::percentile::Summary;
use crate::sample::Sample;

/// Start of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// From `due`: the latency that a user of the schedule observes.
    Planned,
    /// From `sent`: the latency of the service.
    Sent,
}

/// A value for each origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Origins<T> {
    /// From `due`.
    pub planned: T,
    /// From `sent`.
    pub sent: T,
}

/// Latencies of one query in seconds. All but the lag are `None` for an unanswered query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency {
    /// To the first token.
    pub first_token: Origins<Option<f64>>,
    /// To the first token of the answer.
    pub first_answer_token: Origins<Option<f64>>,
    /// To the end.
    pub total: Origins<Option<f64>>,
    /// From the first chunk to the last, per output token after the first (TPOT). `None` for fewer
    /// than two tokens or two chunks.
    pub per_output_token: Option<f64>,
    /// Mean gap between successive chunks; `None` for fewer than two chunks.
    pub mean_gap: Option<f64>,
    /// From `due` to `start`: the delay of the load generator, whatever the outcome.
    pub schedule_lag: Option<f64>,
}

/// Running distributions of a [`LatencySummary`].
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    /// Whether this is the second pass over the rows.
    is_again: bool,
    rows: u64,
    answered: u64,
    first_token: Origins<Sample>,
    first_answer_token: Origins<Sample>,
    total: Origins<Sample>,
    per_output_token: Sample,
    gaps: Sample,
    mean_gaps: Sample,
    schedule_lag: Sample,
}

/// Latencies over queries, in seconds; `None` where no query has one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Number of queries.
    pub rows: u64,
    /// Number of answered queries; only they have latencies.
    pub answered: u64,
    /// Number of unanswered queries.
    pub failed: u64,
    /// To the first token.
    #[serde(alias = "first_token_seconds")]
    pub time_to_first_token_seconds: Origins<Option<Summary>>,
    /// To the first token of the answer.
    pub first_answer_token_seconds: Origins<Option<Summary>>,
    /// To the end.
    pub total_seconds: Origins<Option<Summary>>,
    /// Per output token after the first (TPOT), one value per query.
    pub per_output_token_seconds: Option<Summary>,
    /// Gaps between chunks (ITL), pooled over queries. Gaps of one query are correlated, so these
    /// intervals are too narrow.
    pub gap_seconds: Option<Summary>,
    /// Mean gap per query. Its percentiles differ from those of the gaps.
    pub mean_gap_seconds: Option<Summary>,
    /// Start delay of queries, failed ones included.
    pub schedule_lag_seconds: Option<Summary>,
}

/// Time between two instants; `None` if it is not finite or negative.
fn span(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(to? - from?).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

impl<T> Origins<T> {
    /// The value for `origin`.
    pub fn from(&self, origin: Origin) -> &T {
        match origin {
            Origin::Planned => &self.planned,
            Origin::Sent => &self.sent,
        }
    }
}

impl Origins<Sample> {
    pub(crate) fn extend(&mut self, values: Origins<Option<f64>>) {
        self.planned.extend(values.planned);
        self.sent.extend(values.sent);
    }

    pub(crate) fn summary(self) -> Origins<Option<Summary>> {
        Origins {
            planned: self.planned.summary(),
            sent: self.sent.summary(),
        }
    }

    pub(crate) fn both(&mut self) -> [&mut Sample; 2] {
        [&mut self.planned, &mut self.sent]
    }
}

/// The latencies of a query.
pub fn latency(row: &Row<'_>) -> Latency {
    let schedule_lag = span(row.due, row.start);
    if !row.is_answered {
        return Latency {
            schedule_lag,
            ..Latency::default()
        };
    }
    let until = |instant| Origins {
        planned: span(row.due, instant),
        sent: span(row.sent, instant),
    };
    let streamed = streamed(row.chunks);
    let later_tokens = row.output_tokens.filter(|tokens| *tokens >= 2);
    Latency {
        first_token: until(row.first_token),
        first_answer_token: until(row.first_answer_token),
        total: until(row.end),
        per_output_token: streamed
            .zip(later_tokens)
            .map(|(seconds, tokens)| seconds / real(tokens - 1)),
        mean_gap: streamed.map(|seconds| seconds / real(row.chunks.len() as u64 - 1)),
        schedule_lag,
    }
}

/// From the first chunk to the last; `None` for fewer than two.
fn streamed(chunks: &[f64]) -> Option<f64> {
    match chunks {
        [first, .., last] => span(Some(*first), Some(*last)),
        _ => None,
    }
}

fn gaps(chunks: &[f64]) -> impl Iterator<Item = f64> {
    chunks
        .windows(2)
        .filter_map(|pair| span(Some(pair[0]), Some(pair[1])))
}

impl Latencies {
    /// Adds one query.
    pub fn push(&mut self, row: &Row<'_>) {
        let latency = latency(row);
        self.rows += u64::from(!self.is_again);
        self.schedule_lag.extend(latency.schedule_lag);
        if !row.is_answered {
            return;
        }
        self.answered += u64::from(!self.is_again);
        self.first_token.extend(latency.first_token);
        self.first_answer_token.extend(latency.first_answer_token);
        self.total.extend(latency.total);
        self.per_output_token.extend(latency.per_output_token);
        self.mean_gaps.extend(latency.mean_gap);
        self.gaps.extend(gaps(row.chunks));
    }

    /// Ends a pass over the queries; returns whether a second pass is needed.
    pub fn wants_more(&mut self) -> bool {
        let samples = [
            self.first_token.both(),
            self.first_answer_token.both(),
            self.total.both(),
            [&mut self.per_output_token, &mut self.gaps],
            [&mut self.mean_gaps, &mut self.schedule_lag],
        ];
        self.is_again = Sample::any_wants_more(samples.into_iter().flatten());
        self.is_again
    }

    /// The summary of all added queries.
    pub fn finish(self) -> LatencySummary {
        LatencySummary {
            rows: self.rows,
            answered: self.answered,
            failed: self.rows - self.answered,
            time_to_first_token_seconds: self.first_token.summary(),
            first_answer_token_seconds: self.first_answer_token.summary(),
            total_seconds: self.total.summary(),
            per_output_token_seconds: self.per_output_token.summary(),
            gap_seconds: self.gaps.summary(),
            mean_gap_seconds: self.mean_gaps.summary(),
            schedule_lag_seconds: self.schedule_lag.summary(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: Option<f64>, wanted: f64) -> bool {
        found.is_some_and(|found| (found - wanted).abs() < 1e-9)
    }

    /// Due at 10, sent at 12, reasoning from 13, answering from 15, ended at 18.
    fn thinker(chunks: &[f64]) -> Row<'_> {
        Row {
            due: Some(10.0),
            start: Some(11.5),
            sent: Some(12.0),
            first_token: Some(13.0),
            first_answer_token: Some(15.0),
            end: Some(18.0),
            chunks,
            output_tokens: Some(9),
            is_answered: true,
            ..Row::default()
        }
    }

    #[test]
    fn latencies_are_counted_from_the_plan_and_from_the_send() {
        let latency = latency(&thinker(&[13.0, 15.0, 16.0, 17.0]));
        assert!(close(latency.first_token.planned, 3.0) && close(latency.first_token.sent, 1.0));
        let answer = latency.first_answer_token;
        assert!(close(answer.planned, 5.0) && close(answer.sent, 3.0));
        assert!(close(latency.total.planned, 8.0) && close(latency.total.sent, 6.0));
        assert!(close(latency.schedule_lag, 1.5));
        assert_eq!(latency.total.from(Origin::Sent), &latency.total.sent);
    }

    #[test]
    fn time_per_output_token_ends_with_the_last_chunk_and_leaves_the_first_token_out() {
        let latency = latency(&thinker(&[13.0, 15.0, 16.0, 17.0]));
        assert!(close(latency.per_output_token, 4.0 / 8.0));
        assert!(close(latency.mean_gap, 4.0 / 3.0));
    }

    #[test]
    fn fewer_than_two_tokens_or_chunks_have_no_time_per_output_token() {
        let mut short = thinker(&[13.0, 14.0]);
        for tokens in [None, Some(0), Some(1)] {
            short.output_tokens = tokens;
            assert_eq!(latency(&short).per_output_token, None);
        }
        // A single chunk shows nothing of the token rate.
        assert_eq!(latency(&thinker(&[13.0])).per_output_token, None);
        assert_eq!(latency(&thinker(&[])).mean_gap, None);
    }

    #[test]
    fn failed_queries_have_no_latency_and_are_counted() {
        let mut latencies = Latencies::default();
        latencies.push(&thinker(&[13.0, 14.0]));
        latencies.push(&Row {
            is_answered: false,
            ..thinker(&[13.0, 99.0])
        });
        let found = latencies.finish();
        assert_eq!((found.rows, found.answered, found.failed), (2, 1, 1));
        assert_eq!(found.total_seconds.sent.unwrap().count, 1);
        assert!((found.gap_seconds.unwrap().max - 1.0).abs() < 1e-9);
        assert_eq!(found.schedule_lag_seconds.unwrap().count, 2);
    }

    /// One long query with short gaps and one short query with long gaps. The pool has mostly short
    /// gaps, the means one of each.
    #[test]
    fn pooled_gaps_and_means_per_query_are_not_the_same() {
        let quick: Vec<f64> = (0..=9).map(|chunk| f64::from(chunk) * 0.1).collect();
        let mut latencies = Latencies::default();
        latencies.push(&thinker(&quick));
        latencies.push(&thinker(&[0.0, 1.0]));
        let found = latencies.finish();
        let (pool, means) = (found.gap_seconds.unwrap(), found.mean_gap_seconds.unwrap());
        assert_eq!((pool.count, means.count), (10, 2));
        assert!((pool.mean - 0.19).abs() < 1e-9 && (means.mean - 0.55).abs() < 1e-9);
    }

    #[test]
    fn what_runs_backwards_or_is_no_number_is_not_known() {
        let backwards = Row {
            due: Some(13.5),
            sent: Some(f64::NAN),
            ..thinker(&[14.0, 13.0, f64::INFINITY])
        };
        let latency = latency(&backwards);
        assert_eq!(latency.first_token, Origins::default());
        assert_eq!((latency.mean_gap, latency.schedule_lag), (None, None));
        let mut latencies = Latencies::default();
        latencies.push(&backwards);
        assert_eq!(latencies.finish().gap_seconds, None);
    }

    #[test]
    fn without_rows_there_is_nothing() {
        let nothing = Latencies::default().finish();
        assert_eq!((nothing.rows, nothing.total_seconds.planned), (0, None));
    }

    proptest! {
        /// A part's clock may start anywhere; no statistic depends on it.
        #[test]
        fn the_reference_of_a_clock_does_not_matter(
            instants in prop::collection::vec(0.0..100.0, 6),
            chunks in prop::collection::vec(0.0..100.0, 0..20),
            shift in -1000_i32..1000,
        ) {
            let mut instants = instants;
            let mut chunks: Vec<f64> = chunks;
            instants.sort_by(f64::total_cmp);
            chunks.sort_by(f64::total_cmp);
            let shift = f64::from(shift);
            let later: Vec<f64> = chunks.iter().map(|chunk| chunk + shift).collect();
            let row = |part, shift: f64, chunks| Row {
                part,
                due: Some(instants[0] + shift),
                start: Some(instants[1] + shift),
                sent: Some(instants[2] + shift),
                first_token: Some(instants[3] + shift),
                first_answer_token: Some(instants[4] + shift),
                end: Some(instants[5] + shift),
                chunks,
                output_tokens: Some(7),
                is_answered: true,
                ..Row::default()
            };
            let (here, there) = (latency(&row(0, 0.0, &chunks)), latency(&row(1, shift, &later)));
            let near = |left: Option<f64>, right: Option<f64>| match (left, right) {
                (Some(left), Some(right)) => (left - right).abs() < 1e-9,
                // Equal instants may differ by rounding, and then run backwards.
                (Some(only), None) | (None, Some(only)) => only < 1e-9,
                (None, None) => true,
            };
            prop_assert!(near(here.total.planned, there.total.planned));
            prop_assert!(near(here.first_token.sent, there.first_token.sent));
            prop_assert!(near(here.per_output_token, there.per_output_token));
            prop_assert!(near(here.mean_gap, there.mean_gap));
        }
    }
}
