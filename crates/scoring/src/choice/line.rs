//! Lines of an answer: lone options, and repeated lists of options.

use std::ops::Range;

use super::option::Options;

/// The ranges of non-empty lines.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_inclusive('\n')
        .scan(0, |start, line| {
            let range = *start..*start + line.len();
            *start = range.end;
            Some((range, line))
        })
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(range, _)| range)
}

/// Lines that repeat the options: two or more in a row, each with a different letter.
pub(super) fn listing(text: &str, options: &Options) -> Vec<Range<usize>> {
    let lines: Vec<_> = lines(text).collect();
    let letters: Vec<_> = lines
        .iter()
        .map(|line| item(core(&text[line.clone()]), options).map(|(letter, _)| letter))
        .collect();
    let differ = |left: usize, right: usize| {
        let pair = letters
            .get(left)
            .copied()
            .flatten()
            .zip(letters.get(right).copied().flatten());
        pair.is_some_and(|(left, right)| left != right)
    };
    (0..lines.len())
        .filter(|at| differ(*at, at + 1) || at.checked_sub(1).is_some_and(|left| differ(left, *at)))
        .map(|at| lines[at].clone())
        .collect()
}

/// A line without list, heading, quotation and emphasis marks.
pub(super) fn core(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || "#>*_`-\"".contains(c))
}

/// The option of a line that is only a letter.
pub(super) fn lone_letter(core: &str, options: &Options) -> Option<usize> {
    let lower = core.to_ascii_lowercase();
    let word = ["option ", "choice ", "letter "]
        .iter()
        .find(|word| lower.starts_with(*word));
    let core = &core[word.map_or(0, |word| word.len())..];
    let core = core.trim_matches(|c: char| "()[].:!*_`\"' ,".contains(c));
    let mut chars = core.chars();
    let letter = chars.next()?;
    chars
        .next()
        .is_none()
        .then(|| options.of_letter(letter))
        .flatten()
}

/// Splits `B) text` into the option and the text.
pub(super) fn item<'a>(core: &'a str, options: &Options) -> Option<(usize, &'a str)> {
    let core = core.trim_start_matches(['(', '*', '_']);
    let mut chars = core.chars();
    let letter = options.of_letter(chars.next()?)?;
    let rest = chars.as_str();
    let text = rest
        .trim_start_matches(['*', '_'])
        .strip_prefix([')', '.', ':', ']'])?;
    Some((letter, text.trim_start_matches(['*', '_', ' '])))
}
