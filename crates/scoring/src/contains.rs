//! `contains`: the answer contains the words of the reference.
//!
//! As whole words, adjacent and in order; case and punctuation are ignored. Several references are
//! alternatives: separated by `|`, or a JSON list of texts. Scripts without spaces between words
//! (Chinese, Japanese, Thai and others) are compared by letters. The context of the words is
//! ignored: "not Paris" contains Paris.

use ipw_core::verdict::Grade;

use crate::{Question, Scorer, both, correct, shown, text, wrong};

/// The scorer's id in datasets and flags.
pub(crate) const ID: &str = "contains";

/// Searches for words.
pub(crate) struct Contains;

impl Scorer for Contains {
    fn id(&self) -> &'static str {
        ID
    }

    fn grade(&self, question: &Question<'_>) -> Grade {
        let (reference, answer) = match both(ID, question) {
            Ok(texts) => texts,
            Err(grade) => return grade,
        };
        let wanted: Vec<(String, Vec<String>)> = alternatives(reference)
            .into_iter()
            .map(|text| (words(&text), text))
            .filter(|(words, _)| !words.is_empty())
            .map(|(words, text)| (text, words))
            .collect();
        if wanted.is_empty() {
            return Grade::unscored(Some(ID), "the reference has no words");
        }
        let answer = words(answer);
        let found = wanted
            .iter()
            .find(|(_, words)| answer.windows(words.len()).any(|part| part == words));
        match found {
            Some((text, words)) => {
                let reason = format!("the answer contains `{}`", shown(text));
                correct(ID, &words.join(" "), reason)
            }
            None if wanted.len() == 1 => {
                let reason = format!("the answer does not contain `{}`", shown(reference));
                wrong(ID, None, reason)
            }
            None => wrong(ID, None, "the answer contains none of the alternatives"),
        }
    }
}

/// The alternatives of a reference.
fn alternatives(reference: &str) -> Vec<String> {
    let listed = reference.starts_with('[').then(|| {
        let values: Vec<serde_json::Value> = serde_json::from_str(reference).ok()?;
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(values.iter().map(text).collect())
    });
    listed
        .flatten()
        .unwrap_or_else(|| reference.split('|').map(str::to_owned).collect())
}

/// The folded words of a text; a number is one word, without group commas.
fn words(text: &str) -> Vec<String> {
    let folded: Vec<char> = text::fold(text).chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    let digit = |at: usize| folded.get(at).is_some_and(char::is_ascii_digit);
    for (at, c) in folded.iter().enumerate() {
        let in_number = at > 0 && digit(at - 1) && digit(at + 1);
        match c {
            _ if has_no_spaces(*c) => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(c.to_string());
            }
            _ if c.is_alphanumeric() || is_combining(*c) => word.push(*c),
            '.' if in_number => word.push('.'),
            ',' if in_number && (1..=3).all(|ahead| digit(at + ahead)) && !digit(at + 4) => {}
            '\'' | '’' | '\u{ad}' | '\u{200b}'..='\u{200f}' => {}
            _ => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

const fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{93c}' | '\u{93e}'..='\u{94d}')
}

/// Whether a script has no spaces between words.
const fn has_no_spaces(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_numbers_stay_whole() {
        assert_eq!(words("It's 1,234.5 KM!"), ["its", "1234.5", "km"]);
        assert_eq!(words("a-b  c,d 1,2"), ["a", "b", "c", "d", "1", "2"]);
        assert_eq!(words("東京2020"), ["東", "京", "2020"]);
    }

    #[test]
    fn alternatives_come_from_bars_or_a_list() {
        assert_eq!(alternatives("a|b c"), ["a", "b c"]);
        assert_eq!(alternatives(r#"["a|b", 3]"#), ["a|b", "3"]);
        assert_eq!(alternatives("[a|b"), ["[a", "b"]);
    }
}
