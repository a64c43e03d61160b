//! Resumes a run that has rows: adds a part beside the existing files.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use arrow_array::{BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use ipw_core::chat::Message;
use ipw_core::row::Fields;

use crate::compact::{compact_where, rewrite};
use crate::lock::Lock;
use crate::output::NewRun;
use crate::overview::ANSWERED;
use crate::reader::column;
use crate::schema::RunSchema;
use crate::state::{State, fresh_fingerprint};
use crate::stream::StreamFile;
use crate::summary::{Part, Scoring, Summary};
use crate::{Run, StoreError};

/// Which queries to send again, although they have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Queries that an interrupt cancelled.
    Cancelled,
    /// All queries without an answer.
    Unanswered,
}

impl Again {
    /// Whether a row with this outcome stays, so that its query is not sent again.
    fn keeps(self, outcome: Option<&str>) -> bool {
        match self {
            Self::Cancelled => outcome != Some(CANCELLED),
            Self::Unanswered => outcome.is_some_and(|outcome| ANSWERED.contains(&outcome)),
        }
    }
}

/// Outcome of a query that was in flight when the run was interrupted.
const CANCELLED: &str = "cancelled";

/// What earlier parts of a run have done.
#[derive(Debug, Default)]
pub struct EarlierParts {
    /// The earlier parts, as far as `summary.json` lists them.
    pub parts: Vec<Part>,
    /// The last grading, from `summary.json`.
    pub scoring: Option<Scoring>,
    /// Number of the next part: above every part that has a row, even if the summary lacks it.
    pub next_part: u32,
    /// Indices of the queries that have a row.
    pub done: Vec<u64>,
    /// Number of them without an answer.
    pub failed: u64,
    /// Number of queries with a row that are sent again. [`reopen`] removes their rows.
    pub again: u64,
    /// Those that are turns of conversations, with their numbers.
    turns: Vec<(u64, u64)>,
}

/// Looks at what is there.
pub fn look(run: &Run, again: Again) -> Result<EarlierParts, StoreError> {
    let (mut done, mut failed, mut taken_out, mut next_part) = (Vec::new(), 0, 0, 0);
    let mut turns = Vec::new();
    for batch in run.batches() {
        let batch = batch?;
        let indices = column::<Int64Array>(&batch, "query_index")?;
        // Runs of older versions have no such column.
        if let Ok(numbers) = column::<Int64Array>(&batch, "turn") {
            turns.extend(numbered(indices, numbers));
        }
        for part in column::<Int32Array>(&batch, "part")?.iter().flatten() {
            next_part = next_part.max(u32::try_from(part).unwrap_or(0) + 1);
        }
        let outcomes = column::<StringArray>(&batch, "outcome")?;
        for (index, outcome) in indices.iter().zip(outcomes) {
            if !again.keeps(outcome) {
                taken_out += 1;
                continue;
            }
            failed += u64::from(!Again::Unanswered.keeps(outcome));
            done.extend(index.and_then(|index| u64::try_from(index).ok()));
        }
    }
    let parts = run.summary().parts.clone();
    let told = parts.iter().map(|part| part.part + 1).max().unwrap_or(0);
    Ok(EarlierParts {
        scoring: run.summary().scoring.clone(),
        parts,
        next_part: next_part.max(told),
        done,
        failed,
        again: taken_out,
        turns,
    })
}

/// The rows that are turns, each with its number.
fn numbered<'a>(
    indices: &'a Int64Array,
    numbers: &'a Int64Array,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let pairs = indices.iter().zip(numbers);
    pairs.filter_map(|(index, number)| {
        Some((u64::try_from(index?).ok()?, u64::try_from(number?).ok()?))
    })
}

/// What came back for the turns of conversations that are not over, by the query's index; `None`
/// where a turn was not answered. Rows of a run without conversations are not looked at twice.
pub fn replies(
    run: &Run,
    left: &EarlierParts,
) -> Result<HashMap<u64, Option<Message>>, StoreError> {
    let wanted = unfinished(left);
    let mut replies = HashMap::with_capacity(wanted.len());
    if wanted.is_empty() {
        return Ok(replies);
    }
    run.for_each(Fields::TEXTS, |row| {
        if wanted.contains(&row.index) {
            let answer = row.texts.answer.unwrap_or_default();
            let reply = row
                .is_answered
                .then(|| Message::reply(answer, row.texts.tool_calls));
            replies.insert(row.index, reply);
        }
    })?;
    Ok(replies)
}

/// The rows of conversations whose next turn has no row.
fn unfinished(left: &EarlierParts) -> HashSet<u64> {
    if left.turns.is_empty() {
        return HashSet::new();
    }
    let done: HashSet<u64> = left.done.iter().copied().collect();
    let last = |(index, _): &&(u64, u64)| done.contains(index) && !done.contains(&(index + 1));
    let last = left.turns.iter().filter(last);
    last.flat_map(|(index, turn)| (index + 1).saturating_sub(*turn)..=*index)
        .collect()
}

/// Which rows of a batch stay.
fn kept(batch: &RecordBatch, again: Again) -> Result<BooleanArray, StoreError> {
    let outcomes = column::<StringArray>(batch, "outcome")?;
    let keeps = outcomes.iter().map(|outcome| Some(again.keeps(outcome)));
    Ok(keeps.collect())
}

/// Opens the run for another part, of which `summary` already tells. Rows of queries that are sent
/// `again` are taken out; `None` where there are none.
pub fn reopen(
    directory: &Path,
    schema: RunSchema,
    summary: &Summary,
    again: Option<Again>,
    durable: bool,
) -> Result<NewRun, StoreError> {
    let lock = Lock::take(directory)?;
    let run = Run::open(directory)?;
    if run.schema().fields() != schema.arrow().fields() {
        return Err(StoreError::OtherColumns {
            path: directory.to_owned(),
        });
    }
    if run.adoption().is_some() {
        // The files of a run have one schema.
        rewrite(directory, run.adoption(), &mut Ok)?;
    }
    if let Some(again) = again {
        compact_where(directory, &|batch| kept(batch, again))?;
    }
    // A listed part without rows is harmless; rows of an unlisted part are not.
    let stored = run.stored().clone();
    stored.write(summary, directory, true)?;
    let fingerprint = fresh_fingerprint();
    let part = summary.parts.last().map_or(0, |part| part.part);
    let live = format!("data-part-{part:05}-{}.arrow", &fingerprint[..8]);
    let stream = StreamFile::create(&directory.join(&live), &schema.arrow(), durable)?;
    // The state of the rows that are there must not give way to one whose files are not.
    stream.secure()?;
    let state = State::read(directory)?;
    let files = state.files().map(str::to_owned).chain([live]);
    State::new(fingerprint, files).write(directory, true)?;
    Ok(NewRun {
        directory: directory.to_owned(),
        schema,
        stored,
        stream,
        lock,
        aside: None,
    })
}
