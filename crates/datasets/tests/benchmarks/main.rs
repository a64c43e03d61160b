//! Known benchmarks: their rows as published, from a hub on loopback and from copies on disk.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helper fails loudly"
)]

mod docs;
mod hub;
mod published;
mod rows;

use std::path::Path;
use std::time::Duration;

use ipw_core::params::Params;
use ipw_core::query::Query;
use ipw_datasets::{Access, Benchmark, Dataset, DatasetError, Fetching, open_with};
use ipw_hub::{Hub, Patience, Progress, Token};
use ipw_testkit::mimic_hub::MimicHub;
use tempfile::TempDir;

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// An address without a listener.
const NOWHERE: &str = "http://127.0.0.1:1";

/// A cache of its own, and a hub.
struct Place {
    directory: TempDir,
    hub: Hub,
}

impl Place {
    fn at(endpoint: &str) -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            hub: Hub {
                endpoint: endpoint.to_owned(),
                token: None,
                patience: Patience {
                    connect: Duration::from_secs(5),
                    idle: Duration::from_secs(10),
                    retries: 3,
                    pause: Duration::ZERO,
                },
                is_offline: false,
            },
        }
    }

    fn of(hub: &MimicHub) -> Self {
        Self::at(&hub.url())
    }

    /// The same cache, another hub.
    fn moved_to(mut self, endpoint: &str) -> Self {
        endpoint.clone_into(&mut self.hub.endpoint);
        self
    }

    fn with_token(mut self, token: &str) -> Self {
        self.hub.token = Token::new(token);
        self
    }

    fn cache(&self) -> &Path {
        self.directory.path()
    }

    fn told(
        &self,
        id: &str,
        pairs: Pairs<'_>,
    ) -> (Result<Box<dyn Dataset>, DatasetError>, Vec<Progress>) {
        let params: Params = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut told = Vec::new();
        let opened = open_with(
            &ipw_datasets::named(id, params),
            &mut Fetching {
                access: Some(Access {
                    hub: self.hub.clone(),
                    cache: self.cache().to_owned(),
                }),
                report: &mut |progress| told.push(progress),
            },
        );
        (opened, told)
    }

    fn open(&self, id: &str, pairs: Pairs<'_>) -> Result<Box<dyn Dataset>, DatasetError> {
        self.told(id, pairs).0
    }

    fn all(&self, id: &str, pairs: Pairs<'_>) -> Vec<Query> {
        let opened = self.open(id, pairs);
        queries(
            opened
                .unwrap_or_else(|error| panic!("{id}: {error}"))
                .as_ref(),
        )
    }

    /// The error, with the cache left out.
    fn message(&self, id: &str, pairs: Pairs<'_>) -> String {
        let error = self.open(id, pairs).err().expect("an error");
        let text = ipw_core::text::with_causes(&error);
        text.replace(&self.cache().display().to_string(), "…")
    }
}

fn queries(dataset: &dyn Dataset) -> Vec<Query> {
    let queries = dataset.queries().unwrap();
    queries.collect::<Result<_, _>>().unwrap()
}

fn benchmark(id: &str) -> &'static Benchmark {
    let mut all = ipw_datasets::benchmarks().iter();
    all.find(|known| known.id == id).unwrap()
}
