//! Turns the argument of a user into the dataset that a plan stores.

use std::path::{self, Path};

use ipw_core::dataset::DatasetSpec;
use ipw_core::params::Params;

use crate::{benchmarks, detect, stdin};

/// The dataset that the user names by a known id, a path, or `-` for standard input. The content or
/// the name of a path decides its format; if neither does, [`crate::open`] fails.
///
/// A known id wins over a file of the same name, so that a stray file called `starter` does not
/// change a run; `./starter` means the file. A path wins over a parameter `path`.
pub fn named(argument: &str, mut params: Params) -> DatasetSpec {
    let id = if argument == stdin::DASH {
        stdin::ID
    } else if is_path(argument) {
        params.insert(detect::PATH, argument);
        detect::kind(Path::new(argument), &params).unwrap_or(detect::AUTO)
    } else {
        benchmarks::find(argument).map_or(argument, |known| known.id)
    };
    DatasetSpec {
        id: id.to_owned(),
        params,
    }
}

fn is_path(argument: &str) -> bool {
    let is_known = crate::known().iter().any(|known| known.id == argument);
    if is_known || benchmarks::find(argument).is_some() {
        return false;
    }
    let path = Path::new(argument);
    argument.contains(path::is_separator) || detect::by_name(path).is_some() || path.exists()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(argument: &str) -> (String, Option<String>) {
        let spec = named(argument, Params::default());
        let path = spec.params.iter().find(|(name, _)| *name == "path");
        let path = path.map(|(_, path)| path.to_owned());
        (spec.id, path)
    }

    #[test]
    fn an_argument_is_an_id_or_a_path() {
        for id in ["starter", "jsonl", "hf", "gsm8k", "math.json"] {
            assert_eq!(seen(id), (id.to_owned(), None));
        }
        assert_eq!(seen("-"), ("stdin".to_owned(), None));
        assert_eq!(seen("math500"), ("math-500".to_owned(), None));
        // `Cargo.toml` and `src` are in the directory that tests run in.
        for (path, id) in [
            ("a.jsonl", "jsonl"),
            ("a.NDJSON", "jsonl"),
            ("a.jsonl.gz", "jsonl"),
            ("a.csv", "csv"),
            ("a.tsv.zst", "csv"),
            ("a.parquet", "parquet"),
            ("./starter", "auto"),
            ("dir/a", "auto"),
            ("Cargo.toml", "auto"),
            ("src", "hf"),
            ("src/starter.jsonl", "jsonl"),
        ] {
            assert_eq!(seen(path), (id.to_owned(), Some(path.to_owned())));
        }
    }

    #[test]
    fn the_other_parameters_stay() {
        let params: Params = [("limit".to_owned(), "3".to_owned())].into_iter().collect();
        let spec = named("a.jsonl", params);
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
