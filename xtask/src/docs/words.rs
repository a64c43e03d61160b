//! Words that readers stumbled over. The list is in `banned.txt`: a word or a phrase on each line.

use std::path::Path;

use super::Finding;

const BANNED: &str = include_str!("banned.txt");

/// Where `text` has a banned word or phrase, in any case; `line` is how many lines precede it.
///
/// A phrase may go on in the next line, with the mark of a comment between its words.
pub(super) fn findings(path: &Path, text: &str, line: usize) -> Vec<Finding> {
    let lower = text.to_ascii_lowercase();
    let words = words(&lower);
    let mut found = Vec::new();
    for phrase in BANNED.lines() {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        for run in words.windows(wanted.len()) {
            let is_same = run.iter().map(|word| word.1).eq(wanted.iter().copied());
            let is_close = run.windows(2).all(|pair| {
                let between = &lower[pair[0].0 + pair[0].1.len()..pair[1].0];
                between.trim_matches(is_between).is_empty()
            });
            if is_same && is_close {
                found.push(Finding {
                    path: path.to_owned(),
                    line: line + lower[..run[0].0].matches('\n').count() + 1,
                    text: format!("avoid \"{phrase}\""),
                });
            }
        }
    }
    found
}

/// Words with their places. `_` is part of a word: names of tests are no prose.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr().addr() - text.as_ptr().addr(), word))
        .collect()
}

/// What may stand between two words of one phrase: a line's end and the mark of a comment.
fn is_between(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '!' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let found = findings(Path::new("x"), text, 10);
        found.into_iter().map(|found| found.line).collect()
    }

    #[test]
    fn words_and_phrases_are_found_in_any_case_and_over_lines() {
        let (word, phrase) = (BANNED.lines().next().unwrap(), "so\x20many");
        assert_eq!(lines(&format!("A\n{word}s it. {word}!")), [12]);
        assert_eq!(lines(&format!("a {}", word.to_uppercase())), [11]);
        assert_eq!(lines(&format!("{phrase} `{phrase}`")), [11, 11]);
        assert_eq!(lines(&phrase.replace(' ', "\n    /// ")), [11]);
        assert_eq!(lines(&phrase.replace(' ', ". ")), [0; 0]);
        assert_eq!(lines(&format!("fn {word}_asks() {{}}")), [0; 0]);
    }
}
