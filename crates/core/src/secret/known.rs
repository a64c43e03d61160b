//! The secrets of this process, which must not appear in stored or shown texts.
//!
//! A service can echo its key. All received texts pass through [`hide`] before they become a row, a
//! message or a file. Without secrets, that costs one look at an empty list.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

use super::MASK;

/// Shorter texts may be words of a normal reply; `EMPTY` and `none` are common keys of local
/// services.
const SHORTEST: usize = 8;
/// From this length on, the beginning of a secret at the end of a truncated text is masked.
const SHORTEST_CUT: usize = 6;

static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Registers a secret for [`hide`].
pub fn remember(secret: &str) {
    let secret = secret.trim();
    if secret.len() < SHORTEST {
        return;
    }
    // The JSON-escaped form, if it differs.
    let escaped = Value::from(secret).to_string();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for text in [secret, escaped.trim_matches('"')] {
        if !known.iter().any(|own| own == text) {
            known.push(text.to_owned());
        }
    }
    // A secret may contain another: replace the longer one first.
    known.sort_by_key(|text| std::cmp::Reverse(text.len()));
}

/// Whether any secret is registered.
pub fn is_any() -> bool {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    !known.is_empty()
}

/// The text with `[secret]` in place of every registered secret.
pub fn hide(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut text = Cow::Borrowed(text);
    for secret in known.iter() {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), MASK).into();
        }
        if let Some(kept) = text.strip_suffix('…').and_then(|head| cut(head, secret)) {
            text = format!("{}{MASK}…", &text[..kept]).into();
        }
    }
    text
}

/// Length of the beginning of `secret` at the end of a truncated text.
fn cut(head: &str, secret: &str) -> Option<usize> {
    let lengths = (SHORTEST_CUT..secret.len()).rev();
    let begun = lengths.filter_map(|length| secret.get(..length));
    begun
        .filter(|begun| head.ends_with(begun))
        .map(|begun| head.len() - begun.len())
        .next()
}

/// [`hide`], in place.
pub fn hide_in(text: &mut String) {
    if let Cow::Owned(hidden) = hide(text) {
        *text = hidden;
    }
}

/// [`hide`], in every text of a JSON value.
pub fn hide_in_value(value: &mut Value) {
    match value {
        Value::String(text) => hide_in(text),
        Value::Array(list) => list.iter_mut().for_each(hide_in_value),
        Value::Object(table) => {
            let is_named = |name: &String| matches!(hide(name), Cow::Owned(_));
            if table.keys().any(is_named) {
                let entries = std::mem::take(table).into_iter();
                *table = entries
                    .map(|(name, value)| (hide(&name).into_owned(), value))
                    .collect();
            }
            table.values_mut().for_each(hide_in_value);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_secrets_are_hidden_and_short_ones_are_words() {
        assert_eq!(hide("nothing is known-of-yet"), "nothing is known-of-yet");
        remember(" known-secret-1\n");
        remember("with\"quote-22");
        remember("EMPTY");
        assert_eq!(hide("a known-secret-1, EMPTY"), "a [secret], EMPTY");
        assert_eq!(hide("{\"a\":\"with\\\"quote-22\"}"), "{\"a\":\"[secret]\"}");
        assert_eq!(hide("it was known-sec…"), "it was [secret]…");
        assert_eq!(hide("it was known-sec"), "it was known-sec");
        let mut value = json!({"x": ["known-secret-1"], "known-secret-1": 1});
        hide_in_value(&mut value);
        assert_eq!(value, json!({"x": ["[secret]"], "[secret]": 1}));
    }
}
