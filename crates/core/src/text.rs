//! Sanitizing of external texts for terminals.

use std::fmt::Write as _;
use std::path::Path;

/// `text` without terminal control: control characters, lead-ins of escape sequences, and
/// bidirectional marks. Line breaks and tabs become spaces.
pub fn printable(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            '\n' | '\r' | '\t' => Some(' '),
            character if character.is_control() => None,
            character if turns(character) => None,
            character => Some(character),
        })
        .collect()
}

/// A path for messages, without terminal control characters.
pub fn printable_path(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Whether a character is a bidirectional control.
const fn turns(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Equivalent JSON with escapes for characters that terminals obey and JSON allows: DEL, C1
/// controls, and bidirectional marks.
pub fn escaped(json: &str) -> std::borrow::Cow<'_, str> {
    let is_obeyed =
        |character: char| ('\u{7f}'..='\u{9f}').contains(&character) || turns(character);
    if !json.contains(is_obeyed) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_obeyed(character) {
            let _ = write!(text, "\\u{:04x}", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text.into()
}

/// An error and its causes, on one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// At most `most` characters of `text`, with an ellipsis where it was cut.
pub fn excerpt(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let mut head: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        head.push('…');
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_is_the_same_json() {
        let told = serde_json::json!({ "a": "\u{9b}31m\u{7f}\u{202e}é\u{1b}" });
        let plain = told.to_string();
        let shown = escaped(&plain);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            told
        );
        assert!(shown.contains("\\u009b") && shown.contains('é'), "{shown}");
        assert!(
            !shown.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{1b}']),
            "{shown}"
        );
        assert!(matches!(escaped("plain"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(
            printable("\u{1b}]0;title\u{7}red\u{1b}[31m"),
            "]0;titlered[31m"
        );
        assert_eq!(printable("a\nb\tc\0d\u{9b}e\u{202e}f"), "a b cdef");
        assert_eq!(printable("grüße 😀"), "grüße 😀");
    }

    #[test]
    fn an_excerpt_says_that_it_was_cut() {
        assert_eq!(excerpt("abc", 3), "abc");
        assert_eq!(excerpt("äbcd", 3), "äbc…");
    }
}
