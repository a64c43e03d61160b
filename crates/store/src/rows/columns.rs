//! The columns of a batch that rows are read from.

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use ipw_core::row::{
    Energy, Evaluation, Fields, OriginalEnergy, Phases, Row, Share, Texts as Said,
};

use crate::Run;
use crate::overview::ANSWERED;
use crate::reader::column;

/// Columns of a field, as dotted paths; those of the model's metrics begin with `~`.
const PATHS: [(Fields, &[&str]); 21] = [
    (Fields::NONE, &["query_index", "part", "outcome"]),
    (Fields::ID, &["query_id"]),
    (Fields::SUBJECT, &["subject"]),
    (Fields::ERROR, &["error"]),
    (Fields::VERDICT, &["~lm_correctness"]),
    (
        Fields::SPAN,
        &[
            "timing.due_seconds",
            "timing.start_seconds",
            "timing.end_seconds",
        ],
    ),
    (
        Fields::LATENCY,
        &[
            "timing.sent_seconds",
            "timing.first_token_seconds",
            "timing.first_answer_token_seconds",
            "~latency_metrics.time_to_first_token_seconds",
            "~latency_metrics.total_query_seconds",
            "~latency_metrics.throughput_tokens_per_sec",
            "planned_latency.total_query_seconds",
        ],
    ),
    (Fields::CHUNKS, &["timing.chunk_seconds"]),
    (Fields::OWN_DELAY, &["timing.own_delay_seconds"]),
    (
        Fields::TOKENS,
        &["~token_metrics.input", "~token_metrics.output"],
    ),
    (
        Fields::TOKEN_ORIGIN,
        &[
            "token_source",
            "tokens.cached",
            "token_details.claimed_input",
            "token_details.claimed_output",
        ],
    ),
    (Fields::ENERGY, ENERGY),
    (Fields::SHARES, &["energy.shares"]),
    (
        Fields::COVERAGE,
        &[
            "energy.shares.name",
            "energy.shares.total_joules",
            "energy.shares.coverage",
        ],
    ),
    (
        Fields::PHASES,
        &[
            "phases.kind",
            "phases.before_first_token_joules",
            "phases.after_first_token_joules",
        ],
    ),
    (Fields::ORIGINAL, ORIGINAL),
    (Fields::FLOPS, &["~compute_metrics.flops_per_request"]),
    (Fields::COST, &["~cost.total_cost_usd"]),
    (Fields::SLO, &["slo.is_met"]),
    (
        Fields::WAITING,
        &[
            "timing.schedule_lag_seconds",
            "service_timing.queue_seconds",
        ],
    ),
    (
        Fields::EVALUATION,
        &["~evaluation.metadata", "~evaluation.config"],
    ),
];

const ENERGY: &[&str] = &[
    "headline.joules",
    "headline.sigma_joules",
    "headline.above_idle_joules",
    "headline.share_watts",
    "headline.watts",
    "energy.basis",
    "energy.reason",
];

const ORIGINAL: &[&str] = &[
    "~energy_metrics.per_query_joules",
    "~energy_metrics.soc_per_query_joules",
    "~energy_metrics.basis",
    "~power_metrics.gpu.per_query_watts.avg",
    "~power_metrics.soc.per_query_watts.avg",
];

const PROBLEM: &[&str] = &["problem"];
const TEXTS: &[&str] = &[
    "problem",
    "answer",
    "reasoning",
    "tool_calls",
    "model_answers",
];

/// What a basis of choice is computed from.
const VIEWED: &[&str] = &[
    "energy.shares",
    "timing.start_seconds",
    "timing.end_seconds",
];

/// The paths of the columns of these fields.
pub(super) fn paths(model: &str, fields: Fields, is_viewed: bool) -> Vec<Vec<&str>> {
    let mut wanted: Vec<&[&str]> = PATHS
        .iter()
        .filter(|(field, _)| fields.has(*field))
        .map(|(_, paths)| *paths)
        .collect();
    if fields.has(Fields::ENERGY) {
        // A run of the original has its energy there.
        wanted.push(ORIGINAL);
        if is_viewed {
            wanted.push(VIEWED);
        }
    }
    if fields.has(Fields::TEXTS) {
        wanted.push(TEXTS);
    } else if fields.has(Fields::PROBLEM) {
        wanted.push(PROBLEM);
    }
    let wanted = wanted.into_iter().flatten();
    wanted.map(|path| steps(model, path)).collect()
}

/// The steps of a dotted path; one of the model's metrics begins with `~`.
pub(super) fn steps<'a>(model: &'a str, path: &'a str) -> Vec<&'a str> {
    match path.strip_prefix('~') {
        // The model's name may hold dots.
        Some(path) => ["model_metrics", model]
            .into_iter()
            .chain(path.split('.'))
            .collect(),
        None => path.split('.').collect(),
    }
}

/// A column of numbers that may be missing.
#[derive(Clone, Copy)]
struct Floats<'a>(Option<&'a Float64Array>);

impl<'a> Floats<'a> {
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

/// A column of texts that may be missing.
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

/// A column of whole numbers that may be missing.
#[derive(Clone, Copy)]
struct Counts<'a>(Option<&'a Int64Array>);

impl Counts<'_> {
    fn at(self, row: usize) -> Option<u64> {
        let array = self.0?;
        let value = array.is_valid(row).then(|| array.value(row))?;
        u64::try_from(value).ok()
    }
}

/// A column of truth values that may be missing.
#[derive(Clone, Copy)]
struct Truths<'a>(Option<&'a BooleanArray>);

impl Truths<'_> {
    fn at(self, row: usize) -> Option<bool> {
        let array = self.0?;
        array.is_valid(row).then(|| array.value(row))
    }
}

fn cast<A: 'static>(array: Option<&ArrayRef>) -> Option<&A> {
    array.and_then(|array| array.as_any().downcast_ref::<A>())
}

/// What each source says of the rows of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Shares<'a> {
    lists: &'a ListArray,
    name: Texts<'a>,
    method: Texts<'a>,
    reason: Texts<'a>,
    joules: Floats<'a>,
    above_idle: Floats<'a>,
    sigma: Floats<'a>,
    coverage: Floats<'a>,
}

impl<'a> Shares<'a> {
    pub(crate) fn of(batch: &'a RecordBatch) -> Option<Self> {
        let lists: &ListArray = column(batch, "energy.shares").ok()?;
        let items: &StructArray = lists.values().as_any().downcast_ref()?;
        let text = |name: &str| Texts::in_struct(items, name);
        let float = |name: &str| Floats::in_struct(items, name);
        Some(Self {
            lists,
            name: text("name"),
            method: text("method"),
            reason: text("reason"),
            joules: float("total_joules"),
            above_idle: float("above_idle_joules"),
            sigma: float("sigma_joules"),
            coverage: float("coverage"),
        })
    }

    /// Those of one row.
    pub(crate) fn at(self, row: usize) -> impl Iterator<Item = Share<'a>> {
        places(self.lists, row).filter_map(move |place| {
            Some(Share {
                name: self.name.at(place)?,
                joules: self.joules.at(place),
                above_idle: self.above_idle.at(place),
                sigma: self.sigma.at(place),
                method: self.method.at(place).unwrap_or_default(),
                coverage: self.coverage.at(place),
                reason: self.reason.at(place),
            })
        })
    }
}

/// Where the entries of a row's list lie.
fn places(lists: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = lists.value_offsets();
    let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
    place(offsets[row])..place(offsets[row + 1])
}

/// The columns of a batch that rows are read from.
pub(crate) struct Columns<'a> {
    /// The number of the first row of the batch.
    first: u64,
    /// Ids of rows that have none of their own.
    numbers: Vec<String>,
    index: Counts<'a>,
    id: Texts<'a>,
    part: Option<&'a Int32Array>,
    outcome: Texts<'a>,
    subject: Texts<'a>,
    error: Texts<'a>,
    correct: Truths<'a>,
    slo: Truths<'a>,
    due: Floats<'a>,
    start: Floats<'a>,
    sent: Floats<'a>,
    first_token: Floats<'a>,
    first_answer_token: Floats<'a>,
    end: Floats<'a>,
    schedule_lag: Floats<'a>,
    service_queue: Floats<'a>,
    own_delay: Floats<'a>,
    chunks: Option<(&'a ListArray, &'a Float64Array)>,
    input: Counts<'a>,
    output: Counts<'a>,
    token_source: Texts<'a>,
    cached: Counts<'a>,
    claims: [Option<&'a Int64Array>; 2],
    time_to_first_token: Floats<'a>,
    total: Floats<'a>,
    planned: Floats<'a>,
    tokens_per_second: Floats<'a>,
    energy: EnergyColumns<'a>,
    shares: Option<Shares<'a>>,
    phase_kind: Texts<'a>,
    before: Floats<'a>,
    after: Floats<'a>,
    original: OriginalColumns<'a>,
    flops: Floats<'a>,
    cost: Floats<'a>,
    problem: Texts<'a>,
    expected: Texts<'a>,
    answer: Texts<'a>,
    reasoning: Texts<'a>,
    tool_calls: Texts<'a>,
    grade: Texts<'a>,
    scorer: Texts<'a>,
}

/// Energy as we write it.
#[derive(Clone, Copy)]
struct EnergyColumns<'a> {
    joules: Floats<'a>,
    sigma: Floats<'a>,
    above_idle: Floats<'a>,
    share_watts: Floats<'a>,
    basis: Texts<'a>,
    reason: Texts<'a>,
}

/// Energy as the original writes it.
#[derive(Clone, Copy)]
struct OriginalColumns<'a> {
    gpu_joules: Floats<'a>,
    gpu_watts: Floats<'a>,
    soc_joules: Floats<'a>,
    soc_watts: Floats<'a>,
    basis: Texts<'a>,
}

impl<'a> Columns<'a> {
    /// `first` is the number of the batch's first row in the run.
    pub(crate) fn of(run: &Run, batch: &'a RecordBatch, fields: Fields, first: u64) -> Self {
        let float = |path: &str| Floats(column(batch, path).ok());
        let metric = |path: &str| Floats(run.metric(batch, path).ok());
        let text = |path: &str| Texts::of(batch, path);
        let answers = column::<StructArray>(batch, "model_answers").ok();
        let id = text("query_id");
        let count = if fields.has(Fields::ID) && id.0.is_none() {
            batch.num_rows() as u64
        } else {
            0
        };
        Self {
            first,
            numbers: (first..first + count)
                .map(|number| number.to_string())
                .collect(),
            index: Counts(column(batch, "query_index").ok()),
            id,
            part: column(batch, "part").ok(),
            outcome: text("outcome"),
            subject: text("subject"),
            error: text("error"),
            correct: Truths(run.metric(batch, "lm_correctness").ok()),
            slo: Truths(column(batch, "slo.is_met").ok()),
            due: float("timing.due_seconds"),
            start: float("timing.start_seconds"),
            sent: float("timing.sent_seconds"),
            first_token: float("timing.first_token_seconds"),
            first_answer_token: float("timing.first_answer_token_seconds"),
            end: float("timing.end_seconds"),
            schedule_lag: float("timing.schedule_lag_seconds"),
            service_queue: float("service_timing.queue_seconds"),
            own_delay: float("timing.own_delay_seconds"),
            chunks: column::<ListArray>(batch, "timing.chunk_seconds")
                .ok()
                .and_then(|lists| Some((lists, lists.values().as_any().downcast_ref()?))),
            input: Counts(run.metric(batch, "token_metrics.input").ok()),
            output: Counts(run.metric(batch, "token_metrics.output").ok()),
            token_source: text("token_source"),
            cached: Counts(column(batch, "tokens.cached").ok()),
            claims: ["input", "output"]
                .map(|name| column(batch, &format!("token_details.claimed_{name}")).ok()),
            time_to_first_token: metric("latency_metrics.time_to_first_token_seconds"),
            total: metric("latency_metrics.total_query_seconds"),
            planned: float("planned_latency.total_query_seconds"),
            tokens_per_second: metric("latency_metrics.throughput_tokens_per_sec"),
            energy: EnergyColumns {
                joules: float("headline.joules"),
                sigma: float("headline.sigma_joules"),
                above_idle: float("headline.above_idle_joules"),
                share_watts: float("headline.share_watts").or(float("headline.watts")),
                basis: text("energy.basis"),
                reason: text("energy.reason"),
            },
            shares: Shares::of(batch)
                .filter(|_| fields.has(Fields::SHARES) || fields.has(Fields::COVERAGE)),
            phase_kind: text("phases.kind"),
            before: float("phases.before_first_token_joules"),
            after: float("phases.after_first_token_joules"),
            original: OriginalColumns {
                gpu_joules: metric("energy_metrics.per_query_joules"),
                gpu_watts: metric("power_metrics.gpu.per_query_watts.avg"),
                soc_joules: metric("energy_metrics.soc_per_query_joules"),
                soc_watts: metric("power_metrics.soc.per_query_watts.avg"),
                basis: Texts(run.metric(batch, "energy_metrics.basis").ok()),
            },
            flops: metric("compute_metrics.flops_per_request"),
            cost: metric("cost.total_cost_usd"),
            problem: text("problem"),
            expected: text("answer"),
            // The model's name may hold dots.
            answer: Texts(answers.and_then(|answers| cast(answers.column_by_name(run.model())))),
            reasoning: text("reasoning"),
            tool_calls: text("tool_calls"),
            grade: Texts(run.metric(batch, "evaluation.metadata").ok()),
            scorer: Texts(run.metric(batch, "evaluation.config").ok()),
        }
    }

    /// What each source says of a row.
    pub(crate) fn shares(&self, row: usize, shares: &mut Vec<Share<'a>>) {
        if let Some(own) = self.shares {
            shares.extend(own.at(row));
        }
    }

    /// One row, with what [`Self::shares`] gave.
    pub(crate) fn row<'b>(&'b self, row: usize, shares: &'b [Share<'b>]) -> Row<'b> {
        let outcome = self.outcome.at(row).unwrap_or("complete");
        let is_claim = |claim: &&Int64Array| claim.is_valid(row);
        Row {
            index: self.index.at(row).unwrap_or(self.first + row as u64),
            id: match self.numbers.get(row) {
                Some(number) => number,
                None => self.id.at(row).unwrap_or_default(),
            },
            part: self
                .part
                .and_then(|part| u32::try_from(part.value(row)).ok())
                .unwrap_or(0),
            subject: self.subject.at(row),
            outcome,
            is_answered: ANSWERED.contains(&outcome),
            error: self.error.at(row),
            is_correct: self.correct.at(row),
            due: self.due.at(row),
            start: self.start.at(row),
            sent: self.sent.at(row),
            first_token: self.first_token.at(row),
            first_answer_token: self.first_answer_token.at(row),
            end: self.end.at(row),
            chunks: self.chunks.map_or(&[], |(lists, values)| {
                values.values().get(places(lists, row)).unwrap_or(&[])
            }),
            schedule_lag: self.schedule_lag.at(row),
            service_queue: self.service_queue.at(row),
            own_delay: self.own_delay.at(row),
            input_tokens: self.input.at(row),
            output_tokens: self.output.at(row),
            token_source: self.token_source.at(row),
            cached_tokens: self.cached.at(row),
            has_impossible_claim: self.claims.iter().flatten().any(is_claim),
            time_to_first_token: self.time_to_first_token.at(row),
            total: self.total.at(row),
            planned: self.planned.at(row),
            tokens_per_second: self.tokens_per_second.at(row),
            energy: self.energy(row),
            shares,
            phases: Phases {
                kind: self.phase_kind.at(row),
                before: self.before.at(row),
                after: self.after.at(row),
            },
            original: OriginalEnergy {
                gpu_joules: self.original.gpu_joules.at(row),
                gpu_watts: self.original.gpu_watts.at(row),
                soc_joules: self.original.soc_joules.at(row),
                soc_watts: self.original.soc_watts.at(row),
            },
            flops: self.flops.at(row),
            cost: self.cost.at(row),
            is_slo_met: self.slo.at(row),
            texts: Said {
                problem: self.problem.at(row).unwrap_or_default(),
                expected: self.expected.at(row),
                answer: self.answer.at(row),
                reasoning: self.reasoning.at(row),
                tool_calls: self.tool_calls.at(row),
            },
            evaluation: Evaluation {
                metadata: self.grade.at(row),
                config: self.scorer.at(row),
            },
        }
    }

    fn energy(&self, row: usize) -> Energy<'_> {
        if self.energy.joules.0.is_none() {
            return self.original.energy(row);
        }
        Energy {
            joules: self.energy.joules.at(row),
            sigma: self.energy.sigma.at(row),
            above_idle: self.energy.above_idle.at(row),
            share_watts: self.energy.share_watts.at(row),
            basis: self.energy.basis.at(row),
            reason: self.energy.reason.at(row),
        }
    }
}

impl<'a> OriginalColumns<'a> {
    /// The energy of a row on the basis that the original names.
    fn energy(self, row: usize) -> Energy<'a> {
        let basis = self.basis.at(row).unwrap_or("gpu");
        let (joules, share_watts) = if basis == "soc" {
            (self.soc_joules.at(row), self.soc_watts.at(row))
        } else {
            (self.gpu_joules.at(row), self.gpu_watts.at(row))
        };
        Energy {
            joules,
            share_watts: share_watts.filter(|_| joules.is_some()),
            basis: joules.map(|_| basis),
            ..Energy::default()
        }
    }
}
