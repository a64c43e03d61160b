//! The rows of a run as far as their energy goes: when they were in flight, and with which tokens.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use arrow_array::{
    Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use ipw_core::attribution::TokenTimes;
use ipw_core::energy::{Reason, Split};
use ipw_core::reading::Window;
use ipw_core::time::Timestamp;

use crate::reader::column;
use crate::{Run, StoreError};

/// One row.
#[derive(Debug)]
pub(super) struct FlightRow {
    /// Its place among the rows of its part.
    pub(super) row: usize,
    /// When it was in flight; `None` where its energy is not for readings to say.
    pub(super) window: Option<Window>,
    /// Where it divides in two.
    pub(super) split: Option<Split>,
    /// When its tokens were processed.
    pub(super) tokens: TokenTimes,
    /// Tokens of the prompt.
    pub(super) input: Option<u64>,
    /// Tokens of the reply.
    pub(super) output: Option<u64>,
    /// Output tokens per second.
    pub(super) rate: Option<f64>,
    /// Operations that it took.
    pub(super) flops: Option<f64>,
    /// Whether another query was in flight at the same time, as far as known yet.
    pub(super) has_company: Cell<bool>,
}

impl FlightRow {
    /// Whether it is known when it processed what.
    pub(super) fn is_counted(&self) -> bool {
        self.tokens.input.is_some() && self.output.is_some()
    }
}

/// Rows of one part, one behind the other in one batch.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    part: u32,
    rows: usize,
    /// The first beginning among them.
    first: Option<Timestamp>,
    /// The first beginning among those of its part that come behind.
    later: Option<Timestamp>,
}

/// What is known of all rows before they are gone through: a few bytes a batch.
pub(super) struct Outline {
    stretches: Vec<Stretch>,
}

impl Outline {
    /// Goes through the rows once.
    pub(super) fn of(run: &Run) -> Result<Self, StoreError> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for batch in run.batches_of(COLUMNS) {
            let batch = batch?;
            let columns = Columns::of(run, &batch)?;
            let mut start = 0;
            while let Some(part) = columns.part(start) {
                let end = columns.end_of(part, start);
                let begins = (start..end).filter_map(|row| columns.window(row));
                stretches.push(Stretch {
                    part,
                    rows: end - start,
                    first: begins.map(Window::start).min(),
                    later: None,
                });
                start = end;
            }
        }
        let mut later: Option<(u32, Option<Timestamp>)> = None;
        for stretch in stretches.iter_mut().rev() {
            let behind = later.filter(|(part, _)| *part == stretch.part);
            stretch.later = behind.and_then(|(_, first)| first);
            let first = stretch.first.into_iter().chain(stretch.later).min();
            later = Some((stretch.part, first));
        }
        Ok(Self { stretches })
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.stretches.iter().map(|stretch| stretch.rows).sum()
    }

    /// The first beginning of a part.
    pub(super) fn first_of(&self, part: u32) -> Option<Timestamp> {
        let own = self.stretches.iter().filter(|stretch| stretch.part == part);
        own.filter_map(|stretch| stretch.first).min()
    }
}

/// The rows of a run in the order of the file, part by part, and of a part in the order of their
/// beginnings. It holds rows that are over but began after one that has not been read.
pub(super) struct Rows<'a> {
    run: &'a Run,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, StoreError>> + 'a>,
    outline: &'a [Stretch],
    /// The batch at hand, and how many of its rows were read.
    current: Option<(RecordBatch, usize)>,
    /// Rows of this part that were read.
    read: usize,
    waiting: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// The same rows, by their place; `None` where one has begun.
    held: VecDeque<Option<Rc<FlightRow>>>,
    /// Place of the first one held.
    base: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(run: &'a Run, outline: &'a Outline) -> Self {
        Self {
            run,
            batches: run.batches_of(COLUMNS),
            outline: &outline.stretches,
            current: None,
            read: 0,
            waiting: BinaryHeap::new(),
            held: VecDeque::new(),
            base: 0,
        }
    }

    /// The part of the next row; `None` at the end. From here on it is the part at hand.
    pub(super) fn next_part(&mut self) -> Option<u32> {
        (self.read, self.base) = (0, 0);
        self.held.clear();
        self.waiting.clear();
        Some(self.outline.first()?.part)
    }

    /// Calls `begins` with every row of `part` that began before `end` and has not begun yet, in
    /// the order of beginnings; `reads` has been called before with each, in the order of the file.
    pub(super) fn until(
        &mut self,
        part: u32,
        end: Timestamp,
        mut reads: impl FnMut(&Rc<FlightRow>),
        mut begins: impl FnMut(Rc<FlightRow>),
    ) -> Result<(), StoreError> {
        while let Some(next) = self.outline.first() {
            let behind = next.first.into_iter().chain(next.later).min();
            // Rows without a window wait for nothing, and are read with those before them.
            if next.part != part || behind.is_some_and(|first| first >= end) {
                break;
            }
            self.read(&mut reads)?;
        }
        while let Some(Reverse((start, row))) = self.waiting.peek().copied() {
            if start >= end {
                break;
            }
            self.waiting.pop();
            if let Some(asked) = self.held[row - self.base].take() {
                begins(asked);
            }
            while let Some(None) = self.held.front() {
                self.held.pop_front();
                self.base += 1;
            }
        }
        Ok(())
    }

    /// Leaves the rest of a part out: how many rows that is.
    pub(super) fn skip(&mut self, part: u32) -> Result<usize, StoreError> {
        let mut skipped = 0;
        while let Some(next) = self.outline.first().filter(|next| next.part == part) {
            skipped += next.rows;
            self.read(&mut |_| {})?;
            self.held.clear();
            self.waiting.clear();
        }
        Ok(skipped)
    }

    /// Reads one stretch.
    fn read(&mut self, reads: &mut impl FnMut(&Rc<FlightRow>)) -> Result<(), StoreError> {
        let Some((stretch, rest)) = self.outline.split_first() else {
            return Ok(());
        };
        self.outline = rest;
        let (batch, from) = match self.current.take() {
            Some((batch, from)) if from < batch.num_rows() => (batch, from),
            _ => {
                let next = self.batches.find(|batch| {
                    let rows = batch.as_ref().map(RecordBatch::num_rows);
                    rows.is_ok_and(|rows| rows > 0) || batch.is_err()
                });
                (next.transpose()?.ok_or(StoreError::Changed)?, 0)
            }
        };
        let columns = Columns::of(self.run, &batch)?;
        if columns.part(from) != Some(stretch.part) || from + stretch.rows > batch.num_rows() {
            return Err(StoreError::Changed);
        }
        for row in from..from + stretch.rows {
            let asked = Rc::new(columns.asked(row, self.read));
            self.read += 1;
            reads(&asked);
            if let Some(window) = asked.window {
                self.waiting.push(Reverse((window.start(), asked.row)));
                self.held.push_back(Some(asked));
            } else {
                self.held.push_back(None);
            }
        }
        self.current = Some((batch.clone(), from + stretch.rows));
        Ok(())
    }
}

/// Paths of the columns that count; those of the model's metrics begin with `~`.
const COLUMNS: &[&str] = &[
    "part",
    "timing.start_seconds",
    "timing.sent_seconds",
    "timing.first_token_seconds",
    "timing.end_seconds",
    "timing.chunk_seconds",
    "~token_metrics.input",
    "~token_metrics.output",
    "~latency_metrics.throughput_tokens_per_sec",
    "~compute_metrics.flops_per_request",
    "service_timing.prompt_seconds",
    "energy.reason",
];

/// The columns that count, of one batch.
struct Columns<'a> {
    part: &'a Int32Array,
    start: &'a Float64Array,
    sent: &'a Float64Array,
    first_token: &'a Float64Array,
    end: &'a Float64Array,
    chunks: &'a ListArray,
    chunk: &'a Float64Array,
    input: &'a Int64Array,
    output: &'a Int64Array,
    rate: &'a Float64Array,
    /// Runs of earlier versions do not have these.
    flops: Option<&'a Float64Array>,
    prompt: Option<&'a Float64Array>,
    reason: &'a StringArray,
}

/// Why a row has no energy that no readings can mend: local joules are not the service's.
const FOR_GOOD: [Reason; 3] = [
    Reason::RemoteService,
    Reason::GpuUnmeasured,
    Reason::NoSource,
];

impl<'a> Columns<'a> {
    fn of(run: &Run, batch: &'a RecordBatch) -> Result<Self, StoreError> {
        let timing = |name: &str| column::<Float64Array>(batch, &format!("timing.{name}"));
        let chunks = column::<ListArray>(batch, "timing.chunk_seconds")?;
        let chunk = chunks.values().as_any().downcast_ref::<Float64Array>();
        Ok(Self {
            part: column(batch, "part")?,
            start: timing("start_seconds")?,
            sent: timing("sent_seconds")?,
            first_token: timing("first_token_seconds")?,
            end: timing("end_seconds")?,
            chunks,
            chunk: chunk.ok_or_else(|| StoreError::Column {
                column: "timing.chunk_seconds".to_owned(),
            })?,
            input: run.metric(batch, "token_metrics.input")?,
            output: run.metric(batch, "token_metrics.output")?,
            rate: run.metric(batch, "latency_metrics.throughput_tokens_per_sec")?,
            flops: run.metric(batch, "compute_metrics.flops_per_request").ok(),
            prompt: column(batch, "service_timing.prompt_seconds").ok(),
            reason: column(batch, "energy.reason")?,
        })
    }

    fn part(&self, row: usize) -> Option<u32> {
        (row < self.part.len()).then(|| u32::try_from(self.part.value(row)).unwrap_or(0))
    }

    /// Where the rows of this part end that begin at `row`.
    fn end_of(&self, part: u32, row: usize) -> usize {
        let same = (row..self.part.len()).take_while(|row| self.part(*row) == Some(part));
        row + same.count()
    }

    fn window(&self, row: usize) -> Option<Window> {
        let reason = self.reason.is_valid(row).then(|| self.reason.value(row));
        if FOR_GOOD.iter().any(|known| reason == Some(known.label())) {
            return None;
        }
        Window::new(instant(self.start, row)?, instant(self.end, row)?)
    }

    fn asked(&self, row: usize, place: usize) -> FlightRow {
        let (sent, first_token) = (instant(self.sent, row), instant(self.first_token, row));
        let prompt = self.prompt.and_then(|prompt| seconds(prompt, row));
        let split = sent.zip(first_token).map(|(sent, first_token)| Split {
            sent,
            first_token,
            prompt: prompt.and_then(|prompt| Duration::try_from_secs_f64(prompt).ok()),
        });
        let (input, output) = (count(self.input, row), count(self.output, row));
        let reading = sent.zip(first_token);
        let reading = reading.and_then(|(sent, first)| Window::new(sent, first));
        let own = self.chunks.value_offsets();
        let own = |row: usize| usize::try_from(own[row]).unwrap_or(0);
        let chunks = self.chunk.values().get(own(row)..own(row + 1));
        let chunks: Vec<Timestamp> = chunks
            .unwrap_or_default()
            .iter()
            .filter_map(|seconds| at(*seconds))
            .collect();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a reply has fewer than 2^52 tokens"
        )]
        let tokens = TokenTimes {
            input: input.map(|tokens| tokens as f64).zip(reading),
            // Without a token count, each chunk counts as one token.
            output: output.map_or(chunks.len() as f64, |tokens| tokens as f64),
            chunks,
        };
        FlightRow {
            row: place,
            window: self.window(row),
            split,
            tokens,
            input,
            output,
            rate: seconds(self.rate, row),
            flops: self.flops.and_then(|flops| seconds(flops, row)),
            has_company: Cell::new(false),
        }
    }
}

fn seconds(values: &Float64Array, row: usize) -> Option<f64> {
    values.is_valid(row).then(|| values.value(row))
}

fn instant(values: &Float64Array, row: usize) -> Option<Timestamp> {
    at(seconds(values, row)?)
}

fn at(seconds: f64) -> Option<Timestamp> {
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Timestamp::ZERO.after(since))
}

fn count(values: &Int64Array, row: usize) -> Option<u64> {
    let value = values.is_valid(row).then(|| values.value(row))?;
    u64::try_from(value).ok()
}
