//! The rows of a run one by one, as whoever looks at a run wants them: what was asked and answered,
//! how long it took, what it took.

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};

use crate::overview::ANSWERED;
use crate::reader::column;
use crate::standing::OTHER_BASIS;
use crate::{Run, StoreError};

/// One row. What an older version did not write is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRow<'a> {
    /// Place in the run's order.
    pub index: u64,
    /// The query's own id.
    pub id: &'a str,
    /// Which part of the run.
    pub part: u32,
    /// What the question is about.
    pub subject: Option<&'a str>,
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
    /// How it ended.
    pub outcome: &'a str,
    /// Whether there is an answer.
    pub is_answered: bool,
    /// What went wrong.
    pub error: Option<&'a str>,
    /// Whether the answer is right.
    pub is_correct: Option<bool>,
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens generated.
    pub output_tokens: Option<u64>,
    /// When things happened.
    pub instants: RowInstants,
    /// When each chunk came, in seconds on the clock of the part.
    pub chunks: &'a [f64],
    /// From the send to the first token, in seconds.
    pub time_to_first_token_seconds: Option<f64>,
    /// From the send to the end, in seconds.
    pub total_seconds: Option<f64>,
    /// From the planned send to the end, in seconds.
    pub planned_seconds: Option<f64>,
    /// Output tokens per second.
    pub tokens_per_second: Option<f64>,
    /// Energy, on the run's basis.
    pub energy: RowEnergy<'a>,
    /// Energy by source.
    pub shares: RowShares,
    /// Energy before and after the first token.
    pub phases: RowPhases<'a>,
    /// The original's energy of the GPUs, in joules.
    pub gpu_joules: Option<f64>,
    /// The original's mean power of the GPUs, in watts.
    pub gpu_watts: Option<f64>,
    /// The original's energy of a whole chip, in joules.
    pub soc_joules: Option<f64>,
    /// The original's mean power of a whole chip, in watts.
    pub soc_watts: Option<f64>,
    /// How the verdict came about.
    pub evaluation: RowEvaluation<'a>,
    /// Whether it kept the limits.
    pub is_slo_met: Option<bool>,
}

/// How a verdict came about, as JSON texts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowEvaluation<'a> {
    /// What the scorer found.
    pub metadata: Option<&'a str>,
    /// Which scorer it was.
    pub config: Option<&'a str>,
}

/// When things happened, in seconds on the clock of the part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowInstants {
    /// Planned to be sent.
    pub due: Option<f64>,
    /// The attempt began.
    pub start: Option<f64>,
    /// The first byte went out.
    pub sent: Option<f64>,
    /// The first token came.
    pub first_token: Option<f64>,
    /// It was over.
    pub end: Option<f64>,
}

/// What a query took, on the basis of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowEnergy<'a> {
    /// Its joules.
    pub joules: Option<f64>,
    /// One standard deviation of them.
    pub sigma: Option<f64>,
    /// What of them is above idle.
    pub above_idle: Option<f64>,
    /// Its own share of the power, from its start to its end.
    pub share_watts: Option<f64>,
    /// What they are made from.
    pub basis: Option<&'a str>,
    /// Why there are none.
    pub reason: Option<&'a str>,
}

/// Energy before and after the first token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowPhases<'a> {
    /// What the time before the first token is.
    pub kind: Option<&'a str>,
    /// Joules before.
    pub before: Option<f64>,
    /// How long that was, in seconds.
    pub before_seconds: Option<f64>,
    /// Joules after.
    pub after: Option<f64>,
}

/// What each source says of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct RowShares(Option<StructArray>);

/// What one source says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowShare<'a> {
    /// The source.
    pub name: &'a str,
    /// Joules.
    pub joules: Option<f64>,
    /// What of them is above idle.
    pub above_idle: Option<f64>,
    /// One standard deviation.
    pub sigma: Option<f64>,
    /// `counter`, `integrated` or `estimated`.
    pub method: &'a str,
    /// Covered share of the window.
    pub coverage: Option<f64>,
    /// Why it is null or partial.
    pub reason: Option<&'a str>,
}

impl RowShares {
    pub(crate) fn at(shares: &ListArray, row: usize) -> Result<Self, StoreError> {
        let shares = shares.value(row);
        let shares = shares.as_any().downcast_ref::<StructArray>();
        let shares = shares.ok_or_else(|| StoreError::Column {
            column: "energy.shares".to_owned(),
        })?;
        Ok(Self((!shares.is_empty()).then(|| shares.clone())))
    }

    /// Source by source.
    pub fn iter(&self) -> impl Iterator<Item = RowShare<'_>> {
        let count = self.0.as_ref().map_or(0, StructArray::len);
        (0..count).filter_map(|place| {
            let shares = self.0.as_ref()?;
            let text = |name: &str| Texts::in_struct(shares, name).at(place);
            let float = |name: &str| Floats::in_struct(shares, name).at(place);
            Some(RowShare {
                name: text("name")?,
                joules: float("total_joules"),
                above_idle: float("above_idle_joules"),
                sigma: float("sigma_joules"),
                method: text("method")?,
                coverage: float("coverage"),
                reason: text("reason"),
            })
        })
    }
}

impl QueryRow<'_> {
    /// Its energy is made from other sources than the figures of the run.
    fn set_apart(&mut self) {
        self.energy = RowEnergy {
            basis: self.energy.basis,
            reason: Some(OTHER_BASIS),
            ..RowEnergy::default()
        };
        self.phases = RowPhases::default();
    }
}

/// A column that may be missing.
#[derive(Clone, Copy)]
struct Floats<'a>(Option<&'a Float64Array>);

impl<'a> Floats<'a> {
    fn of(batch: &'a RecordBatch, path: &str) -> Self {
        Self(column(batch, path).ok())
    }

    fn metric(run: &Run, batch: &'a RecordBatch, path: &str) -> Self {
        Self(run.metric(batch, path).ok())
    }

    fn in_struct(array: &'a StructArray, name: &str) -> Self {
        Self(cast(array.column_by_name(name)))
    }

    /// The same column under the name of an older format.
    fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }

    fn at(self, row: usize) -> Option<f64> {
        let array = self.0?;
        array.is_valid(row).then(|| array.value(row))
    }
}

/// The same of texts.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a>(Option<&'a StringArray>);

impl<'a> Texts<'a> {
    pub(crate) fn of(batch: &'a RecordBatch, path: &str) -> Self {
        Self(column(batch, path).ok())
    }

    pub(crate) fn in_struct(array: &'a StructArray, name: &str) -> Self {
        Self(cast(array.column_by_name(name)))
    }

    pub(crate) fn at(self, row: usize) -> Option<&'a str> {
        let array = self.0?;
        array.is_valid(row).then(|| array.value(row))
    }
}

fn cast<A: 'static>(array: Option<&ArrayRef>) -> Option<&A> {
    array.and_then(|array| array.as_any().downcast_ref::<A>())
}

fn count(array: &Int64Array, row: usize) -> Option<u64> {
    let value = array.is_valid(row).then(|| array.value(row))?;
    u64::try_from(value).ok()
}

impl Run {
    /// Calls `each` with every row, its energy on the basis that stands for the run: the energy of
    /// rows of another basis is unknown on this one (`other_basis`). Never more than one
    /// batch is in memory.
    pub fn for_each_query(&self, mut each: impl FnMut(&QueryRow<'_>)) -> Result<(), StoreError> {
        let standing = self.standing()?;
        for batch in self.batches() {
            let batch = batch?;
            let columns = Columns::of(self, &batch)?;
            for row in 0..batch.num_rows() {
                let mut own = columns.row(row)?;
                let basis = own.energy.basis.filter(|_| own.energy.joules.is_some());
                if basis.is_some_and(|basis| !standing.holds(columns.part.value(row), basis)) {
                    own.set_apart();
                }
                each(&own);
            }
        }
        Ok(())
    }
}

/// The columns of a batch that rows are read from.
struct Columns<'a> {
    index: &'a Int64Array,
    id: &'a StringArray,
    part: &'a Int32Array,
    outcome: &'a StringArray,
    correct: &'a BooleanArray,
    input: &'a Int64Array,
    output: &'a Int64Array,
    shares: &'a ListArray,
    chunks: Option<(&'a ListArray, &'a Float64Array)>,
    slo: Option<&'a BooleanArray>,
    subject: Texts<'a>,
    problem: Texts<'a>,
    expected: Texts<'a>,
    answer: Texts<'a>,
    reasoning: Texts<'a>,
    tool_calls: Texts<'a>,
    error: Texts<'a>,
    basis: Texts<'a>,
    reason: Texts<'a>,
    phase_kind: Texts<'a>,
    due: Floats<'a>,
    start: Floats<'a>,
    sent: Floats<'a>,
    first_token: Floats<'a>,
    end: Floats<'a>,
    time_to_first_token_seconds: Floats<'a>,
    total_seconds: Floats<'a>,
    planned_seconds: Floats<'a>,
    tokens_per_second: Floats<'a>,
    joules: Floats<'a>,
    sigma: Floats<'a>,
    above_idle: Floats<'a>,
    share_watts: Floats<'a>,
    before: Floats<'a>,
    before_seconds: Floats<'a>,
    after: Floats<'a>,
    gpu_joules: Floats<'a>,
    gpu_watts: Floats<'a>,
    soc_joules: Floats<'a>,
    soc_watts: Floats<'a>,
    grade: Texts<'a>,
    scorer: Texts<'a>,
}

impl<'a> Columns<'a> {
    fn of(run: &Run, batch: &'a RecordBatch) -> Result<Self, StoreError> {
        let float = |path: &str| Floats::of(batch, path);
        let metric = |path: &str| Floats::metric(run, batch, path);
        let text = |path: &str| Texts::of(batch, path);
        let answers = column::<StructArray>(batch, "model_answers")?;
        Ok(Self {
            index: column(batch, "query_index")?,
            id: column(batch, "query_id")?,
            part: column(batch, "part")?,
            outcome: column(batch, "outcome")?,
            correct: run.metric(batch, "lm_correctness")?,
            input: run.metric(batch, "token_metrics.input")?,
            output: run.metric(batch, "token_metrics.output")?,
            shares: column(batch, "energy.shares")?,
            chunks: column::<ListArray>(batch, "timing.chunk_seconds")
                .ok()
                .and_then(|lists| Some((lists, lists.values().as_any().downcast_ref()?))),
            slo: column(batch, "slo.is_met").ok(),
            subject: text("subject"),
            problem: text("problem"),
            expected: text("answer"),
            // The model's name may hold dots.
            answer: Texts::in_struct(answers, run.model()),
            reasoning: text("reasoning"),
            tool_calls: text("tool_calls"),
            error: text("error"),
            basis: text("energy.basis"),
            reason: text("energy.reason"),
            phase_kind: text("phases.kind"),
            due: float("timing.due_seconds"),
            start: float("timing.start_seconds"),
            sent: float("timing.sent_seconds"),
            first_token: float("timing.first_token_seconds"),
            end: float("timing.end_seconds"),
            time_to_first_token_seconds: metric("latency_metrics.time_to_first_token_seconds"),
            total_seconds: metric("latency_metrics.total_query_seconds"),
            planned_seconds: float("planned_latency.total_query_seconds"),
            tokens_per_second: metric("latency_metrics.throughput_tokens_per_sec"),
            joules: float("headline.joules"),
            sigma: float("headline.sigma_joules"),
            above_idle: float("headline.above_idle_joules"),
            share_watts: float("headline.share_watts").or(float("headline.watts")),
            before: float("phases.before_first_token_joules"),
            before_seconds: float("phases.before_first_token_seconds"),
            after: float("phases.after_first_token_joules"),
            gpu_joules: metric("energy_metrics.per_query_joules"),
            gpu_watts: metric("power_metrics.gpu.per_query_watts.avg"),
            soc_joules: metric("energy_metrics.soc_per_query_joules"),
            soc_watts: metric("power_metrics.soc.per_query_watts.avg"),
            grade: Texts(run.metric(batch, "evaluation.metadata").ok()),
            scorer: Texts(run.metric(batch, "evaluation.config").ok()),
        })
    }

    fn row(&self, row: usize) -> Result<QueryRow<'a>, StoreError> {
        let outcome = self.outcome.value(row);
        let correct = self.correct;
        Ok(QueryRow {
            index: u64::try_from(self.index.value(row)).unwrap_or(0),
            id: self.id.value(row),
            part: u32::try_from(self.part.value(row)).unwrap_or(0),
            subject: self.subject.at(row),
            problem: self.problem.at(row).unwrap_or_default(),
            expected: self.expected.at(row),
            answer: self.answer.at(row),
            reasoning: self.reasoning.at(row),
            tool_calls: self.tool_calls.at(row),
            outcome,
            is_answered: ANSWERED.contains(&outcome),
            error: self.error.at(row),
            is_correct: correct.is_valid(row).then(|| correct.value(row)),
            input_tokens: count(self.input, row),
            output_tokens: count(self.output, row),
            instants: RowInstants {
                due: self.due.at(row),
                start: self.start.at(row),
                sent: self.sent.at(row),
                first_token: self.first_token.at(row),
                end: self.end.at(row),
            },
            chunks: self.chunks.map_or(&[], |(lists, values)| {
                let offsets = lists.value_offsets();
                let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
                let own = place(offsets[row])..place(offsets[row + 1]);
                values.values().get(own).unwrap_or(&[])
            }),
            time_to_first_token_seconds: self.time_to_first_token_seconds.at(row),
            total_seconds: self.total_seconds.at(row),
            planned_seconds: self.planned_seconds.at(row),
            tokens_per_second: self.tokens_per_second.at(row),
            energy: RowEnergy {
                joules: self.joules.at(row),
                sigma: self.sigma.at(row),
                above_idle: self.above_idle.at(row),
                share_watts: self.share_watts.at(row),
                basis: self.basis.at(row),
                reason: self.reason.at(row),
            },
            shares: RowShares::at(self.shares, row)?,
            phases: RowPhases {
                kind: self.phase_kind.at(row),
                before: self.before.at(row),
                before_seconds: self.before_seconds.at(row),
                after: self.after.at(row),
            },
            gpu_joules: self.gpu_joules.at(row),
            gpu_watts: self.gpu_watts.at(row),
            soc_joules: self.soc_joules.at(row),
            soc_watts: self.soc_watts.at(row),
            evaluation: RowEvaluation {
                metadata: self.grade.at(row),
                config: self.scorer.at(row),
            },
            is_slo_met: self
                .slo
                .and_then(|slo| slo.is_valid(row).then(|| slo.value(row))),
        })
    }
}
