//! File-safe names for run directories.

use std::path::Path;

/// Longest part of a directory name, in characters: a file name has at most 255 bytes, and a
/// character up to four.
const LONGEST: usize = 60;

/// Replaces every character except letters and digits by `_` and trims; `otherwise` if nothing is
/// left.
pub fn slug(name: &str, otherwise: &str) -> String {
    let replaced: String = name
        .chars()
        .take(LONGEST)
        .map(|character| {
            if character.is_alphanumeric() {
                character
            } else {
                '_'
            }
        })
        .collect();
    let trimmed = replaced.trim_matches('_');
    if trimmed.is_empty() {
        otherwise.to_owned()
    } else {
        trimmed.to_owned()
    }
}

/// Label of a model in columns and directories: as typed, but the file stem of a path.
pub fn model_label(model: &str) -> String {
    let path = Path::new(model);
    let is_gguf = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("gguf"));
    match path.file_stem() {
        Some(stem) if is_gguf => stem.to_string_lossy().into_owned(),
        _ => model.to_owned(),
    }
}

/// `profile_<hardware>_<model>_<dataset>`.
pub fn run_directory(hardware: &str, model: &str, dataset: &str) -> String {
    format!(
        "profile_{hardware}_{}_{}",
        slug(&model_label(model), "model"),
        slug(dataset, "dataset")
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A single path component, short enough for every file system.
        #[test]
        fn a_run_directory_is_one_name(hardware in ".*", model in ".*", dataset in ".*") {
            let hardware = crate::hardware::label(&[&hardware], Some(&hardware));
            let name = run_directory(&hardware, &model, &dataset);
            let path = Path::new(&name);
            prop_assert_eq!(path.components().count(), 1);
            prop_assert_eq!(path.file_name().and_then(|name| name.to_str()), Some(&*name));
            prop_assert!(!name.starts_with('.') && !name.contains(['/', '\\', '\0']));
            prop_assert!(name.chars().all(|c| c.is_alphanumeric() || "_+-".contains(c)));
            // An archived name gets a prefix.
            let longest = "profile___".len() + 48 + 2 * LONGEST * 4;
            prop_assert!(name.len() <= longest);
        }
    }

    #[test]
    fn slugs_follow_the_original() {
        for (name, expected) in [
            ("llama3.2:1b", "llama3_2_1b"),
            ("Test Dataset", "Test_Dataset"),
            ("../../etc/passwd", "etc_passwd"),
            ("__x__", "x"),
            ("模型-7b", "模型_7b"),
            ("///", "model"),
            ("", "model"),
        ] {
            assert_eq!(slug(name, "model"), expected, "{name}");
        }
        assert_eq!(slug(&"a".repeat(300), "model").len(), LONGEST);
    }

    #[test]
    fn a_path_is_labelled_by_its_file() {
        assert_eq!(model_label("/home/me/x.gguf"), "x");
        assert_eq!(model_label("models/y.Q4_1.GGUF"), "y.Q4_1");
        assert_eq!(
            model_label("meta-llama/Llama-3.2-1B"),
            "meta-llama/Llama-3.2-1B"
        );
        assert_eq!(model_label("llama3.2:1b"), "llama3.2:1b");
    }

    #[test]
    fn the_directory_carries_all_three() {
        assert_eq!(
            run_directory("UNKNOWN_HW", "a/b:1", "starter"),
            "profile_UNKNOWN_HW_a_b_1_starter"
        );
    }
}
