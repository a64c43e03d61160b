//! `cargo xtask docs`: checks the pages of the repository and builds them as a book.
//!
//! The checks are a test too, so CI runs them without mdBook: links and anchors resolve, the
//! summary has every page, paragraphs are short, and texts avoid words that readers stumbled over.

mod page;
mod source;
mod summary;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use clap::Args;

use crate::say;

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Only check the pages and the texts of the sources; do not build the book
    #[arg(long)]
    check: bool,
}

/// Directories without pages of ours, at any depth.
const SKIPPED: [&str; 3] = ["target", "runs", ".git"];

pub(crate) fn run(args: &DocsArgs) -> anyhow::Result<ExitCode> {
    let findings = findings(&workspace())?;
    for finding in &findings {
        say(finding);
    }
    if !findings.is_empty() {
        say(&format!("docs: {} findings", findings.len()));
        return Ok(ExitCode::FAILURE);
    }
    say("docs: links, summary, paragraphs and words are fine");
    if args.check {
        return Ok(ExitCode::SUCCESS);
    }
    let version = Command::new("mdbook")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !version.is_ok_and(|status| status.success()) {
        anyhow::bail!("cannot build the book: mdbook is not installed\nhelp: cargo install mdbook");
    }
    let status = Command::new("mdbook")
        .arg("build")
        .arg(workspace().join("docs"))
        .status()
        .context("cannot start mdbook")?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    say("docs: open target/book/index.html");
    Ok(ExitCode::SUCCESS)
}

/// Everything that is wrong, as `file:line: text`, sorted by file.
fn findings(root: &Path) -> anyhow::Result<Vec<String>> {
    let files = files(root)?;
    let pages: Vec<page::Page> = of_kind(&files, "md")
        .map(|path| Ok(page::Page::new(path, &read(&root.join(path))?)))
        .collect::<anyhow::Result<_>>()?;
    let mut found = Vec::new();
    for page in &pages {
        found.extend(page.findings(root, &pages));
        found.extend(words::findings(page.path(), page.text(), 0));
    }
    found.extend(summary::findings(&pages));
    for path in of_kind(&files, "rs").filter(|path| is_source(path)) {
        let text = read(&root.join(path))?;
        for (at, piece) in source::texts(&text) {
            if is_for_models(piece) {
                continue;
            }
            let line = text[..at].matches('\n').count();
            found.extend(words::findings(path, piece, line));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|found| found.to_string()).collect())
}

/// A place and what is wrong with it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: PathBuf,
    /// From 1.
    line: usize,
    text: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}

fn workspace() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// All files below `root`, relative to it, in order.
fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let list = || format!("cannot list `{}`", directory.display());
        for entry in fs::read_dir(&directory).with_context(list)? {
            let entry = entry.with_context(list)?;
            let kind = entry.file_type().with_context(list)?;
            let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !is_skipped {
                directories.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                files.push(path.strip_prefix(root).unwrap_or(&path).to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn of_kind<'a>(files: &'a [PathBuf], kind: &'a str) -> impl Iterator<Item = &'a PathBuf> {
    files
        .iter()
        .filter(move |path| path.extension().is_some_and(|extension| extension == kind))
}

/// Whether a path is a source of a crate or of `xtask`, not of an integration test or an example.
fn is_source(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts[..], ["crates", _, "src", ..] | ["xtask", "src", ..])
}

/// Chat templates, and what a judge reads in place of a missing reference: changing these words
/// would change what models answer.
fn is_for_models(text: &str) -> bool {
    text.contains("{{") || text.starts_with("\"(there is ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_link_and_read_as_they_should() {
        let found = findings(&workspace()).unwrap();
        assert!(
            found.is_empty(),
            "{} findings:\n{}",
            found.len(),
            found.join("\n")
        );
    }

    #[test]
    fn only_sources_of_crates_count() {
        for (path, expected) in [
            ("crates/core/src/a/b.rs", true),
            ("xtask/src/main.rs", true),
            ("crates/core/tests/a.rs", false),
            ("crates/ipw/examples/a.rs", false),
        ] {
            assert_eq!(is_source(Path::new(path)), expected, "{path}");
        }
    }
}
