//! Messages in Ollama's form: texts only, images apart, arguments as objects.
//!
//! Shapes: <https://docs.ollama.com/api/chat>.

use ipw_core::chat::{Message, part_text};
use serde_json::{Map, Value, json};

use crate::message::{Call, Image, no_place};

/// Converts messages; an error for content that Ollama does not accept.
pub(super) fn messages(all: &[Message]) -> Result<Value, String> {
    all.iter().map(message).collect()
}

fn message(message: &Message) -> Result<Value, String> {
    let mut told = message.fields().clone();
    if let Some(Value::Array(parts)) = message.content() {
        let images = parts.iter().filter(|part| part_text(part).is_none());
        let images = images.map(|part| match Image::of(part) {
            Some(Image::Inline { base64, .. }) => Ok(Value::from(base64)),
            Some(Image::Linked(_)) => Err("Ollama takes images in the message only, as \
                 `data:…;base64,…`"
                .to_owned()),
            None => Err(no_place(part)),
        });
        let images = images.collect::<Result<Vec<_>, _>>()?;
        if !images.is_empty() {
            told.insert("images".to_owned(), images.into());
        }
    }
    told.insert("content".to_owned(), message.text().into());
    if !message.tool_calls().is_empty() {
        let calls = Call::all(message).map(|call| {
            let call = call?;
            let mut told = Map::new();
            told.extend(call.id.map(|id| ("id".to_owned(), id.into())));
            let function = json!({"name": call.name, "arguments": call.object()?});
            told.insert("function".to_owned(), function);
            Ok::<_, String>(Value::Object(told))
        });
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        told.insert("tool_calls".to_owned(), calls.into());
    }
    Ok(Value::Object(told))
}

/// Converts OpenAI's `response_format` to Ollama's `format`.
pub(super) fn format(response_format: &Value) -> Option<Value> {
    match response_format.get("type").and_then(Value::as_str) {
        Some("json_object") => Some("json".into()),
        Some("json_schema") => response_format.pointer("/json_schema/schema").cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &Value) -> Result<Value, String> {
        message(&Message::written(fields.as_object().cloned().unwrap()).unwrap())
    }

    #[test]
    fn texts_images_and_calls_have_its_own_places() {
        let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
        let parts = json!([{"type": "text", "text": "what?"}, image("data:image/png;base64,AA==")]);
        assert_eq!(
            told(&json!({"role": "user", "content": parts})).unwrap(),
            json!({"role": "user", "content": "what?", "images": ["AA=="]})
        );
        let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
        assert_eq!(
            told(&json!({"role": "assistant", "tool_calls": [call]})).unwrap(),
            json!({"role": "assistant", "content": "", "tool_calls": [
                {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]})
        );
        let result = json!({"role": "tool", "tool_name": "f", "content": "x"});
        assert_eq!(told(&result).unwrap(), result);
        let linked = json!({"role": "user", "content": [image("https://a/b.png")]});
        assert!(told(&linked).unwrap_err().contains("images"));
    }

    #[test]
    fn formats_have_its_own_names() {
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "s", "schema": {"a": 1}}});
        assert_eq!(format(&schema), Some(json!({"a": 1})));
        assert_eq!(format(&json!({"type": "json_object"})), Some(json!("json")));
        assert_eq!(format(&json!({"type": "text"})), None);
    }
}
