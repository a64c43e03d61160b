//! One row of a stored run, as its readers see it.
//!
//! A reader names the [`Fields`] that it needs and gets a borrowed [`Row`]. A field that was not
//! asked for, that an older version did not write, or that the row does not know is `None` (a text
//! is empty, a list has no entries). Nothing here knows how rows are stored.

use std::ops::BitOr;

/// Why a row whose energy is made from other sources than the figures of its run has none in them.
pub const OTHER_BASIS: &str = "other_basis";

/// One row. Instants are seconds on the clock of its part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row<'a> {
    /// Place in the run's order.
    pub index: u64,
    /// The query's own id: the same query asked twice has the same id.
    pub id: &'a str,
    /// Which part of the run: whose clock the instants lie on.
    pub part: u32,
    /// What the question is about.
    pub subject: Option<&'a str>,
    /// How it ended: `complete`, `timed_out`, `failed:connect`, …
    pub outcome: &'a str,
    /// Whether there is an answer: complete, cut or refused.
    pub is_answered: bool,
    /// What went wrong.
    pub error: Option<&'a str>,
    /// Whether the answer is right; `None` where it is not graded.
    pub is_correct: Option<bool>,
    /// When the plan wanted it sent.
    pub due: Option<f64>,
    /// When the attempt began.
    pub start: Option<f64>,
    /// When its first byte was written.
    pub sent: Option<f64>,
    /// When the first token came.
    pub first_token: Option<f64>,
    /// When the first token of the answer came.
    pub first_answer_token: Option<f64>,
    /// When it was over.
    pub end: Option<f64>,
    /// When each chunk with content came.
    pub chunks: &'a [f64],
    /// How late it began, in seconds: start − planned send.
    pub schedule_lag: Option<f64>,
    /// How long it waited for its turn, in seconds, by the service's own clock.
    pub service_queue: Option<f64>,
    /// Seconds for which our own thread was not there to take stamps.
    pub own_delay: Option<f64>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// Where the token counts come from: `usage`, `timings`, `tokenizer`, `chunks`.
    pub token_source: Option<&'a str>,
    /// Tokens of the prompt that came from a cache.
    pub cached_tokens: Option<u64>,
    /// Whether the service claims more tokens than there can be.
    pub has_impossible_claim: bool,
    /// From the send to the first token, in seconds, as the row has it.
    pub time_to_first_token: Option<f64>,
    /// From the send to the end, in seconds, as the row has it.
    pub total: Option<f64>,
    /// From the planned send to the end, in seconds, as the row has it.
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
    /// Price of its tokens, in US dollars.
    pub cost: Option<f64>,
    /// Whether it kept the SLO; `None` without one, or where that is unknown.
    pub is_slo_met: Option<bool>,
    /// What was asked and answered.
    pub texts: Texts<'a>,
    /// How the verdict came about.
    pub evaluation: Evaluation<'a>,
}

/// What was asked and answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Texts<'a> {
    /// The prompt.
    pub problem: &'a str,
    /// The expected answer.
    pub expected: Option<&'a str>,
    /// The model's answer.
    pub answer: Option<&'a str>,
    /// The model's reasoning, where it is kept apart.
    pub reasoning: Option<&'a str>,
    /// Its tool calls, as JSON.
    pub tool_calls: Option<&'a str>,
}

/// How a verdict came about, as JSON texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evaluation<'a> {
    /// What the scorer found.
    pub metadata: Option<&'a str>,
    /// Which scorer it was.
    pub config: Option<&'a str>,
}

/// What a query took, on the basis of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Energy<'a> {
    /// Its joules.
    pub joules: Option<f64>,
    /// One standard deviation of them.
    pub sigma: Option<f64>,
    /// What of them is above idle.
    pub above_idle: Option<f64>,
    /// Its own share of the power, in watts, from its start to its end.
    pub share_watts: Option<f64>,
    /// What they are made from: `gpu`, `cpu_estimated`, …
    pub basis: Option<&'a str>,
    /// Why there are none.
    pub reason: Option<&'a str>,
}

/// Energy before and after the first token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phases<'a> {
    /// What the time before the first token is.
    pub kind: Option<&'a str>,
    /// Joules before.
    pub before: Option<f64>,
    /// Joules after.
    pub after: Option<f64>,
}

impl Phases<'_> {
    /// Whether the time before the first token is prefill and nothing else: waiting is in it where
    /// not. `None` where the row does not say.
    pub fn is_prefill(&self) -> Option<bool> {
        Some(self.kind? != "wait_and_prefill")
    }
}

/// What one source says of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share<'a> {
    /// The source.
    pub name: &'a str,
    /// Joules, idle included.
    pub joules: Option<f64>,
    /// What of them is above idle.
    pub above_idle: Option<f64>,
    /// One standard deviation.
    pub sigma: Option<f64>,
    /// `counter`, `integrated`, `estimated` or `direct`.
    pub method: &'a str,
    /// Covered share of the window.
    pub coverage: Option<f64>,
    /// Why it is null or partial.
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

/// Which fields a reader needs. `index`, `part`, `outcome` and `is_answered` always come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields(u32);

impl Fields {
    /// None but those that always come.
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
    /// `sent`, `first_token`, `first_answer_token`, and `time_to_first_token`, `total`, `planned`,
    /// `tokens_per_second` as the row has them.
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

    /// Whether all of `other` are in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
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
