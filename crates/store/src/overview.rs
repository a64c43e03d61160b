//! What came out of a run, counted over its rows.

use std::collections::BTreeMap;

use ipw_analysis::sample::Sample;
use ipw_core::reply::TokenSource;
use ipw_core::row::{Fields, Row};
use serde::{Deserialize, Serialize};

use crate::{Consumer, Run, StoreError};

mod energy;

use energy::EnergySums;
pub use energy::{BasisTotals, EnergyTotals};

/// Counts and distributions over the rows of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Rows in all.
    pub rows: u64,
    /// Rows by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Token counts.
    pub tokens: TokenTotals,
    /// From the first due to the last end, in seconds, over all parts; `None` without rows.
    pub elapsed_seconds: Option<f64>,
    /// Time to the first token, in seconds, over answered queries that had one.
    pub time_to_first_token_seconds: Option<Distribution>,
    /// Time of the whole query, in seconds, over answered queries.
    pub total_query_seconds: Option<Distribution>,
    /// Output tokens per second of each answered query.
    pub throughput_tokens_per_sec: Option<Distribution>,
    /// Rows during which our own thread was not there for more than 50 ms and 5 % of their time.
    #[serde(default)]
    pub rows_delayed: u64,
    /// Energy, failed queries included.
    #[serde(default)]
    pub energy: EnergyTotals,
    /// Price of all tokens, in US dollars; `None` where no row has one.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Rows by verdict.
    #[serde(default)]
    pub verdicts: Verdicts,
    /// The same by subject; `None` where no row names one, or they are too many to list.
    #[serde(default)]
    pub subjects: Option<BTreeMap<String, Verdicts>>,
    /// Queries without an answer, by kind, the most frequent first.
    #[serde(default)]
    pub failures: Vec<FailureKind>,
}

/// Queries that ended in the same way without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureKind {
    /// The outcome that they share.
    pub outcome: String,
    /// How many.
    pub rows: u64,
    /// The first of them.
    pub query_id: String,
    /// What it said; for the screen only, as a service may quote prompt or reply.
    #[serde(skip)]
    pub error: Option<String>,
}

/// Outcomes of queries that were answered.
pub(crate) const ANSWERED: [&str; 3] = ["complete", "truncated", "refused"];

/// Rows by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Right answers.
    pub correct: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Ungraded answers, failed queries included.
    pub unscored: u64,
}

impl Verdicts {
    pub(crate) fn add(&mut self, verdict: Option<bool>) {
        match verdict {
            Some(true) => self.correct += 1,
            Some(false) => self.wrong += 1,
            None => self.unscored += 1,
        }
    }
}

/// More subjects than this are not listed.
const MOST_SUBJECTS: usize = 200;

/// Verdicts by subject.
#[derive(Default)]
struct Subjects {
    known: BTreeMap<String, Verdicts>,
    are_too_many: bool,
}

impl Subjects {
    fn add(&mut self, subject: &str, verdict: Option<bool>) {
        if let Some(verdicts) = self.known.get_mut(subject) {
            return verdicts.add(verdict);
        }
        self.are_too_many |= self.known.len() == MOST_SUBJECTS;
        if !self.are_too_many {
            let mut verdicts = Verdicts::default();
            verdicts.add(verdict);
            self.known.insert(subject.to_owned(), verdicts);
        }
    }

    fn finish(self) -> Option<BTreeMap<String, Verdicts>> {
        (!self.are_too_many && !self.known.is_empty()).then_some(self.known)
    }
}

/// Seconds of delay by our own thread, and the share of a query's time, above which a row is worth a
/// note.
const DELAYED: (f64, f64) = (0.05, 0.05);

/// Whether our own thread delayed a row.
fn is_delayed(row: &Row<'_>) -> bool {
    let (seconds, share) = DELAYED;
    let took = row.seconds().unwrap_or(0.0);
    row.own_delay
        .is_some_and(|delay| delay > seconds && delay > share * took)
}

/// Sums of tokens over the rows that know theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenTotals {
    /// Sum of the input; `None` when no row knows it.
    pub input: Option<u64>,
    /// Sum of the output; `None` when no row knows it.
    pub output: Option<u64>,
    /// Rows whose output was counted by chunks.
    pub rows_counted_by_chunks: u64,
    /// Rows whose tokens were counted by a tokenizer; `None` in files of versions that had none.
    pub rows_counted_by_tokenizer: Option<u64>,
    /// Rows whose service claims more tokens than there can be.
    pub rows_with_impossible_claims: u64,
}

impl TokenTotals {
    fn add(&mut self, row: &Row<'_>) {
        let is_by = |who: TokenSource| u64::from(row.token_source == Some(who.label()));
        self.rows_counted_by_chunks += is_by(TokenSource::Chunks);
        *self.rows_counted_by_tokenizer.get_or_insert(0) += is_by(TokenSource::Tokenizer);
        self.rows_with_impossible_claims += u64::from(row.has_impossible_claim);
        add(&mut self.input, row.input_tokens);
        add(&mut self.output, row.output_tokens);
    }
}

/// A distribution over rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Distribution {
    /// The distribution of these values; `None` without any.
    pub fn of(values: Sample) -> Option<Self> {
        let values = values.finish()?;
        Some(Self {
            count: values.count,
            mean: values.mean,
            min: values.least,
            p50: values.quantile(0.5)?,
            p90: values.quantile(0.9)?,
            p95: values.quantile(0.95)?,
            p99: values.quantile(0.99)?,
            max: values.most,
        })
    }
}

/// Rows on their way to an [`Overview`].
pub struct Counting<'a> {
    run: &'a Run,
    rows: u64,
    outcomes: BTreeMap<String, u64>,
    tokens: TokenTotals,
    rows_delayed: u64,
    time_to_first_token: Sample,
    total: Sample,
    tokens_per_second: Sample,
    /// Whether rows come for the second time.
    is_again: bool,
    /// First due and last end of each part: instants of different parts lie on different clocks.
    spans: BTreeMap<u32, (f64, f64)>,
    energy: EnergySums,
    cost_usd: Option<f64>,
    verdicts: Verdicts,
    subjects: Subjects,
    failures: Vec<FailureKind>,
}

impl Consumer for Counting<'_> {
    fn fields(&self) -> Fields {
        if self.is_again {
            return Fields::LATENCY | Fields::ENERGY;
        }
        Fields::ID
            | Fields::SUBJECT
            | Fields::ERROR
            | Fields::VERDICT
            | Fields::SPAN
            | Fields::LATENCY
            | Fields::OWN_DELAY
            | Fields::TOKENS
            | Fields::TOKEN_ORIGIN
            | Fields::ENERGY
            | Fields::COVERAGE
            | Fields::COST
    }

    fn takes_all_energy(&self) -> bool {
        true
    }

    fn wants_more(&mut self) -> bool {
        let own = [
            &mut self.time_to_first_token,
            &mut self.total,
            &mut self.tokens_per_second,
        ];
        self.is_again = Sample::any_wants_more(own) | self.energy.wants_more();
        self.is_again
    }

    fn row(&mut self, row: &Row<'_>) {
        self.time_to_first_token.extend(row.time_to_first_token);
        self.total.extend(row.total);
        self.tokens_per_second.extend(row.tokens_per_second);
        self.energy.add(row);
        if self.is_again {
            return;
        }
        self.rows += 1;
        match self.outcomes.get_mut(row.outcome) {
            Some(rows) => *rows += 1,
            None => drop(self.outcomes.insert(row.outcome.to_owned(), 1)),
        }
        self.tokens.add(row);
        if !row.is_answered {
            self.add_failure(row);
        }
        self.rows_delayed += u64::from(is_delayed(row));
        if let Some(cost) = row.cost {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
        self.verdicts.add(row.is_correct);
        if let Some(subject) = row.subject {
            self.subjects.add(subject, row.is_correct);
        }
        if let Some((due, end)) = row.due.zip(row.end) {
            let (first, last) = self.spans.entry(row.part).or_insert((due, end));
            (*first, *last) = (first.min(due), last.max(end));
        }
    }
}

impl<'a> Counting<'a> {
    /// Nothing yet, of this run.
    pub fn of(run: &'a Run) -> Self {
        Self {
            run,
            rows: 0,
            outcomes: BTreeMap::new(),
            tokens: TokenTotals::default(),
            rows_delayed: 0,
            time_to_first_token: Sample::default(),
            total: Sample::default(),
            tokens_per_second: Sample::default(),
            is_again: false,
            spans: BTreeMap::new(),
            energy: EnergySums::of(run),
            cost_usd: None,
            verdicts: Verdicts::default(),
            subjects: Subjects::default(),
            failures: Vec::new(),
        }
    }

    fn add_failure(&mut self, row: &Row<'_>) {
        let mut known = self.failures.iter_mut();
        if let Some(kind) = known.find(|kind| kind.outcome == row.outcome) {
            kind.rows += 1;
            return;
        }
        self.failures.push(FailureKind {
            outcome: row.outcome.to_owned(),
            rows: 1,
            query_id: row.id.to_owned(),
            error: row.error.map(str::to_owned),
        });
    }

    /// What came together; the run learns which rows its figures stand for.
    pub fn finish(mut self) -> Overview {
        self.failures
            .sort_by_key(|kind| std::cmp::Reverse(kind.rows));
        let spans = self.spans.values().map(|(first, last)| last - first);
        // The original has no instants.
        let elapsed: Option<f64> = (!self.spans.is_empty()).then(|| spans.sum());
        Overview {
            failures: self.failures,
            rows: self.rows,
            outcomes: self.outcomes,
            tokens: self.tokens,
            elapsed_seconds: elapsed,
            time_to_first_token_seconds: Distribution::of(self.time_to_first_token),
            total_query_seconds: Distribution::of(self.total),
            throughput_tokens_per_sec: Distribution::of(self.tokens_per_second),
            rows_delayed: self.rows_delayed,
            energy: self.energy.finish(self.run),
            cost_usd: self.cost_usd,
            verdicts: self.verdicts,
            subjects: self.subjects.finish(),
        }
    }
}

impl Overview {
    /// Counts over a run's rows, in one pass.
    pub fn of(run: &Run) -> Result<Self, StoreError> {
        let mut counting = Counting::of(run);
        run.feed(&mut [&mut counting])?;
        Ok(counting.finish())
    }

    /// Rows without an answer: neither complete, nor cut, nor refused.
    pub fn unanswered(&self) -> u64 {
        self.outcomes
            .iter()
            .filter(|(outcome, _)| !ANSWERED.contains(&outcome.as_str()))
            .map(|(_, count)| count)
            .sum()
    }

    /// Rows whose outcome is a failure or a time-out; a cancelled query is neither.
    pub fn failed(&self) -> u64 {
        let cancelled = self.outcomes.get("cancelled").copied().unwrap_or(0);
        self.unanswered() - cancelled
    }
}

fn add(sum: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0) + value);
    }
}
