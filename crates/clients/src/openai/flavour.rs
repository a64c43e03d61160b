//! Differences between OpenAI-compatible servers, as data: default address, health check, extra
//! request parameters, and questions about the server.

use std::path::Path;

use ipw_core::params::ParamReader;
use serde::Serialize;
use serde_json::{Map, Value};

use super::request::Extras;
use crate::{ClientError, ClientInfo, Constructor, Entry};

/// The parameter that selects the API.
pub(crate) const API: (&str, &str) = (
    "api",
    "`chat` (default), `completions` (the prompt as it is, no template) or `responses`",
);
/// The parameter for token counts in every chunk.
pub(crate) const CONTINUOUS_USAGE: (&str, &str) = (
    "continuous_usage_stats",
    "`true` asks for token counts in every chunk, not only the last",
);
/// The parameter for token counts at the end.
pub(crate) const INCLUDE_USAGE: (&str, &str) = (
    "include_usage",
    "ask for token counts in the stream (default `true`; `false` for services that refuse)",
);
/// The endpoint that lists models.
pub(crate) const MODELS: &str = "/v1/models";
/// Request fields that the client sets itself.
pub(crate) const RESERVED: &[&str] = &[
    "model",
    "messages",
    "prompt",
    "input",
    "instructions",
    "stream",
    "stream_options",
];

/// One kind of server.
pub(crate) struct Flavour {
    pub(crate) known: ClientInfo,
    /// The server's name in messages.
    pub(crate) name: &'static str,
    /// The health endpoint, if any. The list of models is checked as well.
    pub(crate) health: Option<&'static str>,
    /// Boolean parameters that are passed to the server.
    pub(crate) switches: &'static [Switch],
    /// Questions about the server.
    pub(crate) questions: &'static [Question],
}

/// A boolean parameter that is passed to the server.
pub(crate) struct Switch {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
}

/// Where a parameter goes in the request.
pub(crate) enum Place {
    Body,
    StreamOptions,
}

/// A question about the server.
pub(crate) struct Question {
    /// Alternatives: the next one is tried if the one before gives no answer.
    pub(crate) endpoints: &'static [&'static str],
    /// Reads the answer. The second argument is the model in use, if known.
    pub(crate) learn: fn(&Value, Option<&str>, &mut ServerInfo),
}

/// What a server reports about itself; unknown fields are omitted.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct ServerInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quantization: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_length: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) flags: Map<String, Value>,
}

impl ServerInfo {
    /// Copies the fields `names` of `answer`. Only name fields that never hold a secret or a path.
    pub(crate) fn flags_of(&mut self, answer: &Value, names: &[&str]) {
        for name in names {
            if let Some(value) = answer.get(name).filter(|value| !value.is_null()) {
                self.flags.insert((*name).to_owned(), value.clone());
            }
        }
    }
}

impl Flavour {
    /// Reads the boolean parameters that were given.
    pub(super) fn extras(&self, params: &mut ParamReader<'_>) -> Result<Extras, ClientError> {
        let mut extras = Extras::default();
        for Switch { name, place } in self.switches {
            let Some(value) = params.parsed::<bool>(name, "`true` or `false`")? else {
                continue;
            };
            let fields = match place {
                Place::Body => &mut extras.body,
                Place::StreamOptions => &mut extras.stream_options,
            };
            fields.insert((*name).to_owned(), value.into());
        }
        Ok(extras)
    }

    /// The registry entry of this kind of server.
    pub(crate) const fn entry(make: Constructor, known: ClientInfo) -> Entry {
        Entry {
            known,
            make,
            check: super::check,
        }
    }
}

/// The non-empty text at a JSON pointer.
pub(crate) fn text(answer: &Value, pointer: &str) -> Option<String> {
    let text = answer.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number at a JSON pointer; some servers write zero for unknown.
pub(crate) fn number(answer: &Value, pointer: &str) -> Option<u64> {
    let number = answer.pointer(pointer)?.as_u64()?;
    (number > 0).then_some(number)
}

/// A model's name without local directories. A hub name, with one slash, is kept.
pub(crate) fn model_name(text: &str) -> String {
    let slashes = text.bytes().filter(|byte| *byte == b'/').count();
    let is_file = Path::new(text)
        .extension()
        .is_some_and(|kind| kind == "gguf");
    let is_path =
        text.starts_with(['/', '.', '~']) || text.contains('\\') || slashes > 1 || is_file;
    let name = text.rsplit(['/', '\\']).find(|part| !part.is_empty());
    match name {
        Some(name) if is_path => name.to_owned(),
        _ => text.to_owned(),
    }
}

/// The list entry of the model in use, or the only entry.
pub(crate) fn listed<'a>(list: &'a Value, model: Option<&str>) -> Option<&'a Value> {
    let models = list.get("data")?.as_array()?;
    let named = models
        .iter()
        .find(|listed| model.is_some() && listed.get("id").and_then(Value::as_str) == model);
    match models.as_slice() {
        [only] => named.or(Some(only)),
        _ => named,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_not_told_and_a_name_on_the_hub_is() {
        for (text, name) in [
            ("/home/me/models/x-Q4_1.gguf", "x-Q4_1.gguf"),
            ("../models/x.gguf", "x.gguf"),
            ("models/x.gguf", "x.gguf"),
            ("C:\\models\\x.gguf", "x.gguf"),
            ("/data/llama/", "llama"),
            (
                "meta-llama/Llama-3.1-8B-Instruct",
                "meta-llama/Llama-3.1-8B-Instruct",
            ),
            ("qwen3:8b", "qwen3:8b"),
            ("", ""),
        ] {
            assert_eq!(model_name(text), name);
        }
    }

    #[test]
    fn the_model_in_use_is_found_or_the_only_one() {
        let two = json!({"data": [{"id": "a", "n": 1}, {"id": "b", "n": 2}]});
        let id = |list: &Value, model| listed(list, model).map(|found| found["id"].clone());
        assert_eq!(id(&two, Some("b")), Some(json!("b")));
        assert_eq!(id(&two, Some("c")), None);
        assert_eq!(id(&two, None), None);
        assert_eq!(
            id(&json!({"data": [{"id": "a"}]}), Some("x")),
            Some(json!("a"))
        );
        assert_eq!(id(&json!({"data": 3}), None), None);
    }

    #[test]
    fn nothing_is_not_a_number() {
        let said = json!({"n": 0, "m": 7, "t": "", "o": -1});
        assert_eq!(number(&said, "/n"), None);
        assert_eq!(number(&said, "/m"), Some(7));
        assert_eq!(number(&said, "/o"), None);
        assert_eq!(text(&said, "/t"), None);
    }
}
