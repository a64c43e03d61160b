//! The columns of the flat table: one literal each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field};

use super::rows::{From, Rows, text, truth, value};

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

type Of<T> = fn(&Rows<'_>, usize) -> Option<T>;
type WordOf = for<'a> fn(&'a Rows<'_>, usize) -> Option<Cow<'a, str>>;

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

    pub(super) fn build(&self, rows: &Rows<'_>) -> ArrayRef {
        let all = 0..rows.len;
        match self.get {
            Get::Word(get) => Arc::new(all.map(|row| get(rows, row)).collect::<StringArray>()),
            Get::Fraction(get) => Arc::new(all.map(|row| get(rows, row)).collect::<Float64Array>()),
            Get::Integer(get) => Arc::new(all.map(|row| get(rows, row)).collect::<Int64Array>()),
            Get::Truth(get) => Arc::new(all.map(|row| get(rows, row)).collect::<BooleanArray>()),
        }
    }
}

const NO_ANSWER: &str = "there is no answer, or no token came";
const NO_ENERGY: &str = "see `energy_reason`";
const NOT_SAID: &str = "unknown";

/// All columns, in the order of the table.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Rows` has the lifetime of one batch, a column serves all"
)]
pub static COLUMNS: [TidyColumn; 31] = [
    TidyColumn::word("query_id", |rows, row| rows.id(row)).says(
        "the query's own id; its place in the run where the run has no ids",
        "never",
    ),
    TidyColumn::word("subject", |rows, row| {
        text(rows.subject.as_ref(), row).map(Cow::Borrowed)
    })
    .says("the topic", "the dataset has none"),
    TidyColumn::word("outcome", |rows, row| {
        text(rows.outcome.as_ref(), row).map(Cow::Borrowed)
    })
    .says(
        "`complete`, `truncated`, `refused`, `timed_out`, `cancelled`, or `failed:` and a kind",
        "the run does not say",
    ),
    TidyColumn::truth("correct", |rows, row| truth(rows.correct.as_ref(), row))
        .says("whether the answer is right", "not graded"),
    TidyColumn::fraction("ttft_s", |rows, row| rows.ttft(From::Planned, row))
        .unit("s")
        .says(
            "time to first token, from the planned send (`ttft_p50`, `ttft_p99`)",
            NO_ANSWER,
        ),
    TidyColumn::fraction("latency_s", |rows, row| rows.latency(From::Planned, row))
        .unit("s")
        .says(
            "time to the end, from the planned send (`latency_p50`, `latency_p99`)",
            "there is no answer",
        ),
    TidyColumn::fraction("tpot_s", |rows, row| rows.tpot(row))
        .unit("s")
        .says(
            "time per output token: (last chunk − first chunk) ÷ (output tokens − 1) (`tpot_p50`, `tpot_p99`)",
            "there is no answer, fewer than two chunks, or fewer than two tokens",
        ),
    TidyColumn::integer("input_tokens", |rows, row| value(rows.input.as_ref(), row))
        .unit("tokens")
        .says("tokens of the prompt", NOT_SAID),
    TidyColumn::integer("output_tokens", |rows, row| value(rows.output.as_ref(), row))
        .unit("tokens")
        .says("tokens generated", NOT_SAID),
    TidyColumn::fraction("joules", |rows, row| rows.joules(row))
        .unit("J")
        .says(
            "energy of the query on the basis; its mean is `joules_per_query`",
            NO_ENERGY,
        ),
    TidyColumn::fraction("joules_sigma", |rows, row| rows.sigma(row))
        .unit("J")
        .says("one standard deviation of it", NO_ENERGY),
    TidyColumn::fraction("watts", |rows, row| rows.watts(row))
        .unit("W")
        .says(
            "the query's own share of the power (`headline.share_watts`): its joules ÷ (end − start). The power of the service is `metrics.watts` in `summary.json`",
            NO_ENERGY,
        ),
    TidyColumn::word("basis", |rows, row| {
        text(rows.basis.as_ref(), row).map(Cow::Borrowed)
    })
    .says(
        "what the joules are made from, like `gpu+cpu`; `cpu_estimated` is a model",
        "there is no energy source, or the run does not say",
    ),
    TidyColumn::fraction("above_idle_joules", |rows, row| rows.above_idle(row))
        .unit("J")
        .says("what of the joules is above idle power × time", "idle power is unknown"),
    TidyColumn::fraction("prefill_joules", |rows, row| rows.prefill(row))
        .unit("J")
        .says(
            "energy before the first token, where that time is prefill (`prefill_joules_per_input_token`)",
            "there is no energy, no first token, or waiting in that time; always on another basis than the run's",
        ),
    TidyColumn::fraction("decode_joules", |rows, row| rows.decode(row))
        .unit("J")
        .says(
            "energy from the first token on (`decode_joules_per_output_token`)",
            "there is no energy, or no first token; always on another basis than the run's",
        ),
    TidyColumn::fraction("coverage", |rows, row| rows.coverage(row)).says(
        "share of the query's time that readings cover, 0 to 1: the smallest among the sources that count",
        "there is no source",
    ),
    TidyColumn::word("energy_reason", |rows, row| rows.reason(row).map(Cow::Borrowed)).says(
        "why there are no joules; `other_basis`: they are made from other sources than the run's figures",
        "there are",
    ),
    TidyColumn::fraction("sent_ttft_s", |rows, row| rows.ttft(From::Sent, row))
        .unit("s")
        .says(
            "time to first token, from the actual send (`sent_ttft_p50`, `sent_ttft_p99`)",
            NO_ANSWER,
        ),
    TidyColumn::fraction("sent_latency_s", |rows, row| rows.latency(From::Sent, row))
        .unit("s")
        .says(
            "time to the end, from the actual send (`sent_latency_p50`, `sent_latency_p99`)",
            "there is no answer",
        ),
    TidyColumn::fraction("schedule_lag_s", |rows, row| value(rows.lag.as_ref(), row))
        .unit("s")
        .says("how late the query began: start − planned send", NOT_SAID),
    TidyColumn::fraction("queue_s", |rows, row| value(rows.queue.as_ref(), row))
        .unit("s")
        .says(
            "how long it waited for its turn, by the service's own clock",
            "the service did not say",
        ),
    TidyColumn::fraction("start_s", |rows, row| value(rows.start.as_ref(), row))
        .unit("s since the part's reference")
        .says("when the query began", NOT_SAID),
    TidyColumn::integer("query_index", |rows, row| rows.index(row)).says(
        "place in the run's order, from 0; the row's number where the run does not say",
        "never",
    ),
    TidyColumn::integer("part", |rows, row| value(rows.part.as_ref(), row)).says(
        "which process's stretch of the run, from 0; a resumed run has several",
        "the run does not say",
    ),
    TidyColumn::word("token_source", |rows, row| {
        text(rows.token_source.as_ref(), row).map(Cow::Borrowed)
    })
    .says(
        "who counted the output tokens: `usage`, `timings`, `tokenizer` or `chunks`",
        "they are not counted",
    ),
    TidyColumn::integer("cached_tokens", |rows, row| value(rows.cached.as_ref(), row))
        .unit("tokens")
        .says("tokens of the prompt that came from a cache", "the service did not say"),
    TidyColumn::truth("slo_met", |rows, row| truth(rows.slo_met.as_ref(), row)).says(
        "whether the reply kept all limits of the SLO (`goodput`)",
        "there are no limits, or one could not be checked",
    ),
    TidyColumn::fraction("cost_usd", |rows, row| value(rows.cost.as_ref(), row))
        .unit("USD")
        .says("price of the query", "there is no price, or tokens are unknown"),
    TidyColumn::word("error_kind", |rows, row| {
        rows.error_kind(row).map(Cow::Borrowed)
    })
    .says("the kind of error of a query whose outcome is `failed:`", "the outcome is another"),
    TidyColumn::word("model", |rows, _| Some(Cow::Borrowed(rows.model))).says(
        "the model's label",
        "never",
    ),
];
