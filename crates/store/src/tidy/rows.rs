//! The rows of a batch as far as the flat table needs them, whatever version wrote them.

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, PrimitiveArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType};

use super::Maker;
use crate::overview::ANSWERED;

/// What the columns of a batch say of a row. A column that the run lacks, or that is of a type which
/// does not fit, is null.
pub(super) struct Rows<'a> {
    pub(super) model: &'a str,
    pub(super) len: usize,
    /// Number in the run of the batch's first row.
    first: u64,
    index: Option<Int64Array>,
    id: Option<StringArray>,
    pub(super) part: Option<Int64Array>,
    pub(super) subject: Option<StringArray>,
    pub(super) outcome: Option<StringArray>,
    pub(super) correct: Option<BooleanArray>,
    due: Option<Float64Array>,
    pub(super) start: Option<Float64Array>,
    sent: Option<Float64Array>,
    first_token: Option<Float64Array>,
    end: Option<Float64Array>,
    pub(super) lag: Option<Float64Array>,
    chunks: Option<(ListArray, Float64Array)>,
    pub(super) queue: Option<Float64Array>,
    ttft: Option<Float64Array>,
    latency: Option<Float64Array>,
    pub(super) input: Option<Int64Array>,
    pub(super) output: Option<Int64Array>,
    pub(super) cached: Option<Int64Array>,
    pub(super) token_source: Option<StringArray>,
    joules: Option<Float64Array>,
    sigma: Option<Float64Array>,
    above_idle: Option<Float64Array>,
    watts: Option<Float64Array>,
    pub(super) basis: Option<StringArray>,
    pub(super) reason: Option<StringArray>,
    phase: Option<StringArray>,
    before: Option<Float64Array>,
    after: Option<Float64Array>,
    shares: Option<Shares>,
    pub(super) slo_met: Option<BooleanArray>,
    pub(super) cost: Option<Float64Array>,
    maker: &'a Maker<'a>,
}

/// What the sources say of the rows.
struct Shares {
    list: ListArray,
    /// Whether the headline counts it, share by share.
    is_counted: Vec<bool>,
    coverage: Float64Array,
}

/// Where a time counts from.
#[derive(Clone, Copy)]
pub(super) enum From {
    Planned,
    Sent,
}

impl<'a> Rows<'a> {
    pub(super) fn of(maker: &'a Maker<'a>, batch: &'a RecordBatch, first: u64) -> Self {
        let model = maker.run.model();
        let own = |path: &str| leaf(batch, path.split('.'));
        let metric = |path: &str| {
            // The model's name may hold dots: it is a step of its own.
            leaf(
                batch,
                ["model_metrics", model].into_iter().chain(path.split('.')),
            )
        };
        let list = |path: &str| own(path).and_then(|array| as_type::<ListArray>(&array, None));
        Self {
            model,
            len: batch.num_rows(),
            first,
            index: integers(own("query_index")),
            id: texts(own("query_id")),
            part: integers(own("part")),
            subject: texts(own("subject")),
            outcome: texts(own("outcome")),
            correct: truths(metric("lm_correctness")),
            due: fractions(own("timing.due_seconds")),
            start: fractions(own("timing.start_seconds")),
            sent: fractions(own("timing.sent_seconds")),
            first_token: fractions(own("timing.first_token_seconds")),
            end: fractions(own("timing.end_seconds")),
            lag: fractions(own("timing.schedule_lag_seconds")),
            chunks: list("timing.chunk_seconds").and_then(|list| {
                let chunks = fractions(Some(ArrayRef::clone(list.values())))?;
                Some((list, chunks))
            }),
            queue: fractions(own("service_timing.queue_seconds")),
            ttft: fractions(metric("latency_metrics.time_to_first_token_seconds")),
            latency: fractions(metric("latency_metrics.total_query_seconds")),
            input: integers(metric("token_metrics.input")),
            output: integers(metric("token_metrics.output")),
            cached: integers(own("tokens.cached")),
            token_source: texts(own("token_source")),
            joules: fractions(
                own("headline.joules").or_else(|| metric("energy_metrics.per_query_joules")),
            ),
            sigma: fractions(own("headline.sigma_joules")),
            above_idle: fractions(own("headline.above_idle_joules")),
            // The second is what format 1 calls it.
            watts: fractions(own("headline.share_watts").or_else(|| own("headline.watts"))),
            basis: texts(own("energy.basis")),
            reason: texts(own("energy.reason")),
            phase: texts(own("phases.kind")),
            before: fractions(own("phases.before_first_token_joules")),
            after: fractions(own("phases.after_first_token_joules")),
            shares: list("energy.shares").and_then(|list| Shares::of(maker, list)),
            slo_met: truths(own("slo.is_met")),
            cost: fractions(metric("cost.total_cost_usd")),
            maker,
        }
    }

    /// Place in the run's order: the row's own number where the run does not say.
    pub(super) fn index(&self, row: usize) -> Option<i64> {
        let counted = i64::try_from(self.first + row as u64).ok();
        value(self.index.as_ref(), row).or(counted)
    }

    pub(super) fn id(&self, row: usize) -> Option<std::borrow::Cow<'_, str>> {
        match text(self.id.as_ref(), row) {
            Some(id) => Some(id.into()),
            None => self.index(row).map(|index| index.to_string().into()),
        }
    }

    /// Whether there is an answer; runs without outcomes have latencies of answers alone.
    fn is_answered(&self, row: usize) -> bool {
        text(self.outcome.as_ref(), row).is_none_or(|outcome| ANSWERED.contains(&outcome))
    }

    /// The kind of a failure.
    pub(super) fn error_kind(&self, row: usize) -> Option<&str> {
        text(self.outcome.as_ref(), row)?.strip_prefix("failed:")
    }

    fn since(&self, from: From, row: usize) -> Option<f64> {
        value(
            match from {
                From::Planned => self.due.as_ref(),
                From::Sent => self.sent.as_ref(),
            },
            row,
        )
    }

    fn span(&self, from: From, to: Option<&Float64Array>, row: usize) -> Option<f64> {
        let is_answered = self.is_answered(row);
        let seconds = value(to.filter(|_| is_answered), row)? - self.since(from, row)?;
        Some(seconds).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
    }

    pub(super) fn ttft(&self, from: From, row: usize) -> Option<f64> {
        let seconds = self.span(from, self.first_token.as_ref(), row);
        seconds.or_else(|| value(self.ttft.as_ref(), row))
    }

    pub(super) fn latency(&self, from: From, row: usize) -> Option<f64> {
        let seconds = self.span(from, self.end.as_ref(), row);
        seconds.or_else(|| value(self.latency.as_ref(), row))
    }

    /// (Last chunk − first chunk) ÷ (output tokens − 1).
    #[expect(
        clippy::cast_precision_loss,
        reason = "a reply has fewer than 2^52 tokens"
    )]
    pub(super) fn tpot(&self, row: usize) -> Option<f64> {
        let (list, chunks) = self.chunks.as_ref().filter(|_| self.is_answered(row))?;
        let own = items(list, row);
        let [first, .., last] = chunks.values().get(own)? else {
            return None;
        };
        let tokens = value(self.output.as_ref(), row).filter(|tokens| *tokens >= 2)?;
        let seconds = Some(last - first).filter(|it| it.is_finite() && *it >= 0.0)?;
        Some(seconds / (tokens - 1) as f64)
    }

    /// Whether the energy of a row is made from the sources that the run's figures stand for.
    fn counts(&self, row: usize) -> bool {
        let Some(standing) = self.maker.standing else {
            return true;
        };
        let part = value(self.part.as_ref(), row).and_then(|part| i32::try_from(part).ok());
        let basis = text(self.basis.as_ref(), row);
        part.zip(basis)
            .is_some_and(|(part, basis)| standing.holds(part, basis))
    }

    fn energy(&self, of: Option<&Float64Array>, row: usize) -> Option<f64> {
        value(of, row).filter(|_| self.counts(row))
    }

    pub(super) fn joules(&self, row: usize) -> Option<f64> {
        self.energy(self.joules.as_ref(), row)
    }

    pub(super) fn sigma(&self, row: usize) -> Option<f64> {
        self.energy(self.sigma.as_ref(), row)
    }

    pub(super) fn above_idle(&self, row: usize) -> Option<f64> {
        self.energy(self.above_idle.as_ref(), row)
    }

    /// Its own share of the power: its joules ÷ (end − start).
    pub(super) fn watts(&self, row: usize) -> Option<f64> {
        if self.watts.is_some() {
            return self.energy(self.watts.as_ref(), row);
        }
        let seconds = value(self.latency.as_ref(), row).filter(|seconds| *seconds > 0.0)?;
        Some(self.joules(row)? / seconds)
    }

    /// Joules before the first token, where that time is prefill and not also waiting.
    pub(super) fn prefill(&self, row: usize) -> Option<f64> {
        let is_prefill = text(self.phase.as_ref(), row)? != "wait_and_prefill";
        self.energy(self.before.as_ref().filter(|_| is_prefill), row)
    }

    pub(super) fn decode(&self, row: usize) -> Option<f64> {
        self.energy(self.after.as_ref(), row)
    }

    /// Why there is no energy in the table.
    pub(super) fn reason(&self, row: usize) -> Option<&str> {
        let is_apart = value(self.joules.as_ref(), row).is_some() && !self.counts(row);
        if is_apart {
            return Some(crate::standing::OTHER_BASIS);
        }
        text(self.reason.as_ref(), row)
    }

    /// The smallest covered share of the window among the sources that count.
    pub(super) fn coverage(&self, row: usize) -> Option<f64> {
        let shares = self.shares.as_ref()?;
        let own = items(&shares.list, row).filter(|place| shares.is_counted[*place]);
        own.filter_map(|place| value(Some(&shares.coverage), place))
            .reduce(f64::min)
    }
}

impl Shares {
    fn of(maker: &Maker<'_>, list: ListArray) -> Option<Self> {
        let shares = list.values().as_any().downcast_ref::<StructArray>()?;
        let names = texts(shares.column_by_name("name").cloned())?;
        let coverage = fractions(shares.column_by_name("coverage").cloned())?;
        let is_counted = names.iter();
        let is_counted = is_counted.map(|name| name.is_some_and(|it| maker.counted.contains(it)));
        Some(Self {
            is_counted: is_counted.collect(),
            coverage,
            list,
        })
    }
}

/// Where the items of a list lie.
fn items(list: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = list.value_offsets();
    let at = |row: usize| usize::try_from(offsets[row]).unwrap_or(0);
    at(row)..at(row + 1)
}

/// A value, where there is one.
pub(super) fn value<T: ArrowPrimitiveType>(
    array: Option<&PrimitiveArray<T>>,
    row: usize,
) -> Option<T::Native> {
    let array = array?;
    array.is_valid(row).then(|| array.value(row))
}

/// The same of truth values.
pub(super) fn truth(array: Option<&BooleanArray>, row: usize) -> Option<bool> {
    let array = array?;
    array.is_valid(row).then(|| array.value(row))
}

/// The same of texts.
pub(super) fn text(array: Option<&StringArray>, row: usize) -> Option<&str> {
    let array = array?;
    array.is_valid(row).then(|| array.value(row))
}

/// The column at a path; values in groups that are null are null.
fn leaf<'b>(batch: &RecordBatch, mut steps: impl Iterator<Item = &'b str>) -> Option<ArrayRef> {
    let mut array = ArrayRef::clone(batch.column_by_name(steps.next()?)?);
    for step in steps {
        let group = array.as_any().downcast_ref::<StructArray>()?;
        let inner = group.column_by_name(step)?;
        let nulls = NullBuffer::union(group.nulls(), inner.nulls());
        array = if group.nulls().is_some_and(|nulls| nulls.null_count() > 0) {
            let data = inner.to_data().into_builder().nulls(nulls).build().ok()?;
            arrow::array::make_array(data)
        } else {
            ArrayRef::clone(inner)
        };
    }
    Some(array)
}

fn as_type<A: Clone + 'static>(array: &ArrayRef, to: Option<&DataType>) -> Option<A> {
    if let Some(array) = array.as_any().downcast_ref::<A>() {
        return Some(array.clone());
    }
    let array = cast(array, to?).ok()?;
    array.as_any().downcast_ref::<A>().cloned()
}

fn fractions(array: Option<ArrayRef>) -> Option<Float64Array> {
    as_type(&array?, Some(&DataType::Float64))
}

fn integers(array: Option<ArrayRef>) -> Option<Int64Array> {
    as_type(&array?, Some(&DataType::Int64))
}

fn texts(array: Option<ArrayRef>) -> Option<StringArray> {
    as_type(&array?, Some(&DataType::Utf8))
}

fn truths(array: Option<ArrayRef>) -> Option<BooleanArray> {
    as_type(&array?, Some(&DataType::Boolean))
}
