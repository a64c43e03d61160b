//! `numeric`: the same number, in any notation.
//!
//! The answer's number is the one after the last "answer is", "answer:", `\boxed` or `####`.
//! Without these it is a lone number on the first line with an explanation after it, else the only
//! number on the last line. Otherwise it is the one before a bracket with the working, else the one
//! after the last `=`, else the last one. Numbers are compared as fractions: `0.5` is `1/2` and
//! `0.333` is not `1/3`. A percent sign is a unit: `50 %` is 50, and 0.5 if the reference is below
//! one. Number words ("twelve", `十二`) are not read.

mod digits;
mod marks;
mod plain;
mod scan;

use ipw_core::verdict::Grade;
use scan::{ParsedNumber, numbers};

use crate::value::Value;
use crate::{Question, Scorer, both, correct, shown, text, wrong};

pub(crate) use plain::{ascii, is_mark};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "numeric";

pub(crate) struct Numeric;

impl Scorer for Numeric {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let (reference, answer) = match both(ID, question) {
            Ok(texts) => texts,
            Err(grade) => {
                let is_number = question.reference.is_none_or(|text| single(text).is_some());
                return if is_number {
                    grade
                } else {
                    no_number(question)
                };
            }
        };
        let Some(wanted) = single(reference) else {
            return no_number(question);
        };
        let Some((stated, extracted, place)) = stated(answer) else {
            return wrong(ID, None, "no number");
        };
        if is_same(&wanted, &stated) {
            correct(ID, &extracted, format!("{place} equals the reference"))
        } else {
            let reason = format!("{place} is not {}", shown(reference));
            wrong(ID, Some(&extracted), reason)
        }
    }
}

fn no_number(question: &Question<'_>) -> Grade {
    let reference = question.reference.unwrap_or_default().trim();
    let reason = if reference.is_empty() {
        "no reference"
    } else {
        "the reference is not a number"
    };
    Grade::unscored(Some(ID), reason)
}

/// The number of a reference: exactly one, with no letter before it.
fn single(reference: &str) -> Option<ParsedNumber> {
    let text: Vec<char> = plain::plain(reference.trim()).chars().collect();
    let mut found = numbers(&text);
    let number = found.pop().filter(|_| found.is_empty())?;
    (!text[..number.start].iter().any(|c| c.is_alphabetic())).then_some(number)
}

fn is_same(wanted: &ParsedNumber, stated: &ParsedNumber) -> bool {
    is_same_share(
        (&wanted.value, wanted.is_percent),
        (&stated.value, stated.is_percent),
    )
}

/// Whether two numbers are equal. A percent sign is a unit; it means a hundredth if the other
/// number has none and is below one.
pub(crate) fn is_same_share(wanted: (&Value, bool), stated: (&Value, bool)) -> bool {
    let hundredth = Value::Ratio(1, 100);
    let is_share = |percent: &Value, share: &Value| {
        share.is_below_one()
            && percent
                .times(&hundredth)
                .is_some_and(|percent| percent.equals(share))
    };
    let as_share = match (wanted.1, stated.1) {
        (false, true) => is_share(stated.0, wanted.0),
        (true, false) => is_share(wanted.0, stated.0),
        _ => false,
    };
    wanted.0.equals(stated.0) || as_share
}

/// The number of a line of prose, as written.
pub(crate) fn written(line: &str) -> Option<String> {
    stated(line).map(|(_, written, _)| written)
}

/// The answer's number, as written, and where it was found.
fn stated(answer: &str) -> Option<(ParsedNumber, String, &'static str)> {
    let plain = plain::plain(answer);
    let cues = cues(&plain);
    let after_cue = text::after_cues(&plain, &cues).find_map(|part| {
        let line = part.lines().find(|line| !line.trim().is_empty())?;
        let line: Vec<char> = line.chars().collect();
        Some((after_answer(&line)?, line, "the number after `answer`"))
    });
    let (found, text, place) = after_cue.or_else(|| elsewhere(&plain))?;
    let written = text[found.start..found.end].iter().collect();
    Some((found, written, place))
}

/// Where answers begin: after "answer is", and on lines such as `#### 12`.
fn cues(plain: &str) -> Vec<usize> {
    let mut cues = text::answer_cues(plain);
    if plain.contains("####") {
        let headed = plain.match_indices("####").filter_map(|(at, mark)| {
            let begins = at == 0 || plain[..at].ends_with('\n');
            let start = at + mark.len();
            let line = text::near_start(&plain[start..]).lines().next()?;
            let is_alone = begins && is_number_alone(&line.chars().collect::<Vec<_>>());
            is_alone.then_some(start)
        });
        cues.extend(headed);
        cues.sort_unstable();
    }
    cues
}

/// The number after "answer is". It is the first one, unless an `=` or a sentence leads to another
/// ("found by adding 3 and 4, which makes 7").
fn after_answer(line: &[char]) -> Option<ParsedNumber> {
    let found = affirmed(line);
    let first = found.first()?;
    let gap: String = line[..first.start].iter().collect();
    let equals = last_equals(line).filter(|at| *at >= first.end);
    if let Some(at) = equals {
        let between: String = line[first.end..at].iter().collect();
        let between = between.to_lowercase();
        let is_aside = [",", ";", ". ", "(", "because", "since", "as "]
            .iter()
            .any(|sign| between.contains(sign));
        if !is_aside {
            return found
                .iter()
                .find(|number| number.start > at)
                .or(Some(first))
                .cloned();
        }
    }
    if gap.split_whitespace().count() > 2 {
        found.last().cloned()
    } else {
        Some(first.clone())
    }
}

fn elsewhere(plain: &str) -> Option<(ParsedNumber, Vec<char>, &'static str)> {
    let mut lines = plain.lines().filter(|line| !line.trim().is_empty());
    let first_line: Vec<char> = lines.next()?.chars().collect();
    let last_line: Vec<char> = lines
        .next_back()
        .map_or_else(|| first_line.clone(), |line| line.chars().collect());
    // The answer first, then its explanation; an `=` would indicate a calculation.
    if !plain.contains('=')
        && !is_number_alone(&last_line)
        && is_number_alone(&first_line)
        && let [only] = affirmed(&first_line).as_slice()
    {
        return Some((only.clone(), first_line, "the number on the first line"));
    }
    if last_equals(&last_line).is_none()
        && let [only] = affirmed(&last_line).as_slice()
    {
        return Some((only.clone(), last_line, "the number on the last line"));
    }
    if let Some(before) = without_aside(&last_line) {
        return Some((before, last_line, "the last number before the bracket"));
    }
    let text: Vec<char> = plain.chars().collect();
    let found = affirmed(&text);
    let after_equals = last_equals(&text)
        .and_then(|at| found.iter().find(|number| number.start > at))
        .map(|number| (number.clone(), "the number after `=`"));
    let last = || {
        found
            .last()
            .map(|number| (number.clone(), "the last number"))
    };
    let (number, place) = after_equals.or_else(last)?;
    Some((number, text, place))
}

/// The last number before a bracket at the line's end that only shows the working: `(40 + 120)`.
fn without_aside(line: &[char]) -> Option<ParsedNumber> {
    let trimmed = line.iter().rposition(|c| !c.is_whitespace() && *c != '.')?;
    let open = line.iter().rposition(|c| *c == '(')?;
    let inner = &line[open..trimmed];
    let is_aside = line[trimmed] == ')' && !inner.contains(&')') && !inner.contains(&'=');
    (is_aside && numbers(inner).len() > 1).then(|| affirmed(&line[..open]).pop())?
}

/// Whether a line has one number and no word.
fn is_number_alone(line: &[char]) -> bool {
    let found = numbers(line);
    found.len() == 1
        && found.iter().all(|number| {
            let around = line[..number.start].iter().chain(&line[number.end..]);
            around
                .into_iter()
                .all(|c| !c.is_alphanumeric() && !"+×".contains(*c))
        })
}

/// The numbers that are not negated; ordinals only if there are no others.
fn affirmed(text: &[char]) -> Vec<ParsedNumber> {
    let mut found = numbers(text);
    found.retain(|number| !number.is_denied);
    if found.iter().any(|number| !number.is_ordinal) {
        found.retain(|number| !number.is_ordinal);
    }
    found
}

/// The last `=` that states a result and has a number after it on its line.
fn last_equals(text: &[char]) -> Option<usize> {
    let mut has_digit = false;
    (0..text.len()).rev().find(|at| {
        has_digit = text[*at] != '\n' && (has_digit || text[*at].is_ascii_digit());
        let before = at.checked_sub(1).map(|before| text[before]);
        let after = text.get(at + 1).copied();
        text[*at] == '='
            && has_digit
            && !before.is_some_and(|c| "!<>=".contains(c))
            && !after.is_some_and(|c| "=>".contains(c))
    })
}
