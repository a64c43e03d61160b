//! Messages and tools as the responses API expects them.
//!
//! Shapes: <https://platform.openai.com/docs/api-reference/responses/create>.

use ipw_core::chat::{Message, part_text};
use serde_json::{Map, Value, json};

use crate::message::{Call, Image, no_place};

/// Converts messages to items; tool calls and their results are separate items.
pub(super) fn items(all: &[Message]) -> Result<Value, String> {
    let mut items = Vec::with_capacity(all.len());
    for message in all {
        if message.role() == "tool" {
            let call = message.text_of("tool_call_id");
            let call = call.ok_or("a tool's message has no `tool_call_id`")?;
            items.push(json!({
                "type": "function_call_output", "call_id": call, "output": message.text(),
            }));
            continue;
        }
        if !message.is_blank() {
            items.push(json!({"role": message.role(), "content": content(message)?}));
        }
        for call in Call::all(message) {
            let call = call?;
            let id = call.id.ok_or("a tool call of a message has no `id`")?;
            items.push(json!({
                "type": "function_call", "call_id": id, "name": call.name, "arguments": call.text(),
            }));
        }
    }
    Ok(items.into())
}

fn content(message: &Message) -> Result<Value, String> {
    let Some(Value::Array(parts)) = message.content() else {
        return Ok(message.text().into());
    };
    let kind = if message.is_reply() {
        "output_text"
    } else {
        "input_text"
    };
    parts
        .iter()
        .map(|part| match (part_text(part), Image::of(part)) {
            (Some(text), _) => Ok(json!({"type": kind, "text": text})),
            (None, Some(Image::Linked(url))) => {
                Ok(json!({"type": "input_image", "image_url": url}))
            }
            (None, Some(Image::Inline { media, base64 })) => {
                let url = format!("data:{media};base64,{base64}");
                Ok(json!({"type": "input_image", "image_url": url}))
            }
            (None, None) => Err(no_place(part)),
        })
        .collect()
}

/// Converts tool and format parameters to this API's form; keeps those already in it.
pub(super) fn own_words(parameters: &mut Map<String, Value>) {
    if let Some(Value::Array(tools)) = parameters.get_mut("tools") {
        for tool in tools {
            lift(tool, "function");
        }
    }
    if let Some(choice) = parameters.get_mut("tool_choice") {
        lift(choice, "function");
    }
    if let Some(mut format) = parameters.remove("response_format") {
        lift(&mut format, "json_schema");
        let text = parameters.entry("text").or_insert_with(|| json!({}));
        if let Value::Object(text) = text {
            text.entry("format").or_insert(format);
        }
    }
}

/// Moves the fields of the object `name` up by one level.
fn lift(value: &mut Value, name: &str) {
    let Value::Object(fields) = value else {
        return;
    };
    if let Some(Value::Object(below)) = fields.remove(name) {
        fields.extend(below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_items_and_so_are_calls() {
        let list = json!([
            {"role": "developer", "content": "D"},
            {"role": "user", "content": [
                {"type": "text", "text": "what?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "x"},
            {"role": "assistant", "content": [{"type": "text", "text": "y"}]},
        ]);
        let all: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|item| Message::written(item.as_object().cloned().unwrap()).unwrap())
            .collect();
        assert_eq!(
            items(&all).unwrap(),
            json!([
                {"role": "developer", "content": "D"},
                {"role": "user", "content": [
                    {"type": "input_text", "text": "what?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
                ]},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "x"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "y"}]},
            ])
        );
    }

    #[test]
    fn tools_and_formats_are_told_in_its_own_words() {
        let mut parameters = json!({
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": {}}},
                {"type": "function", "name": "g"},
            ],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}},
        });
        own_words(parameters.as_object_mut().unwrap());
        assert_eq!(
            parameters,
            json!({
                "tools": [
                    {"type": "function", "name": "f", "parameters": {}},
                    {"type": "function", "name": "g"},
                ],
                "tool_choice": {"type": "function", "name": "f"},
                "text": {"format": {"type": "json_schema", "name": "s", "schema": {}}},
            })
        );
    }
}
