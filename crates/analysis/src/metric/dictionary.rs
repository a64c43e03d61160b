//! The dictionary of metrics: one literal per metric, from which all other texts are derived.

use serde::Serialize;

use super::row::{Recipe, Sum, Time};
use ipw_core::quantity::Unit;

/// A metric by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the dictionary defines each")]
pub enum Metric {
    JoulesPerQuery,
    JoulesPerToken,
    JoulesPerOutputToken,
    PrefillJoulesPerInputToken,
    DecodeJoulesPerOutputToken,
    JoulesPerCorrect,
    Watts,
    Accuracy,
    Ipw,
    Ipj,
    TtftP50,
    TtftP99,
    LatencyP50,
    LatencyP99,
    SentTtftP50,
    SentTtftP99,
    SentLatencyP50,
    SentLatencyP99,
    TpotP50,
    TpotP99,
    RequestsPerSecond,
    TokensPerSecond,
    QueryTokensPerSecond,
    Goodput,
    Failed,
}

/// The better direction of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// Start of the times of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeOrigin {
    /// The planned send: the latency that a user of the schedule observes.
    Planned,
    /// The actual send: the latency of the service.
    Sent,
    /// The metric is not a latency, or lies within the reply.
    Neither,
}

/// The part of the work that a metric covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// All rows, from start to end.
    Whole,
    /// Up to the first token.
    Prefill,
    /// From the first token on.
    Decode,
    /// The steady window, or the whole run without one.
    Steady,
}

/// The definition of a metric.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Definition {
    /// The id in files, flags and gates.
    pub id: &'static str,
    /// The display name.
    pub label: &'static str,
    /// The title of a narrow column.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// The better direction.
    pub better: Better,
    /// How it is computed; Σ is over rows.
    pub formula: &'static str,
    /// The columns used.
    pub columns: &'static [&'static str],
    /// Start of its times.
    pub since: TimeOrigin,
    /// The part of the work that it covers.
    pub phase: Phase,
    /// "B uses 18 % less energy per query"; `None` for "B's accuracy is 3 pp lower".
    #[serde(skip)]
    pub(crate) verb: Option<&'static str>,
    #[serde(skip)]
    pub(crate) noun: &'static str,
    #[serde(skip)]
    pub(crate) kind: Kind,
}

/// How a metric is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Ratio(Recipe),
    Share(Recipe),
    Percentile(Time, f64),
}

const fn recipe(above: &'static [Sum], below: &'static [Sum], needs: Sum) -> Recipe {
    Recipe {
        above,
        below,
        needs,
        each: needs,
        unless: None,
    }
}

/// A ratio whose sides count different rows.
const fn mixed(above: &'static [Sum], below: &'static [Sum], needs: Sum) -> Kind {
    Kind::Ratio(Recipe {
        each: Sum::Rows,
        ..recipe(above, below, needs)
    })
}

const fn ratio(above: &'static [Sum], below: &'static [Sum], needs: Sum) -> Kind {
    Kind::Ratio(recipe(above, below, needs))
}

const ENERGY: &str = "headline.joules";
const INPUT: &str = "token_metrics.input";
const OUTPUT: &str = "token_metrics.output";
const START: &str = "timing.start_seconds";
const END: &str = "timing.end_seconds";
const DUE: &str = "timing.due_seconds";
const SENT: &str = "timing.sent_seconds";
const FIRST: &str = "timing.first_token_seconds";
const CHUNKS: &str = "timing.chunk_seconds";
const VERDICT: &str = "lm_correctness";
const OUTCOME: &str = "outcome";

/// Common fields of the literals below.
const BASE: Definition = Definition {
    id: "",
    label: "",
    title: "",
    unit: Unit::Joules,
    better: Better::Lower,
    formula: "",
    columns: &[],
    since: TimeOrigin::Neither,
    phase: Phase::Whole,
    verb: None,
    noun: "",
    kind: Kind::Percentile(Time::Latency, 0.5),
};

/// Common fields of latency percentiles: from the planned send, from the actual send, and within
/// the reply.
const PLANNED: Definition = Definition {
    unit: Unit::Seconds,
    since: TimeOrigin::Planned,
    ..BASE
};
const SENT_TIME: Definition = Definition {
    since: TimeOrigin::Sent,
    ..PLANNED
};
const DECODE_TIME: Definition = Definition {
    since: TimeOrigin::Neither,
    phase: Phase::Decode,
    ..PLANNED
};

/// In the order of [`Metric`].
static DICTIONARY: [Definition; Metric::ALL.len()] = [
    Definition {
        id: "joules_per_query",
        label: "energy per query",
        title: "J/query",
        formula: "Σ joules ÷ rows with energy; failed rows count",
        columns: &[ENERGY],
        verb: Some("uses"),
        noun: "energy per query",
        kind: ratio(&[Sum::Joules], &[Sum::Metered], Sum::Metered),
        ..BASE
    },
    Definition {
        id: "joules_per_token",
        label: "energy per token, input and output",
        title: "J/token",
        formula: "Σ joules ÷ Σ (input + output tokens), over rows where both are known",
        columns: &[ENERGY, INPUT, OUTPUT],
        verb: Some("uses"),
        noun: "energy per token (input and output)",
        kind: ratio(&[Sum::TokenJoules], &[Sum::Tokens], Sum::Tokens),
        ..BASE
    },
    Definition {
        id: "joules_per_output_token",
        label: "energy per output token",
        title: "J/out token",
        formula: "Σ joules ÷ Σ output tokens, over rows where both are known",
        columns: &[ENERGY, OUTPUT],
        verb: Some("uses"),
        noun: "energy per output token",
        kind: ratio(
            &[Sum::OutputJoules],
            &[Sum::MeteredOutputTokens],
            Sum::MeteredOutputTokens,
        ),
        ..BASE
    },
    Definition {
        id: "prefill_joules_per_input_token",
        label: "prefill energy per input token",
        title: "J/in token (prefill)",
        formula: "Σ joules before the first token ÷ Σ input tokens, over rows whose time before the first token is prefill",
        columns: &["phases.before_first_token_joules", "phases.kind", INPUT],
        phase: Phase::Prefill,
        verb: Some("uses"),
        noun: "prefill energy per input token",
        kind: ratio(
            &[Sum::PrefillJoules],
            &[Sum::PrefillTokens],
            Sum::PrefillTokens,
        ),
        ..BASE
    },
    Definition {
        id: "decode_joules_per_output_token",
        label: "decode energy per output token",
        title: "J/out token (decode)",
        formula: "Σ joules from the first token on ÷ Σ output tokens, over rows where both are known",
        columns: &["phases.after_first_token_joules", OUTPUT],
        phase: Phase::Decode,
        verb: Some("uses"),
        noun: "decode energy per output token",
        kind: ratio(
            &[Sum::DecodeJoules],
            &[Sum::DecodeTokens],
            Sum::DecodeTokens,
        ),
        ..BASE
    },
    Definition {
        id: "joules_per_correct",
        label: "energy per correct answer",
        title: "J/correct",
        formula: "Σ joules of all rows (failed, wrong and ungraded ones too) ÷ correct answers",
        columns: &[ENERGY, VERDICT],
        verb: Some("uses"),
        noun: "energy per correct answer",
        kind: mixed(&[Sum::Joules], &[Sum::Correct], Sum::Metered),
        ..BASE
    },
    Definition {
        id: "watts",
        label: "mean power of the service",
        title: "W",
        unit: Unit::Watts,
        formula: "energy on the basis while at least one query was in flight ÷ that time",
        columns: &[ENERGY, START, END],
        phase: Phase::Steady,
        verb: Some("draws"),
        noun: "power while queries are in flight",
        kind: ratio(&[Sum::BusyJoules], &[Sum::BusySeconds], Sum::Rows),
        ..BASE
    },
    Definition {
        id: "accuracy",
        label: "accuracy",
        title: "accuracy",
        unit: Unit::Share,
        better: Better::Higher,
        formula: "correct ÷ (correct + wrong); ungraded and failed rows are counted separately",
        columns: &[VERDICT],
        noun: "accuracy",
        kind: Kind::Share(recipe(&[Sum::Correct], &[Sum::Scored], Sum::Scored)),
        ..BASE
    },
    Definition {
        id: "ipw",
        label: "intelligence per watt (IPW)",
        title: "IPW",
        unit: Unit::PerWatt,
        better: Better::Higher,
        formula: "accuracy ÷ mean power of the service (`watts`)",
        columns: &[VERDICT, ENERGY, START, END],
        phase: Phase::Steady,
        noun: "intelligence per watt",
        kind: ratio(
            &[Sum::Correct, Sum::BusySeconds],
            &[Sum::Scored, Sum::BusyJoules],
            Sum::Rows,
        ),
        ..BASE
    },
    Definition {
        id: "ipj",
        label: "intelligence per joule (IPJ)",
        title: "IPJ",
        unit: Unit::PerJoule,
        better: Better::Higher,
        formula: "accuracy ÷ energy per query (`joules_per_query`)",
        columns: &[VERDICT, ENERGY],
        noun: "intelligence per joule",
        kind: mixed(
            &[Sum::Correct, Sum::Metered],
            &[Sum::Scored, Sum::Joules],
            Sum::Metered,
        ),
        ..BASE
    },
    Definition {
        id: "ttft_p50",
        label: "time to first token, median, from the planned send",
        title: "TTFT p50",
        formula: "median over answered rows of first token − planned send",
        columns: &[DUE, FIRST],
        noun: "median time to first token",
        kind: Kind::Percentile(Time::FirstToken, 0.5),
        ..PLANNED
    },
    Definition {
        id: "ttft_p99",
        label: "time to first token, p99, from the planned send",
        title: "TTFT p99",
        formula: "99th percentile over answered rows of first token − planned send",
        columns: &[DUE, FIRST],
        noun: "p99 of the time to first token",
        kind: Kind::Percentile(Time::FirstToken, 0.99),
        ..PLANNED
    },
    Definition {
        id: "latency_p50",
        label: "latency, median, from the planned send",
        title: "latency p50",
        formula: "median over answered rows of end − planned send",
        columns: &[DUE, END],
        noun: "median latency",
        kind: Kind::Percentile(Time::Latency, 0.5),
        ..PLANNED
    },
    Definition {
        id: "latency_p99",
        label: "latency, p99, from the planned send",
        title: "latency p99",
        formula: "99th percentile over answered rows of end − planned send",
        columns: &[DUE, END],
        noun: "p99 of the latency",
        kind: Kind::Percentile(Time::Latency, 0.99),
        ..PLANNED
    },
    Definition {
        id: "sent_ttft_p50",
        label: "time to first token, median, from the send",
        title: "TTFT p50 (sent)",
        formula: "median over answered rows of first token − actual send",
        columns: &[SENT, FIRST],
        noun: "median time to first token from the send",
        kind: Kind::Percentile(Time::SentFirstToken, 0.5),
        ..SENT_TIME
    },
    Definition {
        id: "sent_ttft_p99",
        label: "time to first token, p99, from the send",
        title: "TTFT p99 (sent)",
        formula: "99th percentile over answered rows of first token − actual send",
        columns: &[SENT, FIRST],
        noun: "p99 of the time to first token from the send",
        kind: Kind::Percentile(Time::SentFirstToken, 0.99),
        ..SENT_TIME
    },
    Definition {
        id: "sent_latency_p50",
        label: "latency, median, from the send",
        title: "latency p50 (sent)",
        formula: "median over answered rows of end − actual send",
        columns: &[SENT, END],
        noun: "median latency from the send",
        kind: Kind::Percentile(Time::SentLatency, 0.5),
        ..SENT_TIME
    },
    Definition {
        id: "sent_latency_p99",
        label: "latency, p99, from the send",
        title: "latency p99 (sent)",
        formula: "99th percentile over answered rows of end − actual send",
        columns: &[SENT, END],
        noun: "p99 of the latency from the send",
        kind: Kind::Percentile(Time::SentLatency, 0.99),
        ..SENT_TIME
    },
    Definition {
        id: "tpot_p50",
        label: "time per output token (TPOT), median",
        title: "TPOT p50",
        formula: "median over answered rows of (last chunk − first chunk) ÷ (output tokens − 1)",
        columns: &[CHUNKS, OUTPUT],
        noun: "median time per output token",
        kind: Kind::Percentile(Time::PerOutputToken, 0.5),
        ..DECODE_TIME
    },
    Definition {
        id: "tpot_p99",
        label: "time per output token (TPOT), p99",
        title: "TPOT p99",
        formula: "99th percentile over answered rows of (last chunk − first chunk) ÷ (output tokens − 1)",
        columns: &[CHUNKS, OUTPUT],
        noun: "p99 of the time per output token",
        kind: Kind::Percentile(Time::PerOutputToken, 0.99),
        ..DECODE_TIME
    },
    Definition {
        id: "requests_per_second",
        label: "answered queries per second",
        title: "req/s",
        unit: Unit::PerSecond,
        better: Better::Higher,
        formula: "answered queries that ended in the window ÷ its length",
        columns: &[OUTCOME, START, END],
        phase: Phase::Steady,
        verb: Some("answers"),
        noun: "queries per second",
        kind: ratio(&[Sum::Completed], &[Sum::ServedSeconds], Sum::Rows),
        ..BASE
    },
    Definition {
        id: "tokens_per_second",
        label: "output tokens per second of the service",
        title: "tokens/s",
        unit: Unit::PerSecond,
        better: Better::Higher,
        formula: "output tokens of answered queries that arrived in the window ÷ its length",
        columns: &[OUTCOME, OUTPUT, CHUNKS, START, END],
        phase: Phase::Steady,
        verb: Some("gives"),
        noun: "output tokens per second",
        kind: Kind::Ratio(Recipe {
            above: &[Sum::ServedTokens],
            below: &[Sum::ServedSeconds],
            needs: Sum::Rows,
            each: Sum::Rows,
            unless: Some(Sum::TokensUnknown),
        }),
        ..BASE
    },
    Definition {
        id: "query_tokens_per_second",
        label: "output tokens per second of one query",
        title: "tokens/s/query",
        unit: Unit::PerSecond,
        better: Better::Higher,
        formula: "Σ output tokens ÷ Σ (end − planned send), over answered rows",
        columns: &[OUTPUT, DUE, END],
        since: TimeOrigin::Planned,
        verb: Some("gives"),
        noun: "output tokens per second to one query",
        kind: ratio(
            &[Sum::AnswerTokens],
            &[Sum::AnswerSeconds],
            Sum::AnswerSeconds,
        ),
        ..BASE
    },
    Definition {
        id: "goodput",
        label: "queries that kept the SLO",
        title: "goodput",
        unit: Unit::Share,
        better: Better::Higher,
        formula: "rows that kept every limit of the SLO ÷ rows that could be checked",
        columns: &["slo.is_met"],
        noun: "goodput",
        kind: Kind::Share(recipe(&[Sum::Good], &[Sum::Judged], Sum::Judged)),
        ..BASE
    },
    Definition {
        id: "failed",
        label: "failed queries",
        title: "failed",
        unit: Unit::Share,
        formula: "rows without an answer ÷ rows",
        columns: &[OUTCOME],
        noun: "share of failed queries",
        kind: Kind::Share(recipe(&[Sum::Failed], &[Sum::Rows], Sum::Rows)),
        ..BASE
    },
];

impl Metric {
    /// All metrics, in the order of the dictionary.
    pub const ALL: [Self; 25] = [
        Self::JoulesPerQuery,
        Self::JoulesPerToken,
        Self::JoulesPerOutputToken,
        Self::PrefillJoulesPerInputToken,
        Self::DecodeJoulesPerOutputToken,
        Self::JoulesPerCorrect,
        Self::Watts,
        Self::Accuracy,
        Self::Ipw,
        Self::Ipj,
        Self::TtftP50,
        Self::TtftP99,
        Self::LatencyP50,
        Self::LatencyP99,
        Self::SentTtftP50,
        Self::SentTtftP99,
        Self::SentLatencyP50,
        Self::SentLatencyP99,
        Self::TpotP50,
        Self::TpotP99,
        Self::RequestsPerSecond,
        Self::TokensPerSecond,
        Self::QueryTokensPerSecond,
        Self::Goodput,
        Self::Failed,
    ];

    /// The default metrics of a comparison.
    pub const COMPARED: [Self; 14] = [
        Self::JoulesPerQuery,
        Self::JoulesPerToken,
        Self::JoulesPerCorrect,
        Self::Watts,
        Self::Accuracy,
        Self::Ipw,
        Self::Ipj,
        Self::TtftP50,
        Self::TtftP99,
        Self::LatencyP50,
        Self::LatencyP99,
        Self::TokensPerSecond,
        Self::Goodput,
        Self::Failed,
    ];

    /// The definition of the metric.
    pub fn definition(self) -> &'static Definition {
        &DICTIONARY[self as usize]
    }

    /// The id in files, flags and gates.
    pub fn name(self) -> &'static str {
        self.definition().id
    }

    /// The better direction.
    pub fn better(self) -> Better {
        self.definition().better
    }

    /// Unit of its values.
    pub fn unit(self) -> Unit {
        self.definition().unit
    }

    /// Whether it depends on energy.
    pub fn has_energy(self) -> bool {
        matches!(
            self.unit(),
            Unit::Joules | Unit::Watts | Unit::PerWatt | Unit::PerJoule
        )
    }

    pub(crate) fn kind(self) -> Kind {
        self.definition().kind
    }
}
