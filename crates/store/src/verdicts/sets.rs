//! Sets of verdicts that a run had before: `verdict_sets/<id>.jsonl` in its directory.
//!
//! A set is written when other verdicts are about to take its place. The first line describes it
//! ([`VerdictSet`]); every further line is the verdict of one row, as its columns had it. A file is
//! written under another name, and renamed when it is whole. Which set is in use is not stored: it
//! is the one whose fingerprint the rows have, so no crash leaves a wrong pointer.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Error, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Answers};
use crate::disk;
use crate::file::Aside;
use crate::overview::Verdicts;
use crate::summary::Scoring;
use crate::{Run, StoreError, file};

pub(crate) const DIRECTORY: &str = "verdict_sets";
const EXTENSION: &str = "jsonl";

/// What a set of verdicts is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictSet {
    /// Number in the run, from 1.
    pub id: u64,
    /// When the verdicts were given: seconds since the Unix epoch; `None` when unknown.
    pub at: Option<f64>,
    /// The scorers, with the rows that have a verdict by each.
    pub scorers: Vec<ScorerRows>,
    /// Rows of the run at that time.
    pub rows: u64,
    /// Rows by verdict.
    #[serde(flatten)]
    pub verdicts: Verdicts,
    /// Changes with every row, answer and verdict.
    fingerprint: String,
}

/// A scorer, and how many rows have a verdict by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScorerRows {
    /// Id of the scorer.
    pub scorer: String,
    /// The model that judged; `None` where no judge was asked.
    pub judge: Option<String>,
    /// Rows with a verdict.
    pub rows: u64,
}

/// The sets of verdicts of a run.
#[derive(Debug, Clone)]
pub struct VerdictSets {
    /// By id. The set in use is always among them, also before it has a file.
    pub sets: Vec<VerdictSet>,
    /// Id of the set that the rows have.
    pub in_use: u64,
    /// Files that cannot be read as a set.
    pub damaged: Vec<PathBuf>,
}

/// The sets of verdicts of a run, with the one that is in use.
pub fn sets(run: &Run) -> Result<VerdictSets, StoreError> {
    let mut kept = SetFiles::of(run.directory())?;
    let current = Tally::of(run)?.finish(run, kept.next);
    let in_use = if let Some(set) = kept.same(&current) {
        set.id
    } else {
        kept.sets.push(current);
        kept.next
    };
    Ok(VerdictSets {
        sets: kept.sets,
        in_use,
        damaged: kept.damaged,
    })
}

/// Where the verdicts that rows had are kept.
pub(super) struct Earlier {
    pub(super) id: u64,
    /// The file, if it is new.
    pub(super) written: Option<PathBuf>,
}

/// Keeps the verdicts that the rows have; `None` if there are none.
pub(super) fn keep(run: &Run) -> Result<Option<Earlier>, StoreError> {
    let kept = SetFiles::of(run.directory())?;
    let current = Tally::of(run)?.finish(run, kept.next);
    if current.scorers.is_empty() {
        return Ok(None);
    }
    if let Some(set) = kept.same(&current) {
        return Ok(Some(Earlier {
            id: set.id,
            written: None,
        }));
    }
    file::directory(run.directory(), DIRECTORY, true)?;
    let path = path(run.directory(), current.id);
    let (aside, file) = Aside::create(&path)?;
    let failed = |error: Error| StoreError::io("write", &path)(error);
    let mut out = BufWriter::new(file);
    line(&mut out, &current).map_err(failed)?;
    let mut rows = Answers::of(run);
    let mut written = Ok(());
    while rows.read(|answer| {
        if written.is_ok() {
            written = line(&mut out, &KeptVerdict::of(answer));
        }
    })? {}
    written.map_err(failed)?;
    let file = out
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.sync().map_err(failed)?;
    aside.replace()?;
    file::sync_name(&path)?;
    Ok(Some(Earlier {
        id: current.id,
        written: Some(path),
    }))
}

/// Takes back what [`keep`] wrote, when no other verdicts took their place.
pub(super) fn forget(path: &Path) {
    // A set that stays is the one in use: nothing is wrong with that.
    let _ = disk::remove_file(path);
    if let Some(directory) = path.parent() {
        // Only an empty one goes.
        let _ = disk::remove_empty(directory);
    }
}

/// The verdicts of a set, by place in the run.
pub(super) fn load(run: &Path, id: u64) -> Result<HashMap<u64, KeptVerdict>, StoreError> {
    let path = path(run, id);
    file::refuse_link(&run.join(DIRECTORY))?;
    let file = file::open(&path)?;
    let damaged = |source| StoreError::Json {
        path: path.clone(),
        source,
    };
    let mut lines = BufReader::new(file).lines();
    let head = lines.next().transpose();
    let head = head.map_err(StoreError::io("read", &path))?;
    let set: VerdictSet = serde_json::from_str(&head.unwrap_or_default()).map_err(damaged)?;
    let mut verdicts = HashMap::new();
    for line in lines {
        let line = line.map_err(StoreError::io("read", &path))?;
        let verdict: KeptVerdict = serde_json::from_str(&line).map_err(damaged)?;
        verdicts.insert(verdict.query_index, verdict);
    }
    if verdicts.len() as u64 != set.rows {
        let short = format!("{} of {} verdicts are there", verdicts.len(), set.rows);
        let error = Error::new(ErrorKind::UnexpectedEof, short);
        return Err(StoreError::io("read", &path)(error));
    }
    Ok(verdicts)
}

/// The verdict of one row, as its columns have it: also by scorers that this version does not know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptVerdict {
    query_index: u64,
    /// Of the question, the reference and the answer: a row that has changed is another one.
    asked: u64,
    pub(crate) is_correct: Option<bool>,
    pub(crate) metadata: Option<String>,
    pub(crate) config: Option<String>,
}

impl KeptVerdict {
    fn of(answer: &Answer<'_>) -> Self {
        Self {
            query_index: answer.index,
            asked: asked(answer),
            is_correct: answer.is_correct,
            metadata: answer.grounds.map(str::to_owned),
            config: answer.config.map(str::to_owned),
        }
    }

    /// Whether it is a verdict on this answer.
    pub(super) fn is_on(&self, answer: &Answer<'_>) -> bool {
        self.asked == asked(answer)
    }
}

fn line(out: &mut impl std::io::Write, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn path(run: &Path, id: u64) -> PathBuf {
    run.join(DIRECTORY).join(format!("{id}.{EXTENSION}"))
}

/// The sets that have a file.
struct SetFiles {
    sets: Vec<VerdictSet>,
    damaged: Vec<PathBuf>,
    /// The id that no file has.
    next: u64,
}

impl SetFiles {
    fn of(run: &Path) -> Result<Self, StoreError> {
        let directory = run.join(DIRECTORY);
        let mut kept = Self {
            sets: Vec::new(),
            damaged: Vec::new(),
            next: 1,
        };
        file::refuse_link(&directory)?;
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(kept),
            entries => entries.map_err(StoreError::io("read", &directory))?,
        };
        for entry in entries {
            let path = entry.map_err(StoreError::io("read", &directory))?.path();
            let is_set = path.extension().is_some_and(|ending| ending == EXTENSION);
            let number: Option<u64> = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.parse().ok());
            let (true, Some(id)) = (is_set, number) else {
                continue;
            };
            kept.next = kept.next.max(id + 1);
            match head(&path) {
                Some(set) if set.id == id => kept.sets.push(set),
                _ => kept.damaged.push(path),
            }
        }
        kept.sets.sort_by_key(|set| set.id);
        kept.damaged.sort();
        Ok(kept)
    }

    fn same(&self, current: &VerdictSet) -> Option<&VerdictSet> {
        let is_same = |set: &&VerdictSet| set.fingerprint == current.fingerprint;
        self.sets.iter().find(is_same)
    }
}

fn head(path: &Path) -> Option<VerdictSet> {
    let mut head = String::new();
    BufReader::new(file::open(path).ok()?)
        .read_line(&mut head)
        .ok()?;
    serde_json::from_str(&head).ok()
}

/// The verdicts that rows have, counted.
#[derive(Default)]
struct Tally {
    rows: u64,
    verdicts: Verdicts,
    /// Rows with a verdict, by `evaluation.config`.
    configs: BTreeMap<String, u64>,
    /// Over all rows, in any order.
    sum: u64,
}

impl Tally {
    fn of(run: &Run) -> Result<Self, StoreError> {
        let mut tally = Self::default();
        let mut rows = Answers::of(run);
        while rows.read(|answer| tally.add(answer))? {}
        Ok(tally)
    }

    fn add(&mut self, answer: &Answer<'_>) {
        self.rows += 1;
        self.verdicts.add(answer.is_correct);
        if answer.is_correct.is_some() {
            let config = answer.config.unwrap_or_default();
            match self.configs.get_mut(config) {
                Some(rows) => *rows += 1,
                None => {
                    self.configs.insert(config.to_owned(), 1);
                }
            }
        }
        let verdict = answer
            .is_correct
            .map_or("", |is_correct| if is_correct { "right" } else { "wrong" });
        let mut hash = Fnv::default();
        hash.add(&answer.index.to_le_bytes());
        hash.add(&asked(answer).to_le_bytes());
        for text in [Some(verdict), answer.grounds, answer.config] {
            hash.text(text);
        }
        self.sum = self.sum.wrapping_add(hash.0);
    }

    fn finish(self, run: &Run, id: u64) -> VerdictSet {
        let mut scorers: Vec<ScorerRows> = Vec::new();
        for (config, rows) in self.configs {
            let config: Value = serde_json::from_str(&config).unwrap_or_default();
            let text = |pointer| config.pointer(pointer).and_then(Value::as_str);
            let scorer = text("/scorer").unwrap_or("unknown");
            let judge = text("/judge/model");
            let is_same =
                |one: &&mut ScorerRows| one.scorer == scorer && one.judge.as_deref() == judge;
            match scorers.iter_mut().find(is_same) {
                Some(known) => known.rows += rows,
                None => scorers.push(ScorerRows {
                    scorer: scorer.to_owned(),
                    judge: judge.map(str::to_owned),
                    rows,
                }),
            }
        }
        let summary = run.summary();
        let at = summary.scoring.as_ref().map(Scoring::at);
        VerdictSet {
            id,
            at: at.or(summary.generated_at),
            scorers,
            rows: self.rows,
            verdicts: self.verdicts,
            fingerprint: format!("{:016x}", self.sum),
        }
    }
}

/// A number for what a verdict is about. It is in files, so it is the same in every version.
fn asked(answer: &Answer<'_>) -> u64 {
    let mut hash = Fnv::default();
    hash.text(Some(answer.problem));
    hash.text(answer.reference);
    hash.text(Some(answer.answer));
    hash.0
}

/// FNV-1a with 64 bits: the standard library's hasher may change with its version.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The text with a mark of its length; one that is missing is not the empty one.
    fn text(&mut self, text: Option<&str>) {
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        self.add(&length.to_le_bytes());
        self.add(text.unwrap_or_default().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_in_files_is_the_published_one() {
        let of = |text: &str| {
            let mut hash = Fnv::default();
            hash.add(text.as_bytes());
            hash.0
        };
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
    }
}
