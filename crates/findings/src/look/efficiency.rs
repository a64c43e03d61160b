//! What the intervals of metrics are made from.
//!
//! Few rows are kept, and their queries are drawn again. Of many rows, each of another query, sums
//! are enough: the delta method needs every row twice and keeps none. Many rows with repeated
//! queries are kept, since the rows of one query belong together.

use std::collections::BTreeMap;

use ipw_analysis::bootstrap::{Delta, MetricEstimate, intervals};
use ipw_analysis::line::fingerprint;
use ipw_analysis::metric::{Frame, Metric, Row};
use ipw_core::row::{self, Fields};
use ipw_store::Consumer;

/// Rows that are kept at the most, unless queries repeat.
const MOST_KEPT: u64 = 50_000;

/// Rows on their way to intervals.
pub(super) struct Sampling<'a> {
    frame: &'a Frame,
    state: State,
}

enum State {
    /// Whether queries repeat is not known yet.
    Looking(Vec<u64>, Delta),
    /// Every row is another query.
    Streamed(Delta),
    /// All rows, by query.
    Kept(Vec<(Box<str>, Row<'static>)>),
}

/// What intervals are made from.
pub(super) enum Sureness {
    Streamed(Delta),
    Kept(Vec<(Box<str>, Row<'static>)>),
}

impl<'a> Sampling<'a> {
    pub(super) fn of(frame: &'a Frame, rows: u64) -> Self {
        let state = if rows <= MOST_KEPT {
            State::Kept(Vec::new())
        } else {
            State::Looking(
                Vec::with_capacity(usize::try_from(rows).unwrap_or(0)),
                Delta::default(),
            )
        };
        Self { frame, state }
    }

    pub(super) fn finish(self) -> Sureness {
        match self.state {
            State::Looking(_, delta) | State::Streamed(delta) => Sureness::Streamed(delta),
            State::Kept(rows) => Sureness::Kept(rows),
        }
    }
}

impl Consumer for Sampling<'_> {
    fn fields(&self) -> Fields {
        Row::fields()
    }

    fn row(&mut self, row: &row::Row<'_>) {
        let own = Row::of(self.frame, row);
        match &mut self.state {
            State::Looking(seen, delta) => {
                seen.push(fingerprint(row.id));
                delta.push(&own);
            }
            State::Streamed(delta) => delta.push(&own),
            State::Kept(rows) => rows.push((row.id.into(), Row { query: "", ..own })),
        }
    }

    fn wants_more(&mut self) -> bool {
        let State::Looking(seen, delta) = &mut self.state else {
            return false;
        };
        seen.sort_unstable();
        seen.dedup();
        self.state = if seen.len() as u64 == delta.queries() {
            delta.look_again();
            State::Streamed(std::mem::take(delta))
        } else {
            State::Kept(Vec::new())
        };
        true
    }
}

impl Sureness {
    /// The interval of each metric.
    pub(super) fn intervals(
        &self,
        wanted: &[Metric],
        seed: u64,
    ) -> BTreeMap<Metric, Option<MetricEstimate>> {
        match self {
            Self::Streamed(delta) => delta.intervals(wanted),
            Self::Kept(rows) => {
                let rows = rows.iter().map(|(query, row)| Row { query, ..*row });
                let rows: Vec<Row<'_>> = rows.collect();
                intervals(&rows, wanted, seed)
            }
        }
    }
}
