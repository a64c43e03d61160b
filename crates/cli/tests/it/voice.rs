//! Texts of the library crates name settings; only the command line has flags.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that are the command line, or stand for other programs in tests.
const NO_LIBRARY: [&str; 4] = ["cli", "fake-amdsmi", "fake-nvml", "testkit"];

/// Where a text may have dashes, how it goes on behind them, and why.
const ALLOWED: [(&str, &str, &str); 12] = [
    (
        "datasets/src/benchmarks/fetch.rs",
        "{}.json",
        "the name of a file",
    ),
    (
        "datasets/src/packed.rs",
        "long",
        "zstd's own: it made the file",
    ),
    (
        "ipw/src/launch/preset.rs",
        "port",
        "an option of the services that are launched",
    ),
    (
        "ipw/src/launch/preset.rs",
        "host",
        "an option of the services that are launched",
    ),
    ("hub/src/models/wheel.rs", "no-", "pip's own"),
    ("hub/src/models/wheel.rs", "only-binary", "pip's own"),
    ("hub/src/models/wheel.rs", "disable-pip-", "pip's own"),
    ("hub/src/models/wheel.rs", "retries=2", "pip's own"),
    ("hub/src/models/wheel.rs", "dest", "pip's own"),
    ("plot/src/", "ipw-", "CSS variables"),
    (
        "telemetry/src/collectors/apple/",
        "samplers",
        "powermetrics' own",
    ),
    (
        "telemetry/src/collectors/nvml/",
        "gpus all",
        "docker's own: it starts the container",
    ),
];

#[test]
fn no_text_of_a_library_crate_names_a_flag() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut is_used = [false; ALLOWED.len()];
    let mut wrong = Vec::new();
    for file in sources(crates) {
        let source = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(crates).unwrap().to_str().unwrap();
        for text in texts(&source) {
            for after in behind_dashes(text) {
                let is_ours = |(place, start, _): &(&str, &str, &str)| {
                    file.starts_with(place) && after.starts_with(start)
                };
                match ALLOWED.iter().position(is_ours) {
                    Some(place) => is_used[place] = true,
                    None => wrong.push(format!("{file}: {text}")),
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "use `ipw_core::setting::Setting` in place of a flag:\n{}",
        wrong.join("\n")
    );
    for (used, allowed) in is_used.iter().zip(ALLOWED) {
        assert!(used, "no text needs {allowed:?}");
    }
}

/// The files of the library crates, without those of tests.
fn sources(crates: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        let is_library = !NO_LIBRARY.iter().any(|name| entry.file_name() == *name);
        let sources = entry.path().join("src");
        directories.extend((is_library && sources.is_dir()).then_some(sources));
    }
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                directories.push(path);
            } else if !is_test && path.extension().is_some_and(|kind| kind == "rs") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 100, "{files:?}");
    files
}

/// What follows each `--` that could begin a flag, be its name written out or filled in.
/// `var(--…)` uses a CSS variable and does not count.
fn behind_dashes(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("--").filter_map(|(at, dashes)| {
        let (before, after) = (&text[..at], &text[at + dashes.len()..]);
        let begins = after.starts_with(|next: char| next.is_ascii_lowercase() || next == '{');
        let is_other = before.ends_with('-') || before.ends_with("var(");
        (begins && !is_other).then_some(after)
    })
}

/// The string literals of a source, without those of its module of tests.
fn texts(source: &str) -> Vec<&str> {
    // Clippy sees to it that nothing stands below that module (`items_after_test_module`).
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(next) = source[at..].find(['/', '\'', '"']) {
        let (before, rest) = source.split_at(at + next);
        at = before.len()
            + if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else if let Some(text) = rest.strip_prefix('"') {
                let length = length(before, text);
                texts.push(&text[..length]);
                length + 2 + hashes(before)
            } else {
                character(rest)
            };
    }
    texts
}

/// How many `#` a raw string has that begins behind `before`.
fn hashes(before: &str) -> usize {
    let plain = before.trim_end_matches('#');
    if plain.ends_with('r') {
        before.len() - plain.len()
    } else {
        0
    }
}

/// The length of a literal's text.
fn length(before: &str, text: &str) -> usize {
    if before.trim_end_matches('#').ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes(before)));
        return text.find(&end).unwrap();
    }
    let mut is_escaped = false;
    let ends = |next: char| {
        let is_end = next == '"' && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_end
    };
    text.find(ends).unwrap()
}

/// The length of a literal of one character, or of the quote before a lifetime's name; 1 for `/`.
fn character(rest: &str) -> usize {
    let mut next = rest.chars().skip(1);
    match (rest.starts_with('\''), next.next(), next.next()) {
        (true, Some('\\'), Some(_)) => 3 + rest[3..].find('\'').map_or(0, |end| end + 1),
        (true, Some(one), Some('\'')) => 2 + one.len_utf8(),
        _ => 1,
    }
}

#[test]
fn texts_are_told_from_comments_characters_and_lifetimes() {
    let source = r##"
        // "--no" and 'a
        /* "--no" */ fn of<'a>(text: &'a str) -> [char; 4] { ['"', '\'', '\\', 'é'] }
        /// "--no"
        const A: &str = "--yes \" /* // \\"; const B: &str = r#"raw "--yes" too"#; 1 / 2;
        #[error("`--{}` ----- --- x-- --X var(--x)", b"--bytes")]
#[cfg(test)]
mod tests {
    const C: &str = "--no";
"##;
    let found = texts(source);
    assert_eq!(
        found,
        [
            r#"--yes \" /* // \\"#,
            r#"raw "--yes" too"#,
            "`--{}` ----- --- x-- --X var(--x)",
            "--bytes"
        ]
    );
    let behind: Vec<&str> = found.into_iter().flat_map(behind_dashes).collect();
    assert_eq!(behind.len(), 4, "{behind:?}");
}
