//! Verdicts once more: the grades of a run's rows, put in the place of those that are there.
//!
//! Rows are gone through batch by batch. New data files are written beside the old ones and
//! switched in by one rename: a failure, or a kill, leaves the run as it was. The verdicts that
//! were there are kept ([`sets()`]), and [`use_set`] switches back to them.

mod sets;

use std::path::Path;

use arrow_array::{Array as _, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};
use ipw_core::verdict::Grade;
use serde_json::{Map, Value};

use crate::adopt::Adoption;
use crate::compact::rewrite;
use crate::export::json_texts;
use crate::lock::Lock;
use crate::overview::{ANSWERED, Verdicts};
use crate::reader::column;
use crate::rows::Texts;
use crate::schema::RenewedColumns;
use crate::splice::splice;
use crate::{Overview, Run, StoreError, Summary};

pub(crate) use sets::DIRECTORY as SETS;
pub(crate) use sets::KeptVerdict;
pub use sets::{ScorerRows, VerdictSet, VerdictSets, sets};

/// The columns of a row that grading needs.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Place in the order of the run.
    pub index: u64,
    /// The prompt.
    pub problem: &'a str,
    /// The reference answer; `None` if the row has none.
    pub reference: Option<&'a str>,
    /// The model's answer, possibly incomplete.
    pub answer: &'a str,
    /// Whether the query was answered.
    pub is_answered: bool,
    /// The present verdict; `None` if the answer is ungraded.
    pub is_correct: Option<bool>,
    /// The scorer of the verdict, as JSON; `None` without a scorer.
    pub config: Option<&'a str>,
    /// The reason for the verdict, as JSON.
    grounds: Option<&'a str>,
    metadata: Option<&'a str>,
}

impl Answer<'_> {
    /// The dataset's own columns of this row.
    pub fn metadata(&self) -> Map<String, Value> {
        let parsed = self.metadata.map(serde_json::from_str::<Map<_, _>>);
        let mut metadata = parsed.and_then(Result::ok).unwrap_or_default();
        // What a row does not have is null in a column.
        metadata.retain(|_, value| !value.is_null());
        metadata
    }

    /// The scorer that gave the verdict, as its configuration says.
    pub fn scorer(&self) -> Option<String> {
        let config: Value = serde_json::from_str(self.config?).ok()?;
        Some(config.get("scorer")?.as_str()?.to_owned())
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct ScoringResult {
    /// Rows that have a new grade.
    pub graded: u64,
    /// Rows whose verdict is another now.
    pub changed: u64,
    /// The verdicts as they were.
    pub before: Verdicts,
    /// Id of the set that keeps them; `None` if there were none, or if nothing was graded.
    pub earlier: Option<u64>,
    /// What came out.
    pub overview: Overview,
}

/// The rows of a run in the order of the file, a batch at a time.
pub struct Answers<'a> {
    run: &'a Run,
    /// Rows that were read.
    rows: u64,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, StoreError>> + 'a>,
}

impl<'a> Answers<'a> {
    /// From the first row on.
    pub fn of(run: &'a Run) -> Self {
        Self {
            run,
            rows: 0,
            batches: Box::new(run.batches()),
        }
    }

    /// Calls `each` with the rows of the next batch; false at the end.
    pub fn read(&mut self, mut each: impl FnMut(&Answer<'_>)) -> Result<bool, StoreError> {
        let Some(batch) = self.batches.next().transpose()? else {
            return Ok(false);
        };
        let columns = Columns::of(self.run, &batch, self.rows)?;
        self.rows += batch.num_rows() as u64;
        (0..batch.num_rows()).for_each(|row| each(&columns.answer(row)));
        Ok(true)
    }
}

/// Puts the grades that `grade` gives into the run in `directory`; where it gives `None`, the row
/// stays as it was. `change` gets the summary with what came out.
pub fn score(
    directory: &Path,
    mut grade: impl FnMut(&Answer<'_>) -> Option<Grade>,
    change: impl FnOnce(&mut Summary, &ScoringResult, &Run),
) -> Result<ScoringResult, StoreError> {
    let run = Run::open(directory)?;
    let _lock = Lock::take(directory)?;
    let columns = RenewedColumns::verdict(run.model());
    let is_correct = |grade: &Grade| grade.verdict.is_correct();
    let done = switch(&run, &columns, is_correct, &mut grade, change);
    Lock::release(directory);
    done
}

/// Puts the verdicts of an earlier set into the run in `directory`. A row that the set does not
/// have, or that has another answer now, stays as it was. `change` gets the summary with what
/// came out.
pub fn use_set(
    directory: &Path,
    id: u64,
    change: impl FnOnce(&mut Summary, &ScoringResult, &Run),
) -> Result<ScoringResult, StoreError> {
    let run = Run::open(directory)?;
    let _lock = Lock::take(directory)?;
    let done = sets::load(directory, id).and_then(|mut kept| {
        let columns = RenewedColumns::kept_verdict(run.model());
        let is_correct = |kept: &KeptVerdict| kept.is_correct;
        let mut pick = |answer: &Answer<'_>| {
            let kept = kept.remove(&answer.index);
            kept.filter(|kept| kept.is_on(answer))
        };
        switch(&run, &columns, is_correct, &mut pick, change)
    });
    Lock::release(directory);
    done
}

/// Keeps the verdicts that are there, and switches in those that `pick` gives.
fn switch<T: 'static>(
    run: &Run,
    columns: &RenewedColumns<T>,
    is_correct: impl Fn(&T) -> Option<bool>,
    pick: &mut dyn FnMut(&Answer<'_>) -> Option<T>,
    change: impl FnOnce(&mut Summary, &ScoringResult, &Run),
) -> Result<ScoringResult, StoreError> {
    let before = Overview::of(run)?.verdicts;
    let earlier = sets::keep(run)?;
    let (mut graded, mut changed, mut first) = (0, 0, 0);
    let adoption = Adoption::with_verdicts(run.schema(), run.model());
    let switched = rewrite(run.directory(), adoption.as_ref(), &mut |batch| {
        let rows = Columns::of(run, &batch, first)?;
        first += batch.num_rows() as u64;
        let mut picked = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let answer = rows.answer(row);
            let new = pick(&answer);
            graded += u64::from(new.is_some());
            let is_other = |new: &T| is_correct(new) != answer.is_correct;
            changed += u64::from(new.as_ref().is_some_and(is_other));
            picked.push(new);
        }
        splice(columns, &batch, picked)
    });
    let is_same = graded == 0 || switched.is_err();
    if let Some(written) = earlier
        .as_ref()
        .and_then(|earlier| earlier.written.as_deref())
        && is_same
    {
        sets::forget(written);
    }
    switched?;
    let run = Run::open(run.directory())?;
    let done = ScoringResult {
        graded,
        changed,
        before,
        earlier: earlier.filter(|_| !is_same).map(|earlier| earlier.id),
        overview: Overview::of(&run)?,
    };
    let mut about = run.summary().clone();
    change(&mut about, &done, &run);
    run.write_summary(&about)?;
    Ok(done)
}

/// The columns that count, of one batch. Runs of the original have neither index nor outcome.
struct Columns<'a> {
    /// Place of the batch's first row in the file.
    first: u64,
    index: Option<&'a Int64Array>,
    outcome: Option<&'a StringArray>,
    correct: Option<&'a BooleanArray>,
    problem: Texts<'a>,
    reference: Texts<'a>,
    answer: Texts<'a>,
    config: Option<&'a StringArray>,
    grounds: Option<&'a StringArray>,
    metadata: Option<StringArray>,
}

impl<'a> Columns<'a> {
    fn of(run: &Run, batch: &'a RecordBatch, first: u64) -> Result<Self, StoreError> {
        let answers = column::<StructArray>(batch, "model_answers")?;
        Ok(Self {
            first,
            index: column(batch, "query_index").ok(),
            outcome: column(batch, "outcome").ok(),
            correct: run.metric(batch, "lm_correctness").ok(),
            problem: Texts::of(batch, "problem"),
            reference: Texts::of(batch, "answer"),
            answer: Texts::in_struct(answers, run.model()),
            config: run.metric(batch, "evaluation.config").ok(),
            grounds: run.metric(batch, "evaluation.metadata").ok(),
            metadata: batch
                .column_by_name("dataset_metadata")
                .and_then(json_texts),
        })
    }

    fn answer(&self, row: usize) -> Answer<'_> {
        let text = |texts: Option<&'a StringArray>| {
            texts.and_then(|texts| texts.is_valid(row).then(|| texts.value(row)))
        };
        let metadata = self.metadata.as_ref();
        let index = self.index.map(|index| index.value(row));
        let correct = self.correct.filter(|correct| correct.is_valid(row));
        let answer = self.answer.at(row);
        Answer {
            index: match index {
                Some(index) => u64::try_from(index).unwrap_or(0),
                None => self.first + row as u64,
            },
            problem: self.problem.at(row).unwrap_or_default(),
            reference: self.reference.at(row),
            answer: answer.unwrap_or_default(),
            is_answered: match self.outcome {
                Some(outcome) => ANSWERED.contains(&outcome.value(row)),
                None => answer.is_some_and(|answer| !answer.is_empty()),
            },
            is_correct: correct.map(|correct| correct.value(row)),
            config: text(self.config),
            grounds: text(self.grounds),
            metadata: metadata.and_then(|texts| texts.is_valid(row).then(|| texts.value(row))),
        }
    }
}
