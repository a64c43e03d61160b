//! Recognizes events that differ from the previous one only in their text, to avoid parsing them.
//!
//! A service repeats the same bytes around the text of every token. If these bytes match a parsed
//! event and the text is a JSON string without escapes, the event's meaning is known. Everything
//! else is parsed.

use std::borrow::Cow;

use super::wire::{Choice, Chunk, Delta, Text};

/// The field that holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Answer,
    Reasoning,
}

/// The bytes around the text of a parsed event that held nothing else.
#[derive(Debug, Default)]
pub(super) struct Frame {
    before: Vec<u8>,
    behind: Vec<u8>,
    /// `None` before the first such event.
    field: Option<Field>,
}

impl Frame {
    /// The text in `data`, if the event otherwise equals the learned one.
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

    /// Learns from an event and its parsed form.
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

/// The text of an event with nothing else in it.
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
