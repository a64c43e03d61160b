//! Which rows are shown: all of them, or an even sample with what stands out.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use ipw_core::row::{Row, Share};
use ipw_store::Overview;

use super::budget::shorten;
use super::{LineShare, QueryLine, Text};

/// Rows that a page shows at the most.
pub(super) const MOST: u64 = 10_000;
/// Of these, when there are more: an even sample, queries without an answer (evenly, too), and the
/// slowest and the costliest.
const EVEN: u64 = 7_000;
const FAILED: u64 = 2_000;
const WORST: usize = 500;
/// What is kept of a text while it is not known how much room there will be, in bytes.
const ROOM: u64 = 4 << 20;
const LONGEST: u64 = 64 << 10;

/// Rows that are shown.
#[derive(Debug, Default)]
pub(super) struct Lines {
    kept: Vec<QueryLine>,
    slowest: BinaryHeap<Worst>,
    costliest: BinaryHeap<Worst>,
    without_texts: bool,
    /// Sampling step: one in `every` rows is kept, and one in `every_failed` failed rows.
    every: u64,
    every_failed: u64,
    seen: u64,
    failed: u64,
    /// Bytes that each text may have.
    longest: usize,
}

/// A row by how bad it is: the least bad is the first to go.
#[derive(Debug)]
struct Worst {
    badness: f64,
    line: QueryLine,
}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.badness.total_cmp(&self.badness)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}

impl Lines {
    pub(super) fn of(overview: &Overview, without_texts: bool) -> Self {
        let sampled = overview.rows > MOST;
        let every = |rows: u64, most: u64| {
            if sampled {
                rows.div_ceil(most).max(1)
            } else {
                1
            }
        };
        let shown = overview.rows.clamp(1, MOST);
        Self {
            without_texts,
            every: every(overview.rows, EVEN),
            every_failed: every(overview.unanswered(), FAILED),
            longest: usize::try_from((ROOM / shown).min(LONGEST)).unwrap_or(usize::MAX),
            ..Self::default()
        }
    }

    /// Takes the row if it is to be shown.
    pub(super) fn offer(&mut self, row: &Row<'_>) {
        let is_even = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        let is_failed = !row.is_answered && self.failed.is_multiple_of(self.every_failed);
        self.failed += u64::from(!row.is_answered);
        if is_even || is_failed {
            let line = self.line(row);
            self.kept.push(line);
            return;
        }
        self.offer_worst(row);
    }

    fn offer_worst(&mut self, row: &Row<'_>) {
        let worst = |heap: &BinaryHeap<Worst>, badness: Option<f64>| {
            let least = heap.peek().filter(|_| heap.len() >= WORST);
            badness.filter(|badness| least.is_none_or(|least| *badness > least.badness))
        };
        let slow = worst(&self.slowest, row.total);
        let costly = worst(&self.costliest, row.energy.joules);
        if slow.is_none() && costly.is_none() {
            return;
        }
        let line = self.line(row);
        for (heap, badness) in [(&mut self.slowest, slow), (&mut self.costliest, costly)] {
            let Some(badness) = badness else { continue };
            if heap.len() >= WORST {
                heap.pop();
            }
            heap.push(Worst {
                badness,
                line: line.clone(),
            });
        }
    }

    fn line(&self, row: &Row<'_>) -> QueryLine {
        let text = |text: Option<&str>| {
            let text = text.filter(|text| !self.without_texts && !text.is_empty());
            text.map(|text| shorten(text, self.longest))
        };
        let is_estimated = row
            .energy
            .basis
            .is_some_and(|basis| basis.ends_with("estimated"));
        let share = |share: &Share<'_>| LineShare {
            name: share.name.to_owned(),
            joules: share.joules,
            sigma_joules: share.sigma,
            method: share.method.to_owned(),
            coverage: share.coverage,
            reason: share.reason.map(str::to_owned),
        };
        QueryLine {
            index: row.index,
            part: row.part,
            subject: row.subject.map(|subject| shorten(subject, 80).text),
            // An empty prompt is a prompt.
            prompt: text(Some(row.texts.problem))
                .or_else(|| (!self.without_texts).then(Text::default)),
            answer: text(row.texts.answer),
            expected: text(row.texts.expected),
            reasoning: text(row.texts.reasoning),
            error: text(row.error),
            outcome: row.outcome.to_owned(),
            is_answered: row.is_answered,
            is_correct: row.is_correct,
            start: row.start,
            end: row.end,
            seconds: row.total,
            time_to_first_token_seconds: row.time_to_first_token,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            joules: row.energy.joules,
            sigma_joules: row.energy.sigma,
            above_idle_joules: row.energy.above_idle,
            is_estimated,
            energy_reason: row.energy.reason.map(str::to_owned),
            is_slo_met: row.is_slo_met,
            shares: row.shares.iter().map(share).collect(),
        }
    }

    /// Everything that is kept, in the run's order, nothing twice.
    pub(super) fn finish(&mut self) {
        let worst = std::mem::take(&mut self.slowest)
            .into_iter()
            .chain(std::mem::take(&mut self.costliest));
        self.kept.extend(worst.map(|worst| worst.line));
        self.kept.sort_by_key(|line| line.index);
        self.kept.dedup_by_key(|line| line.index);
    }

    /// Moves lines to where their parts stand on the timeline.
    pub(super) fn shift(&mut self, offsets: &BTreeMap<u32, f64>) {
        for line in &mut self.kept {
            let offset = offsets.get(&line.part);
            let moved = |at: Option<f64>| Some(at? + offset?);
            (line.start, line.end) = (moved(line.start), moved(line.end));
        }
    }

    pub(super) fn take(self) -> Vec<QueryLine> {
        self.kept
    }
}
