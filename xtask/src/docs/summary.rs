//! The table of contents of the book: `docs/SUMMARY.md` has every page below `docs/`, once.

use std::path::{Path, PathBuf};

use super::Finding;
use super::page::Page;

/// The one page that is not in the book: its table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages that the summary lacks or has twice. That its links resolve is checked as for any page.
pub(super) fn findings(pages: &[Page]) -> Vec<Finding> {
    let finding = |path: &Path, line, text: String| Finding {
        path: path.to_owned(),
        line,
        text,
    };
    let summary = Path::new(SUMMARY);
    let Some(page) = pages.iter().find(|page| page.path() == summary) else {
        return vec![finding(summary, 1, "the page is missing".to_owned())];
    };
    let mut listed: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    for link in page.links() {
        let path = Path::new("docs").join(&link.target);
        if listed.contains(&path) {
            let text = format!("`{}` is listed twice", link.target);
            found.push(finding(summary, link.line, text));
        }
        listed.push(path);
    }
    let absent = pages.iter().map(Page::path).filter(|path| {
        path.starts_with("docs") && *path != summary && !listed.iter().any(|it| it == path)
    });
    found.extend(absent.map(|path| finding(path, 1, format!("the page is not in `{SUMMARY}`"))));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_listed_once() {
        let page = |path: &str, text: &str| Page::new(Path::new(path), text);
        let pages = [
            page(SUMMARY, "# Summary\n\n- [A](a.md)\n- [A](a.md)\n"),
            page("docs/a.md", "# A"),
            page("docs/b/c.md", "# C"),
            page("README.md", "# R"),
        ];
        let found: Vec<String> = findings(&pages).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/SUMMARY.md:4: `a.md` is listed twice",
                "docs/b/c.md:1: the page is not in `docs/SUMMARY.md`"
            ]
        );
    }
}
