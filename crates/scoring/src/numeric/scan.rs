//! Finds the numbers in a plain text.
//!
//! Commas: `1,234` and `1,00,000` have groups; `1,5` and `0,500` are decimals, because no group has
//! that form; `2,4,6` is a list. Points: `1.234` is a decimal, `1.234.567` and `1.234,5` have
//! groups. Not numbers: dates, times and versions (`2024-05-12`, `14:10`, `1.2.3`), names with
//! digits (`H2O`, `QX-4471`) and exponents of units (`m²`).

use super::digits::{decimal, digit, fraction_after, whole_part};
use super::marks::{integer, is_denied, scale, sign};
use crate::value::Value;

/// A number in a text.
#[derive(Debug, Clone)]
pub(super) struct ParsedNumber {
    /// Index of its first character, sign included.
    pub(super) start: usize,
    /// Index after its last character.
    pub(super) end: usize,
    pub(super) value: Value,
    /// Whether a percent sign or the word "percent" follows.
    pub(super) is_percent: bool,
    /// Whether it is an ordinal: `3rd`.
    pub(super) is_ordinal: bool,
    /// Whether "not" precedes it.
    pub(super) is_denied: bool,
}

/// All numbers, in order.
pub(super) fn numbers(text: &[char]) -> Vec<ParsedNumber> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !begins(text, at) {
            at += 1;
            continue;
        }
        let end = run_end(text, at);
        if is_name_or_date(text, at, end) {
            at = end;
            continue;
        }
        let next = read(text, at);
        at = next.as_ref().map_or(end, |number| number.end.max(at + 1));
        found.extend(next);
    }
    found
}

fn begins(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text[before]);
    let point =
        text[at] == '.' && digit(text, at + 1) && !before.is_some_and(char::is_alphanumeric);
    digit(text, at) || point
}

/// The end of a run of digits and separators of dates, times and versions.
fn run_end(text: &[char], start: usize) -> usize {
    let mut end = start;
    while digit(text, end)
        || (text.get(end).is_some_and(|c| "-/.:".contains(*c)) && digit(text, end + 1))
    {
        end += 1;
    }
    end.max(start + 1)
}

fn is_name_or_date(text: &[char], start: usize, end: usize) -> bool {
    let before = |back: usize| start.checked_sub(back).map(|at| text[at]);
    let glued = before(1).is_some_and(|c| {
        c.is_alphabetic() || c == '_' && before(2).is_some_and(char::is_alphanumeric)
    });
    // The exponent of a unit: `m^2`, `s^{-1}`.
    let raised = text[..start]
        .iter()
        .rev()
        .find(|c| !"{-+(".contains(**c))
        .is_some_and(|c| *c == '^');
    let hyphened = before(1) == Some('-') && before(2).is_some_and(char::is_alphabetic);
    let run = &text[start..end];
    let count = |sign: char| run.iter().filter(|c| **c == sign).count();
    let groups = count('.') >= 2
        && run
            .split(|c| *c == '.')
            .skip(1)
            .all(|group| group.len() == 3)
        && run.iter().all(|c| c.is_ascii_digit() || *c == '.');
    let dated = count('-') >= 2 || count('/') >= 2 || count(':') >= 1 || count('.') >= 2 && !groups;
    glued || raised || hyphened || dated
}

fn read(text: &[char], start: usize) -> Option<ParsedNumber> {
    let (whole, mut end) = whole_part(text, start);
    let mut value = match fraction_after(text, &whole, end) {
        Some((value, after)) => {
            end = after;
            value
        }
        None => decimal(text, &whole, &mut end),
    };
    // `2^10` and `2**10`; not the end of `**2**`.
    let raised = match text.get(end..).unwrap_or_default() {
        ['^', ..] => Some(end + 1),
        ['*', '*', next, ..] if next.is_ascii_digit() => Some(end + 2),
        _ => None,
    };
    if let Some((exponent, after)) = raised.and_then(|at| integer(text, at)) {
        value = value.power(exponent)?;
        end = after;
    }
    if let Some((factor, after)) = scale(text, end) {
        value = value.times(&factor)?;
        end = after;
    }
    let (is_negative, first) = sign(text, start);
    let after: String = text[end..]
        .iter()
        .take(12)
        .collect::<String>()
        .to_lowercase();
    let unit = after.trim_start();
    Some(ParsedNumber {
        start: first,
        end,
        value: if is_negative { value.negated() } else { value },
        is_percent: unit.starts_with('%')
            || unit.starts_with("percent")
            || unit.starts_with("per cent"),
        is_ordinal: ["st", "nd", "rd", "th"]
            .iter()
            .any(|suffix| after.starts_with(suffix)),
        is_denied: is_denied(text, first),
    })
}
