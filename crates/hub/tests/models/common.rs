//! A place for one test, with a small model of its own.

use std::path::PathBuf;
use std::time::Duration;

use ipw_hub::models::catalogue::Source;
use ipw_hub::models::{Cache, Entry, ModelError, ModelRef, Sources};
use ipw_hub::{Hub, Patience, Progress};
use sha2::{Digest as _, Sha256};

pub(crate) const FILE: &str = "small.gguf";

pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn cache(&self) -> Cache {
        Cache::at(self.directory.path().join("cache"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the small model and what goes with it come to lie.
    pub(crate) fn model(&self, ending: &str) -> PathBuf {
        self.path("cache/models").join(format!("{FILE}{ending}"))
    }

    /// Everything in the models' directory.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("cache/models"));
        let mut names: Vec<_> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn fetch(
        &self,
        sources: &Sources,
        model: &ModelRef,
    ) -> (Result<PathBuf, ModelError>, Vec<Progress>) {
        let mut told = Vec::new();
        let fetched = sources.fetch(model, &self.cache(), &mut |progress| told.push(progress));
        (fetched, told)
    }
}

/// Bytes that do not repeat soon, with the start that a model has.
pub(crate) fn content(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut bytes = b"GGUF".to_vec();
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn sha256(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

pub(crate) const ON_HUB: Source = Source::Hub {
    repository: "owner/repo",
    revision: "abc123",
    file: FILE,
};

pub(crate) const IN_WHEEL: Source = Source::Wheel {
    requirement: "small-model==1.0",
    member: FILE,
};

/// A model of the catalogue, as if it had one with that content.
pub(crate) fn named(content: &[u8], sources: &[Source]) -> ModelRef {
    let entry = Entry {
        name: "small",
        summary: "a test's own",
        file: FILE,
        bytes: content.len() as u64,
        sha256: sha256(content).leak(),
        licence: "none",
        sources: sources.to_vec().leak(),
    };
    ModelRef::Named(Box::leak(Box::new(entry)))
}

pub(crate) fn hub_file() -> ModelRef {
    ModelRef::parse("hf:owner/repo/sub/small.gguf").unwrap()
}

/// The hub at `endpoint`, asked impatiently and once; no Python.
pub(crate) fn sources(endpoint: &str) -> Sources {
    Sources {
        hub: Hub {
            endpoint: endpoint.to_owned(),
            token: None,
            is_offline: false,
            patience: Patience {
                connect: Duration::from_secs(5),
                idle: Duration::from_secs(10),
                retries: 0,
                pause: Duration::ZERO,
            },
        },
        python: PathBuf::from("/nonexistent/python3"),
    }
}
