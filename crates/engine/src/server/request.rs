//! Chat requests: read within limits, and checked field by field.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Incoming;
use ipw_core::text::excerpt;
use serde_json::{Map, Value};

use super::Limits;
use super::problem::Problem;
use crate::generate::Prompt;
use crate::settings::Settings;
use crate::template::Message;

/// Accepted fields that do not affect generation.
const IGNORED: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
];

/// Factor of the body limit that is still read and discarded before the error: a client in the
/// middle of sending would otherwise see a broken connection instead.
const PATIENCE: usize = 4;

/// A validated request.
#[derive(Debug)]
pub(super) struct ChatRequest {
    pub(super) prompt: Prompt,
    pub(super) delivery: Delivery,
}

/// How to send the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As one object.
    Whole,
    /// As events, with or without the usage at the end.
    Events { include_usage: bool },
}

/// Reads the body of a request.
pub(super) async fn read(body: Incoming, limits: &Limits) -> Result<Vec<u8>, Problem> {
    let all = tokio::time::timeout(limits.idle, collect(body, limits.body_bytes));
    all.await.unwrap_or_else(|_| {
        let message = format!("the body did not arrive within {:?}", limits.idle);
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, message))
    })
}

async fn collect(mut body: Incoming, most: usize) -> Result<Vec<u8>, Problem> {
    let (mut held, mut length) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad("the body ended too early"))?;
        let data: Bytes = frame.into_data().unwrap_or_default();
        length = length.saturating_add(data.len());
        if length <= most {
            held.extend_from_slice(&data);
        } else {
            held = Vec::new();
        }
        if length > most.saturating_mul(PATIENCE) {
            break;
        }
    }
    if length > most {
        let message = format!("the body is longer than {most} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(held)
}

impl ChatRequest {
    /// Parses a request to the server of `model`.
    pub(super) fn parse(body: &[u8], model: &str) -> Result<Self, Problem> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| Problem::bad(format!("the body is not JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(Problem::bad(format!(
                "the body is {}, not an object",
                kind(&value)
            )));
        };
        check_model(fields.get("model"), model)?;
        let messages = messages(fields.get("messages"))?;
        let delivery = delivery(&fields)?;
        fields.retain(|name, _| !IGNORED.contains(&name.as_str()));
        let settings = settings(&fields)?;
        Ok(Self {
            prompt: Prompt { messages, settings },
            delivery,
        })
    }
}

/// Checks the model's name. It may be left out, because there is only one model.
fn check_model(asked: Option<&Value>, model: &str) -> Result<(), Problem> {
    match asked {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(asked)) if asked == model => Ok(()),
        Some(Value::String(asked)) => Err(no_model(asked, model)),
        Some(other) => Err(wrong("model", other, "a text")),
    }
}

/// The error for an unknown model.
pub(super) fn no_model(asked: &str, model: &str) -> Problem {
    let shown = excerpt(asked, 100);
    let message = format!("the model `{shown}` does not exist; this server has `{model}`");
    Problem::new(StatusCode::NOT_FOUND, message)
        .param("model")
        .code("model_not_found")
}

fn delivery(fields: &Map<String, Value>) -> Result<Delivery, Problem> {
    let flag = |name: &str, value: Option<&Value>| match value {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(wrong(name, other, "`true` or `false`")),
    };
    let include_usage = match fields.get("stream_options") {
        None | Some(Value::Null) => false,
        Some(Value::Object(options)) => {
            let name = "stream_options.include_usage";
            flag(name, options.get("include_usage"))?
        }
        Some(other) => return Err(wrong("stream_options", other, "an object")),
    };
    let is_stream = flag("stream", fields.get("stream"))?;
    Ok(if is_stream {
        Delivery::Events { include_usage }
    } else {
        Delivery::Whole
    })
}

fn settings(fields: &Map<String, Value>) -> Result<Settings, Problem> {
    Settings::from_parameters(fields).map_err(|error| {
        let problem = Problem::bad(error.to_string());
        // The error text names the parameter; programs expect it as a separate field.
        let at_fault = fields.iter().find(|(name, value)| {
            let alone = Map::from_iter([((*name).clone(), (*value).clone())]);
            Settings::from_parameters(&alone).is_err()
        });
        match at_fault {
            Some((name, _)) => problem.param(excerpt(name, 60)),
            None => problem,
        }
    })
}

fn messages(value: Option<&Value>) -> Result<Vec<Message>, Problem> {
    let list = match value {
        None | Some(Value::Null) => {
            return Err(Problem::bad("`messages` is missing").param("messages"));
        }
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong("messages", other, "a list")),
    };
    if list.is_empty() {
        let message = "`messages` is empty: add at least one message";
        return Err(Problem::bad(message).param("messages"));
    }
    let numbered = list.iter().enumerate();
    numbered
        .map(|(index, value)| message(&format!("messages[{index}]"), value))
        .collect()
}

fn message(place: &str, value: &Value) -> Result<Message, Problem> {
    let Value::Object(fields) = value else {
        return Err(wrong(place, value, "an object"));
    };
    let role_place = format!("{place}.role");
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        _ => {
            let found = fields.get("role").unwrap_or(&Value::Null);
            let wanted = "`system`, `developer`, `user` or `assistant`";
            return Err(wrong(&role_place, found, wanted));
        }
    };
    let content_place = format!("{place}.content");
    let content = match fields.get("content").unwrap_or(&Value::Null) {
        Value::String(text) => text.clone(),
        Value::Array(parts) => joined(&content_place, parts)?,
        other => return Err(wrong(&content_place, other, "a text or a list of parts")),
    };
    Ok(Message::new(role, content))
}

/// Joins text parts with line breaks, as other text-only servers do.
fn joined(place: &str, parts: &[Value]) -> Result<String, Problem> {
    let texts = parts.iter().enumerate().map(|(index, part)| {
        let place = format!("{place}[{index}]");
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("text"), Some(text)) => Ok(text),
            (Some("text"), None) => Err(wrong(&format!("{place}.text"), &part["text"], "a text")),
            (Some(kind), _) => {
                let kind = excerpt(kind, 60);
                let message = format!("`{place}` is of type `{kind}`: the model reads `text` only");
                Err(Problem::bad(message).param(place))
            }
            (None, _) => Err(wrong(&format!("{place}.type"), &part["type"], "`text`")),
        }
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// The error for an invalid field. Prompt texts are not repeated, only types, and short names where
/// a keyword is expected.
fn wrong(place: &str, found: &Value, wanted: &str) -> Problem {
    let found = match found {
        Value::String(text) if place.ends_with("role") => format!("`{}`", excerpt(text, 60)),
        other => kind(other).to_owned(),
    };
    Problem::bad(format!("`{place}` is {found}; it must be {wanted}")).param(place)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "missing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
