//! Words and letters that must or must not occur. Keywords are plain texts; `IFEval` treats them as
//! patterns, in which a full stop matches any character.

use super::rule::{Arguments, CheckResult, Compliance};
use crate::shown;

/// Every keyword occurs, in any case, also inside a word.
pub(super) fn existence(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let lower = answer.to_lowercase();
    let keywords = arguments.texts("keywords")?;
    let missing = keywords
        .iter()
        .find(|keyword| !lower.contains(&keyword.to_lowercase()));
    Ok(missing.map_or(Compliance::Yes, |keyword| {
        Compliance::No(format!("`{}` is missing", shown(keyword)))
    }))
}

/// A keyword occurs as often as required.
pub(super) fn frequency(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let keyword = arguments.text("keyword")?.trim().to_lowercase();
    let count = answer.to_lowercase().matches(&keyword).count();
    let what = format!("times `{}`", shown(&keyword));
    arguments.compare(count, &what, ("frequency", "relation"))
}

/// None of the words occurs as a whole word.
pub(super) fn forbidden(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let lower = answer.to_lowercase();
    let words = arguments.texts("forbidden_words")?;
    let found = words
        .iter()
        .find(|word| has_word(&lower, &word.to_lowercase()));
    Ok(found.map_or(Compliance::Yes, |word| {
        Compliance::No(format!("`{}` is there", shown(word)))
    }))
}

/// A letter occurs as often as required, in any case.
pub(super) fn letter_frequency(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let letter = arguments.text("letter")?.trim().to_lowercase();
    let mut letters = letter.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else {
        return Err("`letter` must be one letter".to_owned());
    };
    let lower = answer.to_lowercase();
    let count = lower.chars().filter(|c| *c == letter).count();
    let what = format!("times `{letter}`");
    arguments.compare(count, &what, ("let_frequency", "let_relation"))
}

fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_word_inside_another_is_allowed() {
        assert!(has_word("the cat sat", "cat"));
        assert!(has_word("cat.", "cat"));
        assert!(!has_word("concatenate, cats, cat_2", "cat"));
    }
}
