//! Reads runs for comparison: their rows, and the facts that must agree for a fair comparison.
//!
//! Each run is read in one pass. Memory holds a few numbers per row and each query's id.

mod facts;
mod fairness;
mod side_by_side;

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::Path;

use ipw_analysis::metric::{Frame, Metric, Row};
use ipw_core::nearest::nearest;
use ipw_core::rollup::{Choice, is_estimated};
use ipw_core::row::{self, Fields};
use ipw_store::{Consumer, Run, StoreError};

use crate::survey::Survey;

pub use facts::{Facts, How};
pub use fairness::{NamedRun, unfair};
pub use side_by_side::{
    Against, ComparisonRequest, Entrant, NotComparable, SideBySide, compare_runs, outcome,
};

/// Hexadecimal digits of the prompt's fingerprint before the query's id.
const FINGERPRINT: usize = 16;

/// The rows of a run, as a comparison needs them.
pub struct RunRows {
    /// What the run's files say about it.
    pub facts: Facts,
    /// Prompt fingerprint and id: two queries are the same only if both agree.
    keys: Vec<String>,
    subjects: Vec<String>,
    scorers: Vec<String>,
    lines: Vec<Line>,
}

/// Numbers of one row.
struct Line {
    key: usize,
    subject: Option<usize>,
    /// The scorer that gave the verdict; `None` without a verdict.
    scorer: Option<usize>,
    row: Row<'static>,
}

/// How many queries two runs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Overlap {
    /// Queries of A.
    pub a: u64,
    /// Queries of B.
    pub b: u64,
    /// Queries in both, with the same id and the same prompt.
    pub common: u64,
    /// Ids in both whose prompts differ.
    pub same_id_other_prompt: u64,
}

impl RunRows {
    /// Reads a run.
    pub fn read(run: &Run) -> Result<Self, StoreError> {
        let survey = Survey::of_run(run)?;
        let mut reading = Reading::within(&survey.frame);
        run.feed(&mut [&mut reading])?;
        let facts = Facts::of(run, reading.seen())?;
        Ok(Self {
            facts,
            keys: reading.keys,
            subjects: reading.subjects,
            scorers: reading.scorers,
            lines: reading.lines,
        })
    }

    /// Opens and reads a run, on another basis if requested.
    pub fn open(directory: &Path, basis: Option<Choice>) -> Result<Self, StoreError> {
        let run = Run::open(directory)?;
        Self::read(&match basis {
            Some(basis) => run.on(basis)?,
            None => run,
        })
    }

    /// The rows, as metrics are computed from them.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let row = |line: &Line| Row {
            query: &self.keys[line.key],
            ..line.row
        };
        self.lines.iter().map(row).collect()
    }

    /// Rows by subject, in order of first appearance.
    pub fn by_subject(&self) -> Vec<(Option<&str>, Vec<Row<'_>>)> {
        let mut groups: Vec<(Option<&str>, Vec<_>)> = Vec::new();
        for line in &self.lines {
            let subject = line.subject.map(|place| self.subjects[place].as_str());
            let row = line.row;
            match groups.iter_mut().find(|(name, _)| *name == subject) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((subject, vec![row])),
            }
        }
        groups
    }

    /// Identifies a set of queries: their number, and a sum of hashes over all of them.
    pub fn queries(&self) -> (usize, u64) {
        let sum = self.keys.iter().map(|key| fingerprint(key));
        (self.keys.len(), sum.fold(0, u64::wrapping_add))
    }

    fn overlap(&self, other: &Self) -> Overlap {
        let ours: HashSet<&str> = self.keys.iter().map(String::as_str).collect();
        let ids: HashSet<&str> = self.keys.iter().map(|key| id(key)).collect();
        let both = |key: &&String| ours.contains(key.as_str());
        let clash = |key: &&String| !both(key) && ids.contains(id(key));
        Overlap {
            a: self.keys.len() as u64,
            b: other.keys.len() as u64,
            common: other.keys.iter().filter(both).count() as u64,
            same_id_other_prompt: other.keys.iter().filter(clash).count() as u64,
        }
    }

    /// Number of queries graded in both runs, and how many of them by different scorers.
    fn graded_otherwise(&self, other: &Self) -> (u64, u64) {
        let ours: HashMap<&str, &str> = self.graded().collect();
        let theirs: HashMap<&str, &str> = other.graded().collect();
        let both = theirs
            .iter()
            .filter_map(|(key, scorer)| Some((ours.get(key)?, scorer)));
        both.fold((0, 0), |(both, otherwise), (a, b)| {
            (both + 1, otherwise + u64::from(a != b))
        })
    }

    /// Queries with a verdict, and the scorer that gave it.
    fn graded(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| {
            let scorer = &self.scorers[line.scorer?];
            Some((self.keys[line.key].as_str(), scorer.as_str()))
        })
    }
}

fn id(key: &str) -> &str {
    key.get(FINGERPRINT..).unwrap_or_default()
}

/// Stable within one build, which suffices: the hash is never written.
fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Facts gathered from the rows.
#[derive(Debug, Default)]
struct RowFacts {
    rows: u64,
    queries: u64,
    failed: u64,
    basis: BTreeSet<String>,
    methods: BTreeSet<String>,
    scorers: Vec<String>,
}

/// A run that is being read.
struct Reading<'a> {
    frame: &'a Frame,
    keys: Vec<String>,
    places: HashMap<String, usize>,
    subjects: Vec<String>,
    scorers: Vec<String>,
    lines: Vec<Line>,
    failed: u64,
    basis: BTreeSet<String>,
    methods: BTreeSet<String>,
}

impl Consumer for Reading<'_> {
    fn fields(&self) -> Fields {
        Row::fields() | Fields::PROBLEM | Fields::SUBJECT | Fields::EVALUATION | Fields::SHARES
    }

    fn row(&mut self, row: &row::Row<'_>) {
        self.failed += u64::from(!row.is_answered);
        let key = format!("{:016x}{}", fingerprint(row.texts.problem), row.id);
        let key = match self.places.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.keys.push(new.key().clone());
                *new.insert(self.keys.len() - 1)
            }
        };
        let subject = row
            .subject
            .map(|subject| place(&mut self.subjects, subject));
        let config = row.evaluation.config.filter(|_| row.is_correct.is_some());
        let scorer = config.map(|config| place(&mut self.scorers, config));
        if row.energy.joules.is_some() {
            self.energy(row);
        }
        self.lines.push(Line {
            key,
            subject,
            scorer,
            row: Row {
                query: "",
                ..Row::of(self.frame, row)
            },
        });
    }
}

impl<'a> Reading<'a> {
    fn within(frame: &'a Frame) -> Self {
        Self {
            frame,
            keys: Vec::new(),
            places: HashMap::new(),
            subjects: Vec::new(),
            scorers: Vec::new(),
            lines: Vec::new(),
            failed: 0,
            basis: BTreeSet::new(),
            methods: BTreeSet::new(),
        }
    }

    fn energy(&mut self, row: &row::Row<'_>) {
        let basis = row.energy.basis.unwrap_or_default();
        if !self.basis.contains(basis) {
            self.basis.insert(basis.to_owned());
        }
        let is_estimate = is_estimated(basis);
        for share in row.shares.iter().filter(|share| share.joules.is_some()) {
            // An estimate beside a measured basis is shown, but does not count.
            let counts = is_estimate || share.method != "estimated";
            if counts && !self.methods.contains(share.method) {
                self.methods.insert(share.method.to_owned());
            }
        }
    }

    fn seen(&mut self) -> RowFacts {
        RowFacts {
            rows: self.lines.len() as u64,
            queries: self.keys.len() as u64,
            failed: self.failed,
            basis: std::mem::take(&mut self.basis),
            methods: std::mem::take(&mut self.methods),
            scorers: self.scorers.clone(),
        }
    }
}

/// The index of a name in a list, to which a new name is appended.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// The metric of this name.
pub fn metric_named(name: &str) -> Result<Metric, String> {
    let is_meant = |metric: &Metric| metric.name().eq_ignore_ascii_case(name.trim());
    Metric::ALL.into_iter().find(is_meant).ok_or_else(|| {
        let known = Metric::ALL.map(|metric| format!("`{}`", metric.name()));
        let meant = nearest(name, Metric::ALL.map(Metric::name))
            .map_or(String::new(), |name| format!("did you mean `{name}`? "));
        format!(
            "`{name}` is not a metric\nhelp: {meant}known metrics are {}",
            known.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(queries: &[(&str, &str)]) -> RunRows {
        let keys = queries
            .iter()
            .map(|(id, prompt)| format!("{:016x}{id}", fingerprint(prompt)));
        RunRows {
            facts: Facts::default(),
            keys: keys.collect(),
            subjects: Vec::new(),
            scorers: Vec::new(),
            lines: Vec::new(),
        }
    }

    #[test]
    fn a_query_is_the_same_only_if_its_prompt_is() {
        let a = compared(&[("0", "one"), ("1", "two"), ("2", "three")]);
        let b = compared(&[("1", "two"), ("2", "another"), ("3", "four")]);
        let found = a.overlap(&b);
        let wanted = Overlap {
            a: 3,
            b: 3,
            common: 1,
            same_id_other_prompt: 1,
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_set_of_queries_is_known_in_any_order() {
        let a = compared(&[("0", "one"), ("1", "two")]);
        let b = compared(&[("1", "two"), ("0", "one")]);
        assert_eq!(a.queries(), b.queries());
        assert_ne!(a.queries(), compared(&[("0", "one")]).queries());
        assert_ne!(
            a.queries(),
            compared(&[("0", "two"), ("1", "one")]).queries()
        );
    }

    #[test]
    fn a_mistyped_metric_is_told_with_the_nearest() {
        assert_eq!(metric_named("IPW"), Ok(Metric::Ipw));
        let wrong = metric_named("acuracy").unwrap_err();
        assert!(wrong.contains("did you mean `accuracy`?"), "{wrong}");
        assert!(wrong.contains("`joules_per_token`"), "{wrong}");
    }
}
