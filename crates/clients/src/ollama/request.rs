//! The body of a chat request: top-level fields, and generation parameters under `options`.

use ipw_core::chat::Message;
use ipw_core::client::Request;
use serde_json::{Map, Value};

use super::{KNOWN, messages};
use crate::message;

/// Parameters that are top-level fields of the request.
const TOP_LEVEL: [&str; 6] = [
    "format",
    "keep_alive",
    "logprobs",
    "think",
    "tools",
    "top_logprobs",
];
/// OpenAI's name for Ollama's `format`.
const RESPONSE_FORMAT: &str = "response_format";
/// OpenAI's names for Ollama's `num_predict`; the last one wins.
const LENGTH_LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// The request as JSON, with only the fields that were asked for.
pub(super) fn body(request: &Request<'_>, keep_alive: Option<&Value>) -> Result<Vec<u8>, String> {
    let mut body = Map::new();
    if let Some(keep_alive) = keep_alive {
        body.insert("keep_alive".to_owned(), keep_alive.clone());
    }
    let is_reserved = |name: &str| KNOWN.reserved.contains(&name);
    let parameters = request.parameters.iter();
    for (name, value) in parameters.filter(|(name, _)| !is_reserved(name)) {
        if TOP_LEVEL.contains(&name.as_str()) {
            body.insert(name.clone(), value.clone());
        }
    }
    if let Some(options) = options(request.parameters) {
        body.insert("options".to_owned(), options);
    }
    let response_format = request.parameters.get(RESPONSE_FORMAT);
    if let Some(format) = response_format.and_then(messages::format) {
        body.entry("format").or_insert(format);
    }
    let asked = if request.query.messages.is_empty() {
        serde_json::to_value(message::messages(request)).expect("texts serialize")
    } else {
        let system = request.system.map(|text| Message::of("system", text));
        let written = message::written(request).iter().cloned();
        let all: Vec<_> = system.into_iter().chain(written).collect();
        messages::messages(&all)?
    };
    body.insert("model".to_owned(), request.model.into());
    body.insert("messages".to_owned(), asked);
    body.insert("stream".to_owned(), true.into());
    Ok(serde_json::to_vec(&body).expect("JSON values serialize"))
}

/// The parameters under Ollama's names. A parameter named `options` must be an object with
/// defaults. Single parameters override it, and Ollama's own names override OpenAI's.
fn options(parameters: &Map<String, Value>) -> Option<Value> {
    let mut options = match parameters.get("options") {
        None => Map::new(),
        Some(Value::Object(options)) => options.clone(),
        // Not an object: leave the error to the service.
        Some(other) => return Some(other.clone()),
    };
    for name in LENGTH_LIMITS {
        if let Some(limit) = parameters.get(name) {
            options.insert("num_predict".to_owned(), limit.clone());
        }
    }
    let own = |name: &str| {
        name != "options"
            && !TOP_LEVEL.contains(&name)
            && !LENGTH_LIMITS.contains(&name)
            && name != RESPONSE_FORMAT
            && !KNOWN.reserved.contains(&name)
    };
    for (name, value) in parameters.iter().filter(|(name, _)| own(name)) {
        let value = match value {
            // Ollama accepts only a list.
            Value::String(text) if name == "stop" => vec![text.as_str()].into(),
            other => other.clone(),
        };
        options.insert(name.clone(), value);
    }
    (!options.is_empty()).then_some(Value::Object(options))
}

/// `keep_alive` as Ollama reads it: a number of seconds, or a duration with its unit.
pub(super) fn keep_alive(text: String) -> Value {
    match text.trim().parse::<i64>() {
        Ok(seconds) => seconds.into(),
        Err(_) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_sorted_into_options_by_ollamas_names() {
        for (parameters, expected) in [
            (json!({}), None),
            (json!({"think": true, "format": "json"}), None),
            (
                json!({"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.1, "seed": 7}),
                Some(json!({"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.1, "seed": 7})),
            ),
            (json!({"max_tokens": 5}), Some(json!({"num_predict": 5}))),
            (
                json!({"max_tokens": 5, "max_completion_tokens": 6}),
                Some(json!({"num_predict": 6})),
            ),
            (
                json!({"max_tokens": 5, "num_predict": 7}),
                Some(json!({"num_predict": 7})),
            ),
            (json!({"stop": "x"}), Some(json!({"stop": ["x"]}))),
            (
                json!({"options": {"num_ctx": 9, "seed": 1}, "seed": 2}),
                Some(json!({"num_ctx": 9, "seed": 2})),
            ),
            (json!({"options": 3}), Some(json!(3))),
        ] {
            let Value::Object(map) = &parameters else {
                unreachable!()
            };
            assert_eq!(options(map), expected, "{parameters}");
        }
    }

    #[test]
    fn a_number_is_seconds_and_a_text_a_duration() {
        assert_eq!(keep_alive("-1".to_owned()), json!(-1));
        assert_eq!(keep_alive("5m".to_owned()), json!("5m"));
    }
}
