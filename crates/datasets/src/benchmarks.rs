//! Known benchmarks: published questions by name, from the hub or from a copy on disk.
//!
//! What is particular to one stands in the [table]; everything here is the same for all. A row is
//! turned into what our own files have (`problem`, `answer`, `subject`, `choices`, `scorer`), so that
//! the rest of the way knows no benchmark.

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
use supply::Published;

/// A published set of questions.
#[derive(Debug, Clone, Copy)]
pub struct Benchmark {
    /// The name that selects it.
    pub id: &'static str,
    /// Other names that do.
    pub aliases: &'static [&'static str],
    /// What people call it.
    pub title: &'static str,
    /// Where it is on the hub, whose page documents its columns; `None` for what is on disk only.
    pub repository: Option<&'static str>,
    /// Which configuration, unless told.
    pub config: &'static str,
    /// Which split, unless told.
    pub split: &'static str,
    /// Which revision, unless told.
    pub revision: &'static str,
    /// How many rows that split has, as published.
    pub rows: u64,
    /// Its licence, as the hub's own tag has it.
    pub license: &'static str,
    /// Whether the hub wants to know who has it.
    pub is_gated: bool,
    /// How answers are graded.
    pub scorer: &'static str,
    pub(crate) question: Wording,
    pub(crate) answer: Answer,
    pub(crate) subject: Subject,
    /// The first of them that a row has is its id.
    pub(crate) id_columns: &'static [&'static str],
    /// What else of a row is kept.
    pub(crate) keep: &'static [&'static str],
    /// Whether bad rows are left out unless told.
    pub(crate) leaves_out: bool,
}

/// Where the question is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wording {
    /// In a column.
    Column(&'static str),
    /// In a conversation, the first message of that role.
    FirstTurn {
        column: &'static str,
        role: &'static str,
    },
}

/// Where the reference answer is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// There is none.
    None,
    /// In a column.
    Column(&'static str),
    /// In a column, behind the last mark.
    Behind {
        column: &'static str,
        mark: &'static str,
    },
    /// In a conversation, the first message of that role after the question.
    FirstTurn {
        column: &'static str,
        role: &'static str,
    },
    /// One of several options.
    Choice(Choices),
}

/// How options are given, and which is right.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choices {
    /// A list of texts, and a column that says which.
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
    /// Texts with a mark each, the right one's being 1. They are mixed.
    Marked { column: &'static str },
    /// A column each. They are mixed.
    Columns {
        right: &'static str,
        wrong: &'static [&'static str],
    },
}

/// How a column names one of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// By its number, from 0.
    Index,
    /// By its letter, from A.
    Letter,
}

/// Where the topic is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject {
    /// Nowhere.
    None,
    /// In a column.
    Column(&'static str),
    /// Under a key in a column, which is a struct or a text that looks like one.
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

/// What every benchmark can be told, each with its meaning.
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

/// All benchmarks.
pub(crate) fn all() -> &'static [Benchmark] {
    table::TABLE
}

/// The benchmark with this name.
pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    all()
        .iter()
        .find(|known| known.id == name || known.aliases.contains(&name))
}

impl Benchmark {
    /// Whether the options of a question are put into an order of our own.
    pub fn mixes_options(&self) -> bool {
        matches!(
            self.answer,
            Answer::Choice(Choices::Marked { .. } | Choices::Columns { .. })
        )
    }

    /// The published columns that are read: what must be there, then what may be.
    pub fn columns(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut required = match self.question {
            Wording::Column(column) | Wording::FirstTurn { column, .. } => vec![column],
        };
        match self.answer {
            // The reply is in the conversation that the question is in.
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

/// Which part of a benchmark.
#[derive(Debug)]
struct Wanted {
    benchmark: &'static Benchmark,
    config: Option<String>,
    split: Option<String>,
    revision: Option<String>,
    subject: Option<String>,
}

impl Wanted {
    fn config(&self) -> &str {
        self.config.as_deref().unwrap_or(self.benchmark.config)
    }

    fn split(&self) -> &str {
        self.split.as_deref().unwrap_or(self.benchmark.split)
    }

    fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(self.benchmark.revision)
    }

    /// The benchmark's name, with whatever is not as usual.
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

/// Opens and checks a benchmark, fetched first if it is not here.
pub(crate) fn open(
    benchmark: &'static Benchmark,
    params: &Params,
    fetching: &mut Fetching<'_>,
) -> Result<Rows, DatasetError> {
    let id = benchmark.id;
    let mut reader = params.reader(id);
    let path = reader.text(PATH.0).map(PathBuf::from);
    let wanted = Wanted {
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
    let published = Published::new(parts, shaper, wanted.subject.clone());
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

/// Why there is nothing to fetch.
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
