//! Verdicts of judges, written to disk as they arrive: after a crash no answer is judged twice.
//!
//! `verdicts.jsonl` in the run directory has one line per judged answer. An incomplete line is
//! ignored. Of two lines for one answer, the last one counts.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipw_core::verdict::{Grade, JudgeReply, Verdict};
use ipw_scoring::judge;
use ipw_store::disk::DiskFile;
use ipw_store::file;
use ipw_store::verdicts::Answer;
use serde::{Deserialize, Serialize};

use super::judging::Grades;

/// File name in the run directory.
pub(super) const FILE: &str = "verdicts.jsonl";

/// A line of the ledger.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) query_index: u64,
    /// Hash of question, reference and answer. A row that has changed since is judged again.
    pub(super) asked: u64,
    pub(super) model: String,
    pub(super) prompt: String,
    pub(super) is_correct: Option<bool>,
    pub(super) extracted: Option<String>,
    pub(super) reason: String,
    pub(super) output: String,
    pub(super) attempts: u32,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) seconds: f64,
}

impl Entry {
    /// Whether the judge replied. If it did not, it is asked again.
    fn has_reply(&self) -> bool {
        self.is_correct.is_some() || !self.output.is_empty()
    }

    fn grade(&self) -> Grade {
        Grade {
            verdict: match self.is_correct {
                Some(true) => Verdict::Correct,
                Some(false) => Verdict::Wrong,
                None => Verdict::Unscored,
            },
            scorer: Some(judge::ID),
            extracted: self.extracted.clone(),
            reason: self.reason.clone(),
            judge: Some(Box::new(JudgeReply {
                model: self.model.clone(),
                prompt: self.prompt.clone(),
                output: self.output.clone(),
            })),
        }
    }
}

/// Hash of what a judge is shown. It is stored in files, so the hasher's keys are fixed. If a later
/// version changes the hasher, answers are only judged once more.
pub(super) fn asked(answer: &Answer<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (answer.problem, answer.reference, answer.answer).hash(&mut hasher);
    hasher.finish()
}

/// The file and its valid entries.
pub(super) struct Ledger {
    path: PathBuf,
    file: DiskFile,
    grades: std::collections::BTreeMap<u64, (u64, Grade)>,
}

impl Ledger {
    /// Opens the ledger. `anew` ignores its existing entries.
    pub(super) fn open(directory: &Path, model: &str, anew: bool) -> anyhow::Result<Self> {
        let path = directory.join(FILE);
        let mut grades = std::collections::BTreeMap::new();
        let mut is_torn = false;
        if let Ok(file) = file::open(&path) {
            for line in BufReader::new(file).split(b'\n') {
                let line = line.with_context(|| format!("cannot read `{}`", path.display()))?;
                let entry = serde_json::from_slice::<Entry>(&line);
                is_torn = entry.is_err();
                let Ok(entry) = entry else { continue };
                if !anew
                    && entry.has_reply()
                    && entry.model == model
                    && entry.prompt == judge::PROMPT
                {
                    grades.insert(entry.query_index, (entry.asked, entry.grade()));
                }
            }
        }
        let file = file::append(&path);
        let mut file = file.with_context(|| format!("cannot write `{}`", path.display()))?;
        if is_torn {
            file.write_all(b"\n")
                .with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(Self { path, file, grades })
    }

    /// Whether this answer has been judged.
    pub(super) fn has(&self, answer: &Answer<'_>) -> bool {
        let known = self.grades.get(&answer.index);
        known.is_some_and(|(known, _)| *known == asked(answer))
    }

    /// Writes an entry at once.
    pub(super) fn add(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(entry).context("a verdict serializes")?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .with_context(|| format!("cannot write `{}`", self.path.display()))?;
        self.grades
            .insert(entry.query_index, (entry.asked, entry.grade()));
        Ok(())
    }

    /// The reason of the last failure, if answers were judged and none has a verdict.
    pub(super) fn silence(&self) -> Option<&str> {
        let mut grades = self.grades.values().map(|(_, grade)| grade);
        let last = grades.next_back()?;
        let is_silent = |grade: &Grade| grade.verdict == Verdict::Unscored;
        (is_silent(last) && grades.all(is_silent)).then_some(last.reason.as_str())
    }

    /// The grades, by the row's place in the run.
    pub(super) fn grades(self) -> Grades {
        let grades = self.grades.into_iter();
        grades.map(|(index, (_, grade))| (index, grade)).collect()
    }
}
