//! What stands around the text in the events of one stream.
//!
//! A service writes the same bytes before and behind the text of every token. An event with the
//! bytes of one that was parsed differs from it in that text alone, as long as the text is a JSON
//! string as it stands; so it says the same, and no parser has to look. Everything else is parsed.

use std::borrow::Cow;

use super::wire::{Choice, Chunk, Delta, Text};

/// Which text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Answer,
    Reasoning,
}

/// The bytes around the text of an event that was parsed and held nothing else.
#[derive(Debug, Default)]
pub(super) struct Frame {
    before: Vec<u8>,
    behind: Vec<u8>,
    /// `None` until there was such an event.
    field: Option<Field>,
}

impl Frame {
    /// The text in `data`, if it differs from the event that was learnt in nothing else.
    pub(super) fn text<'a>(&self, data: &'a [u8]) -> Option<(Field, &'a str)> {
        let field = self.field?;
        let text = data
            .strip_prefix(self.before.as_slice())?
            .strip_suffix(self.behind.as_slice())?;
        let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        if !text.iter().all(is_plain) {
            return None;
        }
        Some((field, std::str::from_utf8(text).ok()?))
    }

    /// Learns from an event and what it was parsed into.
    pub(super) fn learn(&mut self, data: &[u8], chunk: &Chunk<'_>) {
        let Some((field, text)) = only_text(chunk) else {
            return;
        };
        let start = text.as_ptr().addr().wrapping_sub(data.as_ptr().addr());
        let (Some(before), Some(behind)) = (data.get(..start), data.get(start + text.len()..))
        else {
            return;
        };
        self.before.clear();
        self.before.extend_from_slice(before);
        self.behind.clear();
        self.behind.extend_from_slice(behind);
        self.field = Some(field);
    }
}

/// The text of an event that says nothing else, where it stands in the event itself.
fn only_text<'a>(chunk: &Chunk<'a>) -> Option<(Field, &'a str)> {
    let Chunk {
        choices: Some(choices),
        usage: None,
        timings: None,
        x_groq: None,
        time_info: None,
        stats: None,
        error: None,
    } = chunk
    else {
        return None;
    };
    let delta = match choices.as_slice() {
        [
            Choice {
                delta: None,
                text: Some(Text(Cow::Borrowed(text))),
                finish_reason: None,
            },
        ] => return Some((Field::Answer, *text)),
        [
            Choice {
                delta: Some(delta),
                text: None,
                finish_reason: None,
            },
        ] => delta,
        _ => return None,
    };
    let (field, text) = match delta {
        Delta {
            content: Some(Text(Cow::Borrowed(text))),
            reasoning_content: None,
            reasoning: None,
            refusal: None,
            tool_calls: None,
        } => (Field::Answer, *text),
        Delta {
            content: None,
            reasoning_content: Some(Text(Cow::Borrowed(text))),
            reasoning: None,
            refusal: None,
            tool_calls: None,
        }
        | Delta {
            content: None,
            reasoning_content: None,
            reasoning: Some(Text(Cow::Borrowed(text))),
            refusal: None,
            tool_calls: None,
        } => (Field::Reasoning, *text),
        _ => return None,
    };
    Some((field, text))
}
