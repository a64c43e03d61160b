//! What came out of a run, counted over its rows.

use std::collections::BTreeMap;

use arrow::array::{
    Array, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use ipw_core::reply::TokenSource;
use ipw_core::stats::{mean, quantile};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::reader::{Run, column};

mod energy;

pub use crate::standing::OTHER_BASIS;
pub(crate) use energy::EnergySums;
pub use energy::{BasisTotals, EnergyTotals};

/// Counts and distributions over the rows of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub rows_delayed: u64,
    /// Energy, failed queries included.
    pub energy: EnergyTotals,
    /// Price of all tokens, in US dollars; `None` where no row has one.
    pub cost_usd: Option<f64>,
    /// Rows by verdict.
    pub verdicts: Verdicts,
    /// The same by subject; `None` where no row names one, or they are too many to list.
    pub subjects: Option<BTreeMap<String, Verdicts>>,
    /// Queries without an answer, by kind, the most frequent first.
    pub failures: Vec<FailureKind>,
}

/// Queries that ended in the same way without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

fn add_failures(failures: &mut Vec<FailureKind>, batch: &RecordBatch) -> Result<(), StoreError> {
    let outcomes = column::<StringArray>(batch, "outcome")?;
    let ids = column::<StringArray>(batch, "query_id")?;
    let errors = column::<StringArray>(batch, "error")?;
    for ((outcome, id), error) in outcomes.iter().zip(ids).zip(errors) {
        let Some(outcome) = outcome.filter(|outcome| !ANSWERED.contains(outcome)) else {
            continue;
        };
        if let Some(kind) = failures.iter_mut().find(|kind| kind.outcome == outcome) {
            kind.rows += 1;
        } else {
            failures.push(FailureKind {
                outcome: outcome.to_owned(),
                rows: 1,
                query_id: id.unwrap_or_default().to_owned(),
                error: error.map(str::to_owned),
            });
        }
    }
    Ok(())
}

/// Rows by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Right answers.
    pub correct: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Answers that nobody could grade, failed queries included.
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

/// Rows that our own thread delayed.
fn delayed(batch: &RecordBatch) -> Result<u64, StoreError> {
    // A run of an earlier version has no such column.
    let Ok(delays) = column::<Float64Array>(batch, "timing.own_delay_seconds") else {
        return Ok(0);
    };
    let start = column::<Float64Array>(batch, "timing.start_seconds")?;
    let end = column::<Float64Array>(batch, "timing.end_seconds")?;
    let rows = delays.iter().zip(start).zip(end);
    let is_delayed = |((delay, start), end): &((Option<f64>, Option<f64>), Option<f64>)| {
        let (seconds, share) = DELAYED;
        let took = end.zip(*start).map_or(0.0, |(end, start)| end - start);
        delay.is_some_and(|delay| delay > seconds && delay > share * took)
    };
    Ok(rows.filter(is_delayed).count() as u64)
}

/// Sums of tokens over the rows that know theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenTotals {
    /// Sum of the input; `None` when no row knows it.
    pub input: Option<u64>,
    /// Sum of the output; `None` when no row knows it.
    pub output: Option<u64>,
    /// Rows whose output was counted by chunks.
    pub rows_counted_by_chunks: u64,
    /// Rows whose tokens were counted by a tokenizer.
    pub rows_counted_by_tokenizer: u64,
    /// Rows whose service claims more tokens than there can be.
    pub rows_with_impossible_claims: u64,
}

impl TokenTotals {
    fn add(&mut self, run: &Run, batch: &RecordBatch) -> Result<(), StoreError> {
        let sources = column::<StringArray>(batch, "token_source")?;
        let by = |who: TokenSource| {
            let named = sources.iter().flatten();
            named.filter(|source| *source == who.label()).count() as u64
        };
        self.rows_counted_by_chunks += by(TokenSource::Chunks);
        self.rows_counted_by_tokenizer += by(TokenSource::Tokenizer);
        self.rows_with_impossible_claims += claims(batch);
        add(&mut self.input, run.metric(batch, "token_metrics.input")?);
        add(&mut self.output, run.metric(batch, "token_metrics.output")?);
        Ok(())
    }
}

/// A distribution over rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        Some(Self {
            count: values.len() as u64,
            mean: mean(&values)?,
            min: *values.first()?,
            p50: quantile(&values, 0.5)?,
            p90: quantile(&values, 0.9)?,
            p95: quantile(&values, 0.95)?,
            p99: quantile(&values, 0.99)?,
            max: *values.last()?,
        })
    }
}

impl Overview {
    /// Counts over a run's rows: one pass, three numbers a row in memory.
    pub fn of(run: &Run) -> Result<Self, StoreError> {
        let mut outcomes = BTreeMap::new();
        let mut tokens = TokenTotals::default();
        let (mut rows, mut rows_delayed) = (0, 0);
        let (mut first_token, mut total, mut throughput) = (Vec::new(), Vec::new(), Vec::new());
        // Instants of different parts lie on different clocks.
        let mut spans: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
        let mut energy = EnergySums::of(run);
        let mut verdicts = Verdicts::default();
        let mut by_subject = Subjects::default();
        let (mut cost_usd, mut failures) = (None, Vec::new());
        for batch in run.batches() {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            for outcome in column::<StringArray>(&batch, "outcome")?.iter().flatten() {
                *outcomes.entry(outcome.to_owned()).or_insert(0) += 1;
            }
            tokens.add(run, &batch)?;
            let latency = |name: &str| {
                let path = format!("latency_metrics.{name}");
                run.metric::<Float64Array>(&batch, &path)
                    .map(|values| values.iter().flatten())
            };
            energy.add(run, &batch)?;
            add_failures(&mut failures, &batch)?;
            rows_delayed += delayed(&batch)?;
            if let Ok(costs) = run.metric::<Float64Array>(&batch, "cost.total_cost_usd") {
                for cost in costs.iter().flatten() {
                    *cost_usd.get_or_insert(0.0) += cost;
                }
            }
            let correct = run.metric::<BooleanArray>(&batch, "lm_correctness")?;
            let subjects = column::<StringArray>(&batch, "subject")?;
            for (verdict, subject) in correct.iter().zip(subjects) {
                verdicts.add(verdict);
                if let Some(subject) = subject {
                    by_subject.add(subject, verdict);
                }
            }
            first_token.extend(latency("time_to_first_token_seconds")?);
            total.extend(latency("total_query_seconds")?);
            throughput.extend(latency("throughput_tokens_per_sec")?);
            let due = column::<Float64Array>(&batch, "timing.due_seconds")?;
            let end = column::<Float64Array>(&batch, "timing.end_seconds")?;
            let part = column::<Int32Array>(&batch, "part")?;
            let instants = due.iter().flatten().zip(end.iter().flatten());
            for (part, (due, end)) in part.iter().flatten().zip(instants) {
                let (first, last) = spans.entry(part).or_insert((due, end));
                (*first, *last) = (first.min(due), last.max(end));
            }
        }
        failures.sort_by_key(|kind: &FailureKind| std::cmp::Reverse(kind.rows));
        Ok(Self {
            failures,
            rows,
            outcomes,
            tokens,
            elapsed_seconds: (rows > 0)
                .then(|| spans.values().map(|(first, last)| last - first).sum()),
            time_to_first_token_seconds: Distribution::of(first_token),
            total_query_seconds: Distribution::of(total),
            throughput_tokens_per_sec: Distribution::of(throughput),
            rows_delayed,
            energy: energy.finish(run),
            cost_usd,
            verdicts,
            subjects: by_subject.finish(),
        })
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

/// Rows with a claim that cannot be; runs of earlier versions have no such columns.
fn claims(batch: &RecordBatch) -> u64 {
    let claim = |name: &str| {
        let path = format!("token_details.claimed_{name}");
        column::<Int64Array>(batch, &path).ok()
    };
    let claims = [claim("input"), claim("output")];
    let is_claim = |row: &usize| claims.iter().flatten().any(|claim| claim.is_valid(*row));
    (0..batch.num_rows()).filter(is_claim).count() as u64
}

fn add(sum: &mut Option<u64>, values: &Int64Array) {
    for value in values.iter().flatten() {
        *sum = Some(sum.unwrap_or(0) + u64::try_from(value).unwrap_or(0));
    }
}
