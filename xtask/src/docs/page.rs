//! A Markdown page: its links, its anchors as GitHub and mdBook make them, its paragraphs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::Finding;

/// The largest number of words of a paragraph.
const LONGEST: usize = 90;

/// A page, read once.
pub(super) struct Page {
    path: PathBuf,
    text: String,
    links: Vec<Link>,
    anchors: Vec<String>,
    paragraphs: Vec<Paragraph>,
}

/// A link that does not lead to another host.
pub(super) struct Link {
    /// From 1.
    pub(super) line: usize,
    /// As written: a path, an anchor, or both.
    pub(super) target: String,
}

struct Paragraph {
    line: usize,
    words: usize,
}

impl Page {
    pub(super) fn new(path: &Path, text: &str) -> Self {
        let mut page = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            links: Vec::new(),
            anchors: Vec::new(),
            paragraphs: Vec::new(),
        };
        page.read();
        page
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }

    /// Links that lead nowhere, and paragraphs that are too long.
    pub(super) fn findings(&self, root: &Path, pages: &[Self]) -> Vec<Finding> {
        let finding = |line, text| Finding {
            path: self.path.clone(),
            line,
            text,
        };
        let mut found = Vec::new();
        for link in &self.links {
            let (path, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let path = self.resolved(path);
            if !root.join(&path).exists() {
                let text = format!("`{}` does not exist", link.target);
                found.push(finding(link.line, text));
                continue;
            }
            let page = pages.iter().find(|page| page.path == path);
            let is_there = |page: &Self| page.anchors.iter().any(|known| known == anchor);
            if !anchor.is_empty() && !page.is_none_or(is_there) {
                let text = format!("`{}` has no heading `#{anchor}`", path.display());
                found.push(finding(link.line, text));
            }
        }
        let long = self.paragraphs.iter().filter(|it| it.words > LONGEST);
        found.extend(long.map(|paragraph| {
            let text = format!("a paragraph of {} words (limit {LONGEST})", paragraph.words);
            finding(paragraph.line, text)
        }));
        found
    }

    /// The path that a link of this page means, from the root of the repository.
    fn resolved(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            return self.path.clone();
        }
        let mut resolved = self.path.parent().unwrap_or(Path::new("")).to_owned();
        for part in Path::new(path).components() {
            match part {
                Component::ParentDir => _ = resolved.pop(),
                Component::Normal(name) => resolved.push(name),
                _ => {}
            }
        }
        resolved
    }

    fn read(&mut self) {
        let mut taken = BTreeMap::new();
        let mut fence: Option<String> = None;
        let mut is_comment = false;
        let mut paragraph: Option<Paragraph> = None;
        let mut is_list = false;
        let text = std::mem::take(&mut self.text);
        for (number, line) in text.lines().enumerate() {
            let line_number = number + 1;
            let trimmed = line.trim_start();
            if let Some(mark) = &fence {
                if trimmed.starts_with(mark.as_str()) {
                    fence = None;
                }
                continue;
            }
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                fence = Some(trimmed[..3].to_owned());
                self.paragraphs.extend(paragraph.take());
                continue;
            }
            if is_comment || trimmed.starts_with("<!--") {
                is_comment = !trimmed.contains("-->");
                self.paragraphs.extend(paragraph.take());
                continue;
            }
            let plain = without_code(line);
            self.links.extend(
                targets(&plain)
                    .filter(|target| is_local(target))
                    .map(|target| Link {
                        line: line_number,
                        target: target.to_owned(),
                    }),
            );
            self.anchors.extend(explicit_anchors(&plain));
            let heading = trimmed.trim_start_matches('#');
            let is_heading = heading.len() < trimmed.len() && heading.starts_with(' ');
            if is_heading {
                let slug = slug(heading.trim());
                let count = taken.entry(slug.clone()).or_insert(0_usize);
                self.anchors.push(match *count {
                    0 => slug,
                    count => format!("{slug}-{count}"),
                });
                *count += 1;
            }
            let is_item = is_list_item(trimmed);
            let is_blank = trimmed.is_empty();
            // What is indented under an item belongs to the list, also behind a blank line.
            is_list = is_item || (is_list && (is_blank || line.starts_with(' ')));
            let is_prose = !is_blank && !is_heading && !is_list && !trimmed.starts_with('|');
            if is_prose {
                let words = line.split_whitespace().count();
                let start = Paragraph {
                    line: line_number,
                    words: 0,
                };
                paragraph.get_or_insert(start).words += words;
            } else {
                self.paragraphs.extend(paragraph.take());
            }
        }
        self.paragraphs.extend(paragraph.take());
        self.text = text;
    }
}

/// Whether a line begins an item of a list.
fn is_list_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < line.len() && digits.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// The line with its code spans blanked out.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts
        .map(|(place, part)| if place % 2 == 0 { part } else { "" })
        .collect()
}

/// Where `[…](target)`, images and `[…]: target` lead.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.match_indices("](").filter_map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        let target = rest.split([')', ' ']).next()?;
        Some(target.trim_matches(['<', '>']))
    });
    let defined = line
        .starts_with('[')
        .then(|| line.split_once("]: "))
        .flatten()
        .and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(defined)
}

fn is_local(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

/// Anchors that a page sets by `<a id="…">` or `<a name="…">`.
fn explicit_anchors(line: &str) -> Vec<String> {
    let after = |mark: &str| -> Vec<String> {
        line.split(mark)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .map(str::to_owned)
            .collect()
    };
    [after("<a id=\""), after("<a name=\"")].concat()
}

/// The anchor of a heading: lower case, spaces as hyphens, punctuation left out.
fn slug(heading: &str) -> String {
    let text = linked_text(heading).to_lowercase();
    text.chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then_some(c),
        })
        .collect()
}

/// A heading with each link as its text.
fn linked_text(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_githubs() {
        for (heading, expected) in [
            ("Over HTTP", "over-http"),
            (
                "`ipw score` and a judge's grade",
                "ipw-score-and-a-judges-grade",
            ),
            ("6.2 Counters: resets", "62-counters-resets"),
            ("A / B", "a--b"),
            ("[Links](x.md) too", "links-too"),
            ("token_source", "token_source"),
        ] {
            assert_eq!(slug(heading), expected, "{heading}");
        }
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "# A\n\n[x](b.md#c) `[y](no.md)` ![z](i.png) <https://x.y>\n\
                    [u](https://a.b/c)\n\n```\n[n](no.md)\n```\n\n[r]: d.md\n";
        let page = Page::new(Path::new("docs/a.md"), text);
        let links: Vec<_> = page.links.iter().map(|it| (it.line, &*it.target)).collect();
        assert_eq!(links, [(3, "b.md#c"), (3, "i.png"), (10, "d.md")]);
        assert_eq!(page.resolved("../x/./y.md"), Path::new("x/y.md"));
    }

    #[test]
    fn anchors_must_exist_and_repeat_with_a_number() {
        let here = Path::new("docs/a.md");
        let text = "# A\n## B\n## B\n<a id=\"own\"></a>\n[1](#b-1) [2](#own) [3](#b-2)\n";
        let page = Page::new(here, text);
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        std::fs::write(root.path().join(here), text).unwrap();
        let pages = [page];
        let found = pages[0].findings(root.path(), &pages);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["docs/a.md:5: `docs/a.md` has no heading `#b-2`"]);
    }

    #[test]
    fn long_paragraphs_are_found_and_lists_tables_and_code_are_not() {
        let long = "word ".repeat(LONGEST + 1);
        let text = format!(
            "# {long}\n\n{long}\n\nword\n\n- {long}\n  {long}\n\n| {long} |\n\n```\n{long}\n```\n\n\
             <!-- {long} -->\n{}\n",
            "word ".repeat(LONGEST)
        );
        let page = Page::new(Path::new("a.md"), &text);
        let pages = [page];
        let found = pages[0].findings(Path::new("."), &pages);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 3);
    }
}
