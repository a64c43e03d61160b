//! Every kind of dataset, from the argument to the queries; files made by the tools of others.

mod csv;
mod damaged;
mod detection;
mod packed;
mod skipping;
mod stdin;
mod synthetic;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_datasets::{Dataset, DatasetError, DatasetSpec, open};
use ipw_testkit::{hugging_face, or_skip};
use tempfile::TempDir;

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn spec(argument: &str, pairs: Pairs<'_>) -> DatasetSpec {
    let params: Params = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    ipw_datasets::named(argument, params)
}

fn open_at(path: &Path, pairs: Pairs<'_>) -> Result<Box<dyn Dataset>, DatasetError> {
    open(&spec(path.to_str().expect("a path in UTF-8"), pairs))
}

fn queries(dataset: &dyn Dataset) -> Vec<Query> {
    let queries = dataset.queries().expect("a stream");
    queries.collect::<Result<_, _>>().expect("queries")
}

fn all(path: &Path, pairs: Pairs<'_>) -> Vec<Query> {
    queries(open_at(path, pairs).expect("a dataset").as_ref())
}

fn problems(path: &Path, pairs: Pairs<'_>) -> String {
    let queries = all(path, pairs);
    let problems: Vec<_> = queries.iter().map(|query| query.problem.as_str()).collect();
    problems.join(" ")
}

/// The error and its causes, with the directory left out.
fn message(path: &Path, pairs: Pairs<'_>) -> String {
    let error = open_at(path, pairs).err().expect("an error");
    let directory = path.parent().expect("a directory").display().to_string();
    ipw_core::text::with_causes(&error).replace(&directory, "…")
}

/// A file with that name and content, in a directory of its own.
fn file(name: &str, content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join(name);
    fs::write(&path, content).expect("a written file");
    (directory, path)
}

/// Files that Python made, once for all tests; `None` without Python.
fn fixtures() -> Option<&'static Path> {
    static MADE: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let venv = or_skip(hugging_face::newest())?;
        let directory = TempDir::new().expect("a temporary directory");
        let made = venv.run(include_str!("fixtures.py"), &[directory.path()]);
        made.expect("the fixtures");
        Some(directory)
    });
    made.as_ref().map(TempDir::path)
}
