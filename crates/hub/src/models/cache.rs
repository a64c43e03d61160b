//! The model cache on this machine.

use std::path::{Path, PathBuf};

use ipw_core::cache::CacheLocationError;

use super::error::ModelError;
use super::reference::ModelRef;
use crate::{Expectation, Magic, Place};

/// The first bytes of every model file.
const MAGIC: Magic = Magic {
    bytes: b"GGUF",
    name: "a GGUF file",
};

/// The directory for fetched files. It is created on the first write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The user's cache: `IPW_CACHE`, else the system's cache directory.
    pub fn locate() -> Result<Self, ModelError> {
        let located = ipw_core::cache::directory(|name| std::env::var_os(name));
        located.map(Self::at).map_err(|error| match error {
            CacheLocationError::NoHome => ModelError::NoHome,
            CacheLocationError::Relative { path } => ModelError::RelativeCache { path },
        })
    }

    /// A cache in this directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The directory of the whole cache.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory of catalogue models.
    pub(crate) fn models(&self) -> PathBuf {
        self.directory.join("models")
    }

    /// The directory of hub files.
    pub(crate) fn hub(&self) -> PathBuf {
        self.models().join("hf")
    }

    /// The location of a model's file; for a local file, its path.
    pub(crate) fn place<'a>(&self, model: &'a ModelRef) -> Result<Place, &'a Path> {
        let file = match model {
            ModelRef::Named(entry) => self.models().join(entry.file),
            ModelRef::Hub(file) => self.hub().join(file.relative_path()),
            ModelRef::File(path) => return Err(path),
        };
        // Locks are kept apart: a lock file cannot be removed safely, a model's directory can.
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

fn expected(model: &ModelRef) -> Expectation {
    let (bytes, sha256) = match model {
        ModelRef::Named(entry) => (Some(entry.bytes), Some(entry.sha256.to_owned())),
        _ => (None, None),
    };
    Expectation {
        bytes,
        sha256,
        magic: Some(MAGIC),
    }
}
