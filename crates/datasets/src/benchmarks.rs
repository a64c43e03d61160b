//! Known benchmarks: published questions by name, from the hub or from a copy on disk.
//!
//! The [table] holds what is particular to one benchmark; the code here is the same for all. A
//! published row becomes a row as our own files have it (`problem`, `answer`, `subject`, `choices`,
//! `scorer`), so the code behind it has no case for a benchmark.

mod choices;
mod fetch;
mod local;
mod prompt;
mod row;
mod supply;
mod table;

use std::path::PathBuf;

use ipw_core::nearest::nearest;
use ipw_core::params::Params;

use crate::columns::Columns;
use crate::detect;
use crate::error::DatasetError;
use crate::options::{self, OnError, Options};
use crate::order::{self, Selection};
use crate::rows::Rows;
use crate::{Fetching, files};
use prompt::Template;
use row::Shaper;
use supply::BenchmarkRows;

/// A published set of questions.
#[derive(Debug, Clone, Copy)]
pub struct Benchmark {
    /// The id that selects it on the command line and in plans.
    pub id: &'static str,
    /// Other names that select it.
    pub aliases: &'static [&'static str],
    /// The name for people.
    pub title: &'static str,
    /// The repository on the hub, whose page documents the columns; `None` if it is only read from
    /// disk.
    pub repository: Option<&'static str>,
    /// The default configuration.
    pub config: &'static str,
    /// The default split.
    pub split: &'static str,
    /// The default revision.
    pub revision: &'static str,
    /// Rows of the default split, as published.
    pub rows: u64,
    /// The licence, as the hub's tag says.
    pub license: &'static str,
    /// Whether the hub gives it only to accounts that asked for access.
    pub is_gated: bool,
    /// The id of the scorer.
    pub scorer: &'static str,
    pub(crate) question: Wording,
    pub(crate) answer: Answer,
    pub(crate) subject: Subject,
    /// Candidates for the id: the first column that a row has is used.
    pub(crate) id_columns: &'static [&'static str],
    /// Other columns that are kept as metadata.
    pub(crate) keep: &'static [&'static str],
    /// Whether `on_error=skip` is the default, because published rows are known to be bad.
    pub(crate) leaves_out: bool,
}

/// Where a row holds the question.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wording {
    /// The text of a column.
    Column(&'static str),
    /// The first message of that role in a conversation.
    FirstTurn {
        column: &'static str,
        role: &'static str,
    },
}

/// Where a row holds the reference answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// The benchmark has no reference answers.
    None,
    /// The text of a column.
    Column(&'static str),
    /// The part of a column after the last `mark`.
    Behind {
        column: &'static str,
        mark: &'static str,
    },
    /// The first message of that role after the question.
    FirstTurn {
        column: &'static str,
        role: &'static str,
    },
    /// One of several options.
    Choice(Choices),
}

/// How a row gives the options, and which of them is right.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choices {
    /// A list of texts, and a column with the key of the right one.
    List {
        column: &'static str,
        answer: &'static str,
        key: Key,
    },
    /// Texts with a label each, and a column with the right label.
    Labelled {
        column: &'static str,
        answer: &'static str,
    },
    /// Texts with a mark each; the mark of the right one is 1. They are shuffled.
    Marked { column: &'static str },
    /// One column for each option. They are shuffled.
    Columns {
        right: &'static str,
        wrong: &'static [&'static str],
    },
}

/// How a column names one option of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// A number, from 0.
    Index,
    /// A letter, from A.
    Letter,
}

/// Where a row holds the topic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject {
    /// The benchmark has no topics.
    None,
    /// The text of a column.
    Column(&'static str),
    /// A key in a column that is a struct, or a text in the form of one.
    Inside {
        column: &'static str,
        key: &'static str,
    },
}

const PATH: (&str, &str) = (
    "path",
    "a copy on disk as it was published: Parquet, JSON lines, CSV or a directory",
);
const CONFIG: (&str, &str) = ("config", "which configuration (else the usual one)");
const SPLIT: (&str, &str) = ("split", "which split (else the usual one)");
const REVISION: (&str, &str) = (
    "revision",
    "a branch, tag or commit of the hub (default `main`)",
);
const SUBJECT: (&str, &str) = ("subject", "only rows of this topic");
const TEMPLATE: (&str, &str) = (
    "template",
    "`raw`: the question alone, without options (default `plain`)",
);
const SEED: (&str, &str) = (
    "seed",
    "which shuffle, of rows and of mixed options (default 0)",
);

/// The parameters of every benchmark, each with its meaning.
pub(crate) const PARAMS: &[(&str, &str)] = &[
    PATH,
    CONFIG,
    SPLIT,
    REVISION,
    SUBJECT,
    TEMPLATE,
    order::LIMIT,
    order::OFFSET,
    order::SHUFFLE,
    SEED,
    options::ON_ERROR,
];

pub(crate) fn all() -> &'static [Benchmark] {
    table::TABLE
}

/// The benchmark with this id or alias.
pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    all()
        .iter()
        .find(|known| known.id == name || known.aliases.contains(&name))
}

impl Benchmark {
    /// Whether the options of a question are shuffled by a seed.
    pub fn mixes_options(&self) -> bool {
        matches!(
            self.answer,
            Answer::Choice(Choices::Marked { .. } | Choices::Columns { .. })
        )
    }

    /// The published columns that are read: first the required ones, then the optional ones.
    pub fn columns(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut required = match self.question {
            Wording::Column(column) | Wording::FirstTurn { column, .. } => vec![column],
        };
        match self.answer {
            // The reply is in the same column as the question.
            Answer::None | Answer::FirstTurn { .. } => {}
            Answer::Column(column)
            | Answer::Behind { column, .. }
            | Answer::Choice(Choices::Marked { column }) => required.push(column),
            Answer::Choice(
                Choices::List { column, answer, .. } | Choices::Labelled { column, answer },
            ) => {
                required.extend([column, answer]);
            }
            Answer::Choice(Choices::Columns { right, wrong }) => {
                required.push(right);
                required.extend(wrong);
            }
        }
        let mut optional = match self.subject {
            Subject::None => vec![],
            Subject::Column(column) | Subject::Inside { column, .. } => vec![column],
        };
        optional.extend(self.id_columns);
        let kept = self.keep.iter().filter(|name| !optional.contains(name));
        let kept: Vec<_> = kept.copied().collect();
        optional.extend(kept);
        (required, optional)
    }
}

/// The part of a benchmark that the user selected; `None` means the benchmark's default.
#[derive(Debug)]
struct BenchmarkPart {
    benchmark: &'static Benchmark,
    config: Option<String>,
    split: Option<String>,
    revision: Option<String>,
    subject: Option<String>,
}

impl BenchmarkPart {
    fn config(&self) -> &str {
        self.config.as_deref().unwrap_or(self.benchmark.config)
    }

    fn split(&self) -> &str {
        self.split.as_deref().unwrap_or(self.benchmark.split)
    }

    fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(self.benchmark.revision)
    }

    /// The benchmark's id, followed by each choice that differs from the default.
    fn name(&self) -> String {
        let usual = self.benchmark;
        let other = |told: &Option<String>, usual| told.clone().filter(|told| told != usual);
        [
            Some(usual.id.to_owned()),
            other(&self.config, usual.config),
            other(&self.split, usual.split),
            self.subject.clone(),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("-")
    }
}

/// Opens and checks a benchmark; fetches it first if it is not in the cache.
pub(crate) fn open(
    benchmark: &'static Benchmark,
    params: &Params,
    fetching: &mut Fetching<'_>,
) -> Result<Rows, DatasetError> {
    let id = benchmark.id;
    let mut reader = params.reader(id);
    let path = reader.text(PATH.0).map(PathBuf::from);
    let wanted = BenchmarkPart {
        benchmark,
        config: reader.text(CONFIG.0),
        split: reader.text(SPLIT.0),
        revision: reader.text(REVISION.0),
        subject: reader.text(SUBJECT.0),
    };
    let template: Option<Template> = reader.parsed(TEMPLATE.0, "`plain` or `raw`")?;
    let (selection, seed) = Selection::read_with_seed(&mut reader)?;
    let on_error = reader.parsed(options::ON_ERROR.0, "`fail` or `skip`")?;
    reader.finish()?;
    if seed.is_some() && selection.shuffle.is_none() && !benchmark.mixes_options() {
        let owner = id.to_owned();
        return Err(DatasetError::SeedWithoutShuffle { owner });
    }
    let parts = match path {
        Some(path) => {
            if wanted.revision.is_some() {
                return Err(DatasetError::RevisionOfCopy { id });
            }
            files::exists(&path, PATH.1)?;
            local::parts(&path, &wanted)?
        }
        None => fetch::parts(&wanted, fetching)?,
    };
    let shaper = Shaper {
        benchmark,
        template: template.unwrap_or_default(),
        seed: seed.unwrap_or(0),
    };
    let published = BenchmarkRows::new(parts, shaper, wanted.subject.clone());
    let subjects = published.subjects();
    let otherwise = if benchmark.leaves_out {
        OnError::Skip
    } else {
        OnError::Fail
    };
    let options = Options {
        columns: Columns::default(),
        selection,
        on_error: on_error.unwrap_or(otherwise),
        most: None,
    };
    let rows = Rows::open(id, wanted.name(), Box::new(published), options)?;
    match wanted.subject {
        Some(subject) if !subjects.has(&subject) => {
            let known = subjects.names();
            let nearest = nearest(&subject, known.iter().map(String::as_str));
            Err(DatasetError::NoSubject {
                id,
                nearest: nearest.map(str::to_owned),
                wanted: subject,
                known,
            })
        }
        _ => Ok(rows),
    }
}

/// The error of a benchmark that is only read from disk and was given no path.
fn needs_path(benchmark: &Benchmark) -> DatasetError {
    ipw_core::params::ParamError::Missing {
        owner: benchmark.id.to_owned(),
        name: detect::PATH.to_owned(),
        meaning: PATH.1.to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_given_once() {
        let mut names: Vec<_> = all()
            .iter()
            .flat_map(|known| known.aliases.iter().chain([&known.id]))
            .chain(crate::known().iter().map(|known| &known.id))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for known in all() {
            assert_eq!(find(known.id).map(|found| found.id), Some(known.id));
        }
        assert_eq!(find("math500").map(|found| found.id), Some("math-500"));
    }

    #[test]
    fn every_entry_says_what_a_reader_must_know() {
        for known in all() {
            let id = known.id;
            for text in [known.title, known.config, known.split, known.license] {
                assert!(!text.is_empty(), "{id}");
            }
            assert!(known.rows > 0, "{id}");
            let is_choice = matches!(known.answer, Answer::Choice(_));
            assert_eq!(known.scorer == "choice", is_choice, "{id}");
            if let Some(repository) = known.repository {
                assert_eq!(repository.split('/').count(), 2, "{id}");
            }
        }
    }
}
