//! Where models lie on this machine.

use std::path::{Path, PathBuf};

use ipw_core::cache::NoCache;

use super::error::ModelError;
use super::reference::ModelRef;
use crate::{Expected, Magic, Place};

/// What every model file starts with.
const MAGIC: Magic = Magic {
    bytes: b"GGUF",
    name: "a GGUF file",
};

/// The directory that keeps what was fetched. It is made when something is written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The user's cache: `IPW_CACHE`, else the system's place for caches.
    pub fn locate() -> Result<Self, ModelError> {
        let located = ipw_core::cache::directory(|name| std::env::var_os(name));
        located.map(Self::at).map_err(|error| match error {
            NoCache::NoHome => ModelError::NoHome,
            NoCache::Relative { path } => ModelError::RelativeCache { path },
        })
    }

    /// A cache in that directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The directory of the whole cache.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the files are.
    pub(crate) fn models(&self) -> PathBuf {
        self.directory.join("models")
    }

    /// Where files of the hub are.
    pub(crate) fn hub(&self) -> PathBuf {
        self.models().join("hf")
    }

    /// Where a model's file and what goes with it are; else the path of a file of the user's own.
    pub(crate) fn place<'a>(&self, model: &'a ModelRef) -> Result<Place, &'a Path> {
        let file = match model {
            ModelRef::Named(entry) => self.models().join(entry.file),
            ModelRef::Hub(file) => self.hub().join(file.relative_path()),
            ModelRef::File(path) => return Err(path),
        };
        // Locks live apart: a lock's file cannot be removed safely, a model's directory can.
        let name = file.strip_prefix(self.models()).unwrap_or(&file);
        let steps: Vec<_> = name.iter().map(|step| step.to_string_lossy()).collect();
        let lock = self.directory.join("locks").join(steps.join("--"));
        Ok(Place {
            file,
            lock,
            expected: expected(model),
        })
    }
}

fn expected(model: &ModelRef) -> Expected {
    let (bytes, sha256) = match model {
        ModelRef::Named(entry) => (Some(entry.bytes), Some(entry.sha256.to_owned())),
        _ => (None, None),
    };
    Expected {
        bytes,
        sha256,
        magic: Some(MAGIC),
    }
}
