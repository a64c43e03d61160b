//! What sets one OpenAI-compatible server apart from another, as data: where it listens, how it is
//! asked for its health, what may go along with a request, and what it says of itself.

use std::path::Path;

use ipw_core::params::ParamReader;
use serde::Serialize;
use serde_json::{Map, Value};

use super::request::Extras;
use crate::{ClientError, ClientInfo, Entry, Make};

/// The parameter that chooses the API.
pub(crate) const API: (&str, &str) = (
    "api",
    "`chat` (default), `completions` (the prompt as it is, no template) or `responses`",
);
/// The parameter of servers that count tokens in every chunk.
pub(crate) const CONTINUOUS_USAGE: (&str, &str) = (
    "continuous_usage_stats",
    "`true` asks for token counts in every chunk, not only the last",
);
/// The parameter that asks for token counts.
pub(crate) const INCLUDE_USAGE: (&str, &str) = (
    "include_usage",
    "ask for token counts in the stream (default `true`; `false` for services that refuse)",
);
/// Where models are listed.
pub(crate) const MODELS: &str = "/v1/models";
/// Fields of the request that nobody else may set.
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
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// Where it says whether it is ready; the list of models is asked in any case.
    pub(crate) health: Option<&'static str>,
    /// Parameters that are `true` or `false` and go into the request when they are given.
    pub(crate) switches: &'static [Switch],
    /// What it is asked about itself.
    pub(crate) questions: &'static [Question],
}

/// A parameter that goes into the request as it is.
pub(crate) struct Switch {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
}

/// Where in the request.
pub(crate) enum Place {
    Body,
    StreamOptions,
}

/// A question about the server.
pub(crate) struct Question {
    /// Where to ask: the next one only if the one before has no answer.
    pub(crate) endpoints: &'static [&'static str],
    /// Takes what the answer says; the model is the one in use, if that is known.
    pub(crate) learn: fn(&Value, Option<&str>, &mut About),
}

/// What a server says of itself; what it does not say is not there.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct About {
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

impl About {
    /// Keeps those of `names` that `answer` has. Only names that are known to hold no secret and no
    /// path are asked for.
    pub(crate) fn flags_of(&mut self, answer: &Value, names: &[&str]) {
        for name in names {
            if let Some(value) = answer.get(name).filter(|value| !value.is_null()) {
                self.flags.insert((*name).to_owned(), value.clone());
            }
        }
    }
}

impl Flavour {
    /// Takes the switches that were given.
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

    /// The registry's entry for a server of this kind.
    pub(crate) const fn entry(make: Make, known: ClientInfo) -> Entry {
        Entry {
            known,
            make,
            check: super::check,
        }
    }
}

/// The text at `pointer`.
pub(crate) fn text(answer: &Value, pointer: &str) -> Option<String> {
    let text = answer.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number at `pointer`; zero is how some servers say that they do not know.
pub(crate) fn number(answer: &Value, pointer: &str) -> Option<u64> {
    let number = answer.pointer(pointer)?.as_u64()?;
    (number > 0).then_some(number)
}

/// A model's name without the directories of the machine that it lies on. A name on the hub has one
/// slash and stays.
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

/// The entry of `data` in a list of models: the one in use, or the only one.
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
