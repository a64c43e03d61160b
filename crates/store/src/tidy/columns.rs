//! The columns of the flat table: one literal each.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field};

use super::row::{From, TidyRow};

/// One column of the flat table.
#[derive(Debug)]
pub struct TidyColumn {
    /// What it is called.
    pub name: &'static str,
    /// The unit, if it has one.
    pub unit: Option<&'static str>,
    /// What it says.
    pub meaning: &'static str,
    /// What null says.
    pub null: &'static str,
    get: Get,
}

type Of<T> = fn(&TidyRow<'_>) -> Option<T>;
type WordOf = for<'a> fn(&TidyRow<'a>) -> Option<&'a str>;

/// How a row fills a column.
#[derive(Debug, Clone, Copy)]
enum Get {
    Word(WordOf),
    Fraction(Of<f64>),
    Integer(Of<i64>),
    Truth(Of<bool>),
}

impl TidyColumn {
    const fn new(name: &'static str, get: Get) -> Self {
        Self {
            name,
            unit: None,
            meaning: "",
            null: "",
            get,
        }
    }

    const fn word(name: &'static str, get: WordOf) -> Self {
        Self::new(name, Get::Word(get))
    }

    const fn integer(name: &'static str, get: Of<i64>) -> Self {
        Self::new(name, Get::Integer(get))
    }

    const fn truth(name: &'static str, get: Of<bool>) -> Self {
        Self::new(name, Get::Truth(get))
    }

    const fn fraction(name: &'static str, get: Of<f64>) -> Self {
        Self::new(name, Get::Fraction(get))
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    const fn says(mut self, meaning: &'static str, null: &'static str) -> Self {
        self.meaning = meaning;
        self.null = null;
        self
    }

    /// The type of its values.
    pub const fn data_type(&self) -> DataType {
        match self.get {
            Get::Word(_) => DataType::Utf8,
            Get::Fraction(_) => DataType::Float64,
            Get::Integer(_) => DataType::Int64,
            Get::Truth(_) => DataType::Boolean,
        }
    }

    /// The Arrow field, with the unit in its metadata.
    pub fn field(&self) -> Field {
        let field = Field::new(self.name, self.data_type(), true);
        match self.unit {
            Some(unit) => {
                field.with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]))
            }
            None => field,
        }
    }

    pub(super) fn build(&self, rows: &[TidyRow<'_>]) -> ArrayRef {
        let rows = rows.iter();
        match self.get {
            Get::Word(get) => Arc::new(rows.map(get).collect::<StringArray>()),
            Get::Fraction(get) => Arc::new(rows.map(get).collect::<Float64Array>()),
            Get::Integer(get) => Arc::new(rows.map(get).collect::<Int64Array>()),
            Get::Truth(get) => Arc::new(rows.map(get).collect::<BooleanArray>()),
        }
    }
}

fn count(count: Option<u64>) -> Option<i64> {
    i64::try_from(count?).ok()
}

const NO_ANSWER: &str = "no answer, or no token arrived";
const NO_ENERGY: &str = "see `energy_reason`";
const NOT_SAID: &str = "unknown";

/// All columns, in the order of the table.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method has the lifetime of one batch, a column serves all"
)]
pub static COLUMNS: [TidyColumn; 31] = [
    TidyColumn::word("query_id", |it| Some(it.row.id)).says(
        "the query's own id; its position in the run where the run has no ids",
        "never",
    ),
    TidyColumn::word("subject", |it| it.row.subject)
    .says("the topic", "the dataset has none"),
    TidyColumn::word("outcome", |it| it.outcome())
    .says(
        "`complete`, `truncated`, `refused`, `timed_out`, `cancelled`, or `failed:` and a kind",
        "not recorded",
    ),
    TidyColumn::truth("correct", |it| it.row.is_correct)
        .says("whether the answer is correct", "not graded"),
    TidyColumn::fraction("ttft_s", |it| it.ttft(From::Planned))
        .unit("s")
        .says(
            "time to first token, from the planned send (`ttft_p50`, `ttft_p99`)",
            NO_ANSWER,
        ),
    TidyColumn::fraction("latency_s", |it| it.latency(From::Planned))
        .unit("s")
        .says(
            "time to the end, from the planned send (`latency_p50`, `latency_p99`)",
            "no answer",
        ),
    TidyColumn::fraction("tpot_s", |it| it.tpot())
        .unit("s")
        .says(
            "time per output token: (last chunk − first chunk) ÷ (output tokens − 1) (`tpot_p50`, `tpot_p99`)",
            "no answer, fewer than two chunks, or fewer than two tokens",
        ),
    TidyColumn::integer("input_tokens", |it| count(it.row.input_tokens))
        .unit("tokens")
        .says("tokens of the prompt", NOT_SAID),
    TidyColumn::integer("output_tokens", |it| count(it.row.output_tokens))
        .unit("tokens")
        .says("tokens generated", NOT_SAID),
    TidyColumn::fraction("joules", |it| it.row.energy.joules)
        .unit("J")
        .says(
            "energy of the query on the basis; its mean is `joules_per_query`",
            NO_ENERGY,
        ),
    TidyColumn::fraction("joules_sigma", |it| it.row.energy.sigma)
        .unit("J")
        .says("one standard deviation of it", NO_ENERGY),
    TidyColumn::fraction("watts", |it| it.watts())
        .unit("W")
        .says(
            "the query's own share of the power (`headline.share_watts`): its joules ÷ (end − start). The power of the service is `metrics.watts` in `summary.json`",
            NO_ENERGY,
        ),
    TidyColumn::word("basis", |it| it.basis())
    .says(
        "sources of the joules, such as `gpu+cpu`; `cpu_estimated` is a model",
        "no energy source, or not recorded",
    ),
    TidyColumn::fraction("above_idle_joules", |it| it.row.energy.above_idle)
        .unit("J")
        .says("part of the joules above idle power × time", "idle power is unknown"),
    TidyColumn::fraction("prefill_joules", |it| it.prefill())
        .unit("J")
        .says(
            "energy before the first token, where that time is prefill (`prefill_joules_per_input_token`)",
            "no energy, no first token, or waiting in that time; always null on another basis than the run's",
        ),
    TidyColumn::fraction("decode_joules", |it| it.row.phases.after)
        .unit("J")
        .says(
            "energy from the first token on (`decode_joules_per_output_token`)",
            "no energy, or no first token; always null on another basis than the run's",
        ),
    TidyColumn::fraction("coverage", |it| it.coverage()).says(
        "share of the query's time that readings cover, 0 to 1: the smallest among the sources of the basis",
        "no source",
    ),
    TidyColumn::word("energy_reason", |it| it.row.energy.reason).says(
        "reason why there are no joules; `other_basis`: the row has another basis than the run's figures",
        "joules are known",
    ),
    TidyColumn::fraction("sent_ttft_s", |it| it.ttft(From::Sent))
        .unit("s")
        .says(
            "time to first token, from the actual send (`sent_ttft_p50`, `sent_ttft_p99`)",
            NO_ANSWER,
        ),
    TidyColumn::fraction("sent_latency_s", |it| it.latency(From::Sent))
        .unit("s")
        .says(
            "time to the end, from the actual send (`sent_latency_p50`, `sent_latency_p99`)",
            "no answer",
        ),
    TidyColumn::fraction("schedule_lag_s", |it| it.row.schedule_lag)
        .unit("s")
        .says("how late the query began: start − planned send", NOT_SAID),
    TidyColumn::fraction("queue_s", |it| it.row.service_queue)
        .unit("s")
        .says(
            "waiting time that the service reported",
            "not reported by the service",
        ),
    TidyColumn::fraction("start_s", |it| it.row.start)
        .unit("s since the part's reference")
        .says("when the query began", NOT_SAID),
    TidyColumn::integer("query_index", |it| count(Some(it.row.index))).says(
        "position in the run, from 0; the row number where it is not recorded",
        "never",
    ),
    TidyColumn::integer("part", |it| it.part()).says(
        "part of the run that produced the row, from 0; each resume adds a part",
        "not recorded",
    ),
    TidyColumn::word("token_source", |it| it.row.token_source)
    .says(
        "source of the output token count: `usage`, `timings`, `tokenizer` or `chunks`",
        "not counted",
    ),
    TidyColumn::integer("cached_tokens", |it| count(it.row.cached_tokens))
        .unit("tokens")
        .says("tokens of the prompt that came from a cache", "not reported by the service"),
    TidyColumn::truth("slo_met", |it| it.row.is_slo_met).says(
        "whether the reply kept all limits of the SLO (`goodput`)",
        "no SLO, or a limit could not be checked",
    ),
    TidyColumn::fraction("cost_usd", |it| it.row.cost)
        .unit("USD")
        .says("price of the query", "no price is known, or tokens are unknown"),
    TidyColumn::word("error_kind", |it| it.error_kind())
    .says("kind of error, if the outcome is `failed:`", "another outcome"),
    TidyColumn::word("model", |it| Some(it.maker.run.model())).says(
        "the model's label",
        "never",
    ),
];
