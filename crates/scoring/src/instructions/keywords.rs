//! Words and letters that must or must not be there. Keywords are plain texts here; `IFEval` hands
//! them to a pattern matcher, where a full stop would stand for any letter.

use super::rule::{Arguments, Checked, Compliance};
use crate::shown;

/// Every keyword is there, whatever its case, also inside a word.
pub(super) fn existence(arguments: Arguments<'_>, answer: &str) -> Checked {
    let lower = answer.to_lowercase();
    let keywords = arguments.texts("keywords")?;
    let missing = keywords
        .iter()
        .find(|keyword| !lower.contains(&keyword.to_lowercase()));
    Ok(missing.map_or(Compliance::Yes, |keyword| {
        Compliance::No(format!("`{}` is missing", shown(keyword)))
    }))
}

/// A keyword is there as often as wanted.
pub(super) fn frequency(arguments: Arguments<'_>, answer: &str) -> Checked {
    let keyword = arguments.text("keyword")?.trim().to_lowercase();
    let count = answer.to_lowercase().matches(&keyword).count();
    let what = format!("times `{}`", shown(&keyword));
    arguments.compare(count, &what, ("frequency", "relation"))
}

/// None of the words is there as a whole word.
pub(super) fn forbidden(arguments: Arguments<'_>, answer: &str) -> Checked {
    let lower = answer.to_lowercase();
    let words = arguments.texts("forbidden_words")?;
    let found = words
        .iter()
        .find(|word| has_word(&lower, &word.to_lowercase()));
    Ok(found.map_or(Compliance::Yes, |word| {
        Compliance::No(format!("`{}` is there", shown(word)))
    }))
}

/// A letter is there as often as wanted, whatever its case.
pub(super) fn letter_frequency(arguments: Arguments<'_>, answer: &str) -> Checked {
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
