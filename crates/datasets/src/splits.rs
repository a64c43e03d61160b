//! Groups the files below a directory into splits.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::DatasetError;
use crate::files;

/// Limit of the depth. Datasets are less deep; it also ends a loop of links.
const DEEPEST: usize = 8;

/// Words that mark a split for Hugging Face's tools too.
const WORDS: [&str; 8] = [
    "train",
    "training",
    "validation",
    "valid",
    "val",
    "dev",
    "test",
    "eval",
];

/// The split of files whose path names none.
pub(crate) const ALL: &str = "all";

/// The files of one split.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// `train`, or `main/train` where there are several configurations.
    pub(crate) name: String,
    /// The files in the order of their names.
    pub(crate) files: Vec<PathBuf>,
}

/// The splits of the files whose names end in `ending`.
pub(crate) fn below(root: &Path, ending: &str) -> Result<Vec<Split>, DatasetError> {
    let mut found = Vec::new();
    collect(root, ending, 0, &mut found)?;
    found.sort();
    let mut splits = BTreeMap::<String, Vec<PathBuf>>::new();
    for path in found {
        let relative = path.strip_prefix(root).unwrap_or(&path);
        splits.entry(name(relative)).or_default().push(path);
    }
    Ok(splits
        .into_iter()
        .map(|(name, files)| Split { name, files })
        .collect())
}

/// The directories in a directory, in the order of their names.
pub(crate) fn directories(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let mut found: Vec<_> = entries(path)?
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let unreadable = |source| DatasetError::Open {
        path: path.to_owned(),
        source,
    };
    fs::read_dir(path)
        .map_err(unreadable)?
        .map(|entry| Ok(entry.map_err(unreadable)?.path()))
        .collect()
}

/// Follows links, because every file in the hub's cache is one.
fn collect(
    directory: &Path,
    ending: &str,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), DatasetError> {
    for path in entries(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // `map` and `filter` of `datasets` leave `cache-….arrow` beside the data.
        if name.starts_with('.') || name.starts_with("cache-") {
            continue;
        }
        if path.is_dir() {
            if depth < DEEPEST {
                collect(&path, ending, depth + 1, found)?;
            }
        } else if files::has_ending(&path, ending) {
            found.push(path);
        }
    }
    Ok(())
}

/// The split of a file, by its path below the root.
pub(crate) fn name(relative: &Path) -> String {
    let stem = files::name(relative, "");
    let mut steps: Vec<_> = relative
        .parent()
        .into_iter()
        .flat_map(Path::iter)
        .map(|step| step.to_string_lossy().into_owned())
        .filter(|step| step != "data")
        .collect();
    steps.extend(own_name(&stem));
    if steps.is_empty() {
        ALL.to_owned()
    } else {
        steps.join("/")
    }
}

/// The split in a file's name: `train-00000-of-00002`, `gsm8k-train`, `test`. `None` for a number
/// or a name without a known word.
fn own_name(stem: &str) -> Option<String> {
    if let Some(place) = stem.find("-of-") {
        let (head, _) = stem.split_at(place);
        let (name, number) = head.rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        // The cache of `datasets` puts the dataset's name in front.
        let last = name.rsplit('-').next().filter(|last| WORDS.contains(last));
        return is_number.then(|| last.unwrap_or(name).to_owned());
    }
    stem.split(|character: char| !character.is_ascii_alphanumeric())
        .find(|word| WORDS.contains(word))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_its_split() {
        for (path, expected) in [
            ("data/train-00000-of-00002.parquet", "train"),
            ("train-00000-of-00001-abc.parquet", "train"),
            ("main/test-00000-of-00001.parquet", "main/test"),
            ("default/train/0000.parquet", "default/train"),
            ("part-0.parquet", "all"),
            ("part-1.parquet", "all"),
            ("test.parquet", "test"),
            ("gsm8k-train.arrow", "train"),
            ("gsm8k-train-00000-of-00002.arrow", "train"),
            ("my_own-00000-of-00002.parquet", "my_own"),
            ("latest.parquet", "all"),
            ("x-of-y.parquet", "all"),
        ] {
            assert_eq!(name(Path::new(path)), expected, "{path}");
        }
    }
}
