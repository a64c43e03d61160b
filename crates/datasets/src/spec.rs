//! Which dataset a run uses, as the plan stores it.

use std::path::{self, Path};

use ipw_core::params::Params;
use serde::{Deserialize, Serialize};

use crate::jsonl;

/// A dataset's id and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// Which member of the registry.
    pub id: String,
    /// What it is told, by name.
    #[serde(default)]
    pub params: Params,
}

impl DatasetSpec {
    /// What the user typed after `--dataset`: a known id, or a path to a file.
    ///
    /// A known id wins over a file of the same name, so that a stray file called `starter` does
    /// not change what a run asks; `./starter` is the file. A path wins over a parameter `path`.
    pub fn from_argument(argument: &str, mut params: Params) -> Self {
        let id = if is_path(argument) {
            params.insert(jsonl::PATH.0, argument);
            jsonl::ID
        } else {
            argument
        };
        Self {
            id: id.to_owned(),
            params,
        }
    }
}

fn is_path(argument: &str) -> bool {
    if crate::known().iter().any(|known| known.id == argument) {
        return false;
    }
    let path = Path::new(argument);
    argument.contains(path::is_separator)
        || path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case("jsonl") || extension.eq_ignore_ascii_case("ndjson")
        })
        || path.exists()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path_of(argument: &str) -> Option<String> {
        let spec = DatasetSpec::from_argument(argument, Params::default());
        let path = spec.params.iter().find(|(name, _)| *name == "path");
        assert_eq!(spec.id == "jsonl" && argument != "jsonl", path.is_some());
        path.map(|(_, path)| path.to_owned())
    }

    #[test]
    fn an_argument_is_an_id_or_a_path() {
        for id in ["starter", "jsonl", "gsm8k", "math.json"] {
            assert_eq!(path_of(id), None, "{id}");
        }
        // `Cargo.toml` and `src` are in the directory that tests run in.
        for path in [
            "a.jsonl",
            "a.NDJSON",
            "./starter",
            "dir/a",
            "Cargo.toml",
            "src",
        ] {
            assert_eq!(path_of(path).as_deref(), Some(path));
        }
    }

    #[test]
    fn the_other_parameters_stay() {
        let params: Params = [("limit".to_owned(), "3".to_owned())].into_iter().collect();
        let spec = DatasetSpec::from_argument("a.jsonl", params);
        let stored = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            stored,
            json!({"id": "jsonl", "params": {"limit": "3", "path": "a.jsonl"}})
        );
        assert_eq!(serde_json::from_value::<DatasetSpec>(stored).unwrap(), spec);
    }

    #[test]
    fn an_unknown_field_in_a_stored_spec_is_refused() {
        assert!(
            serde_json::from_value::<DatasetSpec>(json!({"id": "starter", "parms": {}})).is_err()
        );
        assert!(serde_json::from_value::<DatasetSpec>(json!({"id": "starter"})).is_ok());
    }
}
