//! Contribution of a row to the metrics: its own values, and terms of sums over rows.

use std::collections::HashMap;

use ipw_core::row::{self, Fields};

use super::frame::{Frame, WindowShare};
use crate::interval::{known, real};
use crate::latency::latency;

/// The numbers of one row; `None` where a value is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row<'a> {
    /// The query; equal texts in two runs are the same prompt.
    pub query: &'a str,
    /// Energy on the basis, in joules.
    pub joules: Option<f64>,
    /// Energy before the first token, in joules, where that time is prefill.
    pub prefill_joules: Option<f64>,
    /// Energy from the first token on, in joules.
    pub decode_joules: Option<f64>,
    /// Time from the start to the end, in seconds.
    pub seconds: Option<f64>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// Tokens of prompt and reply.
    pub total_tokens: Option<u64>,
    /// From the planned send to the first token, in seconds.
    pub first_token: Option<f64>,
    /// From the planned send to the end, in seconds.
    pub latency: Option<f64>,
    /// From the actual send to the first token, in seconds.
    pub sent_first_token: Option<f64>,
    /// From the actual send to the end, in seconds.
    pub sent_latency: Option<f64>,
    /// Time per output token after the first, in seconds.
    pub per_output_token: Option<f64>,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Whether the answer is correct; `None` if it is ungraded.
    pub is_correct: Option<bool>,
    /// Whether it met the SLO; `None` without an SLO, or where that is unknown.
    pub is_good: Option<bool>,
    /// Its part in the windows of its run.
    pub placed: WindowShare,
}

/// A time with percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    FirstToken,
    Latency,
    SentFirstToken,
    SentLatency,
    PerOutputToken,
}

impl Time {
    pub(super) const ALL: [Self; 5] = [
        Self::FirstToken,
        Self::Latency,
        Self::SentFirstToken,
        Self::SentLatency,
        Self::PerOutputToken,
    ];
}

/// A column that is summed over rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sum {
    Rows,
    Failed,
    Correct,
    Scored,
    Good,
    Judged,
    /// Rows with energy: their energy, then their number.
    Joules,
    Metered,
    /// Rows with energy, inside the power window.
    BusyJoules,
    BusySeconds,
    /// Rows with energy and with tokens of prompt and reply.
    TokenJoules,
    Tokens,
    /// Rows with energy and output tokens.
    OutputJoules,
    MeteredOutputTokens,
    /// Rows whose time before the first token is prefill only.
    PrefillJoules,
    PrefillTokens,
    DecodeJoules,
    DecodeTokens,
    /// Answered rows with both.
    AnswerTokens,
    AnswerSeconds,
    /// Inside the throughput window.
    Completed,
    ServedTokens,
    ServedSeconds,
    /// Rows answered in that window with an unknown number of tokens.
    TokensUnknown,
}

const SUMS: usize = Sum::TokensUnknown as usize + 1;

/// The sums over some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sums([f64; SUMS]);

/// Product of sums ÷ product of sums.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    pub(super) above: &'static [Sum],
    pub(super) below: &'static [Sum],
    /// The value is unknown if this sum is zero.
    pub(super) needs: Sum,
    /// A query with zero here does not count in a paired comparison.
    pub(super) each: Sum,
    /// The value is unknown if this sum is not zero.
    pub(super) unless: Option<Sum>,
}

/// Sums over the rows of one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneQuery {
    pub(crate) rows: u64,
    pub(crate) sums: Sums,
}

impl<'a> Row<'a> {
    /// The values of this row; `frame` is that of its run.
    pub fn of(frame: &Frame, row: &row::Row<'a>) -> Self {
        let latency = latency(row);
        let joules = row.energy.joules;
        let is_prefill = row.phases.is_prefill() == Some(true);
        Self {
            query: row.id,
            joules,
            prefill_joules: row.phases.before.filter(|_| is_prefill),
            decode_joules: row.phases.after,
            seconds: row.seconds(),
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            total_tokens: row.all_tokens(),
            first_token: latency.first_token.planned.or(row.time_to_first_token),
            latency: latency.total.planned.or(row.total),
            sent_first_token: latency.first_token.sent.or(row.time_to_first_token),
            sent_latency: latency.total.sent.or(row.total),
            per_output_token: latency.per_output_token,
            is_answered: row.is_answered,
            is_correct: row.is_correct,
            is_good: row.is_slo_met,
            placed: frame.place(row, joules),
        }
    }

    /// Fields of a stored row that it needs.
    pub const fn fields() -> Fields {
        Fields::ID
            .and(Fields::SPAN)
            .and(Fields::LATENCY)
            .and(Fields::CHUNKS)
            .and(Fields::TOKENS)
            .and(Fields::ENERGY)
            .and(Fields::PHASES)
            .and(Fields::VERDICT)
            .and(Fields::SLO)
    }

    /// The row as in a sequential run, where all of its time is its own.
    #[must_use]
    pub fn alone(mut self) -> Self {
        let seconds = self.seconds.unwrap_or(0.0);
        self.placed = WindowShare {
            busy_seconds: seconds,
            busy_joules: self.joules.filter(|_| seconds > 0.0),
            served_seconds: seconds,
            served_tokens: self.output_tokens.map(real).filter(|_| self.is_answered),
            has_unknown_tokens: self.is_answered && self.output_tokens.is_none(),
            is_completed: self.is_answered,
        };
        self
    }

    /// A time of an answered row.
    pub(crate) fn time(&self, time: Time) -> Option<f64> {
        let seconds = match time {
            Time::FirstToken => self.first_token,
            Time::Latency => self.latency,
            Time::SentFirstToken => self.sent_first_token,
            Time::SentLatency => self.sent_latency,
            Time::PerOutputToken => self.per_output_token,
        };
        seconds.filter(|_| self.is_answered).and_then(known)
    }

    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        let mut put = |sum: Sum, value: f64| sums.0[sum as usize] = value;
        let one = |is: bool| f64::from(u8::from(is));
        put(Sum::Rows, 1.0);
        put(Sum::Failed, one(!self.is_answered));
        if let Some(is_correct) = self.is_correct {
            put(Sum::Correct, one(is_correct));
            put(Sum::Scored, 1.0);
        }
        if let Some(is_good) = self.is_good {
            put(Sum::Good, one(is_good));
            put(Sum::Judged, 1.0);
        }
        let latency = self.time(Time::Latency).filter(|seconds| *seconds > 0.0);
        if let (Some(tokens), Some(seconds)) = (self.output_tokens, latency) {
            put(Sum::AnswerTokens, real(tokens));
            put(Sum::AnswerSeconds, seconds);
        }
        let placed = self.placed;
        put(Sum::Completed, one(placed.is_completed));
        put(
            Sum::ServedSeconds,
            known(placed.served_seconds).unwrap_or(0.0),
        );
        put(Sum::ServedTokens, placed.served_tokens.unwrap_or(0.0));
        put(Sum::TokensUnknown, one(placed.has_unknown_tokens));
        self.energy_sums(&mut sums);
        sums
    }

    fn energy_sums(&self, sums: &mut Sums) {
        let Some(joules) = self.joules.and_then(known) else {
            return;
        };
        let mut put = |sum: Sum, value: f64| sums.0[sum as usize] = value;
        put(Sum::Joules, joules);
        put(Sum::Metered, 1.0);
        let busy = known(self.placed.busy_seconds).filter(|seconds| *seconds > 0.0);
        if let (Some(inside), Some(busy)) = (self.placed.busy_joules.and_then(known), busy) {
            put(Sum::BusyJoules, inside);
            put(Sum::BusySeconds, busy);
        }
        let counted = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0).map(real);
        if let Some(tokens) = counted(self.total_tokens) {
            put(Sum::TokenJoules, joules);
            put(Sum::Tokens, tokens);
        }
        let (input, output) = (counted(self.input_tokens), counted(self.output_tokens));
        if let Some(tokens) = output {
            put(Sum::OutputJoules, joules);
            put(Sum::MeteredOutputTokens, tokens);
        }
        if let (Some(prefill), Some(tokens)) = (self.prefill_joules.and_then(known), input) {
            put(Sum::PrefillJoules, prefill);
            put(Sum::PrefillTokens, tokens);
        }
        if let (Some(decode), Some(tokens)) = (self.decode_joules.and_then(known), output) {
            put(Sum::DecodeJoules, decode);
            put(Sum::DecodeTokens, tokens);
        }
    }
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum += other;
        }
    }

    pub(crate) fn over(mut self, count: u64) -> Self {
        for sum in &mut self.0 {
            *sum /= real(count);
        }
        self
    }

    fn of(&self, sum: Sum) -> f64 {
        self.0[sum as usize]
    }
}

impl Recipe {
    /// The value; `None` if a sum of the denominator is zero or a needed sum is.
    pub(crate) fn value(&self, sums: &Sums) -> Option<f64> {
        self.made_from(|sum| sums.of(sum))
    }

    /// The value without one of the queries.
    pub(crate) fn value_without(&self, sums: &Sums, one: &Sums) -> Option<f64> {
        self.made_from(|sum| sums.of(sum) - one.of(sum))
    }

    fn made_from(&self, get: impl Fn(Sum) -> f64) -> Option<f64> {
        let product = |columns: &[Sum]| columns.iter().map(|sum| get(*sum)).product::<f64>();
        let mut needed = self.below.iter().chain([&self.needs]);
        let is_there = needed.all(|sum| get(*sum) > 0.0);
        let is_spoilt = self.unless.is_some_and(|sum| get(sum) > 0.0);
        (is_there && !is_spoilt)
            .then(|| product(self.above) / product(self.below))
            .and_then(known)
    }

    /// First-order influence of one query on the logarithm of the value, times the number of
    /// queries. It is the sum of its relative deviations in the numerator less that in the
    /// denominator. `None` where the value has no logarithm.
    pub(crate) fn influence(&self, one: &Sums, means: &Sums) -> Option<f64> {
        let distance = |columns: &[Sum]| -> Option<f64> {
            columns
                .iter()
                .map(|sum| {
                    let mean = means.of(*sum);
                    (mean > 0.0).then(|| one.of(*sum) / mean - 1.0)
                })
                .sum()
        };
        known(distance(self.above)? - distance(self.below)?)
    }

    /// Whether these sums contribute to the metric.
    pub(crate) fn is_known(&self, sums: &Sums) -> bool {
        sums.of(self.each) > 0.0
    }

    /// The numerator of a share: the number of hits.
    pub(crate) fn hits(&self, sums: &Sums) -> f64 {
        self.above.iter().map(|sum| sums.of(*sum)).sum()
    }
}

/// Sums rows by query, in the order of their first appearance.
pub(crate) fn by_query<'a>(rows: &[Row<'a>]) -> Vec<(&'a str, OneQuery)> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(rows.len());
    let mut units: Vec<(&str, OneQuery)> = Vec::new();
    for row in rows {
        let place = *places.entry(row.query).or_insert_with(|| {
            let empty = OneQuery {
                rows: 0,
                sums: Sums::default(),
            };
            units.push((row.query, empty));
            units.len() - 1
        });
        let unit = &mut units[place].1;
        unit.rows += 1;
        unit.sums.add(&row.sums());
    }
    units
}

/// The sums over these queries.
pub(crate) fn total<'a>(queries: impl IntoIterator<Item = &'a Sums>) -> Sums {
    let mut all = Sums::default();
    for one in queries {
        all.add(one);
    }
    all
}
