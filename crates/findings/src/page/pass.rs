//! One pass over the rows: every number is counted, some lines are kept.

use std::collections::{BTreeMap, BTreeSet};

use ipw_analysis::percentile::Summary;
use ipw_analysis::sample::Sample;
use ipw_core::row::{Fields, Row, Share};
use ipw_store::overview::Distribution;
use ipw_store::{Consumer, Overview};

use super::Queries;
use super::budget;
use super::lines::Lines;

/// Subjects that are told apart; the rest is one.
const MOST_SUBJECTS: usize = 500;
/// The name of the rest.
pub(super) const OTHER: &str = "others";
/// Shares that fit into a page.
const MOST_SHARES: usize = 20_000;
/// Rows from which on the slowest twentieth is worth a name.
const MANY: u64 = 20;

/// What the rows say.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// Seconds of answered queries.
    pub(super) total: Values,
    /// The same, from the planned send.
    pub(super) planned: Values,
    /// To the first token.
    pub(super) first_token: Values,
    /// Output tokens per second.
    pub(super) rate: Values,
    /// Joules of queries.
    pub(super) joules: Values,
    /// Verdicts by subject.
    pub(super) subjects: BTreeMap<String, Graded>,
    /// Energy by source.
    pub(super) sources: BTreeMap<String, SourceCount>,
    /// First start and last end of each part.
    pub(super) extents: BTreeMap<u32, (f64, f64)>,
    /// Rows that are shown.
    pub(super) lines: Lines,
    is_again: bool,
}

/// Values on their way to a distribution.
#[derive(Debug, Default)]
pub(super) struct Values {
    raw: Sample,
    /// Their distribution; `None` without any.
    pub(super) summary: Option<Summary>,
}

impl Values {
    fn extend(&mut self, value: Option<f64>) {
        self.raw.extend(value);
    }

    fn finish(&mut self) {
        self.summary = std::mem::take(&mut self.raw).summary();
    }
}

/// Verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Graded {
    pub(super) correct: u64,
    pub(super) wrong: u64,
    pub(super) unscored: u64,
}

/// What a source counted for queries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SourceCount {
    pub(super) joules: f64,
    pub(super) sigma: f64,
    pub(super) rows: u64,
    pub(super) rows_without: u64,
    pub(super) methods: BTreeSet<String>,
    pub(super) least_coverage: Option<f64>,
}

impl Pass {
    /// Nothing yet, of a run with these counts.
    pub(super) fn of(overview: &Overview, without_texts: bool) -> Self {
        Self {
            lines: Lines::of(overview, without_texts),
            ..Self::default()
        }
    }

    fn values(&mut self) -> [&mut Values; 5] {
        [
            &mut self.total,
            &mut self.planned,
            &mut self.first_token,
            &mut self.rate,
            &mut self.joules,
        ]
    }

    /// Called when all rows came.
    pub(super) fn finish(&mut self) {
        self.lines.finish();
        for values in self.values() {
            values.finish();
        }
    }
}

impl Consumer for Pass {
    fn fields(&self) -> Fields {
        if self.is_again {
            return Fields::LATENCY | Fields::ENERGY;
        }
        Fields::LATENCY
            | Fields::SPAN
            | Fields::ENERGY
            | Fields::SHARES
            | Fields::VERDICT
            | Fields::SUBJECT
            | Fields::TOKENS
            | Fields::ERROR
            | Fields::SLO
            | Fields::TEXTS
    }

    fn wants_more(&mut self) -> bool {
        let samples = self.values().map(|values| &mut values.raw);
        self.is_again = Sample::any_wants_more(samples);
        self.is_again
    }

    fn row(&mut self, row: &Row<'_>) {
        self.total.extend(row.total);
        self.first_token.extend(row.time_to_first_token);
        self.rate.extend(row.tokens_per_second);
        self.planned.extend(row.planned);
        self.joules.extend(row.energy.joules);
        if self.is_again {
            return;
        }
        self.grade(row);
        for share in row.shares {
            if !self.sources.contains_key(share.name) {
                self.sources
                    .insert(share.name.to_owned(), SourceCount::default());
            }
            if let Some(counted) = self.sources.get_mut(share.name) {
                counted.add(share);
            }
        }
        let from = [row.start, row.due].into_iter().flatten();
        if let (Some(from), Some(until)) = (from.reduce(f64::min), row.end) {
            let extent = self.extents.entry(row.part).or_insert((from, until));
            *extent = (extent.0.min(from), extent.1.max(until));
        }
        self.lines.offer(row);
    }
}

impl Pass {
    fn grade(&mut self, row: &Row<'_>) {
        let Some(subject) = row.subject else { return };
        let is_new = !self.subjects.contains_key(subject);
        let name = if is_new && self.subjects.len() >= MOST_SUBJECTS {
            OTHER
        } else {
            subject
        };
        if !self.subjects.contains_key(name) {
            self.subjects.insert(name.to_owned(), Graded::default());
        }
        if let Some(graded) = self.subjects.get_mut(name) {
            match row.is_correct {
                Some(true) => graded.correct += 1,
                Some(false) => graded.wrong += 1,
                None => graded.unscored += 1,
            }
        }
    }
}

/// The lines, cut to what a page may hold.
pub(super) fn queries(lines: Lines, overview: &Overview) -> Queries {
    let mut lines = lines.take();
    let shares: usize = lines.iter().map(|line| line.shares.len()).sum();
    let is_without_shares = shares > MOST_SHARES;
    if is_without_shares {
        for line in &mut lines {
            line.shares.clear();
        }
    }
    budget::fit(&mut lines);
    let worst = |of: Option<Distribution>| of.filter(|of| of.count >= MANY).map(|of| of.p95);
    Queries {
        in_all: overview.rows,
        lines,
        slow: worst(overview.total_query_seconds),
        costly: worst(overview.energy.joules_per_query),
        is_without_shares,
    }
}

impl SourceCount {
    fn add(&mut self, share: &Share<'_>) {
        if !self.methods.contains(share.method) {
            self.methods.insert(share.method.to_owned());
        }
        let Some(joules) = share.joules else {
            self.rows_without += 1;
            return;
        };
        self.rows += 1;
        self.joules += joules;
        // The scale of a source is wrong by the same factor in every row: deviations are added.
        self.sigma += share.sigma.unwrap_or(0.0);
        let known = self.least_coverage.into_iter().chain(share.coverage);
        self.least_coverage = known.reduce(f64::min);
    }
}
