//! Messages and tools as the messages API expects them.
//!
//! Shapes: <https://docs.claude.com/en/api/messages>.

use ipw_core::chat::{Message, part_text};
use serde_json::{Map, Value, json};

use crate::message::{Call, Image, no_place};

/// Converts messages; tool results become user messages.
pub(super) fn messages(all: &[Message]) -> Result<Value, String> {
    let mut told: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in all {
        let (role, blocks) = match message.role() {
            "assistant" => ("assistant", said(message)?),
            "tool" => ("user", vec![result(message)?]),
            "user" => ("user", content(message.content())?),
            role => {
                return Err(format!(
                    "the messages API accepts the role `{role}` only in the first message"
                ));
            }
        };
        match told.last_mut() {
            // The API expects all results of one reply's calls in a single message.
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => told.push((role, blocks)),
        }
    }
    let told = told.into_iter();
    Ok(told
        .map(|(role, blocks)| json!({"role": role, "content": plain(blocks)}))
        .collect())
}

/// A single text block becomes a plain string.
fn plain(blocks: Vec<Value>) -> Value {
    match blocks.as_slice() {
        [only] if only["type"] == "text" => only["text"].clone(),
        _ => blocks.into(),
    }
}

fn content(content: Option<&Value>) -> Result<Vec<Value>, String> {
    let text = |text: &str| json!({"type": "text", "text": text});
    match content {
        Some(Value::String(content)) if content.is_empty() => Ok(Vec::new()),
        Some(Value::String(content)) => Ok(vec![text(content)]),
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| match (part_text(part), Image::of(part)) {
                (Some(content), _) => Ok(text(content)),
                (None, Some(Image::Inline { media, base64 })) => Ok(json!({
                    "type": "image",
                    "source": {"type": "base64", "media_type": media, "data": base64},
                })),
                (None, Some(Image::Linked(url))) => {
                    Ok(json!({"type": "image", "source": {"type": "url", "url": url}}))
                }
                // Already in this API's form.
                (None, None) if part.get("source").is_some() => Ok(part.clone()),
                (None, None) => Err(no_place(part)),
            })
            .collect(),
        _ => Ok(Vec::new()),
    }
}

/// An assistant message: its text, then its tool calls.
fn said(message: &Message) -> Result<Vec<Value>, String> {
    let mut blocks = content(message.content())?;
    for call in Call::all(message) {
        let call = call?;
        let id = call.id.ok_or("a tool call of a message has no `id`")?;
        blocks.push(json!({
            "type": "tool_use", "id": id, "name": call.name, "input": call.object()?,
        }));
    }
    Ok(blocks)
}

fn result(message: &Message) -> Result<Value, String> {
    let call = message.text_of("tool_call_id");
    let call = call.ok_or("a tool's message has no `tool_call_id`")?;
    Ok(json!({"type": "tool_result", "tool_use_id": call, "content": message.text()}))
}

/// Converts tool parameters to this API's names; keeps those already in its form.
pub(super) fn own_tools(body: &mut Map<String, Value>) -> Result<(), String> {
    if body.contains_key("response_format") {
        return Err("the messages API has no `response_format`".to_owned());
    }
    if let Some(Value::Array(tools)) = body.get_mut("tools") {
        for tool in tools {
            if let Some(function) = tool.get("function") {
                *tool = own_tool(function);
            }
        }
    }
    let parallel = body.remove("parallel_tool_calls");
    let choice = body.remove("tool_choice");
    let mut choice = choice.map(|choice| match choice.as_str() {
        Some("required") => json!({"type": "any"}),
        Some(kind) => json!({"type": kind}),
        None => match choice.pointer("/function/name") {
            Some(name) => json!({"type": "tool", "name": name}),
            None => choice,
        },
    });
    if parallel == Some(Value::Bool(false)) && body.contains_key("tools") {
        let choice = choice.get_or_insert_with(|| json!({"type": "auto"}));
        choice["disable_parallel_tool_use"] = true.into();
    }
    body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    Ok(())
}

fn own_tool(function: &Value) -> Value {
    let mut tool = Map::new();
    for (theirs, ours) in [
        ("name", "name"),
        ("description", "description"),
        ("parameters", "input_schema"),
    ] {
        if let Some(value) = function.get(theirs) {
            tool.insert(ours.to_owned(), value.clone());
        }
    }
    tool.entry("input_schema")
        .or_insert_with(|| json!({"type": "object"}));
    Value::Object(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &Value) -> Vec<Message> {
        let items = list.as_array().unwrap().iter();
        items
            .map(|item| Message::written(item.as_object().cloned().unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn calls_and_their_results_are_blocks() {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
        let list = json!([
            {"role": "user", "content": [
                {"type": "text", "text": "what?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]},
            {"role": "assistant", "content": "let me see", "tool_calls": [call("1"), call("2")]},
            {"role": "tool", "tool_call_id": "1", "content": "x"},
            {"role": "tool", "tool_call_id": "2", "content": "y"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "thanks"},
        ]);
        assert_eq!(
            messages(&all(&list)).unwrap(),
            json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "what?"},
                    {"type": "image", "source":
                        {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "2", "name": "f", "input": {"a": 1}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "x"},
                    {"type": "tool_result", "tool_use_id": "2", "content": "y"},
                ]},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "thanks"},
            ])
        );
        for (list, problem) in [
            (
                json!([{"role": "system", "content": "late"}]),
                "accepts the role `system` only",
            ),
            (json!([{"role": "tool", "content": "x"}]), "`tool_call_id`"),
            (
                json!([{"role": "user", "content": [{"type": "input_audio"}]}]),
                "`input_audio`",
            ),
        ] {
            let error = messages(&all(&list)).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn tools_are_told_in_its_own_words() {
        let translated = |body: Value| {
            let mut body = body.as_object().cloned().unwrap();
            own_tools(&mut body).map(|()| Value::Object(body))
        };
        let theirs = json!({"type": "function", "function":
            {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}});
        let own = json!({"name": "f", "description": "d", "input_schema": {"type": "object"}});
        assert_eq!(
            translated(json!({"tools": [theirs, own], "tool_choice": "required"})),
            Ok(json!({"tools": [own, own], "tool_choice": {"type": "any"}}))
        );
        assert_eq!(
            translated(json!({"tools": [own], "parallel_tool_calls": false,
                "tool_choice": {"type": "function", "function": {"name": "f"}}})),
            Ok(json!({"tools": [own],
                "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}}))
        );
        let kept = json!({"tools": [own], "tool_choice": {"type": "tool", "name": "f"}});
        assert_eq!(translated(kept.clone()), Ok(kept));
        assert!(translated(json!({"response_format": {}})).is_err());
    }
}
