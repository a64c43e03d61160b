//! Files of the user's, from the argument to the queries.

mod errors;
mod queries;

use std::fs;
use std::path::PathBuf;

use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_datasets::{Dataset, DatasetError, open};
use tempfile::TempDir;

struct Case {
    directory: TempDir,
    path: PathBuf,
}

impl Case {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("my set.jsonl");
        fs::write(&path, content).expect("a written file");
        Self { directory, path }
    }

    fn open(&self, pairs: &[(&str, &str)]) -> Result<Box<dyn Dataset>, DatasetError> {
        open_path(self.path.to_str().expect("a path in UTF-8"), pairs)
    }

    fn message(&self, pairs: &[(&str, &str)]) -> String {
        let message = self.open(pairs).err().expect("an error").to_string();
        let directory = self.directory.path().display().to_string();
        message.replace(&directory, "…")
    }
}

fn open_path(path: &str, pairs: &[(&str, &str)]) -> Result<Box<dyn Dataset>, DatasetError> {
    let params: Params = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    open(&ipw_datasets::named(path, params))
}

fn all(dataset: &dyn Dataset) -> Vec<Query> {
    dataset
        .queries()
        .expect("a stream")
        .collect::<Result<_, _>>()
        .expect("queries")
}

fn problems(dataset: &dyn Dataset) -> String {
    let problems: Vec<_> = all(dataset)
        .into_iter()
        .map(|query| query.problem)
        .collect();
    problems.join(" ")
}

fn numbered(count: usize) -> String {
    (0..count)
        .flat_map(|number| {
            [
                "{\"problem\": \"p".to_owned(),
                number.to_string(),
                "\"}\n".to_owned(),
            ]
        })
        .collect()
}
