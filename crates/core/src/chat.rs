//! Messages of a chat, as datasets and services carry them.

use serde::Serialize;
use serde_json::{Map, Value};

/// One message in the shape of the chat completions API. All of its fields are kept, known to ipw
/// or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Message(Map<String, Value>);

/// Why a message is invalid: the field and its expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    /// The field.
    pub field: &'static str,
    /// The expected value.
    pub expected: &'static str,
}

const ROLE: &str = "role";
const CONTENT: &str = "content";
const TOOL_CALLS: &str = "tool_calls";

impl Message {
    /// A message of plain text.
    pub fn of(role: &str, text: impl Into<String>) -> Self {
        Self(Map::from_iter([
            (ROLE.to_owned(), role.into()),
            (CONTENT.to_owned(), Value::String(text.into())),
        ]))
    }

    /// A model's reply: its answer and, as JSON, its tool calls.
    pub fn reply(answer: &str, tool_calls: Option<&str>) -> Self {
        let mut message = Self::of("assistant", answer);
        let calls = tool_calls.and_then(|calls| serde_json::from_str::<Vec<Value>>(calls).ok());
        if let Some(calls) = calls.filter(|calls| !calls.is_empty()) {
            let calls = calls.iter().map(as_written).collect();
            message.0.insert(TOOL_CALLS.to_owned(), Value::Array(calls));
        }
        message
    }

    /// The message with these fields. Null fields are left out: tables store missing fields as
    /// null.
    pub fn written(mut fields: Map<String, Value>) -> Result<Self, Flaw> {
        fields.retain(|_, value| !value.is_null());
        let flaw = |field, expected| Err(Flaw { field, expected });
        if !fields.get(ROLE).is_some_and(is_some_text) {
            return flaw(ROLE, "a role such as `user`");
        }
        match fields.get(CONTENT) {
            Some(Value::String(_)) => {}
            Some(Value::Array(parts)) if parts.iter().all(Value::is_object) => {}
            None if fields.contains_key(TOOL_CALLS) => {}
            _ => return flaw(CONTENT, "a text or a list of parts"),
        }
        if fields
            .get(TOOL_CALLS)
            .is_some_and(|calls| !calls.is_array())
        {
            return flaw(TOOL_CALLS, "a list of calls");
        }
        Ok(Self(fields))
    }

    /// The role of its author.
    pub fn role(&self) -> &str {
        self.text_of(ROLE).unwrap_or_default()
    }

    /// Whether it is a system or developer message rather than part of the conversation.
    pub fn is_system(&self) -> bool {
        matches!(self.role(), "system" | "developer")
    }

    /// Whether a model wrote it.
    pub fn is_reply(&self) -> bool {
        self.role() == "assistant"
    }

    /// Its content: a text, a list of parts, or null.
    pub fn content(&self) -> Option<&Value> {
        self.0.get(CONTENT)
    }

    /// The text of its content, one line per text part.
    pub fn text(&self) -> String {
        match self.content() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts: Vec<_> = parts.iter().filter_map(part_text).collect();
                texts.join("\n")
            }
            _ => String::new(),
        }
    }

    /// Whether it has no content to reply to.
    pub fn is_blank(&self) -> bool {
        match self.content() {
            Some(Value::String(text)) => text.trim().is_empty(),
            Some(Value::Array(parts)) => parts
                .iter()
                .all(|part| part_text(part).is_some_and(|text| text.trim().is_empty())),
            _ => true,
        }
    }

    /// Its tool calls.
    pub fn tool_calls(&self) -> &[Value] {
        let calls = self.0.get(TOOL_CALLS).and_then(Value::as_array);
        calls.map_or(&[], Vec::as_slice)
    }

    /// A field that is text.
    pub fn text_of(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    /// All fields.
    pub const fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Puts `text` before its own text.
    pub fn put_before(&mut self, text: &str) {
        match self.0.get_mut(CONTENT) {
            Some(Value::String(content)) => content.insert_str(0, text),
            Some(Value::Array(parts)) => {
                let first = serde_json::json!({"type": "text", "text": text});
                parts.insert(0, first);
            }
            _ => {
                self.0.insert(CONTENT.to_owned(), text.into());
            }
        }
    }
}

/// The text of a part of a content; `None` for an image and other media.
pub fn part_text(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str)
}

fn is_some_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// A stored tool call in the shape in which it is sent back.
fn as_written(call: &Value) -> Value {
    serde_json::json!({
        "id": call["id"],
        "type": "function",
        "function": { "name": call["name"], "arguments": call["arguments"] },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: &Value) -> Result<Message, Flaw> {
        Message::written(value.as_object().cloned().unwrap())
    }

    #[test]
    fn what_is_no_message_says_which_field() {
        for (value, field) in [
            (json!({}), ROLE),
            (json!({"role": "", "content": "x"}), ROLE),
            (json!({"role": 3, "content": "x"}), ROLE),
            (json!({"role": "user"}), CONTENT),
            (json!({"role": "user", "content": 3}), CONTENT),
            (json!({"role": "user", "content": ["x"]}), CONTENT),
            (
                json!({"role": "assistant", "content": "", "tool_calls": "x"}),
                TOOL_CALLS,
            ),
        ] {
            assert_eq!(message(&value).unwrap_err().field, field, "{value}");
        }
    }

    #[test]
    fn all_that_was_written_is_kept_but_nulls() {
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        let written = message(&json!({
            "role": "assistant", "content": null, "name": null, "tool_calls": [call], "weight": 1,
        }));
        let written = written.unwrap();
        assert_eq!(
            serde_json::to_value(&written).unwrap(),
            json!({"role": "assistant", "tool_calls": [call], "weight": 1})
        );
        assert_eq!((written.text().as_str(), written.is_blank()), ("", true));
    }

    #[test]
    fn a_text_may_come_in_parts() {
        let image = json!({"type": "image_url", "image_url": {"url": "data:,"}});
        let parts =
            json!([{"type": "text", "text": "What "}, image, {"type": "text", "text": "is it?"}]);
        let asked = message(&json!({"role": "user", "content": parts})).unwrap();
        assert_eq!(asked.text(), "What \nis it?");
        assert!(!asked.is_blank());
        let mut only = message(&json!({"role": "user", "content": [image]})).unwrap();
        assert!(only.text().is_empty() && !only.is_blank());
        only.put_before("[1] ");
        assert_eq!(only.text(), "[1] ");
        let mut plain = Message::of("user", "why?");
        plain.put_before("[1] ");
        assert_eq!(plain.text(), "[1] why?");
    }

    #[test]
    fn a_reply_carries_its_calls_in_the_shape_of_a_message() {
        let stored = r#"[{"id":"c1","name":"f","arguments":"{\"a\":1}"}]"#;
        let reply = Message::reply("", Some(stored));
        assert_eq!(
            serde_json::to_value(reply).unwrap(),
            json!({"role": "assistant", "content": "", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}
            ]})
        );
        let plain = Message::reply("yes", None);
        assert_eq!(plain, Message::of("assistant", "yes"));
    }
}
