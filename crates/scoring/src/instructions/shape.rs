//! Beginnings, endings and forms of an answer.

use super::rule::{Arguments, CheckResult, Compliance};
use crate::shown;

/// Contains one of `IFEval`'s three fixed answers.
pub(super) fn constrained(answer: &str) -> Compliance {
    let options = [
        "My answer is yes.",
        "My answer is no.",
        "My answer is maybe.",
    ];
    let is_there = options.iter().any(|option| answer.contains(option));
    Compliance::when(
        is_there,
        "it has none of `My answer is yes.`, `no.`, `maybe.`",
    )
}

/// A postscript: `P.S.` or `P.P.S`, optionally with a space, or another marker.
pub(super) fn postscript(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let mark = arguments.text("postscript_marker")?.trim();
    let lower = answer.to_lowercase();
    let is_there = match mark {
        "P.S." => ["p.s.", "p. s."].iter().any(|form| lower.contains(form)),
        "P.P.S" => ["p.p.s", "p. p.s", "p.p. s", "p. p. s"]
            .iter()
            .any(|form| lower.contains(form)),
        other => lower.contains(&other.to_lowercase()),
    };
    Ok(Compliance::when(
        is_there,
        format!("`{}` is missing", shown(mark)),
    ))
}

/// All JSON, optionally in a code fence.
pub(super) fn json(answer: &str) -> Compliance {
    let mut bare = answer;
    for fence in ["```json", "```Json", "```JSON", "```"] {
        bare = bare.strip_prefix(fence).unwrap_or(bare);
    }
    let bare = bare.strip_suffix("```").unwrap_or(bare).trim();
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(bare).is_ok();
    Compliance::when(is_json, "it is not JSON as a whole")
}

/// A title such as `<<this>>`.
pub(super) fn title(answer: &str) -> Compliance {
    let has_title = |line: &str| {
        let inner = line
            .find("<<")
            .and_then(|start| Some(&line[start + 2..line.rfind(">>")?.max(start + 2)]));
        inner.is_some_and(|inner| !inner.trim_matches(['<', '>']).trim().is_empty())
    };
    Compliance::when(answer.lines().any(has_title), "it has no `<<title>>`")
}

/// Two different parts with `******` between them.
pub(super) fn two_responses(answer: &str) -> Compliance {
    let parts: Vec<&str> = answer.split("******").map(str::trim).collect();
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    if inner.iter().any(|part| part.is_empty()) {
        return Compliance::No("a response is empty".to_owned());
    }
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [first, second] => Compliance::when(first != second, "both responses are the same"),
        other => Compliance::No(format!("{} responses, not 2", other.len())),
    }
}

/// Begins with the prompt.
pub(super) fn repeated_prompt(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let prompt = arguments.text("prompt_to_repeat")?.trim().to_lowercase();
    let is_repeated = answer.to_lowercase().starts_with(&prompt);
    Ok(Compliance::when(
        is_repeated,
        "it does not begin with the prompt",
    ))
}

/// Ends with a phrase.
pub(super) fn end(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let phrase = arguments.text("end_phrase")?.trim();
    let answer = answer.trim_matches('"').to_lowercase();
    let is_kept = answer.ends_with(&phrase.to_lowercase());
    Ok(Compliance::when(
        is_kept,
        format!("it does not end with `{}`", shown(phrase)),
    ))
}

/// All in double quotes.
pub(super) fn quotation(answer: &str) -> Compliance {
    let is_quoted = answer.len() > 1 && answer.starts_with('"') && answer.ends_with('"');
    Compliance::when(is_quoted, "it is not in double quotes")
}

/// Counts words in capitals. `IFEval` uses a tokenizer; here words are separated by spaces and
/// punctuation, and joined by hyphens and apostrophes.
pub(super) fn capital_words(arguments: Arguments<'_>, answer: &str) -> CheckResult {
    let is_part = |c: char| c.is_alphanumeric() || "-'’_".contains(c);
    let count = answer
        .split(|c: char| !is_part(c))
        .filter(|word| is_upper(word))
        .count();
    let names = ("capital_frequency", "capital_relation");
    arguments.compare(count, "words in capitals", names)
}

/// Whether the text has capitals and no lower-case letter.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_responses_have_something_in_them() {
        assert_eq!(title("<<A poem>>\ntext"), Compliance::Yes);
        assert_ne!(title("<<>>"), Compliance::Yes);
        assert_ne!(title("<< \n >>"), Compliance::Yes);
        assert_ne!(title(">> <<"), Compliance::Yes);
        assert_eq!(two_responses("a ****** b"), Compliance::Yes);
        assert_ne!(two_responses("a ****** a"), Compliance::Yes);
        assert_ne!(two_responses("a ****** ****** b"), Compliance::Yes);
        assert_ne!(two_responses("a"), Compliance::Yes);
    }
}
