//! Counts of sentences, paragraphs, words, sections and marks.

use super::rule::{Arguments, CheckResult, Compliance};
use crate::shown;

/// Abbreviations: the full stop after them does not end a sentence.
const ABBREVIATIONS: [&str; 24] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "inc", "ltd",
    "co", "fig", "no", "vol", "approx", "dept", "est", "gen", "rep", "sen",
];

/// Counts sentences by rules (`IFEval` uses a trained splitter). A sentence ends with `.`, `!`, `?`
/// or their equivalents in other scripts. Full stops after abbreviations, initials and list numbers
/// do not count, nor those before a lower-case letter. Remaining text is one more sentence.
pub(super) fn sentences(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let count = count_sentences(answer);
    arguments.compare(count, "sentences", ("num_sentences", "relation"))
}

fn count_sentences(text: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    // In a text without capitals, lower-case letters begin sentences too.
    let is_cased = text.chars().any(char::is_uppercase);
    let mut count = 0;
    let mut has_words = false;
    let mut word = String::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if !is_end(c) {
            has_words |= c.is_alphanumeric();
            if c.is_whitespace() {
                word.clear();
            } else {
                word.push(c);
            }
            at += 1;
            continue;
        }
        let mut end = at;
        while chars
            .get(end)
            .is_some_and(|c| is_end(*c) || "\"'”’)]*_»".contains(*c))
        {
            end += 1;
        }
        let is_single_stop = c == '.' && end == at + 1;
        let next = chars[end..].iter().find(|c| !c.is_whitespace());
        let is_quoted = !is_end(chars[end - 1]);
        let goes_on = is_cased && next.is_some_and(|c| c.is_lowercase()) && (c == '.' || is_quoted);
        if has_words && !goes_on && ends_sentence(&chars[end..], &word, c, is_single_stop) {
            count += 1;
            has_words = false;
            word.clear();
        } else {
            word.extend(&chars[at..end]);
        }
        at = end;
    }
    count + usize::from(has_words)
}

fn is_end(c: char) -> bool {
    ".!?…。！？؟।".contains(c)
}

fn ends_sentence(rest: &[char], word: &str, mark: char, is_single_stop: bool) -> bool {
    let needs_space = ".!?…".contains(mark);
    if needs_space && rest.first().is_some_and(|c| !c.is_whitespace()) {
        return false;
    }
    let is_last = rest.iter().all(|c| c.is_whitespace());
    let bare = word
        .trim_start_matches(['(', '"', '“', '*', '_'])
        .to_lowercase();
    let is_initial =
        bare.chars().count() == 1 && bare != "i" && bare.chars().all(char::is_alphabetic);
    let is_number = !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit()) && bare.len() < 3;
    let is_short = ABBREVIATIONS.contains(&bare.as_str()) || is_initial;
    !(is_single_stop && !is_last && (is_short || is_number && begins_line(rest)))
}

/// Whether this may be a list number: text follows on the same line.
fn begins_line(rest: &[char]) -> bool {
    rest.first() == Some(&' ')
}

/// Parts between `***`; only the first and last may be empty.
pub(super) fn paragraphs(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let wanted = arguments.number("num_paragraphs")?;
    let parts: Vec<&str> = answer.split("***").map(str::trim).collect();
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    if inner.iter().any(|part| part.is_empty()) {
        return Ok(Compliance::No("a paragraph is empty".to_owned()));
    }
    let count = parts.iter().filter(|part| !part.is_empty()).count();
    let why = format!("{count} paragraphs, not {wanted}");
    Ok(Compliance::when(count == wanted, why))
}

pub(super) fn words(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let count = answer
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .count();
    arguments.compare(count, "words", ("num_words", "relation"))
}

/// Paragraphs between empty lines, and the first word of one of them.
pub(super) fn first_word(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let wanted = arguments.number("num_paragraphs")?;
    let place = arguments.number("nth_paragraph")?;
    let word = arguments.text("first_word")?.to_lowercase();
    let parts: Vec<&str> = answer.split("\n\n").map(str::trim).collect();
    let count = parts.iter().filter(|part| !part.is_empty()).count();
    let paragraph = place.checked_sub(1).and_then(|at| parts.get(at)).copied();
    let Some(paragraph) = paragraph.filter(|part| place <= count && !part.is_empty()) else {
        return Ok(Compliance::No(format!("there is no paragraph {place}")));
    };
    let first = paragraph.split_whitespace().next().unwrap_or_default();
    let first = first.trim_start_matches('\'').trim_start_matches('"');
    let first = first
        .split(['.', ',', '?', '!', '\'', '"'])
        .next()
        .unwrap_or_default();
    let first = first.to_lowercase();
    if count != wanted {
        return Ok(Compliance::No(format!("{count} paragraphs, not {wanted}")));
    }
    let why = format!("paragraph {place} begins with `{}`", shown(&first));
    Ok(Compliance::when(first == word, why))
}

/// `[…]` on one line.
pub(super) fn placeholders(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let in_line = |line: &str| {
        let mut rest = line;
        let mut count = 0;
        while let Some(inner) = rest.split_once('[').map(|parts| parts.1) {
            let Some((_, after)) = inner.split_once(']') else {
                break;
            };
            count += 1;
            rest = after;
        }
        count
    };
    let count = answer.lines().map(in_line).sum();
    at_least(arguments, count, "placeholders", "num_placeholders")
}

/// Lines that begin with a single `*`, or with `-`.
pub(super) fn bullets(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let wanted = arguments.number("num_bullets")?;
    let is_bullet = |line: &&str| {
        let line = line.trim_start();
        let starred = line
            .strip_prefix('*')
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('*'));
        starred || line.starts_with('-')
    };
    let count = answer.lines().filter(is_bullet).count();
    let why = format!("{count} bullet points, not {wanted}");
    Ok(Compliance::when(count == wanted, why))
}

/// Non-empty `*…*` and `**…**` on one line.
pub(super) fn highlights(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let count = answer
        .lines()
        .map(|line| marked(line, "*") + marked(line, "**"))
        .sum();
    at_least(arguments, count, "highlighted sections", "num_highlights")
}

/// Number of texts between two marks, without a star in them.
fn marked(line: &str, mark: &str) -> usize {
    let mut count = 0;
    let mut at = 0;
    while let Some(ahead) = line[at..].find(mark) {
        let start = at + ahead + mark.len();
        let inner = line[start..].find('*').unwrap_or(line.len() - start);
        let end = start + inner;
        if line[end..].starts_with(mark) {
            count += usize::from(!line[start..end].trim().is_empty());
            at = end + mark.len();
        } else {
            at += ahead + 1;
        }
    }
    count
}

/// `Section 1`, `Section 2`, … with the row's word.
pub(super) fn sections(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let mark = arguments.text("section_spliter")?.trim();
    let is_numbered = |after: &str| {
        let digits = after.strip_prefix(char::is_whitespace).unwrap_or(after);
        digits.starts_with(|c: char| c.is_numeric())
    };
    let count = answer
        .match_indices(mark)
        .filter(|(at, found)| is_numbered(&answer[at + found.len()..]))
        .count();
    at_least(arguments, count, "sections", "num_sections")
}

fn at_least(arguments: Arguments<'_>, count: usize, what: &str, name: &str) -> CheckResult {
    let wanted = arguments.number(name)?;
    let why = format!("{count} {what}, not at least {wanted}");
    Ok(Compliance::when(count >= wanted, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        for (text, count) in [
            ("One. Two! Three?", 3),
            ("Dr. Smith paid 3.50 dollars. He left", 2),
            ("Is it 5 p.m. already? Yes.", 2),
            ("\"Stop!\" he cried. They did...", 2),
            ("今日は。はい！", 2),
            ("1. First point.\n2. Second point.", 2),
            ("J. Doe met K. Roe.", 1),
            ("It is I. You know.", 2),
            ("all is small. so is this.", 2),
            ("", 0),
            ("?!", 0),
        ] {
            assert_eq!(count_sentences(text), count, "{text}");
        }
    }

    #[test]
    fn stars_mark_what_is_between_them() {
        assert_eq!(marked("*a* b *c*", "*"), 2);
        assert_eq!(marked("**a** and **b**", "*"), 0);
        assert_eq!(marked("**a** and **b**", "**"), 2);
        assert_eq!(marked("* a list", "*"), 0);
        assert_eq!(marked("*** ***", "*"), 0);
    }
}
