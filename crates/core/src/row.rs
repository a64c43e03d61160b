//! One row of a stored run, for analyses.
//!
//! A reader requests [`Fields`] and gets a borrowed [`Row`]. A field is `None` (a text empty, a
//! list without entries) if its value is unknown. The same holds for fields that were not requested
//! or that an older version did not write. This module is independent of the storage format.

use std::ops::BitOr;

/// The reason in a row whose energy has another basis than its run.
pub const OTHER_BASIS: &str = "other_basis";

/// One row. Instants are seconds on the clock of its part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row<'a> {
    /// Place in the run's order.
    pub index: u64,
    /// The query's own id; repetitions of a query have the same id.
    pub id: &'a str,
    /// The part of the run, which defines the clock of the instants.
    pub part: u32,
    /// Topic of the question.
    pub subject: Option<&'a str>,
    /// The outcome: `complete`, `timed_out`, `failed:connect`, …
    pub outcome: &'a str,
    /// Whether there is an answer: complete, truncated or refused.
    pub is_answered: bool,
    /// The error message.
    pub error: Option<&'a str>,
    /// Whether the answer is correct; `None` if it is ungraded.
    pub is_correct: Option<bool>,
    /// When the query was due.
    pub due: Option<f64>,
    /// When the attempt began.
    pub start: Option<f64>,
    /// When the first byte of the request was written.
    pub sent: Option<f64>,
    /// When the first token came.
    pub first_token: Option<f64>,
    /// When the first token of the answer came.
    pub first_answer_token: Option<f64>,
    /// When the query ended.
    pub end: Option<f64>,
    /// When each chunk with content came.
    pub chunks: &'a [f64],
    /// Delay of the start, in seconds: start − due.
    pub schedule_lag: Option<f64>,
    /// Time in the service's queue, in seconds, by the service's own clock.
    pub service_queue: Option<f64>,
    /// Delay of the thread that takes timestamps, in seconds.
    pub own_delay: Option<f64>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// Origin of the token counts: `usage`, `timings`, `tokenizer`, `chunks`.
    pub token_source: Option<&'a str>,
    /// Tokens of the prompt from a cache.
    pub cached_tokens: Option<u64>,
    /// Whether the service claims an impossible number of tokens.
    pub has_impossible_claim: bool,
    /// Stored time from the request to the first token, in seconds.
    pub time_to_first_token: Option<f64>,
    /// Stored time from the request to the end, in seconds.
    pub total: Option<f64>,
    /// Stored time from the due time to the end, in seconds.
    pub planned: Option<f64>,
    /// Output tokens per second.
    pub tokens_per_second: Option<f64>,
    /// Energy on the run's basis.
    pub energy: Energy<'a>,
    /// Energy by source.
    pub shares: &'a [Share<'a>],
    /// Energy before and after the first token.
    pub phases: Phases<'a>,
    /// Energy in the columns of the original.
    pub original: OriginalEnergy,
    /// Floating-point operations of the request.
    pub flops: Option<f64>,
    /// Price of the tokens, in US dollars.
    pub cost: Option<f64>,
    /// Whether it met the SLO; `None` without an SLO, or where it is unknown.
    pub is_slo_met: Option<bool>,
    /// Texts of the query and its reply.
    pub texts: Texts<'a>,
    /// How the answer was graded.
    pub evaluation: Evaluation<'a>,
}

/// Texts of the query and its reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Texts<'a> {
    /// The prompt.
    pub problem: &'a str,
    /// The expected answer.
    pub expected: Option<&'a str>,
    /// The model's answer.
    pub answer: Option<&'a str>,
    /// The model's reasoning, where the service separates it.
    pub reasoning: Option<&'a str>,
    /// Its tool calls, as JSON.
    pub tool_calls: Option<&'a str>,
}

/// How an answer was graded, as JSON texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evaluation<'a> {
    /// The scorer's result.
    pub metadata: Option<&'a str>,
    /// The scorer's configuration.
    pub config: Option<&'a str>,
}

/// Energy of a query, on the basis of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Energy<'a> {
    /// Its joules.
    pub joules: Option<f64>,
    /// One standard deviation of the joules.
    pub sigma: Option<f64>,
    /// Joules above idle.
    pub above_idle: Option<f64>,
    /// The query's share of the power, in watts, from its start to its end.
    pub share_watts: Option<f64>,
    /// The basis: `gpu`, `cpu_estimated`, …
    pub basis: Option<&'a str>,
    /// Why there is no energy.
    pub reason: Option<&'a str>,
}

/// Energy before and after the first token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phases<'a> {
    /// Meaning of the time before the first token.
    pub kind: Option<&'a str>,
    /// Joules before.
    pub before: Option<f64>,
    /// Joules after.
    pub after: Option<f64>,
}

impl Phases<'_> {
    /// Whether the time before the first token is prefill without waiting. `None` if the row does
    /// not say.
    pub fn is_prefill(&self) -> Option<bool> {
        Some(self.kind? != "wait_and_prefill")
    }
}

/// One source's energy of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share<'a> {
    /// The source.
    pub name: &'a str,
    /// Joules, idle included.
    pub joules: Option<f64>,
    /// Joules above idle.
    pub above_idle: Option<f64>,
    /// One standard deviation.
    pub sigma: Option<f64>,
    /// `counter`, `integrated`, `estimated` or `direct`.
    pub method: &'a str,
    /// Covered share of the window.
    pub coverage: Option<f64>,
    /// Why the energy is null or partial.
    pub reason: Option<&'a str>,
}

/// Energy in the columns of the original.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OriginalEnergy {
    /// Energy of the GPUs, in joules.
    pub gpu_joules: Option<f64>,
    /// Mean power of the GPUs, in watts.
    pub gpu_watts: Option<f64>,
    /// Energy of a whole chip, in joules.
    pub soc_joules: Option<f64>,
    /// Mean power of a whole chip, in watts.
    pub soc_watts: Option<f64>,
}

impl Row<'_> {
    /// From the start to the end, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        Some(self.end? - self.start?)
    }

    /// Tokens of prompt and reply.
    pub fn all_tokens(&self) -> Option<u64> {
        Some(self.input_tokens? + self.output_tokens?)
    }
}

/// Fields that a reader requests. `index`, `part`, `outcome` and `is_answered` are always present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields(u32);

impl Fields {
    /// No fields but those that are always present.
    pub const NONE: Self = Self(0);
    /// `id`.
    pub const ID: Self = Self(1);
    /// `subject`.
    pub const SUBJECT: Self = Self(1 << 1);
    /// `error`.
    pub const ERROR: Self = Self(1 << 2);
    /// `is_correct`.
    pub const VERDICT: Self = Self(1 << 3);
    /// `due`, `start`, `end`.
    pub const SPAN: Self = Self(1 << 4);
    /// `sent`, `first_token`, `first_answer_token`, and the stored `time_to_first_token`, `total`,
    /// `planned`, `tokens_per_second`.
    pub const LATENCY: Self = Self(1 << 5);
    /// `chunks`.
    pub const CHUNKS: Self = Self(1 << 6);
    /// `own_delay`.
    pub const OWN_DELAY: Self = Self(1 << 7);
    /// `input_tokens`, `output_tokens`.
    pub const TOKENS: Self = Self(1 << 8);
    /// `token_source`, `cached_tokens`, `has_impossible_claim`.
    pub const TOKEN_ORIGIN: Self = Self(1 << 9);
    /// `energy`.
    pub const ENERGY: Self = Self(1 << 10);
    /// `shares`.
    pub const SHARES: Self = Self(1 << 11);
    /// `phases`.
    pub const PHASES: Self = Self(1 << 12);
    /// `original`.
    pub const ORIGINAL: Self = Self(1 << 13);
    /// `flops`.
    pub const FLOPS: Self = Self(1 << 14);
    /// `cost`.
    pub const COST: Self = Self(1 << 15);
    /// `is_slo_met`.
    pub const SLO: Self = Self(1 << 16);
    /// `texts`.
    pub const TEXTS: Self = Self(1 << 17);
    /// `texts.problem` alone.
    pub const PROBLEM: Self = Self(1 << 18);
    /// `evaluation`.
    pub const EVALUATION: Self = Self(1 << 19);
    /// `shares`, with `name`, `joules` and `coverage` alone.
    pub const COVERAGE: Self = Self(1 << 20);
    /// `schedule_lag`, `service_queue`.
    pub const WAITING: Self = Self(1 << 21);
    /// All of them.
    pub const ALL: Self = Self((1 << 22) - 1);

    /// Whether it contains all fields of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Fields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_asked_for_together() {
        let both = Fields::SPAN | Fields::TOKENS;
        assert!(both.has(Fields::SPAN) && both.has(Fields::TOKENS) && both.has(Fields::NONE));
        assert!(!both.has(Fields::SPAN | Fields::ENERGY));
        assert!(Fields::ALL.has(both | Fields::EVALUATION));
    }

    #[test]
    fn what_a_row_does_not_know_has_no_length_and_no_sum() {
        let row = Row {
            start: Some(1.0),
            input_tokens: Some(3),
            ..Row::default()
        };
        assert_eq!((row.seconds(), row.all_tokens()), (None, None));
        assert_eq!(row.phases.is_prefill(), None);
    }
}
